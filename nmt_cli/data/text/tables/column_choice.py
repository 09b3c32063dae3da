"""Chooses the columns of source and target in tables with more than two."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.languages.english_names import english_name
from nmt_cli.data.languages.labels import in_given_order, place_of_language
from nmt_cli.data.languages.words import (
    differing_languages,
    is_on_other_side,
    known_language,
    share_of_language,
)
from nmt_cli.data.text.letters import are_mostly_letters, count_letters
from nmt_cli.data.text.tables.category_columns import columns_of, without_categories

# Of a table with more columns only those with most letters are examined.
MOST_COLUMNS = 6
# In sentences, the ten commonest words are a quarter of all.
COMMONEST, MOST_REPEATED = 10, 0.6
# A header has no longer cell.
LONGEST_NAME = 40
# Sentences of a corpus are repeated less than this.
LEAST_OWN = 0.5
# A column has text if so large a share of its cells that are not empty have.
LEAST_TEXT = 0.5


class ChosenColumns(NamedTuple):
    """The columns of source and target that a hint proposes.

    columns: their numbers, from 1; recognised: the languages of their text if both are clear;
    notes: what a hint says of each one, "" for nothing.
    """

    columns: tuple[int, int]
    recognised: tuple[str, str] | None = None
    notes: tuple[str, str] = ("", "")


def chosen_columns(
    rows: Sequence[Sequence[str]], languages: Sequence[str] = ()
) -> ChosenColumns | None:
    """The columns of source and target; None if fewer than two have text.

    The columns are those in two languages, or else those with most letters; those of a few values
    that repeat, such as speakers, are no text. Where the header names the given languages, or one
    of them is recognised in the text, their order is that of the given ones. Where only one of
    them is found, the other side is the first column with other text.

    >>> rows = [["No", "Ndara", "English"], ["1", "Ka mi to lo", "The dog so"]]
    >>> chosen_columns(rows).columns, chosen_columns(rows, ("en", "xnd")).columns
    ((2, 3), (3, 2))
    >>> rows = [["Mubu", "Parse", "Notes", "English"], ["Ka mi to", "ka-mi-to", "so", "The dog"]]
    >>> chosen_columns(rows, ("en", "xnd"))
    ChosenColumns(columns=(4, 1), recognised=None, notes=('', 'a guess'))
    """
    rows = without_categories(rows)
    columns, recognised = sentence_columns(rows) or (text_columns(rows), None)
    if columns is None:
        return None
    if set(recognised or ()) != set(map(base_code, languages)):
        beside = _beside_only_language(rows, languages)
        if beside and not (recognised and set(beside.columns) == set(columns)):
            return beside
    if recognised and in_given_order(recognised, (0, 1), languages) == (1, 0):
        columns, recognised = columns[::-1], recognised[::-1]
    if not recognised and _are_reversed(rows, columns, languages):
        columns = columns[::-1]
    if header := _header(rows):
        src, tgt = in_given_order(header, (columns[0] - 1, columns[1] - 1), languages)
        ordered = src + 1, tgt + 1
        if recognised and ordered != columns:
            recognised = recognised[::-1] if ordered == columns[::-1] else None
        columns = ordered
    return ChosenColumns(columns, recognised, _language_notes(rows, columns, languages))


def _header(rows: Sequence[Sequence[str]]) -> Sequence[str]:
    """The first row if it may name the columns; it has no longer cell."""
    return rows[0] if all(len(cell) <= LONGEST_NAME for cell in rows[0]) else ()


def _beside_only_language(
    rows: Sequence[Sequence[str]], languages: Sequence[str]
) -> ChosenColumns | None:
    """The column of the only one of the languages that is found, and the first of other text.

    None if no language is found or both are. Reference numbers are no text.
    """
    columns = columns_of(rows[1:] or rows)
    header = _header(rows)
    places = [_column_in_language(header, columns, language) for language in languages]
    known = [place for place in places if place is not None]
    if len(known) != 1:
        return None
    only = known[0]
    language = languages[places.index(only)]
    others = [
        index
        for index, cells in enumerate(columns)
        if index != only and are_mostly_letters(cells) and share_of_language(cells, language) == 0
    ]
    if not others:
        return None
    # Names, identifiers and text in other known languages are the last choice.
    likely = [index for index in others if not _is_unlikely(columns[index])]
    other = likely[0] if likely else max(others, key=lambda index: count_letters(columns[index]))
    guess = "a guess" if len(likely) > 1 else ""
    is_named = only == place_of_language(header, (only, other), language)
    likeness = "" if is_named else f"looks like {english_name(base_code(language))}"
    if places[0] is None:
        return ChosenColumns((other + 1, only + 1), notes=(guess, likeness))
    return ChosenColumns((only + 1, other + 1), notes=(likeness, guess))


def _column_in_language(
    header: Sequence[str], columns: Sequence[Sequence[str]], language: str
) -> int | None:
    """The index of the column that the header names as the language, or whose text is in it.

    None if neither is clear. Only columns with more letters than digits count.
    """
    with_text = [index for index, cells in enumerate(columns) if are_mostly_letters(cells)]
    named = place_of_language(header, (-1, -1), language) if header else None
    if named in with_text:
        return named
    shares = {index: share_of_language(columns[index], language) for index in with_text}
    in_language = [index for index in with_text if shares[index] > 0]
    # Initials and short notes may be words of the language, too: `AN`, `IN`, `check this with her`.
    varied = [index for index in in_language if _has_own_cells(columns[index])]
    # Of an English gloss and a translation, the latter usually comes last.
    return max(varied or in_language, key=lambda index: (shares[index], index), default=None)


def _is_unlikely(cells: Sequence[str]) -> bool:
    return not is_text(cells) or _repeats_itself(cells) or known_language(cells) is not None


def is_text(cells: Sequence[str]) -> bool:
    """Whether most cells have words, not numbers, dates or identifiers such as `s12`."""
    filled = [cell for cell in cells if cell]
    texts = [cell for cell in filled if _has_words(cell)]
    return bool(filled) and len(texts) >= LEAST_TEXT * len(filled)


def _has_words(cell: str) -> bool:
    return are_mostly_letters([cell]) and (" " in cell or not any(map(str.isdecimal, cell)))


def _are_reversed(
    rows: Sequence[Sequence[str]], columns: tuple[int, int], languages: Sequence[str]
) -> bool:
    """Whether one of the languages is known, and is clearly that of the other one's column."""
    return any(_language_notes(rows, columns[::-1], languages))


