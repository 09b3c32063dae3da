"""Reads lines. Every command uses this definition of a line.

Lines end at the byte 0x0A and nowhere else. Files are plain text or compressed with gzip, xz, zstd
or bzip2, which is detected from their first bytes and not from their names; `-` is stdin. A file is
never held in memory as a whole. Bytes that are not UTF-8 become U+FFFD, and such lines are counted.
"""

import contextlib
import select
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path

from nmt_cli.data.preparation.text_check import utf16_without_mark, why_no_text
from nmt_cli.data.text.encoding import (
    is_utf8,
    line_ending_error,
    repair_hint,
    to_utf8_command,
)
from nmt_cli.data.text.formats.archives import no_text_hint
from nmt_cli.data.text.formats.page_documents import page_document_error
from nmt_cli.data.text.formats.pair_files import is_xml, xml_error
from nmt_cli.data.text.streams import (
    CHUNK_BYTES,
    STDIN,
    Readable,
    is_broken,
    open_raw,
    open_stream,
    reading_error,
)
from nmt_cli.errors import DataError, NmtError
from nmt_cli.plurals import agreeing, counted
from nmt_cli.storage.byte_order_marks import OTHER_BOMS, other_encoding

# A line is held in memory, so a longer one, for example of a compressed file of zeros, is refused.
LONGEST_LINE = 1 << 24
UTF8_BOM = b"\xef\xbb\xbf"


# A file with more invalid lines than both of these limits is in another encoding, not damaged.
MAX_INVALID_SHARE, MIN_INVALID_LINES = 0.05, 20


