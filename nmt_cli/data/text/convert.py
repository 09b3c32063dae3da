"""Writes the pairs of a file of another format as a table of tab-separated values."""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice, zip_longest
from typing import BinaryIO, NamedTuple

from nmt_cli.data.text.formats.archives import is_word_document
from nmt_cli.data.text.formats.conversion import Columns, Conversion, Row, SourceFile, as_line
from nmt_cli.data.text.formats.separated_values import tab_separated
from nmt_cli.data.text.formats.subtitles import SUBTITLES, is_subtitle_time
from nmt_cli.data.text.formats.word_documents import WORD_DOCUMENT
from nmt_cli.data.text.labels.merged_verses import with_joined_verses
from nmt_cli.data.text.language_hints import OtherFormatError
from nmt_cli.data.text.line_pairs import ROWS_CHECKED, ROWS_SAMPLED, read_pairs
from nmt_cli.data.text.lines import read_lines
from nmt_cli.data.text.streams import CHUNK_BYTES, decompressed, open_raw
from nmt_cli.errors import DataError
from nmt_cli.plurals import counted

ROWS_BETWEEN_REPORTS = 1_000


class WrittenRows(NamedTuple):
    """What a conversion has written: the number of rows, and what was left out or changed."""

    rows: int
    notes: list[str]


def conversion_of(
    path: str,
    languages: tuple[str, str] | None = None,
    *,
    columns: str = "",
    unquote: bool = False,
) -> Conversion:
    """How the file is converted, whose format is recognised as when it is read for training.

    languages: the codes of source and target, which the columns are chosen by; columns: one or two
    of them, by their names in the file; unquote: whether to remove the quotation marks around cells
    of a table with tabs. Raises DataError if there is nothing to convert, or no way to do so.
    """
    recognised = None if unquote else _recognised(path, languages)
    if recognised is None and not columns and not unquote:
        raise DataError(
            f"`{path}` is a table of two columns, as nmt reads it: there is nothing to convert",
            "--columns 2,1 would exchange the columns, and --unquote would remove the quotation "
            "marks around cells",
        )
    if recognised is None:
        table = tab_separated(("1", "2") if columns else None, unquote=unquote)
        return table.with_columns(columns) if columns else table
    return recognised.with_columns(columns) if columns else recognised


def parallel_files(other: SourceFile, *, join_verses: bool) -> Conversion:
    """The conversion of a file and its translation to a table; other: the translation.

    join_verses: whether a verse that is part of the line before is joined to it.
    """

    def read(source: SourceFile, columns: Columns) -> Iterator[Row]:
        pairs = _side_by_side(source, other)
        for pair in with_joined_verses(pairs) if join_verses else pairs:
            yield [pair[int(column) - 1] for column in columns]

    return Conversion("two parallel files", read, ("1", "2"), ("1", "2"))


def _side_by_side(source: SourceFile, other: SourceFile) -> Iterator[list[str]]:
    with source.text() as src_text, other.text() as tgt_text:
        for number, pair in enumerate(zip_longest(src_text, tgt_text), 1):
            if None in pair:
                shorter, longer = (source, other) if pair[0] is None else (other, source)
                raise DataError(
                    f"`{shorter.name}` has {counted(number - 1, 'line')}, `{longer.name}` has more",
                    "line n of one file must be the translation of line n of the other",
                )
            yield [as_line(line) for line in pair]


def _recognised(path: str, languages: tuple[str, str] | None) -> Conversion | None:
    """The conversion of another format than a table of two columns; None for such a table."""
    with decompressed(open_raw(path, path)) as file:
        if is_word_document(file.read(CHUNK_BYTES)):
            return WORD_DOCUMENT
    try:
        with read_lines(path) as lines:
            if any(map(is_subtitle_time, islice(lines, ROWS_SAMPLED))):
                return SUBTITLES
    except OtherFormatError:
        # The same as of pairs, below.
        pass
    try:
        pairs = read_pairs((path,), keep_bad_rows=True)
        deque(islice(pairs, ROWS_CHECKED + 1), maxlen=0)
        pairs.close()
    except OtherFormatError as error:
        advice = error.advice_for(languages or ()) if error.advice_for else None
        if advice is None or advice.conversion is None:
            raise
        return advice.conversion
    return None


def write_converted(
    conversion: Conversion,
    source: SourceFile,
    out: BinaryIO,
    on_progress: Callable[[int], None] = lambda _: None,
) -> WrittenRows:
    """Write the rows of the file as lines, their cells separated by tabs, in UTF-8.

    Bytes that are not UTF-8 stay as they are. on_progress: called now and then with the number of
    bytes of the file that were read.
    """
    count = 0
    for row in conversion.rows(source):
        line = "\t".join(row) + "\n"
        out.write(line.encode("utf-8", errors="surrogateescape"))
        count += 1
        if count % ROWS_BETWEEN_REPORTS == 0:
            on_progress(source.bytes_read)
    return WrittenRows(count, source.notes)
