"""One definition of a line, for every command: bytes in, cut at the byte 0x0A and nowhere else.

Files are plain, gzip, xz, zstd or bzip2, told by their first bytes, not their names; `-` is stdin.
A whole file is never in memory. What is not UTF-8 becomes U+FFFD and is counted.
"""

import select
import shlex
from collections.abc import Generator, Iterator
from pathlib import Path

from nmt_cli.data.preparation.text_check import why_no_text
from nmt_cli.data.text.encoding import conversion
from nmt_cli.data.text.streams import (
    CHUNK_BYTES,
    STDIN,
    Readable,
    is_broken,
    open_raw,
    open_stream,
    reading_error,
)
from nmt_cli.data.text.tables import SEPARATORS, conversion_to_tsv, separator_of
from nmt_cli.errors import DataError, NmtError
from nmt_cli.plurals import counted

# Memory holds one line: a file of one endless line, or what is compressed to one, is no text.
LONGEST_LINE = 1 << 24
# After so many lines of a TSV file it is known whether it is one.
ROWS_LOOKED_AT = 1_000
ROWS_SHOWING_SEPARATOR = 100
UTF8_BOM = b"\xef\xbb\xbf"
# The longer ones first: one begins like another.
OTHER_BOMS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


class Lines(Iterator[str]):
    """The lines of one file, as they come; counts what was not UTF-8.

    count: lines given so far; invalid: those with U+FFFD put in; first_invalid: `line:byte` of the
    first of them, both from 1, or ""; size: bytes of the file, 0 where that is not known.
    """

    def __init__(self, path: Path | str, *, strict: bool = False) -> None:
        """Open `path`; raises NoInputError where it cannot be read."""
        self.name = "stdin" if str(path) == STDIN else str(path)
        self.count = 0
        self.invalid = 0
        self.first_invalid = ""
        self._strict = strict
        self._at_hand = 0
        self._raw = open_raw(path, self.name)
        # 0: not known, a pipe.
        known = str(path) != STDIN and Path(path).is_file()
        self.size = Path(path).stat().st_size if known else 0
        # Looked at when the first line is asked for: a person at a terminal may be slow.
        self._file: Readable | None = None
        self._lines = self._decoded()

    def __next__(self) -> str:
        return next(self._lines)

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading; only needed before the end of the file. stdin stays open."""
        self._lines.close()
        self._close_files()

    @property
    def bytes_read(self) -> int:
        """How far the file, compressed or not, was read: all of it once it is closed."""
        if self._raw.closed or not self.size:
            return self.size
        return self._raw.tell()

    def fileno(self) -> int:
        """The system's number of the open file; raises OSError or ValueError where it has none."""
        return self._raw.fileno()

    def must_wait(self, seconds: float) -> bool:
        """Whether nothing more comes for so long: a pipe or terminal whose writer is not ready."""
        if self._at_hand or self.size:
            return False
        try:
            return not select.select([self._raw], [], [], seconds)[0]
        except (OSError, ValueError, TypeError):
            # Not something the system can watch: it does not keep anybody waiting.
            return False

    def _close_files(self) -> None:
        if self._file is not None:
            self._file.close()
        if self.name != "stdin":
            self._raw.close()

    def _decoded(self) -> Generator[str, None, None]:
        try:
            for line in self._split():
                self.count += 1
                line = line[:-1] if line.endswith(b"\r") else line
                try:
                    text = line.decode("utf-8")
                except UnicodeDecodeError as error:
                    text = self._repaired(line, error)
                yield text
        finally:
            self._close_files()

    def _repaired(self, line: bytes, error: UnicodeDecodeError) -> str:
        place = f"{self.count}:{error.start + 1}"
        if self._strict:
            raise DataError(
                f"`{self.name}`, line {self.count}, byte {error.start + 1}: not UTF-8",
                f"convert it, for example: {conversion(self.name)}",
            ) from error
        self.invalid += 1
        self.first_invalid = self.first_invalid or place
        return line.decode("utf-8", errors="replace")

    def _split(self) -> Iterator[bytes]:
        """The raw lines; a last one without a newline counts, an empty end does not."""
        begun: list[bytes] = []
        length = 0
        for chunk in self._chunks():
            *whole, rest = chunk.split(b"\n")
            if whole:
                whole[0] = b"".join([*begun, whole[0]])
                begun = []
                length = 0
                self._at_hand = len(whole)
                for line in whole:
                    self._at_hand -= 1
                    yield line
            if rest:
                begun.append(rest)
                length += len(rest)
                if length > LONGEST_LINE:
                    raise self._endless()
        if begun:
            yield b"".join(begun)

    def _chunks(self) -> Iterator[bytes]:
        """Bytes as they come, without a UTF-8 byte order mark at the start."""
        head = b""
        while _may_become_bom(head):
            chunk = self._read()
            head += chunk
            if not chunk:
                break
        other = next((OTHER_BOMS[mark] for mark in OTHER_BOMS if head.startswith(mark)), "")
        if other:
            raise DataError(
                f"`{self.name}` looks like {other}, UTF-8 is needed",
                f"convert it: iconv -f {other} -t UTF-8 {shlex.quote(self.name)}",
            )
        problem = why_no_text(head, self.name)
        if problem:
            raise DataError(
                f"`{self.name}` cannot be read as text: {problem}",
                "text is UTF-8, plain or compressed as gz, xz, zst or bz2; `file` tells what it is",
            )
        head = head.removeprefix(UTF8_BOM)
        while True:
            if head:
                yield head
            head = self._read()
            if not head:
                return

    def _endless(self) -> NmtError:
        return DataError(
            f"`{self.name}`, line {self.count + 1}: longer than {LONGEST_LINE >> 20} MiB",
            "is this text, one sentence a line?",
        )

    def _read(self) -> bytes:
        try:
            if self._file is None:
                self._file = open_stream(self._raw)
            return self._file.read1(CHUNK_BYTES)
        except Exception as error:
            if is_broken(error):
                raise self._broken(error) from error
            if isinstance(error, OSError):
                raise reading_error(self.name, error) from error
            raise

    def _broken(self, error: Exception) -> NmtError:
        how = "is damaged" + (f" ({error})" if str(error) else "")
        if isinstance(error, EOFError):
            how = "ends in the middle"
        return DataError(
            f"`{self.name}`: the compressed stream {how}, after line {self.count}",
            "was it copied or downloaded in full?",
        )


