"""Directories that vouch for themselves: `manifest.json` holds size and SHA-256 of each file.

A directory counts as complete once it has its manifest, and a damaged copy is refused.
"""

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from nmt_cli.errors import CannotCreateError, ConfigError, DataError, NmtError, NoInputError
from nmt_cli.storage import files

MANIFEST = "manifest.json"
# What training writes into a model directory and does not list.
LOG, CHECKPOINTS = "log.jsonl", "checkpoints"
FORMAT = 1
MOST_BYTES = 16 << 20
# How many of a user's files are named, where a directory is not replaced because of them.
FOREIGN_NAMED = 3
READ_BYTES = 1 << 20
# No system takes a longer one as a part of a path.
LONGEST_NAME = 255

Entry = dict[str, object]


@contextlib.contextmanager
def new_directory(path: Path, *, force: bool = False) -> Iterator[Path]:
    """A directory to fill; it gets its manifest and its name `path` when the block ends well.

    An existing `path` is refused with CannotCreateError unless `force`, which replaces an empty
    directory or one that nmt wrote, all of it: nobody loses a folder to a misspelt --out.
    """
    path = _named(path)
    require_free(path, force=force)
    with replacing(path) as place:
        yield place


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """As `new_directory`, whatever is at `path`: for names that only nmt gives."""
    with files.building(path) as place:
        yield place
        write_manifest(place)


def require_free(path: Path, *, force: bool) -> None:
    """Raises CannotCreateError where `path` exists; with `force`, where it is not nmt's own."""
    if path.exists() and not force:
        raise CannotCreateError(
            f"`{path}` exists already", "use --force to replace it, or another --out"
        )
    if not path.exists():
        return
    if not is_own(path) and not _is_empty(path):
        raise CannotCreateError(
            f"`{path}` was not written by nmt and is not replaced",
            "remove it yourself if you mean it, or choose another --out",
        )
    foreign = sorted(str(one.relative_to(path)) for one in _foreign_files(path))
    if foreign:
        more = f" and {len(foreign) - FOREIGN_NAMED:,} more" if foreign[FOREIGN_NAMED:] else ""
        raise CannotCreateError(
            f"`{path}` also holds files that nmt did not write, and is not replaced: "
            f"{', '.join(foreign[:FOREIGN_NAMED])}{more}",
            "move them to another place, or choose another --out",
        )


def is_own(directory: Path) -> bool:
    """Whether `directory` has a manifest as nmt writes it, of whichever version."""
    try:
        data = files.read_bytes(directory / MANIFEST, max_bytes=MOST_BYTES)
        document = json.loads(data)
        named = isinstance(document["format"], int) and isinstance(document["files"], dict)
        return named and all("sha256" in entry for entry in document["files"].values())
    except (NmtError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _is_empty(path: Path) -> bool:
    return path.is_dir() and next(path.iterdir(), None) is None


def _foreign_files(directory: Path) -> Iterator[Path]:
    """The files below `directory` that neither its manifest names nor training writes there."""
    if _is_empty(directory):
        return
    listed = json.loads((directory / MANIFEST).read_bytes())["files"]
    for path in directory.rglob("*"):
        name = path.relative_to(directory)
        if path.is_dir() and not path.is_symlink():
            continue
        if str(name) in listed or path.name in (MANIFEST, files.LOCK):
            continue
        # A checkpoint has a manifest of its own.
        ours = name.parts[0] == CHECKPOINTS and (path.parent / MANIFEST).is_file()
        abandoned = any(part.startswith(files.TEMPORARY_PREFIX) for part in name.parts)
        if not (ours or abandoned or str(name) == LOG):
            yield path


def _named(path: Path) -> Path:
    """`path`, where `.` and `..` are called by their real name."""
    return path.resolve() if path.name in ("", "..") else path


def write_manifest(directory: Path) -> None:
    """Record size and SHA-256 of every file below `directory` in its manifest."""
    entries = {
        str(path.relative_to(directory)): _entry(path)
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in (MANIFEST, files.LOCK)
    }
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
    files.write_bytes(directory / name, data)
    _write_entries(directory, {**entries, name: new})


def _settled(path: Path, entry: Entry) -> Entry:
    """The one content of `path` that its `entry` admits, after an earlier crash in the middle."""
    following = entry.get("next")
    if isinstance(following, dict) and path.is_file() and _entry(path) == following:
        return following
    return {key: entry[key] for key in ("bytes", "sha256")}


def _entry(path: Path) -> Entry:
    return {"bytes": path.stat().st_size, "sha256": files.sha256_of(path)}


def _write_entries(directory: Path, entries: dict[str, Entry]) -> None:
    text = json.dumps({"format": FORMAT, "files": entries}, indent=2, sort_keys=True)
    files.write_text(directory / MANIFEST, text + "\n")


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
        document = json.loads(files.read_bytes(path, max_bytes=MOST_BYTES))
        if document["format"] != FORMAT:
            raise _other_format(path, document["format"])
        entries = document["files"]
        for name, entry in entries.items():
            if not isinstance(entry["sha256"], str) or not isinstance(entry["bytes"], int):
                raise TypeError
            if len(name) > LONGEST_NAME:
                raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"`{path}` is damaged", "copy the directory again") from error
    return dict(entries)


