"""Opens files and stdin, plain or compressed with gzip, xz, zstd or bzip2.

The format is detected from the first bytes.
"""

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
from nmt_cli.installation import install_command
from nmt_cli.storage.files import require_file

CHUNK_BYTES = 1 << 18
# `xz -9` needs a quarter of this limit; a damaged or hostile stream may request 4 GiB.
MAX_XZ_MEMORY = 1 << 28
STDIN = "-"


class Readable(Protocol):
    """The methods of an open file that reading needs."""

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        ...

    def read1(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes as soon as some are available; b"" at the end."""
        ...

    def fileno(self) -> int:
        """Return the file descriptor."""
        ...

    def tell(self) -> int:
        """Return the number of bytes read so far."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class DamagedError(Exception):
    """Raised for compressed bytes that cannot be decompressed."""


class Decompressor(Protocol):
    """The interface of the decompressors of the standard library for xz, zstd and bzip2.

    A decompressor reads one stream from its first byte.
    """

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""
        ...

    @property
    def needs_input(self) -> bool:
        """Whether more input is needed before more content can be returned."""
        ...

    @property
    def unused_data(self) -> bytes:
        """The input bytes after the end of the stream."""
        ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return up to `max_length` bytes of content."""
        ...


def is_broken(error: Exception) -> bool:
    """Return whether a reading error means that a compressed stream is cut off or damaged."""
    return isinstance(error, EOFError | DamagedError | zlib.error | gzip.BadGzipFile)


def reading_error(name: str, error: OSError) -> NmtError:
    """Return the error for a file whose bytes cannot be read."""
    if error.errno == errno.EBADF:
        return NoInputError(f"`{name}` is closed", "give a file, or pipe text in")
    return WriteError(f"reading `{name}` failed: {error.strerror}")


def open_stream(raw: Readable) -> Readable:
    """Return a file with the decompressed content of `raw`, whose first bytes tell its format.

    Raises OSError if they cannot be read, and UnavailableError for zstd without its reader.
    """
    head = b""
    while len(head) < max(map(len, _OPENERS)) and any(magic.startswith(head) for magic in _OPENERS):
        chunk = raw.read1(CHUNK_BYTES)
        head += chunk
        if not chunk:
            break
    whole = _PrefixedFile(head, raw)
    for magic, opener in _OPENERS.items():
        if head.startswith(magic):
            return opener(whole)
    return whole


def open_raw(path: Path | str, name: str) -> Readable:
    """Open a file without decompression; `-` is stdin. Raises NoInputError."""
    if str(path) == STDIN:
        if sys.stdin is None or sys.stdin.closed:
            raise NoInputError("stdin is closed", "give a file, or pipe text in")
        return cast(Readable, sys.stdin.buffer)
    require_file(Path(path))
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise NoInputError(f"`{name}` cannot be read: {error.strerror}") from error


def decompressed(raw: Readable) -> io.BufferedReader:
    """The content of a file that was opened without decompression."""
    return io.BufferedReader(_PrefixedFile(b"", open_stream(raw)))


class _PrefixedFile(io.RawIOBase):
    """A file whose first bytes were already read: it returns them again, then the rest."""

    def __init__(self, head: bytes, rest: Readable) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1) -> bytes:
        """Return up to `size` bytes as soon as some are available; b"" at the end."""
        if self._head:
            data, self._head = self._head[:size], self._head[size:]
            return data
        return self._rest.read1(size)

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed and self._rest is not getattr(sys.stdin, "buffer", None):
            self._rest.close()
        super().close()


class _DecompressedFile(io.RawIOBase):
    """The content of one or more compressed streams in a row, with zero bytes between them or not.

    Any other bytes after a stream are damage, which is reported after the content before them.
    """

    def __init__(self, make: Callable[[], Decompressor], file: Readable) -> None:
        self._make = make
        self._file = file
        self._stream = make()

    def read1(self, size: int = -1) -> bytes:
        """Return up to `size` bytes of content; b"" at the end of the file."""
        while True:
            data = b""
            if self._stream.eof:
                data = self._stream.unused_data.lstrip(b"\0")
                while not data:
                    chunk = self._file.read1(CHUNK_BYTES)
                    if not chunk:
                        return b""
                    data = chunk.lstrip(b"\0")
                self._stream = self._make()
            elif self._stream.needs_input:
                data = self._file.read1(CHUNK_BYTES)
                if not data:
                    raise EOFError
            try:
                content = self._stream.decompress(data, size)
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
    return _DecompressedFile(lambda: lzma.LZMADecompressor(memlimit=MAX_XZ_MEMORY), file)


def _open_bzip2(file: Readable) -> Readable:
    return _DecompressedFile(bz2.BZ2Decompressor, file)


def _open_zstd(file: Readable) -> Readable:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as error:
        raise UnavailableError(
            "this text is compressed with zstd, whose reader is not installed",
            f"{install_command('zstd')}, or decompress it first",
        ) from error
    return _DecompressedFile(zstd.ZstdDecompressor, file)


_OPENERS: dict[bytes, Callable[[Readable], Readable]] = {
    b"\x1f\x8b": _open_gzip,
    b"\xfd7zXZ\x00": _open_xz,
    b"\x28\xb5\x2f\xfd": _open_zstd,
    # The skippable frames that pzstd writes first.
    **{bytes([first]) + b"\x2a\x4d\x18": _open_zstd for first in range(0x50, 0x60)},
    # `BZh` alone could be text, so the mark of the first block, or of the end of an empty stream,
    # must follow.
    **{
        b"BZh%d%b" % (level, mark): _open_bzip2
        for level in range(1, 10)
        for mark in (b"1AY&SY", b"\x17rE8P\x90")
    },
}
