"""Finds the column of a table whose text is to be translated."""

from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.data.languages.labels import place_of
from nmt_cli.data.languages.words import is_on_other_side
from nmt_cli.data.text.tables.column_choice import is_text
from nmt_cli.data.text.tables.header_rows import names_columns, usual_columns


class SourceColumn(NamedTuple):
    """A column, which counts from 1; name: its cell of the header, "" if there is no header."""

    number: int
    name: str = ""


def source_column(rows: Sequence[str], language: str) -> SourceColumn:
    r"""The column in the source language, or else the first one with text.

    rows: the first ones of the table; language: the code of the source language. A column is taken
    for its language if the header names it, or if it is clear from the text. Numbers and
    identifiers are no text.

    >>> rows = ["id\tgsw\ten", "1\ts Huus\tthe house", "2\tdr Hund\tthe dog"]
    >>> source_column(rows, "en"), source_column(rows[1:], "en").number
    (SourceColumn(number=3, name='en'), 2)
    """
    width = usual_columns(rows) if rows else 1
    table = [row.split("\t") for row in rows if row.count("\t") + 1 == width]
    header = table[0] if len(table) > 1 and names_columns(table, [language]) else []
    body = table[1:] if header else table
    columns = [[row[index].strip() for row in body] for index in range(width)]
    named = place_of(header, language)
    with_text = [index for index, cells in enumerate(columns) if is_text(cells)]
    in_language = [
        index
        for index in with_text
        if all(
            is_on_other_side(columns[other], columns[index], language)
            for other in with_text
            if other != index
        )
    ]
    chosen = [*[index for index in with_text if index == named], *in_language, *with_text, 0][0]
    return SourceColumn(chosen + 1, header[chosen].strip() if header else "")
