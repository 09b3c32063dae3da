"""Locks, so that no two processes write to the same directory."""

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from nmt_cli.errors import CannotCreateError, TryAgainError
from nmt_cli.storage.files import TEMPORARY_PREFIX

LOCK = ".lock"


@contextlib.contextmanager
def locked(directory: Path, hint: str = "wait for it, or use another --out") -> Iterator[None]:
    """Lock `directory` against other processes; raises TryAgainError naming the holder.

    hint: what to do in that case. The lock is the kernel's (flock), so it is released when the
    process ends, in whatever way. The lock file names the holder only while the lock is held.
    """
    path = directory / LOCK
    try:
        file = path.open("a+")
    except OSError as error:
        raise CannotCreateError(f"`{directory}` cannot be written: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise TryAgainError(f"`{directory}` is in use by {_holder(file)}", hint) from error
        except OSError as error:
            raise CannotCreateError(
                f"`{directory}` cannot be locked: {error.strerror}", "use a local disk"
            ) from error
        _write_holder(file)
        try:
            yield
        finally:
            file.truncate(0)


def lock_holder(directory: Path) -> str:
    """The process that holds `directory` by `locked`; "" if none does or it is not known."""
    with contextlib.suppress(OSError), (directory / LOCK).open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _holder(file)
    return ""


@contextlib.contextmanager
def only_writer(path: Path, command: str) -> Iterator[bool]:
    """Let no other process make `path` meanwhile; raises TryAgainError naming the one that does.

    command: what makes it, such as "nmt prepare". `path` need not exist, so the lock file is beside
    it, or in the nearest folder above it that exists, and is removed afterwards. Yields whether it
    is beside `path`: if not, a process that starts once that folder exists does not see it. Where
    no lock is possible, there is none.
    """
    lock = _lock_file(path)
    file = None
    with contextlib.suppress(OSError):
        file = _open_locked(lock, f"another `{command}` is writing `{path}`")
    if file is None:
        yield False
        return
    with file:
        _write_holder(file)
        try:
            yield lock.parent == path.absolute().parent
        finally:
            with contextlib.suppress(OSError):
                lock.unlink()


def _lock_file(path: Path) -> Path:
    """The lock file of `only_writer`, in a folder that exists; its name stands for all of `path`.

    >>> _lock_file(Path("/none/out")).name
    '.tmp-none%2Fout.lock'
    """
    path = path.absolute()
    folder = next(parent for parent in path.parents if parent.is_dir())
    name = "%2F".join(path.relative_to(folder).parts)
    return folder / f"{TEMPORARY_PREFIX}{name}.lock"


def _open_locked(lock: Path, problem: str) -> TextIO:
    """Make and lock the file `lock`; raises TryAgainError with `problem` if another one holds it.

    Raises OSError where it cannot be made or locked.
    """
    while True:
        file = lock.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            with file:
                message = f"{problem}: {_holder(file)}"
            raise TryAgainError(message, "wait for it, or use another --out") from error
        except OSError:
            file.close()
            lock.unlink()
            raise
        # Its last holder may have removed it since it was opened.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(lock.stat(), os.fstat(file.fileno())):
                return file
        file.close()


def _write_holder(file: TextIO) -> None:
    file.truncate(0)
    since = time.strftime("%Y-%m-%d %H:%M:%S %z")
    file.write(f"process {os.getpid()} on {socket.gethostname()} since {since}")
    file.flush()


def _holder(file: TextIO) -> str:
    file.seek(0)
    return file.read(200).strip() or "another process"
