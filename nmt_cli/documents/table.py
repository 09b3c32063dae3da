"""Tables of comma- or tab-separated values (CSV, TSV), of which one column is translated."""

import csv
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nmt_cli.data.markup.marked_text import MarkedText
from nmt_cli.documents.document import ReadOptions, message_notes
from nmt_cli.documents.encoding import BYTE_ORDER_MARK, decode
from nmt_cli.documents.field_texts import (
    TEXT_FIELD,
    FieldText,
    field_text,
    require_new_fields,
)
from nmt_cli.documents.text import lines_of
from nmt_cli.errors import DataError
from nmt_cli.plurals import counted

# In the order of preference where the header has as many cells with one as with another.
DELIMITERS = ",;\t"
# The marks that begin and end a quoted cell, with what is between them.
_QUOTED_CELL = re.compile(r'(?<![^,;\t])"(?:[^"]|"")*"')
_NEEDS_QUOTES = re.compile('["\r\n]')
# What messages of the module csv say, and what it means.
_REASONS = {
    "unexpected end of data": "a quotation mark that is never closed",
    "expected after": "text behind the closing quotation mark of a cell",
    "field larger": "a cell of more than {limit:,} characters",
}
_HINT = (
    "a cell that begins with a quotation mark ends with one, too, and has each one in between "
    'twice (""); correct it, or save the table again with a spreadsheet program'
)
# Of the names of columns, messages show this many, and this much of each.
_MOST_NAMES = 20
_LONGEST_NAME = 40


class _Record(NamedTuple):
    """A record as it is written, without the ending of its last line; its cells; its first line.

    cells: none for an empty line.
    """

    raw: str
    ending: str
    cells: list[str]
    number: int


class _WrittenRecord(NamedTuple):
    """A record as it is written, and what is added to it: new cells, or the text to translate."""

    raw: str
    ending: str
    added: FieldText | Sequence[str]


class TableDocument:
    """Records of cells; each gets two new cells at its end, its translation and the flags of it."""

    def __init__(self, data: bytes, options: ReadOptions) -> None:
        """Raises DataError if it has no column of this name, or the new ones already.

        So it does if a record has more or fewer cells than the header, or is not valid CSV.
        """
        self._options = options
        content, self._encoding = decode(data, options.name)
        self._mark = BYTE_ORDER_MARK if content.startswith(BYTE_ORDER_MARK) else ""
        content = content.removeprefix(self._mark)
        self._delimiter = _delimiter(content, options.name)
        self._rows: list[_WrittenRecord] = []
        self.segments: list[MarkedText] = []
        self.places: list[str] = []
        self._messages: list[str] = []
        column, count = -1, 0
        for record in self._records(content):
            if not record.cells:
                self._rows.append(_WrittenRecord(record.raw, record.ending, ()))
            elif column < 0:
                column, count = self._column(record), len(record.cells)
                names = options.translation_field, options.flags_field
                self._rows.append(_WrittenRecord(record.raw, record.ending, names))
            else:
                self._require_cells(record, count)
                self._add(record, record.cells[column])
        if column < 0:
            raise DataError(f"`{options.name}`: no text in it", "its first line names the columns")
        self.notes = message_notes(options.name, self._messages)

    def _records(self, content: str) -> Iterator[_Record]:
        """The records with the text that they were read from; raises DataError with the line."""
        taken: list[tuple[str, str]] = []
        reader = csv.reader(_taking(content, taken), delimiter=self._delimiter, strict=True)
        number = 1
        while True:
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise DataError(
                    f"`{self._options.name}`, line {number}: {_reason(error)}", _HINT
                ) from error
            if cells is None:
                return
            text, ending = "".join(map("".join, taken)), taken[-1][1]
            raw = text.removesuffix(ending)
            # A line of spaces is empty; one of tabs may be a record of empty cells.
            is_empty = not raw.strip() and self._delimiter not in raw
            yield _Record(raw, ending, [] if is_empty else cells, number)
            number += len(taken)
            taken.clear()

    def _column(self, header: _Record) -> int:
        """The index of the column that is translated."""
        field, names, number = self._options.field or TEXT_FIELD, header.cells, header.number
        if field not in names:
            option = (
                "`field` (beside `kind` or `file`)" if self._options.is_served else "--field NAME"
            )
            raise DataError(
                f"`{self._options.name}`, line {number}: no column `{field}`; "
                f"{'the columns are' if len(names) > 1 else 'the only column is'} {_list(names)}",
                f"name the column to translate: {option}; the first line must name the columns",
            )
        if names.count(field) > 1:
            raise DataError(
                f"`{self._options.name}`, line {number}: {names.count(field)} columns are named "
                f"`{field}`",
                "rename the others",
            )
        require_new_fields(names, "column", number, self._options)
        return names.index(field)

    def _require_cells(self, record: _Record, count: int) -> None:
        if len(record.cells) != count:
            raise DataError(
                f"`{self._options.name}`, line {record.number}: "
                f"{counted(len(record.cells), 'cell')}; the header has {count}",
                f"a cell that has a delimiter in it needs quotation marks around it; {_HINT}",
            )

    def _add(self, record: _Record, source: str) -> None:
        text = field_text(source, f"line {record.number}", len(self.segments))
        self._rows.append(_WrittenRecord(record.raw, record.ending, text))
        self.segments += text.template.segments
        self.places += text.template.places
        self._messages += text.template.messages

    def render(
        self, translated: Sequence[MarkedText], flags: Sequence[Sequence[str]] = ()
    ) -> bytes:
        """The table with the columns of translations and flags; all else is as it was."""
        parts = [self._mark]
        for row in self._rows:
            cells = self._added(row.added, translated, flags)
            parts += [row.raw, *(self._delimiter + self._cell(cell) for cell in cells), row.ending]
        return "".join(parts).encode(self._encoding, "replace")

    def _added(
        self,
        added: FieldText | Sequence[str],
        translated: Sequence[MarkedText],
        flags: Sequence[Sequence[str]],
    ) -> Sequence[str]:
        """The new cells of a record."""
        if not isinstance(added, FieldText):
            return added
        text, raised = added.translated(translated, flags)
        return text, " ".join(raised)

    def _cell(self, text: str) -> str:
        """A new cell as it is written: in quotation marks if it needs them."""
        if self._delimiter in text or _NEEDS_QUOTES.search(text):
            return '"' + text.replace('"', '""') + '"'
        return text