def _other_format(path: Path, found: object) -> NmtError:
    if isinstance(found, int) and found > FORMAT:
        return ConfigError(
            f"`{path}` has format {found}, this version of nmt knows {FORMAT}",
            "it was made by a newer nmt: use that one",
        )
    return DataError(f"`{path}` is damaged", "copy the directory again")


def check_manifest(directory: Path, names: Iterable[str] | None = None) -> None:
    """Check `names` (None: all) against the manifest; raises DataError for the first damage."""
    entries = read_manifest(directory)
    for name in entries if names is None else names:
        entry = _listed(directory, name, entries)
        try:
            check_entry(directory, name, entry)
        except DataError as error:
            check_entry(directory, name, _newer(directory, name, entry, error))


def _listed(directory: Path, name: str, entries: dict[str, Entry]) -> Entry:
    if name not in entries:
        raise DataError(f"`{directory / name}` is not listed in {MANIFEST}")
    return entries[name]


def _newer(directory: Path, name: str, entry: Entry, error: DataError) -> Entry:
    """What the manifest says now: another process may have replaced the file since it was read.

    Where it says the same, `error` is raised.
    """
    now = read_manifest(directory).get(name)
    if now is None or now == entry:
        raise error
    return now


def read_checked(directory: Path, name: str, max_bytes: int) -> bytes:
    """The bytes of one file, which are those that were checked; raises as `check_manifest`."""
    entry = _listed(directory, name, read_manifest(directory))
    _require_inside(directory, name)
    if not (directory / name).is_file():
        raise DataError(f"`{directory / name}` is missing", "copy the directory again")
    data = files.read_bytes(directory / name, max_bytes=max_bytes)
    _check_open(directory, name, entry, io.BytesIO(data), len(data))
    return data


def check_open_file(directory: Path, name: str, file: BinaryIO) -> None:
    """Check what is open as `file`, from its beginning, as the listed file `name`."""
    entry = _listed(directory, name, read_manifest(directory))
    _check_open(directory, name, entry, file, os.fstat(file.fileno()).st_size)


def _check_open(directory: Path, name: str, entry: Entry, file: BinaryIO, size: int) -> None:
    try:
        _check_content(directory / name, entry, file, size)
    except DataError as error:
        newer = _newer(directory, name, entry, error)
        file.seek(0)
        _check_content(directory / name, newer, file, size)


def check_entry(directory: Path, name: str, entry: Entry) -> None:
    """Check one file against its manifest entry; raises DataError naming it."""
    path = directory / name
    _require_inside(directory, name)
    if not path.is_file():
        raise DataError(f"`{path}` is missing", "copy the directory again")
    try:
        with path.open("rb") as file:
            _check_content(path, entry, file, os.fstat(file.fileno()).st_size)
    except OSError as error:
        raise NoInputError(f"`{path}` cannot be read: {error.strerror}") from error


def _require_inside(directory: Path, name: str) -> None:
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise DataError(f"`{directory / MANIFEST}` names `{name}`, which lies outside")


def _sha256(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while part := file.read(READ_BYTES):
        digest.update(part)
    return digest.hexdigest()


def _check_content(path: Path, entry: Entry, file: BinaryIO, size: int) -> None:
    """Raises DataError unless `file`, of `size` bytes, is what the entry admits at `path`."""
    following = entry.get("next")
    accepted = [entry, following] if isinstance(following, dict) else [entry]
    fitting = [one for one in accepted if one.get("bytes") == size]
    if not fitting:
        raise DataError(
            f"`{path}` is damaged: {size} bytes where {entry.get('bytes')} were written",
            "copy the directory again",
        )
    digest = _sha256(file)
    if all(one.get("sha256") != digest for one in fitting):
        raise DataError(
            f"`{path}` is damaged: its SHA-256 differs from {MANIFEST}", "copy the directory again"
        )
