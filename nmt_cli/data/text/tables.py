"""Recognises header rows of tables, and the columns with sentences in tables with more than two."""

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, combinations

from nmt_cli.data.languages.labels import in_given_order, is_named
from nmt_cli.data.languages.names import code_of_name
from nmt_cli.data.languages.words import base_code, differing_languages, is_on_other_side
from nmt_cli.data.text.language_hints import other_format_error
from nmt_cli.data.text.letters import has_letters
from nmt_cli.data.text.shell_commands import two_columns_command
from nmt_cli.data.text.table_columns import TableColumns
from nmt_cli.errors import DataError, NmtError
from nmt_cli.plurals import counted

# A cell of more rows has a quotation mark that is never closed, not line breaks.
MOST_ROWS_OF_CELL = 10
# Of a table with more columns only those with most letters are examined.
MOST_COLUMNS = 6
# In sentences, the ten commonest words are a quarter of all.
COMMONEST, MOST_REPEATED = 10, 0.6
# A header has no longer cell.
LONGEST_NAME = 40
_HEADINGS = {"source", "target", "src", "tgt", "original", "translation"}
# The name of a language that is not known: one word or two, and what is in brackets.
_NAME = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+)?(?: *\([^()]+\))?")


def columns_hint(
    rows: Sequence[str],
    name: str,
    languages: Sequence[str] = (),
    *,
    quoted: bool = False,
    names_option: bool = False,
) -> str:
    """Return how to take the two columns with the sentences from a table of more columns.

    rows: some of its lines; languages: the codes of source and target, if they are known; quoted:
    whether it has quoted cells; names_option: whether to name the option in place of a command. The
    columns are those of `chosen_columns`.

    >>> columns_hint(["No\\tEnglish\\tXyz", "1\\ta\\tb"], "p.en-de.tsv").partition(" > ")[0]
    'to take column 2 (English) as source and column 3 (Xyz) as target, or others in their place: \
cut -f2,3 p.en-de.tsv'
    >>> columns_hint(["1\\t2\\tb"], "p.tsv").partition(" > ")[0]
    'to take two of the columns, with the numbers of source and target for A and B: cut -fA,B p.tsv'
    """
    table = [row.split("\t") for row in rows]
    columns = "A", "B"
    which = "two of the columns, with the numbers of source and target for A and B"
    if found := chosen_columns(table, languages):
        (first, second), recognised = found
        columns = str(first), str(second)
        if recognised:
            which = f"the columns {first} and {second}, which look like {' and '.join(recognised)}"
        else:
            src, tgt = (
                shown_column(table, column, more, languages=languages)
                for column, more in zip(
                    found[0], _likeness(table, found[0], languages), strict=True
                )
            )
            which = f"column {src} as source and column {tgt} as target, or others in their place"
    if names_option:
        return f"to take {which}: --tsv-columns {','.join(columns)}"
    return f"to take {which}: {two_columns_command(name, columns, quoted=quoted)}"


def chosen_columns(
    rows: Sequence[Sequence[str]], languages: Sequence[str] = ()
) -> tuple[tuple[int, int], tuple[str, str] | None] | None:
    """The numbers of the columns of source and target; None if fewer than two have text.

    Also the languages of their text if these are recognised. The columns are those in two
    languages, or else those with most letters. Where the header names the given languages, or one
    of them is recognised in the text, their order is that of the given ones.

    >>> rows = [["No", "Ndara", "English"], ["1", "Ka mi to lo", "The dog so"]]
    >>> chosen_columns(rows), chosen_columns(rows, ("en", "xnd"))
    (((2, 3), None), ((3, 2), None))
    """
    found = sentence_columns(rows)
    columns, recognised = found or (text_columns(rows), None)
    if columns is None:
        return None
    if recognised and in_given_order(recognised, (0, 1), languages) == (1, 0):
        columns, recognised = columns[::-1], recognised[::-1]
    if not recognised and _are_turned(rows, columns, languages):
        columns = columns[::-1]
    header = rows[0]
    if any(len(cell) > LONGEST_NAME for cell in header):
        return columns, recognised
    src, tgt = in_given_order(header, (columns[0] - 1, columns[1] - 1), languages)
    ordered = src + 1, tgt + 1
    if recognised and ordered != columns:
        recognised = recognised[::-1] if ordered == columns[::-1] else None
    return ordered, recognised


