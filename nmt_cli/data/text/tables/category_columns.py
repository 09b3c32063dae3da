"""Columns of a few values that repeat, such as tiers, speakers and genres, and what they mean."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import NamedTuple

from nmt_cli.data.languages.labels import is_named
from nmt_cli.data.languages.words import share_of_language
from nmt_cli.data.text.formats.conversion import Columns, Conversion, Row, SourceFile
from nmt_cli.data.text.language_hints import FormatAdvice
from nmt_cli.data.text.letters import are_mostly_letters, has_letters
from nmt_cli.data.text.shell_commands import name_beside

# A column of fewer filled cells may repeat a few values by chance.
FEWEST_CELLS = 20
# Longer values are sentences, which may be repeated in a small text.
MOST_WORDS = 4
VALUES_SHOWN = 3
LONGEST_VALUE = 40
# Rows are paired by a conversion only if nearly all of them have a partner.
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


def row_per_text_advice(
    rows: Sequence[Sequence[str]], name: str, languages: Sequence[str], *, quoted: bool
) -> FormatAdvice | None:
    """What to do with a table that has the two languages below each other, in one column, or None.

    rows: some of the first ones; languages: the codes of source and target, or none; quoted:
    whether it has quoted cells, which the conversion does not read.
    """
    layout = _layout(rows)
    if layout is None:
        return None
    kind = "a table with one text in each row"
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
    conversion = None
    if not quoted and _are_paired(rows, layout):
        read = partial(_paired_rows, layout=layout)
        first = next(row[layout.category].strip() for row in rows if _is_of(row, layout, values))
        others = (value for value in values if value != first)
        conversion = Conversion(kind, read, (first, *others), tuple(values))
    sides = _sides(rows, layout, languages) if conversion else None
    if conversion is None or sides is None:
        return FormatAdvice(kind, f"{observation}: {export}", conversion)
    return FormatAdvice.of(
        replace(conversion, columns=sides),
        name,
        f"{observation}: {export}, or pair the rows that are otherwise the same, with `{sides[0]}` "
        f"as source and `{sides[1]}` as target",
        out=name_beside(name, "two-columns"),
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


def _are_paired(rows: Sequence[Sequence[str]], layout: _Layout) -> bool:
    """Whether nearly all rows are one of two that differ in their category and their text only.

    Such are two rows with the same times.
    """
    if len(layout.values) != 2:
        return False
    complete = sorted(_complete(rows, layout), key=lambda row: _key(row, layout))
    groups = [list(group) for _, group in groupby(complete, lambda row: _key(row, layout))]
    wanted = sorted(layout.values)
    pairs = [
        group for group in groups if sorted(row[layout.category].strip() for row in group) == wanted
    ]
    return 2 * len(pairs) >= LEAST_PAIRED * len(rows)


def _is_of(row: Sequence[str], layout: _Layout, values: Sequence[str]) -> bool:
    return len(row) > layout.category and row[layout.category].strip() in values


def _complete(rows: Sequence[Sequence[str]], layout: _Layout) -> list[Sequence[str]]:
    return [row for row in rows if len(row) > max(layout.text, layout.category)]


def _sides(
    rows: Sequence[Sequence[str]], layout: _Layout, languages: Sequence[str]
) -> tuple[str, str] | None:
    """The values of source and target, of two; None unless both are sure."""
    if len(languages) != 2:
        return None
    complete = _complete(rows, layout)
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


def _paired_rows(source: SourceFile, columns: Columns, layout: _Layout) -> Iterator[Row]:
    """The texts of two rows with the same other cells; further rows of a side are left out."""
    texts: dict[tuple[str, ...], dict[str, str]] = {}
    with source.text() as lines:
        for line in lines:
            row = line.rstrip("\n").split("\t")
            if _complete([row], layout):
                side = row[layout.category].strip()
                texts.setdefault(_key(row, layout), {}).setdefault(side, row[layout.text])
    for sides in texts.values():
        if all(column in sides for column in columns):
            yield [sides[column] for column in columns]
