"""The narrow waist: everything that is written to disk, and every checked read, goes through here.

A file appears under its final name whole or not at all: temporary name beside it, fsync, rename,
fsync of the directory. A directory is built under a temporary name and renamed. `manifest.json`
holds the size and SHA-256 of each file of a directory, so that a damaged copy is refused.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import socket
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from nmt_cli.errors import (
    CannotCreateError,
    DataError,
    NmtError,
    NoInputError,
    TryAgainError,
    WriteError,
)

MANIFEST = "manifest.json"
LOCK = ".lock"
TEMPORARY_PREFIX = ".tmp-"
CHUNK_BYTES = 1 << 20


def require_file(path: Path, what: str = "file") -> Path:
    """`path`, if it is a file that can be opened; raises NoInputError naming `what` otherwise.

    A pipe is accepted (`<(zcat ...)` on a shell's command line is one); a directory is not.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise NoInputError(
            f"{what} `{path}` cannot be read: {error.strerror}",
            f"check the path; the current directory is `{_working_directory()}`",
        ) from error
    if stat.S_ISDIR(mode):
        raise NoInputError(f"{what} `{path}` is a directory, a file is needed here")
    if not os.access(path, os.R_OK):
        raise NoInputError(f"{what} `{path}` may not be read by this user")
    return path


def _working_directory() -> str:
    try:
        return str(Path.cwd())
    except OSError:
        return "(deleted)"


def read_bytes(path: Path, what: str = "file", max_bytes: int | None = None) -> bytes:
    """The bytes of a regular file; never blocks on a pipe or a device.

    Raises NoInputError where it cannot be read, DataError where it is larger than `max_bytes`.
    """
    require_file(path, what)
    if not path.is_file():
        raise NoInputError(f"{what} `{path}` is not a regular file")
    if max_bytes is not None and path.stat().st_size > max_bytes:
        raise DataError(f"{what} `{path}` is larger than the {max_bytes} bytes expected of it")
    try:
        return path.read_bytes()
    except OSError as error:
        raise NoInputError(f"{what} `{path}` cannot be read: {error.strerror}") from error


