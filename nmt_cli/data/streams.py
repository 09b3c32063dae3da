"""Opens text streams: a file or stdin, plain or gzip, xz, zstd, told by the first bytes."""

import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from nmt_cli.errors import NoInputError, UnavailableError, WriteError
from nmt_cli.files import require_file

CHUNK_BYTES = 1 << 18
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


def is_broken(error: Exception) -> bool:
    """Whether `error`, from reading, means that a compressed stream is cut off or damaged."""
    known = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
    # The class of zstd's error comes from a module that may not be installed.
    return isinstance(error, known) or type(error).__name__ == "ZstdError"


def open_stream(raw: Readable, name: str) -> Readable:
    """The decompressed content of a file."""
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


def _open_gzip(file: BinaryIO) -> Readable:
    return gzip.GzipFile(fileobj=file)


def _open_xz(file: BinaryIO) -> Readable:
    return lzma.LZMAFile(file)


def _open_zstd(file: BinaryIO) -> Readable:
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
    return cast(Readable, zstd.ZstdFile(file))


_OPENERS: dict[bytes, Callable[[BinaryIO], Readable]] = {
    b"\x1f\x8b": _open_gzip,
    b"\xfd7zXZ\x00": _open_xz,
    b"\x28\xb5\x2f\xfd": _open_zstd,
}
