"""Directories with a manifest: `manifest.json` holds size and SHA-256 of each file.

A directory is complete once it has its manifest, and a damaged copy is refused.
"""

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from nmt_cli.errors import ConfigError, DataError, NmtError, NoInputError
from nmt_cli.storage import files, locks

MANIFEST = "manifest.json"
FORMAT = 1
MOST_BYTES = 16 << 20
# No system supports a longer component of a path.
LONGEST_NAME = 255

Entry = dict[str, object]


@contextlib.contextmanager
def replacing(path: Path, *, if_exists: bool = True) -> Iterator[Path]:
    """A directory to fill, which gets its manifest and the name `path` if the block succeeds.

    It replaces whatever is at `path`: `output_directory.new_directory` is for names that users
    give. if_exists: False: what has been made there meanwhile is kept (`files.building`).
    """
    with files.building(path, replaces=if_exists) as directory:
        yield directory
        write_manifest(directory)


def is_own(directory: Path) -> bool:
    """Whether `directory` has a manifest as written by any version of nmt."""
    try:
        data = files.read_bytes(directory / MANIFEST, max_bytes=MOST_BYTES)
        document = json.loads(data)
        is_valid = isinstance(document["format"], int) and isinstance(document["files"], dict)
        return is_valid and all("sha256" in entry for entry in document["files"].values())
    except (NmtError, ValueError, KeyError, TypeError, RecursionError):
        return False


def write_manifest(directory: Path) -> None:
    """Write the manifest of `directory`: size and SHA-256 of every file in it."""
    entries = {
        str(path.relative_to(directory)): _entry(path)
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in (MANIFEST, locks.LOCK)
    }
    _write_entries(directory, entries)


def add_to_manifest(directory: Path, name: str, data: bytes) -> None:
    """Write `data` as `directory/name` and record it; the directory is valid at every moment.

    While the file is replaced the manifest accepts both contents, so that the directory is valid
    for a reader at that time and after a crash.
    """
    entries = read_manifest(directory) if (directory / MANIFEST).exists() else {}
    new = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    previous = _current_content(directory / name, entries[name]) if name in entries else None
    if previous is not None and previous != new:
        _write_entries(directory, {**entries, name: {**previous, "next": new}})
    files.write_bytes(directory / name, data)
    _write_entries(directory, {**entries, name: new})


def _current_content(path: Path, entry: Entry) -> Entry:
    """The entry of the present content of `path`, of the two that `entry` accepts after a crash."""
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
    """The entries of a manifest; raises DataError if it is missing or damaged."""
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


def _other_format(path: Path, file_format: object) -> NmtError:
    if isinstance(file_format, int) and file_format > FORMAT:
        return ConfigError(
            f"`{path}` has format {file_format}, this version of nmt knows {FORMAT}",
            "it was written by a newer nmt: update nmt",
        )
    return DataError(f"`{path}` is damaged", "copy the directory again")


def check_manifest(directory: Path, names: Iterable[str] | None = None) -> None:
    """Check the files `names` (None: all) against the manifest; raises DataError for the first."""
    entries = read_manifest(directory)
    for name in entries if names is None else names:
        entry = _listed(directory, name, entries)
        try:
            check_entry(directory, name, entry)
        except DataError as error:
            check_entry(directory, name, _newer_entry(directory, name, entry, error))


def _listed(directory: Path, name: str, entries: dict[str, Entry]) -> Entry:
    if name not in entries:
        raise DataError(
            f"`{directory / name}` is not listed in {MANIFEST}",
            "copy the directory again, with all files from the same time",
        )
    return entries[name]


def _newer_entry(directory: Path, name: str, entry: Entry, error: DataError) -> Entry:
    """The present entry of the manifest, if another process replaced the file since it was read.

    Raises `error` if the entry is still the same.
    """
    current = read_manifest(directory).get(name)
    if current is None or current == entry:
        raise error
    return current


def read_checked(directory: Path, name: str, max_bytes: int) -> bytes:
    """Read one file and check the bytes read; raises as `check_manifest`."""
    entry = _listed(directory, name, read_manifest(directory))
    _require_inside(directory, name)
    if not (directory / name).is_file():
        raise DataError(f"`{directory / name}` is missing", "copy the directory again")
    data = files.read_bytes(directory / name, max_bytes=max_bytes)
    _check_open(directory, name, entry, io.BytesIO(data), len(data))
    return data


def check_open_file(directory: Path, name: str, file: BinaryIO) -> str:
    """Check the open `file`, from its beginning, against the manifest entry of `name`.

    Returns its SHA-256.
    """
    entry = _listed(directory, name, read_manifest(directory))
    return _check_open(directory, name, entry, file, os.fstat(file.fileno()).st_size)


def _check_open(directory: Path, name: str, entry: Entry, file: BinaryIO, size: int) -> str:
    try:
        return _check_content(directory / name, entry, file, size)
    except DataError as error:
        newer = _newer_entry(directory, name, entry, error)
        file.seek(0)
        return _check_content(directory / name, newer, file, size)


def check_entry(directory: Path, name: str, entry: Entry) -> None:
    """Check a file against its manifest entry; raises DataError naming it."""
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
        raise DataError(
            f"`{directory / MANIFEST}` names `{name}`, outside its directory",
            "nmt writes no such names: use a directory from a source that you trust",
        )


def _sha256(file: BinaryIO) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def _check_content(path: Path, entry: Entry, file: BinaryIO, size: int) -> str:
    """The SHA-256 of `file`, of `size` bytes; raises DataError unless the entry accepts it."""
    state, hint = "is damaged", "copy the directory again"
    if path.suffix == ".toml":
        state = "is damaged or was edited"
        hint += (
            "; give other settings as options, such as --alpha, as arguments of translate(), or in "
            "nmt.toml"
        )
    following = entry.get("next")
    accepted = [entry, following] if isinstance(following, dict) else [entry]
    candidates = [content for content in accepted if content.get("bytes") == size]
    if not candidates:
        raise DataError(
            f"`{path}` {state}: {size} bytes where {entry.get('bytes')} were written", hint
        )
    digest = _sha256(file)
    if all(content.get("sha256") != digest for content in candidates):
        raise DataError(f"`{path}` {state}: its SHA-256 differs from {MANIFEST}", hint)
    return digest