def _may_become_bom(head: bytes) -> bool:
    return any(mark != head and mark.startswith(head) for mark in (UTF8_BOM, *OTHER_BOMS))


def read_lines(path: Path | str, *, strict: bool = False) -> Lines:
    """The lines of `path`, without their newlines; `-` is stdin.

    What is not UTF-8 becomes U+FFFD and is counted; with `strict` it raises DataError with line
    and byte. Of a broken compressed stream the lines before the break are given, then DataError.
    Raises NoInputError where the file cannot be read.
    """
    return Lines(path, strict=strict)


class LinePairs(Iterator[tuple[str, str]]):
    """The pairs of two files, or of one TSV file with two columns, as they come.

    src, tgt: the files being read (the same object for TSV); count: pairs given so far;
    bad_rows: TSV lines so far that have not two columns; is_bad_row: the last pair is one.
    """

    def __init__(
        self, paths: tuple[str, ...], *, strict: bool = False, keep_bad_rows: bool = False
    ) -> None:
        """Open one or two files; raises NoInputError where one cannot be read."""
        self.paths = paths
        self.count = 0
        self.bad_rows = 0
        self.is_bad_row = False
        self._first_bad = (0, 0)
        self._rows_without_tab: list[str] = []
        self._keep_bad_rows = keep_bad_rows
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

    def close(self) -> None:
        """Stop reading; only needed before the end of the files."""
        self.src.close()
        self.tgt.close()

    def _next_of_two(self) -> tuple[str, str]:
        src, tgt = next(self.src, None), next(self.tgt, None)
        if src is not None and tgt is not None:
            return src, tgt
        if src is None and tgt is None:
            raise StopIteration
        raise self._misaligned()

    def _next_row(self) -> tuple[str, str]:
        line = next(self.src, None)
        if line is None or self.count == ROWS_LOOKED_AT:
            self._check_rows()
        if line is None:
            raise StopIteration
        columns = line.split("\t")
        self.is_bad_row = len(columns) != 2
        if len(columns) != 2:
            self.bad_rows += 1
            if len(columns) == 1:
                self._rows_without_tab = [*self._rows_without_tab, line][-ROWS_SHOWING_SEPARATOR:]
            if self.bad_rows == 1:
                self._first_bad = self.src.count, len(columns)
            if not self._keep_bad_rows:
                raise self._bad_row()
            return line.replace("\t", " "), ""
        return columns[0], columns[1]

    def _check_rows(self) -> None:
        """Raise DataError where most lines have not two columns: this is no TSV file."""
        if 2 * self.bad_rows > self.count:
            raise self._bad_row(f"; so it is in {self.bad_rows:,} of {self.count:,} lines")

    def _bad_row(self, more: str = "") -> DataError:
        line, columns = self._first_bad
        separator = separator_of(self._rows_without_tab, self.src.name)
        if columns == 1 and separator:
            return DataError(
                f"`{self.src.name}` looks like values separated by {SEPARATORS[separator]}; "
                "nmt reads tabs: one line a pair, each with source, a tab, target",
                f"convert it: {conversion_to_tsv(self.src.name, separator)}",
            )
        hint = "each line is: source, a tab, target"
        if columns > 2:
            hint += f"; to take the first two columns: cut -f1,2 {shlex.quote(self.src.name)}"
        return DataError(
            f"`{self.src.name}`, line {line}: {counted(columns, 'column')}, 2 are needed{more}",
            hint,
        )

    def _misaligned(self) -> DataError:
        """The error for files of different length; reads on to their ends to name both counts."""
        for lines in (self.src, self.tgt):
            for _ in lines:
                pass
        message = (
            f"`{self.src.name}` has {counted(self.src.count, 'line')}, "
            f"`{self.tgt.name}` has {self.tgt.count:,}"
        )
        hint = "line n of one file must be the translation of line n of the other"
        if self.src.size and self.tgt.size:
            from nmt_cli.data.cleaning.misalignment import Profile, find_misalignment

            profiles = [Profile.of(read_lines(path)) for path in self.paths]
            place = find_misalignment(profiles[0], profiles[1])
            hint += f"; the first suspicious place is near line {place:,}" if place else ""
        return DataError(message, hint)


def read_pairs(
    paths: tuple[str, ...], *, strict: bool = False, keep_bad_rows: bool = False
) -> LinePairs:
    """Pairs of lines of two files, or of one TSV file with two columns.

    Raises DataError, while reading: with the line's number where a TSV line has not two columns
    (with `keep_bad_rows` only where most lines have not; others are given as source, and
    `is_bad_row` is set); with both counts and the first suspicious place where one file is longer;
    with `strict`, for what is not UTF-8, as `read_lines` does.
    """
    return LinePairs(paths, strict=strict, keep_bad_rows=keep_bad_rows)
