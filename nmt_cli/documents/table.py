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
    """A record of a table.

    raw: as it is written, without `ending`, that of its last line; cells: none for an empty line;
    number: of its first line.
    """

    raw: str
    ending: str
    cells: list[str]
    number: int


class _CellSlot(NamedTuple):
    """Where a record gets a cell: the characters that it replaces, none for one that is new."""

    begin: int
    end: int
    is_new: bool


class _WrittenRecord(NamedTuple):
    """A record as it is written, and what goes into its slots: cells, or the text to translate."""

    raw: str
    ending: str
    added: FieldText | Sequence[str]
    slots: Sequence[_CellSlot] = ()


class _Columns(NamedTuple):
    """The index of the column to translate, and of those that exist for translation and flags.

    translation, flags: None for a new column.
    """

    source: int
    translation: int | None
    flags: int | None

    def slots(self, raw: str, delimiter: str) -> tuple[_CellSlot, _CellSlot]:
        """Where a record gets its translation, if new behind its text, and its flags."""
        cells = _cell_spans(raw, delimiter)
        return (
            _new_slot(cells[self.source][1])
            if self.translation is None
            else _CellSlot(*cells[self.translation], is_new=False),
            _new_slot(len(raw))
            if self.flags is None
            else _CellSlot(*cells[self.flags], is_new=False),
        )


class TableDocument:
    """Records of cells; each gets its translation behind its text, and its flags at the end.

    Where columns for these exist, and are empty, they are filled.
    """

    def __init__(self, data: bytes, options: ReadOptions) -> None:
        """Raises DataError if there is no column to translate, or one to fill is not empty.

        Also if a record has more or fewer cells than the header, or is not valid CSV.
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
        columns, header = None, None
        for record in self._records(content):
            if not record.cells:
                self._rows.append(_WrittenRecord(record.raw, record.ending, ()))
            elif columns is None or header is None:
                columns, header = self._columns(record), record
                self._rows.append(self._written_header(record, columns))
            else:
                self._require_cells(record, len(header.cells))
                self._require_empty(record, columns, header)
                self._add(record, columns)
        if columns is None:
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

    def _columns(self, header: _Record) -> _Columns:
        """The columns that are translated and filled."""
        field, names, number = self._options.field or TEXT_FIELD, header.cells, header.number
        if field not in names:
            option = (
                "`field` (beside `kind` or `file`)" if self._options.is_served else "--field NAME"
            )
            raise DataError(
                f"`{self._options.name}`, line {number}: no column `{field}`; "
                f"{'the columns are' if len(names) > 1 else 'the only column is'} {_quoted(names)}",
                f"name the column to translate: {option}; the first line must name the columns",
            )
        if names.count(field) > 1:
            raise DataError(
                f"`{self._options.name}`, line {number}: {names.count(field)} columns are named "
                f"`{field}`",
                "rename the others",
            )
        new = self._options.translation_field, self._options.flags_field
        # The source is not replaced, and of two columns of a name none is chosen.
        taken = [name for name in new if name == field or names.count(name) > 1]
        require_new_fields(taken, "column", number, self._options)
        return _Columns(
            names.index(field), *(names.index(name) if name in names else None for name in new)
        )

    def _written_header(self, header: _Record, columns: _Columns) -> _WrittenRecord:
        """The header with the names of the new columns."""
        names = self._options.translation_field, self._options.flags_field
        slots = columns.slots(header.raw, self._delimiter)
        new = [(name, slot) for name, slot in zip(names, slots, strict=True) if slot.is_new]
        return _WrittenRecord(
            header.raw, header.ending, [name for name, _ in new], [slot for _, slot in new]
        )

    def _require_empty(self, record: _Record, columns: _Columns, header: _Record) -> None:
        """Raise DataError if a record has something in a cell that is to be filled."""
        filled = [index for index in columns[1:] if index is not None]
        names = [header.cells[index] for index in filled if record.cells[index].strip()]
        require_new_fields(names, "column", header.number, self._options)

    def _require_cells(self, record: _Record, count: int) -> None:
        if len(record.cells) != count:
            raise DataError(
                f"`{self._options.name}`, line {record.number}: "
                f"{counted(len(record.cells), 'cell')}; the header has {count}",
                f"a cell that has a delimiter in it needs quotation marks around it; {_HINT}",
            )

    def _add(self, record: _Record, columns: _Columns) -> None:
        source = record.cells[columns.source]
        text = field_text(source, f"line {record.number}", len(self.segments))
        slots = columns.slots(record.raw, self._delimiter)
        self._rows.append(_WrittenRecord(record.raw, record.ending, text, slots))
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
            done = 0
            for slot, cell in sorted(
                zip(row.slots, cells, strict=True), key=lambda pair: pair[0].begin
            ):
                before = self._delimiter if slot.is_new else ""
                parts += [row.raw[done : slot.begin], before, self._cell(cell)]
                done = slot.end
            parts += [row.raw[done:], row.ending]
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
        text, text_flags = added.translated(translated, flags)
        return text, " ".join(text_flags)

    def _cell(self, text: str) -> str:
        """A new cell as it is written: in quotation marks if it needs them."""
        if self._delimiter in text or _NEEDS_QUOTES.search(text):
            return '"' + text.replace('"', '""') + '"'
        return text


def _new_slot(position: int) -> _CellSlot:
    return _CellSlot(position, position, is_new=True)


def _cell_spans(raw: str, delimiter: str) -> list[tuple[int, int]]:
    """Where each cell of a valid record is written.

    >>> _cell_spans('a,"b, c",', ",")
    [(0, 1), (2, 8), (9, 9)]
    """
    # Quotation marks within a cell that does not begin with one have no meaning.
    cell = re.compile(rf'"(?:[^"]|"")*"|[^{delimiter}]*')
    spans: list[tuple[int, int]] = []
    position = 0
    while position <= len(raw):
        match = cell.match(raw, position)
        assert match is not None
        spans.append(match.span())
        position = match.end() + 1
    return spans


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
    counts = {delimiter: _count(header, delimiter) for delimiter in DELIMITERS}
    is_tsv = name.lower().endswith(".tsv")
    if (counts["\t"] or not any(counts.values())) and is_tsv:
        return "\t"
    return max(DELIMITERS, key=counts.__getitem__)


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


def _quoted(names: Sequence[str]) -> str:
    """The names of columns, for a message."""
    parts = [" ".join(name[:_LONGEST_NAME].split()) for name in names]
    shown = [
        f"`{part}{'...' * (len(name) > _LONGEST_NAME)}`"
        for part, name in zip(parts, names, strict=True)
    ]
    more = len(names) - _MOST_NAMES
    return ", ".join(shown[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
