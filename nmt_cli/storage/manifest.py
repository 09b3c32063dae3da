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

from nmt_cli.errors import CannotCreateError, ConfigError, DataError, NmtError, NoInputError
from nmt_cli.storage import files

MANIFEST = "manifest.json"
# Files that training writes into a model directory without listing them in the manifest.
LOG, CHECKPOINTS = "log.jsonl", "checkpoints"
FORMAT = 1
MOST_BYTES = 16 << 20
# The most files that are named in the error if a directory contains files that nmt did not write.
FOREIGN_NAMED = 3
READ_BYTES = 1 << 18
# No system supports a longer component of a path.
LONGEST_NAME = 255

Entry = dict[str, object]


@contextlib.contextmanager
def new_directory(path: Path, *, force: bool = False) -> Iterator[Path]:
    """A directory to fill, which gets its manifest and the name `path` if the block succeeds.

    An existing `path` is refused with CannotCreateError unless `force`, which replaces an empty
    directory, or one of which nmt wrote every file: a misspelt --out must not delete a folder.
    """
    path = _real_name(path)
    require_free(path, force=force)
    with replacing(path, if_exists=force) as directory:
        yield directory
        if force:
            # Another process may have made it meanwhile.
            require_free(path, force=True)


@contextlib.contextmanager
def replacing(path: Path, *, if_exists: bool = True) -> Iterator[Path]:
    """Like `new_directory`, but replaces whatever is at `path`: for names that only nmt uses.

    if_exists: False: what has been made there meanwhile is kept (`files.building`).
    """
    with files.building(path, replaces=if_exists) as directory:
        yield directory
        write_manifest(directory)


def require_free(path: Path, *, force: bool) -> None:
    """Raise CannotCreateError if `path` exists; with `force`, if not all of it is nmt's."""
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
    foreign = sorted(str(file.relative_to(path)) for file in _foreign_files(path))
    if foreign:
        more = f" and {len(foreign) - FOREIGN_NAMED:,} more" if foreign[FOREIGN_NAMED:] else ""
        raise CannotCreateError(
            f"`{path}` also holds files that nmt did not write, and is not replaced: "
            f"{', '.join(foreign[:FOREIGN_NAMED])}{more}",
            "move them to another place, or choose another --out",
        )


def require_apart(out: Path, source: Path) -> None:
    """Raise CannotCreateError if `out` is the directory `source`, which is only read, or within."""
    if out.resolve() == source.resolve():
        problem = f"`{source}` is only read here, and cannot be the output too"
    elif out.resolve().is_relative_to(source.resolve()):
        problem = f"`{out}` is within `{source}`, which is only read here"
    else:
        return
    raise CannotCreateError(problem, "choose another --out")


def is_own(directory: Path) -> bool:
    """Whether `directory` has a manifest as written by any version of nmt."""
    try:
        data = files.read_bytes(directory / MANIFEST, max_bytes=MOST_BYTES)
        document = json.loads(data)
        fits = isinstance(document["format"], int) and isinstance(document["files"], dict)
        return fits and all("sha256" in entry for entry in document["files"].values())
    except (NmtError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _is_empty(path: Path) -> bool:
    return path.is_dir() and next(path.iterdir(), None) is None


def _foreign_files(directory: Path) -> Iterator[Path]:
    """The files in `directory` that are not in its manifest and not written by training."""
    if _is_empty(directory):
        return
    listed = json.loads((directory / MANIFEST).read_bytes())["files"]
    for path in directory.rglob("*"):
        name = path.relative_to(directory)
        if path.is_dir() and not path.is_symlink():
            continue
        if str(name) in listed or path.name in (MANIFEST, files.LOCK):
            continue
        # A checkpoint has its own manifest.
        ours = name.parts[0] == CHECKPOINTS and (path.parent / MANIFEST).is_file()
        abandoned = any(level.startswith(files.TEMPORARY_PREFIX) for level in name.parts)
        if not (ours or abandoned or str(name) == LOG):
            yield path


def _real_name(path: Path) -> Path:
    """`path` with a final `.` or `..` resolved."""
    return path.resolve() if path.name in ("", "..") else path


def write_manifest(directory: Path) -> None:
    """Write the manifest of `directory`: size and SHA-256 of every file in it."""
    entries = {
        str(path.relative_to(directory)): _entry(path)
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in (MANIFEST, files.LOCK)
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
        raise DataError(f"`{directory / name}` is not listed in {MANIFEST}")
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
        raise DataError(f"`{directory / MANIFEST}` names `{name}`, outside its directory")


def _sha256(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    # One piece of memory for all: each new one costs as much as hashing it.
    buffer = bytearray(READ_BYTES)
    view = memoryview(buffer)
    while count := file.readinto(buffer):  # type: ignore[attr-defined]
        digest.update(view[:count])
    return digest.hexdigest()


def _check_content(path: Path, entry: Entry, file: BinaryIO, size: int) -> str:
    """The SHA-256 of `file`, of `size` bytes; raises DataError unless the entry accepts it."""
    state, hint = "is damaged", "copy the directory again"
    if path.suffix == ".toml":
        state = "is damaged or was edited"
        hint += "; give other settings as options, such as --alpha, or in nmt.toml"
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