def _taking(content: str, taken: list[tuple[str, str]]) -> Iterator[str]:
    """The lines for the reader; those that it has read are put in `taken`, each with its ending."""
    for line, ending in lines_of(content):
        taken.append((line, ending))
        yield line + ending


def _delimiter(content: str, name: str) -> str:
    """What separates the cells, by the first record that is not empty and by the name of the file.

    >>> _delimiter('id;"a, b, c"\\n', "a.csv"), _delimiter("id\\ta, b\\n", "a.tsv")
    (';', '\\t')
    """
    header = content.lstrip(" \r\n")
    counts = {each: _count(header, each) for each in DELIMITERS}
    is_tsv = name.lower().endswith(".tsv")
    if (counts["\t"] or not any(counts.values())) and is_tsv:
        return "\t"
    return max(DELIMITERS, key=lambda each: counts[each])


def _count(content: str, delimiter: str) -> int:
    """How often the first record has this delimiter outside of quoted cells; 0 if invalid."""
    taken: list[tuple[str, str]] = []
    try:
        next(csv.reader(_taking(content, taken), delimiter=delimiter), None)
    except csv.Error:
        return 0
    header = "".join(map("".join, taken))
    return _QUOTED_CELL.sub("", header).count(delimiter)


def _reason(error: csv.Error) -> str:
    text = str(error)
    reason = next((reason for sign, reason in _REASONS.items() if sign in text), None)
    return f"not CSV: {text}" if reason is None else reason.format(limit=csv.field_size_limit())


def _list(names: Sequence[str]) -> str:
    """The names of columns, for a message."""
    parts = [" ".join(name[:_LONGEST_NAME].split()) for name in names]
    shown = [
        f"`{part}{'...' * (len(name) > _LONGEST_NAME)}`"
        for part, name in zip(parts, names, strict=True)
    ]
    more = len(names) - _MOST_NAMES
    return ", ".join(shown[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