def _are_turned(
    rows: Sequence[Sequence[str]], columns: tuple[int, int], languages: Sequence[str]
) -> bool:
    """Whether one of the languages is known, and is clearly that of the other one's column."""
    return any(_likeness(rows, columns[::-1], languages))


def _likeness(
    rows: Sequence[Sequence[str]], columns: tuple[int, int], languages: Sequence[str]
) -> tuple[str, str]:
    """Which of the two columns, in the order of the languages, look like these; "" if unsure."""
    if not languages:
        return "", ""
    src, tgt = ([row[column - 1] for row in rows if column <= len(row)] for column in columns)
    first, second = (
        f"looks like {code}" if is_on_other_side(*sides, code) else ""
        for code, sides in zip(languages, ((tgt, src), (src, tgt)), strict=True)
    )
    return first, second


def usual_columns(rows: Sequence[str]) -> int:
    """The commonest number of columns.

    >>> usual_columns(["# a comment", "one\\tuno\\tA1", "two\\tdue\\tA1"])
    3
    """
    return Counter(row.count("\t") + 1 for row in rows).most_common(1)[0][0]


def row_error(
    name: str,
    line: int,
    columns: int,
    wanted: TableColumns,
    rows: Sequence[str],
    rest: Iterable[str],
    more: str,
) -> DataError:
    """The error for a line of a table that does not have the wanted columns.

    columns: how many it has; rows: lines of the table, this one among them; rest: others, which
    tell whether it has quoted cells; more: what else is known.
    """
    if wanted.numbers is not None:
        return _missing_column_error(name, line, columns, wanted.numbers, more)
    usual = usual_columns(rows)
    # The first of them may be a comment, or empty.
    others = f", most lines have {usual}" if columns != usual > 2 else ""
    message = f"`{name}`, line {line}: {counted(columns, 'column')}, 2 are needed{others}{more}"
    form = "each line must be: source, tab, target"
    if usual <= 2 < columns:
        quoted = any(map(has_quoted_cell, rows))
        form += f"; to keep columns 1 and 2: {two_columns_command(name, ('1', '2'), quoted=quoted)}"
    if usual <= 2:
        return DataError(message, form)
    wider = [row for row in rows if row.count("\t") > 1]
    quoted = False
    with contextlib.suppress(NmtError):
        quoted = any(map(has_quoted_cell, chain(wider, rest)))
    option = wanted.names_option and not quoted

    def hint_for(languages: Sequence[str]) -> str:
        hint = columns_hint(wider, name, languages, quoted=quoted, names_option=option)
        return f"{form}; {hint}"

    return other_format_error(message, hint_for)


def _missing_column_error(
    name: str, line: int, width: int, columns: tuple[int, int], more: str
) -> DataError:
    """The error for a line that lacks one of the columns of data.tsv_columns; more: what else."""
    return DataError(
        f"`{name}`, line {line}: {counted(width, 'column')}, but the source is in column "
        f"{columns[0]} and the target in column {columns[1]}{more}",
        "data.tsv_columns (`--tsv-columns`) is for all training tables: change it, or write those "
        "with other columns as source, tab, target in its place",
    )


def has_quoted_cell(row: str) -> bool:
    r"""Whether a cell of a row can only be one that a spreadsheet has quoted.

    Such a cell has doubled marks or goes on in the next row, or all cells are quoted. A sentence
    may be in quotation marks of its own.

    >>> [has_quoted_cell(row) for row in ('1\t"a ""b"" c"', 'a\t"b', '"1"\t"a"\t"b"')]
    [True, True, True]
    >>> has_quoted_cell('1\t"Who?" "I."\t"Wer?"'), has_quoted_cell('a "b"\tc')
    (False, False)
    """
    if '"' not in row:
        return False
    cells = row.split("\t")
    return all(len(cell) > 1 and cell[0] == '"' == cell[-1] for cell in cells) or any(
        cell[:1] == '"' and (cell.count('"') % 2 == 1 or '""' in cell[1:-1]) for cell in cells
    )