class Lines(Iterator[str]):
    """An iterator over the lines of one file, which counts the lines that are not UTF-8.

    count: lines returned so far; invalid: how many of them contain U+FFFD in place of invalid
    bytes; first_invalid: `line:byte` of the first invalid byte, both counted from 1, or "" if there
    is none; has_utf8: whether there was a byte order mark of UTF-8, or a line with valid characters
    of several bytes; size: bytes of the file, 0 if it is not known.
    """

    def __init__(self, path: Path | str, *, strict: bool = False) -> None:
        """Open `path`; raises NoInputError if it cannot be read."""
        self.name = "stdin" if str(path) == STDIN else str(path)
        self.count = 0
        self.invalid = 0
        self.first_invalid = ""
        self.has_utf8 = False
        self._strict = strict
        self._buffered_lines = 0
        self._raw = open_raw(path, self.name)
        # The size of a pipe is not known: 0.
        known = str(path) != STDIN and Path(path).is_file()
        self.size = Path(path).stat().st_size if known else 0
        # The input is opened for decompression when the first line is requested, because that
        # waits for its first bytes, which may be typed at a terminal.
        self._file: Readable | None = None
        self._raw_lines = self._split()
        self._lines = self._decoded()

    def __next__(self) -> str:
        return next(self._lines)

    def __enter__(self) -> "Lines":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading; needed only before the end of the file. stdin stays open."""
        self._lines.close()
        self._close_files()

    @property
    def bytes_read(self) -> int:
        """Bytes of the file read so far, before decompression; its whole size once it is closed."""
        if self._raw.closed or not self.size:
            return self.size
        return self._raw.tell()

    def fileno(self) -> int:
        """Return the file descriptor; raises OSError or ValueError if there is none."""
        return self._raw.fileno()

    def must_wait(self, seconds: float) -> bool:
        """Return whether a pipe or terminal has no more input within the given seconds."""
        if self._buffered_lines or self.size:
            return False
        try:
            return not select.select([self._raw], [], [], seconds)[0]
        except (OSError, ValueError, TypeError):
            # The system cannot poll this kind of file, and reading it does not block.
            return False

    def refuse_other_encoding(self) -> None:
        """Raise DataError if too many lines are not UTF-8.

        The rest of the file is read only if too many of the lines read so far are not UTF-8.
        """
        if self._is_other_encoding:
            for _ in self:
                pass
            if self._is_other_encoding:
                raise DataError(
                    f"`{self.name}`: {self.invalid:,} of {counted(self.count, 'line')} "
                    f"{agreeing(self.invalid, 'is', 'are')} not UTF-8, "
                    f"the first at line:byte {self.first_invalid}"
                    + ("" if self.has_utf8 else "; the file is in another encoding"),
                    repair_hint(self.name, self.invalid, has_utf8=self.has_utf8),
                )

    @property
    def _is_other_encoding(self) -> bool:
        return self.invalid >= MIN_INVALID_LINES and self.invalid > MAX_INVALID_SHARE * self.count

    def _close_files(self) -> None:
        if self._file is not None:
            self._file.close()
        if self.name != "stdin":
            self._raw.close()

    def _decoded(self) -> Generator[str, None, None]:
        try:
            for line in self._raw_lines:
                self.count += 1
                line = line[:-1] if line.endswith(b"\r") else line
                try:
                    text = line.decode("utf-8")
                    self.has_utf8 = self.has_utf8 or not text.isascii()
                except UnicodeDecodeError as error:
                    text = self._with_replacements(line, error)
                yield text
        finally:
            self._close_files()

    def _with_replacements(self, line: bytes, error: UnicodeDecodeError) -> str:
        """Return the line with U+FFFD for invalid bytes; with `strict`, raise DataError."""
        if self._strict:
            place = f"`{self.name}`, line {self.count}, byte {error.start + 1}"
            invalid = 1 + self._invalid_in_rest()
            raise DataError(
                f"{place}: not UTF-8",
                repair_hint(self.name, invalid, has_utf8=self.has_utf8),
            ) from error
        self.invalid += 1
        self.first_invalid = self.first_invalid or f"{self.count}:{error.start + 1}"
        return line.decode("utf-8", errors="replace")

    def _invalid_in_rest(self) -> int:
        """Read the rest of a file, and count its lines that are not UTF-8.

        The other lines set `has_utf8`. Input of unknown size, such as a pipe, is not read.
        """
        invalid = 0
        with contextlib.suppress(NmtError):
            for line in self._raw_lines if self.size else ():
                is_valid = is_utf8(line)
                invalid += not is_valid
                self.has_utf8 = self.has_utf8 or (is_valid and not line.isascii())
        return invalid

    def _split(self) -> Iterator[bytes]:
        """Yield the raw lines; text after the last newline is a line unless it is empty."""
        partial: list[bytes] = []
        length = 0
        for chunk in self._chunks():
            *lines, rest = chunk.split(b"\n")
            if lines:
                lines[0] = b"".join([*partial, lines[0]])
                partial = []
                length = 0
                self._buffered_lines = len(lines)
                for line in lines:
                    self._buffered_lines -= 1
                    yield line
            if rest:
                partial.append(rest)
                length += len(rest)
                if length > LONGEST_LINE:
                    raise self._line_too_long(partial)
        if partial:
            yield b"".join(partial)

    def _chunks(self) -> Iterator[bytes]:
        """Yield the bytes of the file without a UTF-8 byte order mark at the start."""
        head = b""
        while _may_become_bom(head):
            chunk = self._read()
            head += chunk
            if not chunk:
                break
        encoding = other_encoding(head) or utf16_without_mark(head)
        start = head.decode(encoding, errors="ignore") if encoding.startswith("UTF-16") else ""
        if is_xml(start):
            raise xml_error(start, self.name)
        if encoding:
            raise DataError(
                f"`{self.name}` looks like {encoding}, UTF-8 is needed",
                f"convert it: {to_utf8_command(self.name, encoding)}",
            )
        if document := page_document_error(head, self.name):
            raise document
        problem = why_no_text(head, self.name)
        if problem:
            raise DataError(
                f"`{self.name}` cannot be read as text: {problem}", no_text_hint(head, self.name)
            )
        self.has_utf8 = head.startswith(UTF8_BOM)
        head = head.removeprefix(UTF8_BOM)
        while True:
            if head:
                yield head
            head = self._read()
            if not head:
                return

    def _line_too_long(self, line: Iterable[bytes]) -> NmtError:
        if not self.count and sum(part.count(b"\r") for part in line) > 1:
            return line_ending_error(self.name)
        return DataError(
            f"`{self.name}`, line {self.count + 1}: longer than {LONGEST_LINE >> 20} MiB",
            "if this is text, write each sentence to a line of its own",
        )

    def _read(self) -> bytes:
        try:
            if self._file is None:
                self._file = open_stream(self._raw)
            return self._file.read1(CHUNK_BYTES)
        except Exception as error:
            if is_broken(error):
                raise self._damaged_stream(error) from error
            if isinstance(error, OSError):
                raise reading_error(self.name, error) from error
            raise

    def _damaged_stream(self, error: Exception) -> NmtError:
        how = "is damaged" + (f" ({error})" if str(error) else "")
        if isinstance(error, EOFError):
            how = "ends in the middle"
        return DataError(
            f"`{self.name}`: the compressed stream {how}, after line {self.count}",
            "copy or download it again, in full",
        )


def _may_become_bom(head: bytes) -> bool:
    return any(mark != head and mark.startswith(head) for mark in (UTF8_BOM, *OTHER_BOMS))


def read_lines(path: Path | str, *, strict: bool = False) -> Lines:
    """Iterate over the lines of `path` without their newlines; `-` is stdin.

    Invalid UTF-8 becomes U+FFFD and is counted; with `strict` it raises DataError, which names the
    line and the byte. If a compressed stream is damaged, the lines before the damage are returned
    before DataError is raised. Raises NoInputError if the file cannot be read.
    """
    return Lines(path, strict=strict)
