"""One definition of a line, for every command: bytes in, cut at the byte 0x0A and nowhere else.

Files are plain, gzip, xz or zstd, told by their first bytes and not by their names; `-` is stdin.
A whole file is never in memory. What is not UTF-8 becomes U+FFFD and is counted.
"""

import gzip
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from nmt_cli.errors import DataError, NmtError, NoInputError, UnavailableError, WriteError
from nmt_cli.files import require_file

CHUNK_BYTES = 1 << 18
STDIN = "-"
UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")

# Whole terminal sequences go (a lone `[31m` would be noise); the rest of the controls one by one.
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_UNWANTED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u2581\ud800-\udfff]")
_SPACES = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\u2028\u2029"
_REPLACEMENTS = {**dict.fromkeys(_SPACES, " "), "\u2581": "_"}


class _Readable(Protocol):
    """What is needed of an open file: up to so many bytes, as soon as there are some."""

    def read1(self, size: int = -1, /) -> bytes: ...

    def close(self) -> None: ...


def clean_line(text: str) -> str:
    """`text` as the model may see it, always one line.

    Characters that some program takes for a line's end, and tabs, become spaces; other control
    characters and terminal sequences go; a lone surrogate becomes U+FFFD; U+2581, which subwords
    use to mark a space, becomes the underscore that it looks like.

    >>> clean_line("one\\x85two\\x1b[31m\\x00 three")
    'one two three'
    """
    if text.isprintable() and "\u2581" not in text:
        return text
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    return _UNWANTED.sub(_replacement, text)


def _replacement(match: re.Match[str]) -> str:
    character = match.group()
    if "\ud800" <= character <= "\udfff":
        return "\ufffd"
    return _REPLACEMENTS.get(character, "")


class Lines(Iterator[str]):
    """The lines of one file, as they come; counts what was not UTF-8.

    count: lines given so far; invalid: those with U+FFFD put in; first_invalid: `line:byte` of the
    first of them, both from 1, or "".
    """

    def __init__(self, path: Path | str, *, strict: bool = False) -> None:
        """Open `path`; raises NoInputError where it cannot be read."""
        self.name = "stdin" if str(path) == STDIN else str(path)
        self.count = 0
        self.invalid = 0
        self.first_invalid = ""
        self._strict = strict
        self._file = _open(path, self.name)
        self._lines = self._decoded()

    def __next__(self) -> str:
        return next(self._lines)

    def close(self) -> None:
        """Stop reading."""
        self._lines.close()
        self._file.close()

    def _decoded(self) -> Iterator[str]:
        for line in self._split():
            self.count += 1
            line = line[:-1] if line.endswith(b"\r") else line
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError as error:
                yield self._repaired(line, error)

    def _repaired(self, line: bytes, error: UnicodeDecodeError) -> str:
        place = f"{self.count}:{error.start + 1}"
        if self._strict:
            raise DataError(
                f"`{self.name}`, line {self.count}, byte {error.start + 1}: not UTF-8",
                f"convert it, for example: iconv -f LATIN1 -t UTF-8 {self.name}",
            ) from error
        self.invalid += 1
        self.first_invalid = self.first_invalid or place
        return line.decode("utf-8", errors="replace")

    def _split(self) -> Iterator[bytes]:
        """The raw lines; a last one without a newline counts, an empty end does not."""
        begun: list[bytes] = []
        for chunk in self._chunks():
            *whole, rest = chunk.split(b"\n")
            if whole:
                whole[0] = b"".join([*begun, whole[0]])
                begun = []
                yield from whole
            if rest:
                begun.append(rest)
        if begun:
            yield b"".join(begun)

    def _chunks(self) -> Iterator[bytes]:
        """Bytes as they come, without a UTF-8 byte order mark at the start."""
        head = b""
        while len(head) < len(UTF8_BOM):
            chunk = self._read()
            head += chunk
            if not chunk or not _may_become_bom(head):
                break
        if head.startswith(UTF16_BOMS):
            raise DataError(
                f"`{self.name}` looks like UTF-16, UTF-8 is needed",
                f"convert it: iconv -f UTF-16 -t UTF-8 {self.name}",
            )
        head = head.removeprefix(UTF8_BOM)
        while True:
            if head:
                yield head
            head = self._read()
            if not head:
                return

    def _read(self) -> bytes:
        try:
            return self._file.read1(CHUNK_BYTES)
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise self._broken(error) from error
        except OSError as error:
            raise WriteError(f"reading `{self.name}` failed: {error.strerror or error}") from error
        except Exception as error:
            # zstd's own error class comes from a module that may not be there to name it.
            if type(error).__name__ != "ZstdError":
                raise
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> NmtError:
        how = "ends in the middle" if isinstance(error, EOFError) else "is damaged"
        return DataError(
            f"`{self.name}`: the compressed stream {how}, after line {self.count}",
            "was it copied or downloaded in full?",
        )