def sentence_columns(
    rows: Sequence[Sequence[str]],
) -> tuple[tuple[int, int], tuple[str, str]] | None:
    """The numbers of the two columns with most letters in two languages, and these languages."""
    width = max(map(len, rows), default=0)
    columns = [[row[index] for row in rows if index < len(row)] for index in range(width)]
    letters = [sum(map(str.isalpha, "".join(column))) for column in columns]
    others = [index for index in range(width) if not _repeats_itself(columns[index])]
    best = sorted(others if len(others) > 1 else range(width), key=lambda index: -letters[index])[
        :MOST_COLUMNS
    ]
    for pair in sorted(
        combinations(sorted(best), 2), key=lambda pair: -sum(letters[i] for i in pair)
    ):
        languages = differing_languages(columns[pair[0]], columns[pair[1]])
        if languages is not None:
            return (pair[0] + 1, pair[1] + 1), languages
    return None


def text_columns(rows: Sequence[Sequence[str]]) -> tuple[int, int] | None:
    """The numbers of the two columns with most letters; None if only one of them has text.

    Columns in which a few words are repeated are only taken where there are no others, and those
    of numbers and dates never.

    >>> text_columns([["1", "2020-01-03", "A dog.", "ok", "Ein Hund."]] * 2)
    (3, 5)
    >>> text_columns([["Number", "Text"], ["1", "One"], ["2", "Two"]])
    """
    body = rows[1:] or rows
    width = max(map(len, body), default=0)
    likeliest: list[tuple[bool, int, int]] = []
    for index in range(width):
        column = [row[index] for row in body if index < len(row)]
        text = "".join(column)
        letters = sum(map(str.isalpha, text))
        if letters > sum(map(str.isdecimal, text)):
            likeliest.append((_repeats_itself(column), -letters, index + 1))
    if len(likeliest) < 2:
        return None
    first, second = sorted(number for *_, number in sorted(likeliest)[:2])
    return first, second


def shown_column(
    rows: Sequence[Sequence[str]], column: int, more: str = "", *, languages: Sequence[str] = ()
) -> str:
    """The number of a column with its cell of the header, if there is one, and `more`.

    languages: as in `names_columns`.

    >>> rows = [["No", "English", "Xyz"], ["1", "Yes", "Ka"], ["2", "No", "Mi"]]
    >>> shown_column(rows, 3), shown_column(rows[1:], 3), shown_column(rows, 3, "row[2:3]")
    ('3 (Xyz)', '3', '3 (Xyz, row[2:3])')
    """
    has_names = column <= len(rows[0]) and names_columns(rows, languages)
    notes = ", ".join(filter(None, [rows[0][column - 1].strip() if has_names else "", more]))
    return f"{column} ({notes})" if notes else str(column)


def names_columns(rows: Sequence[Sequence[str]], languages: Sequence[str]) -> bool:
    """Whether the first row names the columns of the others.

    It does if one of its short cells is a language, names one of the `languages`, which are codes,
    or is the only text of its column.

    >>> names_columns([["1", "Ndara"], ["2", "ka mi"]], ()), names_columns([["No"], ["1"]], ())
    (False, True)
    """
    header, *body = [[cell.strip() for cell in row] for row in rows]
    has_names = False
    for index, cell in enumerate(header):
        below = [row[index] for row in body if index < len(row) and row[index]]
        is_only_text = has_letters(cell) and bool(below) and not any(map(has_letters, below))
        has_names |= is_only_text or _is_heading(cell)
        has_names |= any(is_named(cell, language) for language in languages)
    return has_names and all(len(cell) <= LONGEST_NAME for cell in header)


