"""Atomic writes and checked reads: the only module through which nmt writes to disk.

A file appears under its final name completely or not at all: it is written under a temporary name
beside it and synced, then renamed, and the directory is synced. A directory is built under a
temporary name and renamed. Temporary names contain the process and the machine that made them, so
that no process removes what another one still writes.
"""

import contextlib
import hashlib
import itertools
import os
import re
import shlex
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from nmt_cli.errors import CannotCreateError, DataError, NmtError, NoInputError, WriteError
from nmt_cli.storage.disk import TEMPORARY_PREFIX as TEMPORARY_PREFIX
from nmt_cli.storage.disk import Disk, why_closed
from nmt_cli.storage.special_files import has_content, is_special

CHUNK_BYTES = 1 << 20
# As `_temporary_beside` makes it.
_TEMPORARY_NAME = re.compile(rf"{re.escape(TEMPORARY_PREFIX)}(?:old-|gone-)?(.+)\.\d+@[^@]+")
OTHER_FOLDER_HINT = "choose a folder in which you may write"
# Tests replace it by one that counts operations, fails, or ends the process.
DISK = Disk()


def require_file(path: Path, what: str = "file") -> Path:
    """`path`, if it is a file that can be opened; raises NoInputError naming `what` otherwise.

    A pipe is accepted (`<(zcat ...)` on a shell's command line is one); a directory is not.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise NoInputError(
            f"{what} `{path}` cannot be read: {error.strerror}",
            f"check the path{_beginning_of(path)}",
        ) from error
    if stat.S_ISDIR(mode):
        raise NoInputError(f"{what} `{path}` is a directory, a file is needed here")
    if not os.access(path, os.R_OK):
        raise NoInputError(f"{what} `{path}` may not be read by this user")
    return path


def _beginning_of(path: Path) -> str:
    """Where a relative path begins, for the end of a hint; "" for one that says so itself."""
    if path.is_absolute():
        return ""
    try:
        directory = str(Path.cwd())
    except OSError:
        directory = "(deleted)"
    return f"; the current directory is `{directory}`"


def read_bytes(path: Path, what: str = "file", max_bytes: int | None = None) -> bytes:
    """The bytes of a regular file; never blocks on a pipe or a device.

    Raises NoInputError where it cannot be read, DataError where it is larger than `max_bytes`.
    """
    require_file(path, what)
    if not path.is_file():
        raise NoInputError(f"{what} `{path}` is not a regular file")
    if max_bytes is not None and path.stat().st_size > max_bytes:
        raise DataError(f"{what} `{path}` is larger than the {max_bytes:,} bytes that are allowed")
    try:
        return path.read_bytes()
    except OSError as error:
        raise NoInputError(f"{what} `{path}` cannot be read: {error.strerror}") from error


@contextlib.contextmanager
def writing(path: Path, *, replaces: bool = True) -> Iterator[BinaryIO]:
    """A binary file that appears at `path` if the block succeeds, and not at all otherwise.

    A device, pipe or open descriptor (`/dev/null`, `>(gzip)`, `/dev/stderr`) is written to directly
    and never replaced. Unless `replaces`, neither is a file with content: it was written meanwhile.
    The new one then gets another name, and CannotCreateError says which.
    """
    if path.is_dir():
        raise CannotCreateError(f"`{path}` is a directory, a file is needed here")
    if is_special(path):
        try:
            with _open(path, path) as file:
                yield file
        except BrokenPipeError:
            raise
        except OSError as error:
            hint = "free some space where it goes to, or choose another output"
            raise _write_error(path, error, hint) from error
        return
    temporary = _temporary_beside(path)
    file = _open(temporary, path)
    try:
        with file:
            yield file
            file.flush()
            DISK.sync(file.fileno())
        if replaces or _is_empty_file(path):
            DISK.rename(temporary, path)
        else:
            _rename_new(temporary, path)
        DISK.sync_path(path.parent)
    except BaseException as error:
        DISK.discard(temporary)
        if isinstance(error, OSError):
            raise _write_error(path, error) from error
        raise


def _is_empty_file(path: Path) -> bool:
    """Whether `path` is a file, or a link to one or to nothing, and has no content to lose."""
    if path.is_symlink() and not path.exists():
        return True
    return path.is_file() and not has_content(path)


def _rename_new(temporary: Path, path: Path) -> None:
    """Give what is complete the name `path`, or another one if `path` exists by now.

    Raises CannotCreateError then.
    """
    for number in itertools.count(1):
        name = path.name if number == 1 else f"{path.stem}-{number}{path.suffix}"
        with contextlib.suppress(FileExistsError):
            DISK.rename_new(temporary, path.with_name(name))
            break
    if name != path.name:
        DISK.sync_path(path.parent)
        raise CannotCreateError(
            f"another process has written `{path}` meanwhile; what this one wrote is "
            f"`{path.with_name(name)}`",
            "name different outputs, or replace an existing one with --force",
        )


def _open(temporary: Path, path: Path) -> BinaryIO:
    """Open `temporary` for writing; errors name `path`."""
    try:
        return DISK.open(temporary, "wb")
    except OSError as error:
        raise CannotCreateError(
            f"`{path}` cannot be written: {error.strerror}", _other_place_hint(path)
        ) from error


def _other_place_hint(path: Path) -> str:
    if path.absolute().parent.exists():
        return "choose another place"
    return f"make its folder first (`mkdir -p {shlex.quote(str(path.parent))}`), or choose another"


def _temporary_beside(path: Path, mark: str = "") -> Path:
    return path.with_name(f"{TEMPORARY_PREFIX}{mark}{path.name}.{os.getpid()}@{_machine()}")


def _machine() -> str:
    return socket.gethostname().replace("/", "-")


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path`, completely or not at all."""
    with writing(path) as file:
        file.write(data)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 to `path`, completely or not at all."""
    write_bytes(path, text.encode("utf-8"))


def append_line(path: Path, line: str) -> None:
    """Append a line to a log; a crash may truncate the line, an error removes it."""
    size = path.stat().st_size if path.exists() else 0
    try:
        with DISK.open(path, "ab") as file:
            file.write(line.encode("utf-8") + b"\n")
    except OSError as error:
        with contextlib.suppress(OSError):
            DISK.cut(path, size)
        raise _write_error(path, error) from error


def sync_log(path: Path) -> None:
    """Sync a log, so that it survives a power cut; a missing log is ignored."""
    try:
        if path.exists():
            DISK.sync_path(path)
            DISK.sync_path(path.parent)
    except OSError as error:
        raise _write_error(path, error) from error


@contextlib.contextmanager
def building(path: Path, *, replaces: bool = True) -> Iterator[Path]:
    """A directory to fill, which is renamed to `path` if the block succeeds, and else removed.

    What is at `path` is replaced; unless `replaces`, it is kept, the new directory gets another
    name, and CannotCreateError says which. `path` must end with its real name, not with `..`.
    """
    temporary = _temporary_beside(path)
    try:
        DISK.make_directories(path.parent)
        remove_abandoned(path)
        DISK.discard(temporary)
        DISK.make_directory(temporary)
    except OSError as error:
        raise CannotCreateError(
            f"`{path}` cannot be created: {error.strerror}", "choose another place"
        ) from error
    try:
        yield temporary
        for built in (*temporary.rglob("*"), temporary):
            DISK.sync_path(built)
        if replaces:
            DISK.replace_directory(temporary, path)
        else:
            _rename_new(temporary, path)
            DISK.sync_path(path.parent)
    except BaseException as error:
        DISK.discard(temporary)
        if isinstance(error, OSError):
            raise _write_error(path, error) from error
        raise


def remove(path: Path) -> None:
    """Remove a file or a directory with its content; a missing one is ignored.

    A directory is renamed first, so that a partly removed one never has its name, even after a
    power cut. Raises WriteError.
    """
    try:
        if path.is_dir() and not path.is_symlink():
            doomed = _temporary_beside(path, "gone-")
            DISK.rename(path, doomed)
            DISK.sync_path(path.parent)
            DISK.discard(doomed)
        elif os.path.lexists(path):
            DISK.remove_file(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise WriteError(f"`{path}` cannot be removed: {error.strerror}") from error


def remove_leftovers(directory: Path) -> None:
    """Remove temporary files that an interrupted process left, at any depth.

    Call it only while holding `locks.locked(directory)`: another process may be writing otherwise.
    """
    for path in list(directory.rglob(f"{TEMPORARY_PREFIX}*")):
        DISK.discard(path)


def remove_abandoned(path: Path) -> None:
    """Remove what processes of this machine, killed while writing `path`, left beside it.

    What a replacement had set aside gets its name back, if the replacement did not come.
    """
    pattern = re.compile(
        rf"{re.escape(TEMPORARY_PREFIX)}(old-|gone-)?{re.escape(path.name)}"
        rf"\.(\d+)@{re.escape(_machine())}"
    )
    if not path.parent.is_dir():
        return
    for leftover in list(path.parent.iterdir()):
        match = pattern.fullmatch(leftover.name)
        if not match or _is_running(int(match[2])):
            continue
        if match[1] == "old-" and not path.exists():
            with contextlib.suppress(OSError):
                DISK.rename(leftover, path)
        else:
            DISK.discard(leftover)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it is the process of another user
    return True


def make_directory(path: Path) -> Path:
    """Create `path` and its parents where they do not exist."""
    try:
        DISK.make_directories(path)
    except OSError as error:
        raise CannotCreateError(
            f"`{path}` cannot be created: {error.strerror}", OTHER_FOLDER_HINT
        ) from error
    if problem := why_closed(path):
        raise CannotCreateError(f"`{path}` {problem}", OTHER_FOLDER_HINT)
    return path


def require_creatable(path: Path) -> None:
    """Raise CannotCreateError if this user cannot create `path`, before any work is done."""
    existing = next(parent for parent in path.absolute().parents if os.path.lexists(parent))
    if not existing.is_dir():
        raise CannotCreateError(
            f"`{path}` cannot be created: `{existing}` is not a directory",
            "choose another place with --out",
        )
    if problem := why_closed(existing):
        raise CannotCreateError(
            f"`{path}` cannot be created: `{existing}` {problem}", "choose another place"
        )


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_error(
    path: Path,
    error: OSError,
    hint: str = "free some space and run the same command again; no incomplete file was left",
) -> NmtError:
    return WriteError(f"writing `{_final_name(path)}` failed: {error.strerror or error}", hint)


def _final_name(path: Path) -> Path:
    """The path, or, within a directory that is being built, the name that this one will get.

    >>> str(_final_name(Path("a/.tmp-corpus.12@host/text/early.tsv")))
    'a/corpus'
    """
    for part in (*reversed(path.parents), path):
        if match := _TEMPORARY_NAME.fullmatch(part.name):
            return part.with_name(match[1])
    return path
