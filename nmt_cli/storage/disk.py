"""The operations that change the disk, which only files.py calls.

Any of them may fail, and the machine may stop after any of them. Tests simulate this by putting
another object in place of Disk.
"""

import contextlib
import errno
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from nmt_cli.machine import c_function
from nmt_cli.storage.special_files import descriptor_of

if TYPE_CHECKING:
    from typing_extensions import Buffer

TEMPORARY_PREFIX = ".tmp-"
# The prefix of files and directories that get their name back if their replacement never came.
ASIDE_PREFIX = f"{TEMPORARY_PREFIX}old-"
AT_FDCWD = -100
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
# What renameat2 says where the system or the file system has no such way of renaming.
NOT_SUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


def why_closed(folder: Path) -> str:
    """Why no file can be created in a folder, to follow its name; "" if one can."""
    if os.access(folder, os.W_OK | os.X_OK):
        return ""
    with contextlib.suppress(OSError, AttributeError):
        if os.statvfs(folder).f_flag & os.ST_RDONLY:
            return "is on a file system that is read-only"
    return "may not be written by this user"


class Disk:
    """Single system calls first, then operations made of them; all raise OSError.

    A power cut may undo what was not synced: the content of files and the names in directories.
    """

    def open(self, path: Path, mode: Literal["wb", "ab"]) -> BinaryIO:
        """Open a file for writing ("wb") or appending ("ab"); its data goes through `write`.

        A path that names an open descriptor is written to where that one stands, which stays open.
        """
        descriptor = descriptor_of(path)
        target = path if descriptor is None else os.dup(descriptor)
        return io.BufferedWriter(_DiskFile(target, mode, self))

    def write(self, descriptor: int, data: "Buffer") -> int:
        """Write to an open file and return the number of bytes written."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Flush the content of an open file, or the names in an open directory, to the disk."""
        os.fsync(descriptor)

    def cut(self, path: Path, size: int) -> None:
        """Shorten a file to `size` bytes."""
        os.truncate(path, size)

    def rename(self, old: Path, new: Path) -> None:
        """Rename a file or directory; a file of the new name is replaced."""
        old.replace(new)

    def rename_new(self, old: Path, new: Path) -> None:
        """Rename a file or directory; FileExistsError, and no change, where `new` exists."""
        try:
            self._renameat2(old, new, RENAME_NOREPLACE)
        except OSError as error:
            if error.errno not in NOT_SUPPORTED:
                raise
            if os.path.lexists(new):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new)) from error
            old.replace(new)

    def exchange(self, first: Path, second: Path) -> None:
        """Swap the names of two files or directories atomically; OSError (ENOSYS) without Linux."""
        self._renameat2(first, second, RENAME_EXCHANGE)

    def _renameat2(self, first: Path, second: Path, flags: int) -> None:
        import ctypes

        renameat2 = c_function("renameat2")
        if renameat2 is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        paths = (AT_FDCWD, os.fsencode(first), AT_FDCWD, os.fsencode(second))
        if renameat2(*paths, ctypes.c_uint(flags)):
            error_number = ctypes.get_errno()
            raise OSError(error_number, os.strerror(error_number), str(first))

    def make_directory(self, path: Path) -> None:
        """Make one directory, which must not exist; its parent must."""
        path.mkdir()

    def remove_file(self, path: Path) -> None:
        """Remove a file or link."""
        path.unlink()

    def remove_directory(self, path: Path) -> None:
        """Remove an empty directory."""
        path.rmdir()

    def sync_path(self, path: Path) -> None:
        """Sync the content of a file, or the names in a directory."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            self.sync(descriptor)
        finally:
            os.close(descriptor)

    def make_directories(self, path: Path) -> None:
        """Make a directory and its parents where they do not exist, and sync them."""
        if path.is_dir():
            return
        self.make_directories(path.parent)
        try:
            self.make_directory(path)
        except FileExistsError:
            if not path.is_dir():
                raise
        self.sync_path(path.parent)

    def replace_directory(self, new: Path, path: Path) -> None:
        """Put the directory `new` at `path`, synced; what was at `path` is removed afterwards."""
        if path.exists():
            try:
                self.exchange(new, path)
            except OSError as error:
                if error.errno not in NOT_SUPPORTED:
                    raise
                self._rename_all(new, path)
        else:
            self.rename(new, path)
        self.sync_path(path.parent)
        self.discard(new)

    def _rename_all(self, new: Path, path: Path) -> None:
        """Exchange by three renames; for a moment nothing is at `path`."""
        aside = new.with_name(new.name.replace(TEMPORARY_PREFIX, ASIDE_PREFIX, 1))
        self.rename(path, aside)
        self.rename(new, path)
        self.rename(aside, new)

    def discard(self, path: Path) -> None:
        """Remove a file, or a directory with its content, as far as possible; never raises."""
        with contextlib.suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                for child in list(path.iterdir()):
                    self.discard(child)
                self.remove_directory(path)
            elif os.path.lexists(path):
                self.remove_file(path)


class _DiskFile(io.FileIO):
    """An open file that writes through `Disk.write`."""

    def __init__(self, path: Path | int, mode: Literal["wb", "ab"], disk: Disk) -> None:
        super().__init__(path, mode)
        self._disk = disk

    def write(self, data: "Buffer", /) -> int:
        return self._disk.write(self.fileno(), data)