def _language_notes(
    rows: Sequence[Sequence[str]], columns: tuple[int, int], languages: Sequence[str]
) -> tuple[str, str]:
    """What hints say of the two columns: that they look like the languages; "" if unsure."""
    if not languages:
        return "", ""
    src, tgt = ([row[column - 1] for row in rows if column <= len(row)] for column in columns)
    first, second = (
        f"looks like {english_name(base_code(code))}" if is_on_other_side(*sides, code) else ""
        for code, sides in zip(languages, ((tgt, src), (src, tgt)), strict=True)
    )
    return first, second


def sentence_columns(
    rows: Sequence[Sequence[str]],
) -> tuple[tuple[int, int], tuple[str, str]] | None:
    """The numbers of the two columns with most letters in two languages, and these languages."""
    width = max(map(len, rows), default=0)
    columns = [[row[index] for row in rows if index < len(row)] for index in range(width)]
    letters = [count_letters(column) for column in columns]
    # Times such as `2026-01-02T10:30Z` have letters that are words of some languages.
    with_text = [index for index in range(width) if are_mostly_letters(columns[index])]
    others = [index for index in with_text if not _repeats_itself(columns[index])]
    best = sorted(others if len(others) > 1 else with_text, key=lambda index: -letters[index])[
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
        if are_mostly_letters(column):
            likeliest.append((_repeats_itself(column), -count_letters(column), index + 1))
    if len(likeliest) < 2:
        return None
    first, second = sorted(number for *_, number in sorted(likeliest)[:2])
    return first, second


def _has_own_cells(cells: Sequence[str]) -> bool:
    """Whether most cells that are not empty differ from all others."""
    counts = Counter(cell for cell in cells if cell)
    return sum(count == 1 for count in counts.values()) > LEAST_OWN * counts.total()


def _repeats_itself(column: Sequence[str]) -> bool:
    """Whether a few words make up a column, such as one of licences, names or dates.

    >>> _repeats_itself(["CC BY 2.0 (An)", "CC BY 2.0 (Bo)"]), _repeats_itself(["a b", "c d"])
    (True, False)
    """
    words = Counter(word for cell in column for word in cell.split())
    commonest = sum(count for _, count in words.most_common(COMMONEST) if count > 1)
    return commonest > MOST_REPEATED * words.total()