@contextlib.contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """A binary file that appears at `path` when the block ends well, and not at all otherwise.

    A device or pipe (`/dev/null`, `>(gzip)`) is written to as it stands, never replaced.
    """
    if path.is_dir():
        raise CannotCreateError(f"`{path}` is a directory, a file is needed here")
    if path.exists() and not path.is_file():
        with _opened(path, path) as file:
            yield file
        return
    temporary = _temporary_beside(path)
    file = _opened(temporary, path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        fsync_directory(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise _write_error(path, error) from error
        raise


def _opened(place: Path, path: Path) -> BinaryIO:
    try:
        return place.open("wb")
    except OSError as error:
        raise CannotCreateError(
            f"`{path}` cannot be written: {error.strerror}", "choose another place with --out"
        ) from error


def _named(path: Path) -> Path:
    """`path`, where `.` and `..` are called by their real name."""
    return path.resolve() if path.name in ("", "..") else path


def _temporary_beside(path: Path, mark: str = "") -> Path:
    return path.with_name(f"{TEMPORARY_PREFIX}{mark}{path.name}.{os.getpid()}")


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path`, whole or not at all."""
    with writing(path) as file:
        file.write(data)


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 to `path`, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def append_line(path: Path, line: str) -> None:
    """Append one line to a log; a crash can tear only the last line."""
    try:
        with path.open("ab") as file:
            file.write(line.encode("utf-8") + b"\n")
    except OSError as error:
        raise _write_error(path, error) from error


@contextlib.contextmanager
def new_directory(path: Path, *, force: bool = False) -> Iterator[Path]:
    """A directory to fill; it gets its manifest and its name `path` when the block ends well.

    An existing `path` is refused with CannotCreateError unless `force`, which replaces an empty
    directory or one with a manifest: nobody loses a folder to a misspelt --out.
    """
    path = _named(path)
    if path.exists() and not force:
        raise CannotCreateError(
            f"`{path}` exists already", "use --force to replace it, or another --out"
        )
    if path.exists() and not _may_replace(path):
        raise CannotCreateError(
            f"`{path}` was not written by nmt and is not replaced",
            "remove it yourself if you mean it, or choose another --out",
        )
    temporary = _temporary_beside(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
    except OSError as error:
        raise CannotCreateError(
            f"`{path}` cannot be created: {error.strerror}", "choose another place with --out"
        ) from error
    try:
        yield temporary
        write_manifest(temporary)
        _move_directory(temporary, path)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError):
            raise _write_error(path, error) from error
        raise


def _may_replace(path: Path) -> bool:
    if not path.is_dir():
        return False
    return (path / MANIFEST).is_file() or next(path.iterdir(), None) is None


def _move_directory(temporary: Path, path: Path) -> None:
    if path.exists():
        old = _temporary_beside(path, "old-")
        path.rename(old)
        temporary.rename(path)
        _discard(old)
    else:
        temporary.rename(path)
    fsync_directory(path.parent)


def remove(path: Path) -> None:
    """Remove a file or a whole directory; a missing one is fine.

    A directory is renamed first, so that a half-removed one never carries a name that counts.
    """
    with contextlib.suppress(FileNotFoundError):
        if path.is_dir():
            doomed = _temporary_beside(path, "old-")
            path.rename(doomed)
            _discard(doomed)
        else:
            path.unlink()


def _discard(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def remove_leftovers(directory: Path) -> None:
    """Remove what an interrupted earlier process left under temporary names.

    Call only while holding `locked(directory)`: another process may be writing otherwise.
    """
    for path in directory.glob(f"{TEMPORARY_PREFIX}*"):
        _discard(path)


def make_directory(path: Path) -> Path:
    """Create `path` (and its parents) where it does not exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotCreateError(f"`{path}` cannot be created: {error.strerror}") from error
    if not os.access(path, os.W_OK):
        raise CannotCreateError(f"`{path}` may not be written by this user")
    return path


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_manifest(directory: Path) -> None:
    """Record size and SHA-256 of every file below `directory` (fsynced) in its manifest."""
    entries = {
        str(path.relative_to(directory)): _entry(path)
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in (MANIFEST, LOCK)
    }
    for path in directory.rglob("*"):
        _fsync(path)
    _write_entries(directory, entries)


def add_to_manifest(directory: Path, name: str, data: bytes) -> None:
    """Write `data` as `directory/name` and record it; valid before, after and all the time between.

    While the file is replaced the manifest admits both contents, so that a reader or a crash in
    the middle meets a directory that checks.
    """
    entries = read_manifest(directory) if (directory / MANIFEST).exists() else {}
    new = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    previous = _settled(directory / name, entries[name]) if name in entries else None
    if previous is not None and previous != new:
        _write_entries(directory, {**entries, name: {**previous, "next": new}})
    write_bytes(directory / name, data)
    _write_entries(directory, {**entries, name: new})


Entry = dict[str, object]


def _settled(path: Path, entry: Entry) -> Entry:
    """The one content of `path` that its `entry` admits, after an earlier crash in the middle."""
    following = entry.get("next")
    if isinstance(following, dict) and path.is_file() and _entry(path) == following:
        return following
    return {key: entry[key] for key in ("bytes", "sha256")}


def _entry(path: Path) -> Entry:
    return {"bytes": path.stat().st_size, "sha256": sha256_of(path)}


def _write_entries(directory: Path, entries: dict[str, Entry]) -> None:
    text = json.dumps({"format": 1, "files": entries}, indent=2, sort_keys=True)
    write_text(directory / MANIFEST, text + "\n")


def read_manifest(directory: Path) -> dict[str, Entry]:
    """The entries of a manifest; raises DataError when it is missing or not one."""
    if not directory.is_dir():
        raise NoInputError(f"`{directory}` is not a directory")
    path = directory / MANIFEST
    if not path.is_file():
        raise DataError(
            f"`{directory}` has no {MANIFEST}: it is not a complete directory of nmt",
            "was it copied in part, or written by another program?",
        )
    try:
        entries = json.loads(read_bytes(path, max_bytes=16 << 20))["files"]
        for entry in entries.values():
            if not isinstance(entry["sha256"], str) or not isinstance(entry["bytes"], int):
                raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"`{path}` is damaged", "copy the directory again") from error
    return dict(entries)


def check_manifest(directory: Path, names: Iterable[str] | None = None) -> None:
    """Check `names` (None: all) against the manifest; raises DataError for the first damage."""
    entries = read_manifest(directory)
    for name in entries if names is None else names:
        if name not in entries:
            raise DataError(f"`{directory / name}` is not listed in {MANIFEST}")
        try:
            check_entry(directory, name, entries[name])
        except DataError:
            # Another process may have replaced the file since the manifest was read.
            now = read_manifest(directory).get(name)
            if now is None or now == entries[name]:
                raise
            check_entry(directory, name, now)


def check_entry(directory: Path, name: str, entry: Entry) -> None:
    """Check one file against its manifest entry; raises DataError naming it."""
    path = directory / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise DataError(f"`{directory / MANIFEST}` names `{name}`, which lies outside")
    if not path.is_file():
        raise DataError(f"`{path}` is missing", "copy the directory again")
    following = entry.get("next")
    accepted = [entry, following] if isinstance(following, dict) else [entry]
    size = path.stat().st_size
    fitting = [one for one in accepted if one.get("bytes") == size]
    if not fitting:
        raise DataError(
            f"`{path}` is damaged: {size} bytes where {entry.get('bytes')} were written",
            "copy the directory again",
        )
    try:
        digest = sha256_of(path)
    except OSError as error:
        raise NoInputError(f"`{path}` cannot be read: {error.strerror}") from error
    if all(one.get("sha256") != digest for one in fitting):
        raise DataError(
            f"`{path}` is damaged: its SHA-256 differs from {MANIFEST}", "copy the directory again"
        )


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold `directory` against a second process; raises TryAgainError naming the holder.

    The lock is the kernel's (flock): it ends with the process, however that ends.
    """
    path = directory / LOCK
    try:
        file = path.open("a+")
    except OSError as error:
        raise CannotCreateError(f"`{directory}` cannot be written: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read(200).strip() or "another process"
            raise TryAgainError(
                f"`{directory}` is in use by {holder}", "wait for it, or use another --out"
            ) from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        yield


def fsync_directory(path: Path) -> None:
    """Make the names in `path` survive a power cut."""
    _fsync(path)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_error(path: Path, error: OSError) -> NmtError:
    return WriteError(
        f"writing `{path}` failed: {error.strerror or error}",
        "free some space and run the same command again; nothing half-written was left",
    )
