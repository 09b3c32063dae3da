"""Reads pairs of lines, of two files or of the columns of a table."""

import contextlib
from collections import deque
from collections.abc import Iterator
from itertools import islice

from nmt_cli.data.text.formats.pair_files import (
    MIN_ROWS,
    MOST_QUOTED,
    is_quoted,
    is_xml,
    labelled_lines_error,
    not_tsv_error,
    quoted_error,
    unquoted,
    xml_error,
)
from nmt_cli.data.text.formats.subtitles import is_subtitle_time, subtitles_error
from nmt_cli.data.text.labels.line_labels import is_label
from nmt_cli.data.text.lines import read_lines
from nmt_cli.data.text.tables.columns import TWO_COLUMNS, TableColumns
from nmt_cli.data.text.tables.header_rows import row_error
from nmt_cli.data.text.tables.wide_rows import WideRows
from nmt_cli.data.text.tables.wrong_rows import WrongRows
from nmt_cli.errors import DataError, NmtError
from nmt_cli.plurals import counted

# After this many lines it is decided whether a file is TSV.
ROWS_CHECKED = 1_000
# The separator of a file without tabs, or the columns of a table with more than two, are guessed
# from this many lines.
ROWS_SAMPLED = 300
# If the first column of a larger share of the rows has only labels, these are alternating lines.
MOST_LABELS = 0.9


