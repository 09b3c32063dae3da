"""Recognises HTML pages, and reads their tables."""

from collections.abc import Iterator
from html.parser import HTMLParser

from nmt_cli.data.text.formats.conversion import Columns, Conversion, Row, SourceFile
from nmt_cli.data.text.language_hints import FormatAdvice


def is_html(line: str) -> bool:
    r"""Whether a file of pairs that begins with `line` is HTML, a whole page or only a table.

    >>> is_html("<!DOCTYPE html>"), is_html('<table class="a">'), is_html("<html>\t<html>")
    (True, True, False)
    """
    start = line.lstrip("\ufeff ").lower()
    return "\t" not in line and start.startswith(("<!doctype html", "<html", "<table"))


def html_advice(name: str) -> FormatAdvice:
    """How to convert the tables of an HTML page; cells become columns."""
    conversion = Conversion("HTML", _table_rows)
    return FormatAdvice.of(
        conversion, name, "convert its tables, a row to a line and a cell to a column"
    )


def _table_rows(source: SourceFile, _: Columns) -> Iterator[Row]:
    tables = _Tables()
    with source.text() as text:
        for line in text:
            tables.feed(line)
            yield from tables.take()
    tables.close()
    tables.end_row()
    yield from tables.take()


class _Tables(HTMLParser):
    """Collects the rows of tables. Rows and cells need no end tags in HTML."""

    def __init__(self) -> None:
        super().__init__()
        self._row: list[str] = []
        self._rows: list[list[str]] = []

    def take(self) -> list[list[str]]:
        """The rows that are complete, once."""
        rows, self._rows = self._rows, []
        return rows

    def end_row(self) -> None:
        """The row is complete."""
        if self._row:
            self._rows.append(self._row)
        self._row = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in ("tr", "table"):
            self.end_row()
        elif tag in ("td", "th"):
            self._row.append("")
        elif tag in ("br", "p", "div", "li") and self._row:
            self._row[-1] += "\n"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("tr", "table"):
            self.end_row()

    def handle_data(self, data: str) -> None:
        if self._row:
            self._row[-1] += data