def _may_become_bom(head: bytes) -> bool:
    return any(mark.startswith(head) for mark in (UTF8_BOM, *UTF16_BOMS))


def read_lines(path: Path | str, *, strict: bool = False) -> Lines:
    """The lines of `path`, without their newlines; `-` is stdin.

    What is not UTF-8 becomes U+FFFD and is counted; with `strict` it raises DataError with line
    and byte. Of a broken compressed stream the lines before the break are given, then DataError.
    Raises NoInputError where the file cannot be read.
    """
    return Lines(path, strict=strict)


def _open(path: Path | str, name: str) -> _Readable:
    raw = _open_raw(path, name)
    head = b""
    while len(head) < max(map(len, _OPENERS)) and any(m.startswith(head) for m in _OPENERS):
        try:
            chunk = raw.read1(CHUNK_BYTES)
        except OSError as error:
            raise WriteError(f"reading `{name}` failed: {error.strerror}") from error
        head += chunk
        if not chunk:
            break
    whole = _Rejoined(head, raw)
    for magic, opener in _OPENERS.items():
        if head.startswith(magic):
            return opener(cast(BinaryIO, io.BufferedReader(whole)))
    return whole


def _open_raw(path: Path | str, name: str) -> _Readable:
    if str(path) == STDIN:
        if sys.stdin is None or sys.stdin.closed:
            raise NoInputError("stdin is closed", "give a file, or pipe text in")
        return cast(_Readable, sys.stdin.buffer)
    require_file(Path(path))
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise NoInputError(f"`{name}` cannot be read: {error.strerror}") from error


class _Rejoined(io.RawIOBase):
    """A file whose first bytes were looked at already: they come again, then the rest."""

    def __init__(self, head: bytes, rest: _Readable) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1) -> bytes:
        """Up to `size` bytes, as soon as there are some; b"" at the end."""
        if self._head:
            given, self._head = self._head[:size], self._head[size:]
            return given
        return self._rest.read1(size)

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed and self._rest is not getattr(sys.stdin, "buffer", None):
            self._rest.close()
        super().close()


def _open_gzip(file: BinaryIO) -> _Readable:
    return gzip.GzipFile(fileobj=file)


def _open_xz(file: BinaryIO) -> _Readable:
    return lzma.LZMAFile(file)


def _open_zstd(file: BinaryIO) -> _Readable:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as error:
        raise UnavailableError(
            "this text is compressed with zstd, whose reader is not installed",
            "pip install 'nmt-cli[zstd]', or decompress it first",
        ) from error
    return cast(_Readable, zstd.ZstdFile(file))


_OPENERS: dict[bytes, Callable[[BinaryIO], _Readable]] = {
    b"\x1f\x8b": _open_gzip,
    b"\xfd7zXZ\x00": _open_xz,
    b"\x28\xb5\x2f\xfd": _open_zstd,
}


def read_pairs(paths: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Pairs of lines of two files, or of one TSV file with two columns.

    Raises DataError with the line number where a TSV line has not two columns, and with both
    counts where one file is longer.
    """
    if len(paths) == 1:
        yield from _read_tsv(paths[0])
        return
    src, tgt = read_lines(paths[0]), read_lines(paths[1])
    while True:
        one, other = next(src, None), next(tgt, None)
        if one is None or other is None:
            break
        yield one, other
    if one is not None or other is not None:
        raise misaligned(src, tgt)


def misaligned(src: Lines, tgt: Lines) -> DataError:
    """The error for files of different length: reads on to the ends to name both counts."""
    for lines in (src, tgt):
        for _ in lines:
            pass
    return DataError(
        f"`{src.name}` has {src.count:,} lines, `{tgt.name}` has {tgt.count:,}",
        "line n of one file must be the translation of line n of the other",
    )


def _read_tsv(path: str) -> Iterator[tuple[str, str]]:
    lines = read_lines(path)
    for line in lines:
        columns = line.split("\t")
        if len(columns) != 2:
            raise DataError(
                f"`{lines.name}`, line {lines.count}: {len(columns)} columns where 2 are needed",
                "each line is: source, a tab, target",
            )
        yield columns[0], columns[1]
