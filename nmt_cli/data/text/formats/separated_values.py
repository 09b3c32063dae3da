"""Reads tables whose columns are separated by commas, semicolons, tabs or other marks."""

import contextlib
import csv
import re
from collections.abc import Iterator
from functools import partial
from itertools import islice

from nmt_cli.data.text.formats.conversion import (
    Columns,
    Conversion,
    Row,
    SourceFile,
    as_line,
    convert_command,
    first_numbers,
)
from nmt_cli.data.text.shell_commands import name_beside
from nmt_cli.errors import DataError

SEPARATORS = {";": "semicolons", ",": "commas", "\t": "tabs"}
TABLE = "a table of tab-separated values"
LARGEST_CELL = 1 << 30
# A cell of more lines has a quotation mark that is not closed: it would swallow the rows up to the
# next mark.
MOST_LINES = 10
# A quoted cell has no tabs; what precedes and follows it ends a cell or a row.
_QUOTED_CELL = re.compile(r'(?<![^\t\n])"((?:[^"\t]|"")*)"(?![^\t\n])')


def quoted_table(separator: str, columns: Columns = ("1", "2"), *, skipped: int = 0) -> Conversion:
    """The conversion of a table as spreadsheets write it, with cells that may be quoted.

    skipped: how many lines before the table are left out.
    """
    read = partial(_quoted_rows, separator=separator, skipped=skipped)
    return Conversion(f"values separated by {SEPARATORS[separator]}", read, columns)


def tab_separated(columns: Columns | None, *, unquote: bool) -> Conversion:
    """The conversion of a table with tabs; columns: None for all columns as they are.

    unquote: whether cells in quotation marks are those of a spreadsheet.
    """
    return Conversion(TABLE, partial(_rows_with_tabs, unquote=unquote, whole=not columns), columns)


def unquote_command(name: str) -> str:
    """Return the command that unquotes the cells of a TSV file that a spreadsheet has quoted.

    Line breaks in these cells become spaces. Other quotation marks are kept.

    >>> unquote_command("a.tsv")
    'nmt convert a.tsv --unquote -o a.converted.tsv'
    """
    return convert_command(name, name_beside(name, "converted"), unquote=True)


def two_columns_command(name: str, columns: Columns, *, quoted: bool) -> str:
    """Return the command that takes two columns of a TSV file, which count from 1.

    quoted: whether it has cells that a spreadsheet has quoted, which are unquoted before.

    >>> two_columns_command("a.tsv", ("3", "2"), quoted=False)
    'nmt convert a.tsv --columns 3,2 -o a.two-columns.tsv'
    """
    out = name_beside(name, "two-columns")
    return convert_command(name, out, columns=",".join(columns), unquote=quoted)


def marked_pairs(mark: str) -> Conversion:
    """The conversion of lines with this mark between source and target."""
    return Conversion(f"pairs with `{mark}` between source and target", partial(_marked, mark=mark))


def _quoted_rows(
    source: SourceFile, columns: Columns, separator: str, skipped: int
) -> Iterator[Row]:
    wanted = _numbers(columns)
    broken, end = [], skipped
    with source.text() as text, _large_cells():
        table = csv.reader(islice(text, skipped, None), delimiter=separator)
        for row in _parsed(table, source):
            begin, end = end + 1, table.line_num + skipped
            if end - begin >= MOST_LINES:
                raise DataError(
                    f"`{source.name}`: the row of line {begin:,} goes on to line {end:,}",
                    "does a cell begin with a quotation mark that is not closed? Remove the mark, "
                    "or write it three times at the beginning and once at the end of the cell",
                )
            if begin < end:
                broken.append(begin)
            yield _cells(row, wanted)
    if broken:
        source.notes.append(
            f"rows with line breaks in cells, which became spaces: {first_numbers(broken)}"
        )


@contextlib.contextmanager
def _large_cells() -> Iterator[None]:
    """Let cells be large; the limit is that of the whole process."""
    usual = csv.field_size_limit(LARGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(usual)


def _parsed(table: Iterator[list[str]], source: SourceFile) -> Iterator[list[str]]:
    try:
        yield from table
    except csv.Error as error:
        raise DataError(f"`{source.name}` cannot be read as a table: {error}") from error


def _rows_with_tabs(
    source: SourceFile, columns: Columns, *, unquote: bool, whole: bool
) -> Iterator[Row]:
    wanted = _numbers(columns)
    with source.text() as text:
        lines = iter(text)
        if unquote:
            joined = _QUOTED_CELL.sub(lambda cell: as_line(cell[1].replace('""', '"')), text.read())
            lines = (line for line in joined.removesuffix("\n").split("\n"))
        for line in lines:
            row = line.rstrip("\n").split("\t")
            yield row if whole else _cells(row, wanted)


def _marked(source: SourceFile, _: Columns, mark: str) -> Iterator[Row]:
    with source.text() as text:
        for line in text:
            yield line.rstrip("\n").split(f" {mark} ")[:2]


def _cells(row: Row, columns: tuple[int, ...]) -> Row:
    """The cells of these columns; a row that ends too early has fewer."""
    return [row[column - 1] for column in columns if column <= len(row)]


def _numbers(columns: Columns) -> tuple[int, ...]:
    if not all(column.isdecimal() and int(column) for column in columns):
        raise DataError(
            f"--columns {','.join(columns)}: the numbers of columns are needed, from 1",
            "such as --columns 2,3",
        )
    return tuple(map(int, columns))
