"""Opens text streams: a file or stdin, plain or gzip, xz, zstd, bzip2, told by the first bytes."""

import bz2
import errno
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, cast

from nmt_cli.errors import NmtError, NoInputError, UnavailableError, WriteError
from nmt_cli.storage.files import require_file

CHUNK_BYTES = 1 << 18
# What `xz -9` needs is a quarter of it; a stream may ask for 4 GiB.
MOST_XZ_MEMORY = 1 << 28
STDIN = "-"


class Readable(Protocol):
    """What is needed of an open file."""

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        ...

    def read1(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes, as soon as there are some; b"" at the end."""
        ...

    def fileno(self) -> int:
        """The system's number of the open file."""
        ...

    def tell(self) -> int:
        """Bytes read so far."""
        ...

    def close(self) -> None:
        """Read no more."""
        ...


class DamagedError(Exception):
    """Compressed bytes that make no sense."""


class Decompressor(Protocol):
    """What the standard library has for xz, zstd and bzip2: one stream from its first byte on."""

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""
        ...

    @property
    def needs_input(self) -> bool:
        """Whether nothing more comes without more bytes."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What was given beyond the stream's end."""
        ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Up to so many bytes of content."""
        ...


def is_broken(error: Exception) -> bool:
    """Whether `error`, from reading, means that a compressed stream is cut off or damaged."""
    return isinstance(error, EOFError | DamagedError | zlib.error | gzip.BadGzipFile)


def reading_error(name: str, error: OSError) -> NmtError:
    """What the user is told when the bytes of a file cannot be read."""
    if error.errno == errno.EBADF:
        return NoInputError(f"`{name}` is closed", "give a file, or pipe text in")
    return WriteError(f"reading `{name}` failed: {error.strerror}")


def open_stream(raw: Readable) -> Readable:
    """The decompressed content of a file, by its first bytes; raises OSError."""
    head = b""
    while len(head) < max(map(len, _OPENERS)) and any(m.startswith(head) for m in _OPENERS):
        chunk = raw.read1(CHUNK_BYTES)
        head += chunk
        if not chunk:
            break
    whole = _Rejoined(head, raw)
    for magic, opener in _OPENERS.items():
        if head.startswith(magic):
            return opener(whole)
    return whole


def open_raw(path: Path | str, name: str) -> Readable:
    """The bytes of a file as they are; `-` is stdin. Raises NoInputError."""
    if str(path) == STDIN:
        if sys.stdin is None or sys.stdin.closed:
            raise NoInputError("stdin is closed", "give a file, or pipe text in")
        return cast(Readable, sys.stdin.buffer)
    require_file(Path(path))
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise NoInputError(f"`{name}` cannot be read: {error.strerror}") from error


class _Rejoined(io.RawIOBase):
    """A file of which the first bytes were read already: they come again, then the rest."""

    def __init__(self, head: bytes, rest: Readable) -> None:
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


class _Streams(io.RawIOBase):
    """The content of compressed streams one after the other; zero bytes may fill up between them.

    Anything else behind a stream is damage: it is told when all before it was given.
    """

    def __init__(self, make: Callable[[], Decompressor], file: Readable) -> None:
        self._make = make
        self._file = file
        self._stream = make()

    def read1(self, size: int = -1) -> bytes:
        """Up to `size` bytes of content; b"" at the end of the file."""
        while True:
            one, given = self._stream, b""
            if one.eof:
                given = one.unused_data.lstrip(b"\0")
                while not given:
                    chunk = self._file.read1(CHUNK_BYTES)
                    if not chunk:
                        return b""
                    given = chunk.lstrip(b"\0")
                self._stream = one = self._make()
            elif one.needs_input:
                given = self._file.read1(CHUNK_BYTES)
                if not given:
                    raise EOFError
            try:
                content = one.decompress(given, size)
            except MemoryError:
                raise
            except Exception as error:
                raise DamagedError(str(error)) from error
            if content:
                return content

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _open_gzip(file: Readable) -> Readable:
    return gzip.GzipFile(fileobj=io.BufferedReader(cast(io.RawIOBase, file)))


def _open_xz(file: Readable) -> Readable:
    return _Streams(lambda: lzma.LZMADecompressor(memlimit=MOST_XZ_MEMORY), file)


def _open_bzip2(file: Readable) -> Readable:
    return _Streams(bz2.BZ2Decompressor, file)


def _open_zstd(file: Readable) -> Readable:
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
    return _Streams(zstd.ZstdDecompressor, file)


_OPENERS: dict[bytes, Callable[[Readable], Readable]] = {
    b"\x1f\x8b": _open_gzip,
    b"\xfd7zXZ\x00": _open_xz,
    b"\x28\xb5\x2f\xfd": _open_zstd,
    # What pzstd puts in front.
    **{bytes([first]) + b"\x2a\x4d\x18": _open_zstd for first in range(0x50, 0x60)},
    # `BZh` alone might be text: the first block's mark, or that of an empty stream's end, follows.
    **{
        b"BZh%d%b" % (level, mark): _open_bzip2
        for level in range(1, 10)
        for mark in (b"1AY&SY", b"\x17rE8P\x90")
    },
}
