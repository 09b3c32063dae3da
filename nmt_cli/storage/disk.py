"""The single operations that change the disk, and what takes several; only files.py calls them.

After each single one the machine may stop, and each may fail: tests put another Disk in its place.
"""

import contextlib
import errno
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

if TYPE_CHECKING:
    from typing_extensions import Buffer

TEMPORARY_PREFIX = ".tmp-"
# Of what gets its name back where no replacement came.
ASIDE_PREFIX = f"{TEMPORARY_PREFIX}old-"
AT_FDCWD = -100
RENAME_EXCHANGE = 2
NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


class Disk:
    """First the operations as the kernel knows them, then what is made of them; OSError is raised.

    A power cut may undo what was not synced: the content of files, and names in directories.
    """

    def open(self, path: Path, mode: Literal["wb", "ab"]) -> BinaryIO:
        """A file to write to, emptied or as it is; what is written to it goes through `write`."""
        return io.BufferedWriter(_Written(path, mode, self))

    def write(self, descriptor: int, data: "Buffer") -> int:
        """Write to an open file; the bytes that it took."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Make the content of an open file, or the names in an open directory, last."""
        os.fsync(descriptor)

    def cut(self, path: Path, size: int) -> None:
        """Shorten a file to `size` bytes."""
        os.truncate(path, size)

    def rename(self, old: Path, new: Path) -> None:
        """Give a file or directory another name; a file that has it already goes."""
        old.replace(new)

    def exchange(self, one: Path, other: Path) -> None:
        """Let two files or directories have each other's names, at one stroke (Linux)."""
        import ctypes

        try:
            call = ctypes.CDLL(None, use_errno=True).renameat2
        except AttributeError as error:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from error
        names = (AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other))
        if call(*names, ctypes.c_uint(RENAME_EXCHANGE)):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(one))

    def make_directory(self, path: Path) -> None:
        """Make one directory; its parent exists, it does not."""
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
        """Make a directory and its parents where they do not exist, synced."""
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
        """Let the directory `new` be `path`, synced; what was there is until then, and goes."""
        if path.exists():
            try:
                self.exchange(new, path)
            except OSError as error:
                if error.errno not in NO_EXCHANGE:
                    raise
                self._rename_all(new, path)
        else:
            self.rename(new, path)
        self.sync_path(path.parent)
        self.discard(new)

    def _rename_all(self, new: Path, path: Path) -> None:
        """As good as an exchange, but for a moment in which nothing is at `path`."""
        aside = new.with_name(new.name.replace(TEMPORARY_PREFIX, ASIDE_PREFIX, 1))
        self.rename(path, aside)
        self.rename(new, path)
        self.rename(aside, new)

    def discard(self, path: Path) -> None:
        """Remove a file, or a directory with all in it, as far as that goes; never raises."""
        with contextlib.suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                for one in list(path.iterdir()):
                    self.discard(one)
                self.remove_directory(path)
            elif os.path.lexists(path):
                self.remove_file(path)


class _Written(io.FileIO):
    """An open file whose every write is one of the disk's operations."""

    def __init__(self, path: Path, mode: Literal["wb", "ab"], disk: Disk) -> None:
        super().__init__(path, mode)
        self._disk = disk

    def write(self, data: "Buffer", /) -> int:
        return self._disk.write(self.fileno(), data)
