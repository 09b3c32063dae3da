"""The cache folder of a user: what is loaded from it as code must not come from another user."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from nmt_cli.storage import files

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
FOLDER_MODE, FILE_MODE = 0o700, 0o644


def untrusted(path: Path) -> str:
    """Why a file or folder may contain code of another user; "" where it cannot."""
    status = path.stat()
    if status.st_uid != os.getuid():
        return f"`{path}` belongs to another user"
    if status.st_mode & OTHERS_WRITE:
        return f"others may write to `{path}`"
    return ""


def untrusted_folder(folder: Path) -> str:
    """Why files in a cache folder may be those of another user; "" where they cannot.

    A folder of this user to which others may write, as some umasks leave it, is closed to them
    first. What they have put there until then belongs to them. A missing folder can be trusted.
    """
    if not folder.is_dir():
        return ""
    status = folder.stat()
    if status.st_uid == os.getuid() and status.st_mode & OTHERS_WRITE:
        with contextlib.suppress(OSError):
            folder.chmod(FOLDER_MODE)
    return untrusted(folder)


def make_folder(folder: Path) -> None:
    """Create a cache folder for this user alone, whatever the umask; it may exist.

    Raises CannotCreateError where it cannot be created, or may not be written.
    """
    if not folder.is_dir():
        files.make_directory(folder.parent)
        with contextlib.suppress(OSError):
            folder.mkdir(FOLDER_MODE)
    files.make_directory(folder)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """As `files.writing`; others may not write to the file, whatever the umask."""
    with files.writing(path) as file:
        os.fchmod(file.fileno(), FILE_MODE)
        yield file