class LinePairs(Iterator[tuple[str, str]]):
    """An iterator over the pairs of two files or of one TSV file with two columns.

    src, tgt: the files being read (the same object for TSV); count: pairs returned so far;
    bad_rows: TSV lines so far that do not have two columns; is_bad_row: whether the last pair is
    such a line; row: the last line of a TSV file as it is; quoted_rows: TSV lines so far with both
    columns in quotation marks; speech_rows: those of them in which no mark is doubled, so that the
    marks may be those of direct speech; wide_rows: those with more than two columns.
    """

    def __init__(
        self,
        paths: tuple[str, ...],
        columns: TableColumns = TWO_COLUMNS,
        *,
        strict: bool = False,
        keep_bad_rows: bool = False,
        unquote: bool = True,
    ) -> None:
        """Open one or two files; raises NoInputError if one cannot be read."""
        self.paths = paths
        self.count = 0
        self.bad_rows = 0
        self.is_bad_row = False
        self.row = ""
        self.quoted_rows = 0
        self.speech_rows = 0
        self.wide_rows = WideRows(columns)
        self._columns = columns
        self._first_bad = (0, 0)
        self._sampled_rows: list[str] = []
        self._label_rows: list[str] = []
        self._keep_bad_rows = keep_bad_rows
        self._unquote = unquote
        self.src = read_lines(paths[0], strict=strict)
        self.tgt = read_lines(paths[1], strict=strict) if len(paths) > 1 else self.src

    def __next__(self) -> tuple[str, str]:
        try:
            pair = self._next_of_two() if self.tgt is not self.src else self._next_row()
        except NmtError:
            self.close()
            raise
        self.count += 1
        return pair

    @property
    def invalid(self) -> int:
        """How many lines so far have bytes that are not UTF-8, of both files."""
        return self.src.invalid + (self.tgt.invalid if self.tgt is not self.src else 0)

    def close(self) -> None:
        """Stop reading; needed only before the end of the files."""
        self.src.close()
        self.tgt.close()

    def _next_of_two(self) -> tuple[str, str]:
        src, tgt = next(self.src, None), next(self.tgt, None)
        if src is not None and tgt is not None:
            if self.count < ROWS_SAMPLED and is_subtitle_time(src):
                raise subtitles_error([self.src.name, self.tgt.name])
            return src, tgt
        if src is None and tgt is None:
            raise StopIteration
        raise self._misaligned()

    def _next_row(self) -> tuple[str, str]:
        line = next(self.src, None)
        if line is None or self.count == ROWS_CHECKED:
            self._check_rows()
        if line is None:
            raise StopIteration
        if self.count == 0 and is_xml(line):
            raise xml_error("\n".join([line, *islice(self.src, ROWS_SAMPLED)]), self.src.name)
        self.row = line
        pair = self._columns.pair(line)
        self.is_bad_row = pair is None
        if pair is None:
            self.bad_rows += 1
            self.wide_rows.add(self.src.count, line)
            if len(self._sampled_rows) < ROWS_CHECKED:
                self._sampled_rows.append(line)
            if self.bad_rows == 1:
                self._first_bad = self.src.count, line.count("\t") + 1
            if not self._keep_bad_rows:
                with contextlib.suppress(NmtError):
                    self._sampled_rows += islice(self.src, ROWS_SAMPLED)
                raise self._bad_row()
            return line.replace("\t", " "), ""
        text = unquoted(pair[0]), unquoted(pair[1])
        if is_quoted(pair[0]) and is_quoted(pair[1]):
            self.quoted_rows += 1
            self.speech_rows += text == pair
        if self.count < ROWS_CHECKED and self._columns.numbers is None and is_label(pair[0]):
            self._label_rows.append(line)
        return text if self._unquote else pair

    def _check_rows(self) -> None:
        """Raise DataError if most lines do not have two columns, or nearly all are quoted."""
        if 2 * self.bad_rows > self.count:
            bad_rows = f"{self.bad_rows:,} of the first {self.count:,} lines"
            columns = "these" if self._columns.numbers else "2"
            raise self._bad_row(f"; {bad_rows} do not have {columns}")
        if self.count >= MIN_ROWS and self.quoted_rows > MOST_QUOTED * self.count:
            raise quoted_error(self.src.name)
        if len(self._label_rows) > MOST_LABELS * (self.count - self.bad_rows):
            error = labelled_lines_error(self._label_rows, self.src.name)
            if error is not None:
                raise error

    def _bad_row(self, more: str = "") -> DataError:
        """Return the error for the first bad row; more: what else the message says."""
        (line, columns), rows = self._first_bad, self._sampled_rows
        without_tab = [row for row in rows if "\t" not in row]
        if columns == 1 and 2 * len(without_tab) > len(rows):
            other_format = not_tsv_error(without_tab, self.src.name)
            if other_format is not None:
                return other_format
        if not self._keep_bad_rows:
            wrong = WrongRows.of_table(self.src.name)
            if wrong.are_few:
                return wrong.error(self.src.name)
        return row_error(self.src.name, line, columns, self._columns, rows, self.src, more)

    def _misaligned(self) -> DataError:
        """Return the error for files of different lengths; reads them to the end to count lines."""
        for lines in (self.src, self.tgt):
            for _ in lines:
                pass
        message = (
            f"`{self.src.name}` has {counted(self.src.count, 'line')}, "
            f"`{self.tgt.name}` has {self.tgt.count:,}"
        )
        hint = "line n of one file must be the translation of line n of the other"
        if self.src.size and self.tgt.size:
            from nmt_cli.data.cleaning.alignment.misalignment_hint import misalignment_hint

            hint += misalignment_hint(self.paths[0], self.paths[1])
        return DataError(message, hint)


def read_pairs(
    paths: tuple[str, ...],
    columns: TableColumns = TWO_COLUMNS,
    *,
    strict: bool = False,
    keep_bad_rows: bool = False,
    unquote: bool = True,
) -> LinePairs:
    """Iterate over the pairs of lines of two files, or of one TSV file, with these columns.

    unquote: whether fields of a TSV file that a spreadsheet has quoted (`"He said ""no""."`) are
    read without these marks.
    Raises DataError while reading: if a TSV line does not have two columns (with `keep_bad_rows`
    only if most lines do not; other such lines are returned as source, with `is_bad_row` set); if
    nearly all columns of a TSV file are in quotation marks, or it is XML; if one file is longer,
    with both counts and the place where they diverge; and with `strict` for invalid UTF-8.
    """
    return LinePairs(paths, columns, strict=strict, keep_bad_rows=keep_bad_rows, unquote=unquote)


def why_no_table(path: str) -> NmtError | None:
    """The error that reading the first rows of a file as TSV gives, or None."""
    try:
        with contextlib.closing(read_pairs((path,), keep_bad_rows=True)) as pairs:
            deque(islice(pairs, ROWS_CHECKED + 1), maxlen=0)
    except NmtError as error:
        return error
    return None