def _repeats_itself(column: Sequence[str]) -> bool:
    """Whether a few words make up a column, such as one of licences, names or dates.

    >>> _repeats_itself(["CC BY 2.0 (An)", "CC BY 2.0 (Bo)"]), _repeats_itself(["a b", "c d"])
    (True, False)
    """
    words = Counter(word for cell in column for word in cell.split())
    commonest = sum(count for _, count in words.most_common(COMMONEST) if count > 1)
    return commonest > MOST_REPEATED * words.total()


def is_header(src: str, tgt: str, codes: Sequence[str]) -> bool:
    """Return whether the first row of a table names its columns; codes: the language codes.

    >>> is_header("English", "French", ("en", "fr")), is_header("Yes", "Oui", ("en", "fr"))
    (True, False)
    >>> is_header("text_de", "Beispiel fr", ("de", "fr")), is_header("de-DE", "fr", ("de", "fr"))
    (True, True)

    Where one names a language of the pair, the other may name its own in any language:

    >>> is_header("Englisch", "Zürich German", ("en", "gsw")), is_header("a", "Wort", ("fr", "en"))
    (True, False)
    """
    cells = [cell.strip().strip('"') for cell in (src, tgt)]
    lowered = [cell.lower() for cell in cells]
    if lowered[0] == lowered[1]:
        return False
    languages = {base_code(code) for code in codes}
    named = [{code for code in languages if is_named(cell, code)} for cell in cells]
    if all(named) and named[0] != named[1]:
        return True
    if any(code_of_name(cell) in languages for cell in cells) and all(map(_NAME.fullmatch, cells)):
        return True
    others = {code.lower() for code in codes}
    return all(_is_heading(cell) or cell in others for cell in lowered)


def names_target_first(src: str, tgt: str, codes: tuple[str, str]) -> bool:
    """Whether the first row of a table names its columns, and the target's language first.

    >>> names_target_first("Züritüütsch", "English", ("en", "gsw"))
    True
    >>> names_target_first("en-GB", "gsw-CH", ("en", "gsw"))
    False
    """
    return is_header(src, tgt, codes) and in_given_order((src, tgt), (0, 1), codes) == (1, 0)


def _is_heading(cell: str) -> bool:
    return cell.lower() in _HEADINGS or code_of_name(cell) is not None


def header_note(name: str, text: str) -> str:
    """Return the warning that the table `name` of the `text` begins with a header.

    >>> header_note("v.tsv", "validation")
    'line 1 of `v.tsv` seems to name the columns, and counts as a validation pair: remove that line'
    """
    return (
        f"line 1 of `{name}` seems to name the columns, and counts as a {text} pair: remove that "
        "line"
    )


class BrokenCells:
    """Finds records of a TSV file that line breaks in quoted cells have spread over several rows.

    records: how many there were so far.
    """

    def __init__(self) -> None:
        """Start before the first row."""
        self.records = 0
        self._rows = 0
        self._has_bad_row = False
        self._width = 0

    def add(self, row: str, *, is_bad: bool) -> int:
        r"""Add the next row; return how many of the last rows are one record if it ends here.

        is_bad: whether the row does not have the columns of source and target. A row with fewer
        columns than the last whole one is part of a record, too. 0 is returned for all other rows.

        >>> cells = BrokenCells()
        >>> [cells.add(row, is_bad="\t" not in row) for row in ("a\tb", 'c\t"d', 'e"', "f\tg")]
        [0, 0, 2, 0]
        """
        is_odd = row.count('"') % 2 == 1
        columns = row.split("\t") if is_odd else []
        width = row.count("\t") + 1
        is_bad |= width < self._width
        if not is_odd and not is_bad and not self._rows:
            self._width = width
        if self._rows:
            self._rows += 1
            self._has_bad_row |= is_bad
            if not is_odd and self._rows < MOST_ROWS_OF_CELL:
                return 0
            rows, self._rows = self._rows, 0
            if self._has_bad_row and any(column.endswith('"') for column in columns):
                self.records += 1
                return rows
        if any(column.startswith('"') for column in columns):
            self._rows, self._has_bad_row = 1, is_bad
        return 0
