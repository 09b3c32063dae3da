"""Columns of a few values that repeat, such as tiers, speakers and genres, and what they mean."""

import shlex
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from nmt_cli.data.languages.labels import is_named
from nmt_cli.data.languages.words import share_of_language
from nmt_cli.data.text.letters import are_mostly_letters, has_letters
from nmt_cli.data.text.shell_commands import copy_command

# A column of fewer filled cells may repeat a few values by chance.
FEWEST_CELLS = 20
# Longer values are sentences, which may be repeated in a small text.
MOST_WORDS = 4
VALUES_SHOWN = 3
LONGEST_VALUE = 40
# Rows are paired by a command only if nearly all of them have a partner.
LEAST_PAIRED = 0.9


def category_values(cells: Iterable[str]) -> list[str]:
    """The different values of a column that has few of them, in their order; none for others.

    They are at most as many as the square root of the number of cells, 44 of 2,000, and have at
    most four words each.

    >>> category_values(["tx@Ama", "ft@Ama"] * 20), category_values(["tx", "ft"])
    (['tx@Ama', 'ft@Ama'], [])
    """
    filled = [cell.strip() for cell in cells if cell.strip()]
    values = list(dict.fromkeys(filled))
    if len(filled) < FEWEST_CELLS or len(values) ** 2 > len(filled):
        return []
    return values if all(len(value.split()) <= MOST_WORDS for value in values) else []


def without_categories(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The rows with empty cells in the columns of categories, which are never taken for text."""
    columns = columns_of(rows[1:])
    categories = {index for index, cells in enumerate(columns) if category_values(cells)}
    return [["" if index in categories else cell for index, cell in enumerate(row)] for row in rows]


def shown_values(values: Sequence[str]) -> str:
    """The first values of a category for a message.

    >>> shown_values(["a", "b", "c", "d"])
    '`a`, `b`, `c`, ...'
    """
    shown = ", ".join(f"`{value[:LONGEST_VALUE]}`" for value in values[:VALUES_SHOWN])
    return f"{shown}, ..." if len(values) > VALUES_SHOWN else shown


class _Layout(NamedTuple):
    """The only column with text of a table, and the one that says what the text of a row is."""

    text: int
    category: int
    values: list[str]


def row_per_text_hint(
    rows: Sequence[Sequence[str]], name: str, languages: Sequence[str], *, quoted: bool
) -> str:
    """What to do with a table that has the two languages below each other, in one column; or "".

    rows: some of the first ones; languages: the codes of source and target, or none; quoted:
    whether it has quoted cells, which the command does not read.
    """
    layout = _layout(rows)
    if layout is None:
        return ""
    values = layout.values
    count = f"{len(values)} different values" if len(values) > 1 else "one value"
    observation = (
        f"only column {layout.text + 1} has sentences, and column {layout.category + 1} has {count}"
        f" ({shown_values(values)}), so each row seems to have one annotation or one language"
    )
    export = (
        "export the table with a column for each of them (in ELAN: Export As > Tab-delimited Text, "
        "with `Separate column for each tier`)"
    )
    sides = None if quoted else _sides(rows, layout, languages)
    if sides is None:
        return f"{observation}: {export}"
    return (
        f"{observation}: {export}, or pair the rows that are otherwise the same, with `{sides[0]}` "
        f"as source and `{sides[1]}` as target: {_pairing_command(rows, layout, sides, name)}"
    )


def columns_of(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The cells of each column, without spaces at their ends; rows may lack the last ones."""
    width = max(map(len, rows), default=0)
    return [[row[index].strip() for row in rows if index < len(row)] for index in range(width)]


def _layout(rows: Sequence[Sequence[str]]) -> _Layout | None:
    """The columns of a table with one text in a row; None for other tables."""
    columns = columns_of(rows[1:])
    values = [category_values(cells) for cells in columns]
    categories = [
        index for index, column_values in enumerate(values) if any(map(has_letters, column_values))
    ]
    texts = [
        index
        for index, cells in enumerate(columns)
        if not values[index] and are_mostly_letters(cells)
    ]
    if len(texts) != 1 or not categories:
        return None
    # Of several, such as tier and speaker, that of two values tells the sides apart.
    category = min(categories, key=lambda index: (len(values[index]) != 2, index))
    return _Layout(texts[0], category, values[category])


def _sides(
    rows: Sequence[Sequence[str]], layout: _Layout, languages: Sequence[str]
) -> tuple[str, str] | None:
    """The values of source and target; None unless both are sure, and nearly all rows have a pair.

    Two rows are a pair if only their category and their text differ, as with the same times.
    """
    if len(layout.values) != 2 or len(languages) != 2:
        return None
    complete = [row for row in rows if len(row) > max(layout[:2])]
    complete.sort(key=lambda row: _key(row, layout))
    groups = [list(group) for _, group in groupby(complete, lambda row: _key(row, layout))]
    wanted = sorted(layout.values)
    pairs = [
        group for group in groups if sorted(row[layout.category].strip() for row in group) == wanted
    ]
    if 2 * len(pairs) < LEAST_PAIRED * len(rows):
        return None
    texts = [
        [row[layout.text] for row in complete if row[layout.category].strip() == value]
        for value in layout.values
    ]
    src, tgt = (_index_of_language(layout.values, texts, language) for language in languages)
    if src is None:
        if tgt is None:
            return None
        src = 1 - tgt
    return layout.values[src], layout.values[1 - src]


def _index_of_language(
    values: Sequence[str], texts: Sequence[Sequence[str]], language: str
) -> int | None:
    """The index of the value that names the language, or whose text is in it; None if unsure."""
    for matches in (
        [is_named(value, language) for value in values],
        [share_of_language(lines, language) > 0 for lines in texts],
    ):
        if sum(matches) == 1:
            return matches.index(True)
    return None


def _key(row: Sequence[str], layout: _Layout) -> tuple[str, ...]:
    """The cells of a row but for its category and its text, which are equal in rows of a pair."""
    return tuple(cell for index, cell in enumerate(row) if index not in layout[:2])


def _pairing_command(
    rows: Sequence[Sequence[str]], layout: _Layout, sides: tuple[str, str], name: str
) -> str:
    """The command that writes the texts of two rows with the same other cells as one row."""
    width = max(map(len, rows))
    others = [f"${index + 1}" for index in range(width) if index not in layout[:2]]
    key, text, category = " FS ".join(others), f"${layout.text + 1}", f"${layout.category + 1}"
    src, tgt = (side.replace("\\", "\\\\").replace('"', '\\"') for side in sides)
    program = (
        f'{{sub(/\\r$/, ""); key = {key}}} '
        f'{category} == "{src}" && !(key in src) {{src[key] = {text}; keys[++count] = key}} '
        f'{category} == "{tgt}" && !(key in tgt) {{tgt[key] = {text}}} '
        "END {for (i = 1; i <= count; i++) if (keys[i] in tgt) print src[keys[i]], tgt[keys[i]]}"
    )
    return copy_command(
        shlex.join(["awk", "-F", r"\t", "-v", r"OFS=\t", program]), name, "two-columns"
    )
