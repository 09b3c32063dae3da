"""Keeps translated files until their clients fetch them."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from nmt_cli.errors import UsageError

MAX_FILES = 100
MAX_BYTES = 64 << 20
SECONDS = 600.0


@dataclass(frozen=True)
class TranslatedFile:
    """A file: its name at the client, its content, and when it was made, in monotonic seconds."""

    name: str
    data: bytes
    made: float


class TranslatedFiles:
    """Files in memory, by names that nobody can guess.

    A file is kept for `SECONDS`. The oldest give way when there are more than `MAX_FILES`, or
    more than `MAX_BYTES` in all. clock: gives the present time, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._files: dict[str, TranslatedFile] = {}

    def add(self, name: str, data: bytes) -> str:
        """Keep a file; returns the name by which it is found, which has the same suffix."""
        key = secrets.token_hex(16) + PurePosixPath(name).suffix
        self._files[key] = TranslatedFile(name, data, self._clock())
        self._drop_old()
        return key

    def get(self, key: str) -> TranslatedFile | None:
        """The file of this name, or None if it is not kept, or no longer."""
        self._drop_old()
        return self._files.get(key)

    def _drop_old(self) -> None:
        """Forget the oldest files, until the rest is within the limits."""
        size = sum(len(file.data) for file in self._files.values())
        oldest_allowed = self._clock() - SECONDS
        for key, file in list(self._files.items()):
            is_old = file.made < oldest_allowed
            if not is_old and len(self._files) <= MAX_FILES and size <= MAX_BYTES:
                return
            size -= len(self._files.pop(key).data)


def check_public_url(url: str) -> None:
    """Raise UsageError for what cannot begin the addresses of the files of a server.

    >>> check_public_url("https://mt.example.org/nmt/")
    """
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_valid = is_valid and not (parts.query or parts.fragment or parts.username)
    except ValueError:
        is_valid = False
    if not is_valid or not url.isascii() or any(map(str.isspace, url)):
        raise UsageError(
            f"--public-url {url}: not the address of a server",
            "scheme and host, with a path if the proxy has one: https://mt.example.org",
        )
