"""Directories that vouch for themselves: `manifest.json` holds size and SHA-256 of each file.

A directory counts as complete once it has its manifest, and a damaged copy is refused.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from nmt_cli import files
from nmt_cli.errors import CannotCreateError, DataError, NoInputError

MANIFEST = "manifest.json"

Entry = dict[str, object]


@contextlib.contextmanager
def new_directory(path: Path, *, force: bool = False) -> Iterator[Path]:
    """A directory to fill; it gets its manifest and its name `path` when the block ends well.

    An existing `path` is refused with CannotCreateError unless `force`, which replaces an empty
    directory or one with a manifest: nobody loses a folder to a misspelt --out.
    """
    path = _named(path)
    require_free(path, force=force)
    with files.building(path) as place:
        yield place
        write_manifest(place)


def require_free(path: Path, *, force: bool) -> None:
    """Raises CannotCreateError where `path` exists; with `force`, where it is not nmt's own."""
    if path.exists() and not force:
        raise CannotCreateError(
            f"`{path}` exists already", "use --force to replace it, or another --out"
        )
    if path.exists() and not _may_replace(path):
        raise CannotCreateError(
            f"`{path}` was not written by nmt and is not replaced",
            "remove it yourself if you mean it, or choose another --out",
        )


def _named(path: Path) -> Path:
    """`path`, where `.` and `..` are called by their real name."""
    return path.resolve() if path.name in ("", "..") else path


def _may_replace(path: Path) -> bool:
    if not path.is_dir():
        return False
    return (path / MANIFEST).is_file() or next(path.iterdir(), None) is None


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
    text = json.dumps({"format": 1, "files": entries}, indent=2, sort_keys=True)
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
        entries = json.loads(files.read_bytes(path, max_bytes=16 << 20))["files"]
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
        digest = files.sha256_of(path)
    except OSError as error:
        raise NoInputError(f"`{path}` cannot be read: {error.strerror}") from error
    if all(one.get("sha256") != digest for one in fitting):
        raise DataError(
            f"`{path}` is damaged: its SHA-256 differs from {MANIFEST}", "copy the directory again"
        )
