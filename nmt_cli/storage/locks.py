"""Locks of directories, so that no two processes write to the same one."""

import contextlib
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from nmt_cli.errors import CannotCreateError, TryAgainError

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
            file.seek(0)
            holder = file.read(200).strip() or "another process"
            raise TryAgainError(f"`{directory}` is in use by {holder}", hint) from error
        except OSError as error:
            raise CannotCreateError(
                f"`{directory}` cannot be locked: {error.strerror}", "use a local disk"
            ) from error
        file.truncate(0)
        since = time.strftime("%Y-%m-%d %H:%M:%S %z")
        file.write(f"process {os.getpid()} on {socket.gethostname()} since {since}")
        file.flush()
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
            return file.read(200).strip() or "another process"
    return ""
