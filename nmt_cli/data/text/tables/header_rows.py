"""Recognises header rows of tables; says which columns to take from tables with more than two."""

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.languages.english_names import shown_language
from nmt_cli.data.languages.labels import in_given_order, is_named
from nmt_cli.data.languages.names import code_of_name
from nmt_cli.data.text.formats.separated_values import TABLE, tab_separated, two_columns_command
from nmt_cli.data.text.language_hints import FormatAdvice, other_format_error
from nmt_cli.data.text.letters import has_letters
from nmt_cli.data.text.tables.category_columns import row_per_text_advice
from nmt_cli.data.text.tables.column_choice import LONGEST_NAME, chosen_columns
from nmt_cli.data.text.tables.columns import TableColumns
from nmt_cli.errors import DataError, NmtError
from nmt_cli.plurals import counted

# A cell of more rows has a quotation mark that is never closed, not line breaks.
MOST_ROWS_OF_CELL = 10
_HEADINGS = {
    "source", "target", "src", "tgt", "original", "translation", "reference", "correction",
    "corrected", "mt", "machine translation", "post-edit", "post-edited", "postedited", "revised",
}  # fmt: skip
# What begins the fields of Toolbox, whose exports have it in the header.
_MARKER = re.compile(r"\\[a-z_]\w*")
# The name of a tier of ELAN: its type in up to four words, and its speaker. Addresses have dots.
_TIER = re.compile(r"\w+(?:[ -]\w+){0,3}@\w+(?:[ -]\w+)?")
# The name of a language that is not known: one word or two, and what is in brackets.
_NAME = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+)?(?: *\([^()]+\))?")


def columns_advice(
    rows: Sequence[str],
    name: str,
    languages: Sequence[str] = (),
    *,
    quoted: bool = False,
    names_option: bool = False,
) -> FormatAdvice:
    """Return how to take the two columns with the sentences from a table of more columns.

    rows: some of its lines; languages: the codes of source and target, if they are known; quoted:
    whether it has quoted cells; names_option: whether to name the option in place of a command. The
    columns are those of `chosen_columns`.

    >>> columns_advice(["No\\tEnglish\\tXyz", "1\\ta\\tb"], "p.en-de.tsv").hint.partition(" -o")[0]
    'to take column 2 (English) as source and column 3 (Xyz) as target, or others in their place: \
nmt convert p.en-de.tsv --columns 2,3'
    >>> columns_advice(["1\\t2\\tb"], "p.tsv").hint.partition(" -o")[0]
    'to take two of the columns, with the numbers of source and target for A and B: nmt convert \
p.tsv --columns A,B'
    """
    table = [row.split("\t") for row in rows]
    columns = "A", "B"
    which = "two of the columns, with the numbers of source and target for A and B"
    conversion = None
    if found := chosen_columns(table, languages):
        (first, second), recognised, notes = found
        columns = str(first), str(second)
        conversion = tab_separated(columns, unquote=quoted)
        if recognised:
            likely = " and ".join(map(shown_language, recognised))
            which = f"the columns {first} and {second}, which look like {likely}"
        else:
            src, tgt = (
                shown_column(table, column, note, languages=languages)
                for column, note in zip(found.columns, notes, strict=True)
            )
            which = f"column {src} as source and column {tgt} as target, or others in their place"
    elif advice := row_per_text_advice(table, name, languages, quoted=quoted):
        return advice
    command = f"--tsv-columns {','.join(columns)}"
    if not names_option:
        command = two_columns_command(name, columns, quoted=quoted)
    return FormatAdvice(TABLE, f"to take {which}: {command}", conversion)


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

    def advice_for(languages: Sequence[str]) -> FormatAdvice:
        advice = columns_advice(wider, name, languages, quoted=quoted, names_option=option)
        return advice._replace(hint=f"{form}; {advice.hint}")

    return other_format_error(message, advice_for)


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


def is_header(src: str, tgt: str, codes: Sequence[str]) -> bool:
    """Return whether the first row of a table names its columns; codes: the language codes.

    >>> is_header("English", "French", ("en", "fr")), is_header("Yes", "Oui", ("en", "fr"))
    (True, False)
    >>> is_header("text_de", "Beispiel fr", ("de", "fr")), is_header("en-US", "zul", ("en", "zu"))
    (True, True)

    >>> is_header("\\\\ft", "\\\\tx", ("en", "gsw")), is_header("\\\\ft", "Ja", ("en", "gsw"))
    (True, False)
    >>> is_header("English-ft@Ama", "Kwaŋa-tx@Ama", ("en", "kwa"))
    True

    Where one names a language of the pair, the other may name its own in any language:

    >>> is_header("Englisch", "Zürich German", ("en", "gsw")), is_header("a", "Wort", ("fr", "en"))
    (True, False)
    """
    cells = _unquoted(src, tgt)
    lowered = [cell.lower() for cell in cells]
    if lowered[0] == lowered[1]:
        return False
    languages = {base_code(code) for code in codes}
    named = [{code for code in languages if is_named(cell, code)} for cell in cells]
    if all(named) and len(languages) > 1:
        # The name of a language and its translation are a pair.
        return named[0] != named[1]
    if any(code_of_name(cell) in languages for cell in cells) and all(map(_NAME.fullmatch, cells)):
        return True
    if any(all(map(names.fullmatch, cells)) for names in (_MARKER, _TIER)):
        return True
    others = {code.lower() for code in codes}
    return all(_is_heading(cell) or cell in others for cell in lowered)


def first_row_of_text(pairs: Iterable[tuple[str, str]]) -> int | None:
    """The index of the first pair of a table with text on both sides; None if there is none.

    Only this row may be its header. The lines above a table, such as its caption, have an empty
    side.

    >>> first_row_of_text([("Session 12", ""), ("", " "), ("English", "French")])
    2
    """
    return next((index for index, pair in enumerate(pairs) if all(map(str.strip, pair))), None)


def header_row(pairs: Sequence[tuple[str, str]], codes: Sequence[str]) -> int | None:
    """The index of the pair of a table that names its columns, or None; codes: as in `is_header`.

    >>> header_row([("Session 12", ""), ("English", "French"), ("Yes", "Oui")], ("en", "fr"))
    1
    """
    row = first_row_of_text(pairs)
    return row if row is not None and is_header(*pairs[row], codes) else None


def names_target_first(src: str, tgt: str, codes: tuple[str, str]) -> bool:
    """Whether the first row of a table names its columns, and the target's language first.

    >>> names_target_first("Züritüütsch", "English", ("en", "gsw"))
    True
    >>> names_target_first("en-GB", "gsw-CH", ("en", "gsw"))
    False
    """
    return is_header(src, tgt, codes) and in_given_order(_unquoted(src, tgt), (0, 1), codes) == (
        1,
        0,
    )


def _unquoted(*cells: str) -> list[str]:
    """Cells of a header without the quotation marks of a spreadsheet."""
    return [cell.strip().strip('"') for cell in cells]


def _is_heading(cell: str) -> bool:
    return cell.lower() in _HEADINGS or code_of_name(cell) is not None


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
