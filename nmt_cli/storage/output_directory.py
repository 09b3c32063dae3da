"""New directories as outputs, which replace only what nmt wrote of the same kind.

A misspelt --out must delete no folder of the user, and none of nmt's that holds something else:
`nmt prepare --force` replaces a corpus, but no model.
"""

import contextlib
import json
import shlex
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from nmt_cli.errors import CannotCreateError, replace_hint
from nmt_cli.storage import files, locks, manifest
from nmt_cli.storage.model_check import CHECKPOINT, CONFIG, CORPUS, WEIGHTS
from nmt_cli.storage.tensor_header import metadata_of_file

# Files that training writes into a model directory without listing them in the manifest.
LOG, CHECKPOINTS = "log.jsonl", "checkpoints"
# The records that an export and an import leave in what they wrote.
EXPORT_RECORD, IMPORT_RECORD = "export.json", "import.json"
# The entry in the metadata of the weights of a model that `nmt average` wrote.
AVERAGED = "averaged"
# The model directory of the checkpoints that were averaged, as it was named.
AVERAGED_RUN = "averaged_run"
# The most files that are named in the error if a directory contains files that nmt did not write.
FOREIGN_NAMED = 3


class DirectoryKind(Enum):
    """What a directory that nmt wrote is, in words for a message."""

    CORPUS = "a prepared corpus"
    RUN = "a training run with its model, log and checkpoints"
    AVERAGE = "a model that `nmt average` wrote"
    IMPORT = "a model that `nmt import` wrote"
    EXPORT = "a model that `nmt export` wrote"
    MODEL = "a trained model"
    CHECKPOINT = "a checkpoint of a training run"
    OTHER = "a directory that another command of nmt wrote"


# The commands that write these directories, for a message.
_COMMANDS = {
    DirectoryKind.CORPUS: "nmt prepare",
    DirectoryKind.AVERAGE: "nmt average",
    DirectoryKind.IMPORT: "nmt import",
    DirectoryKind.EXPORT: "nmt export",
}


@contextlib.contextmanager
def reserved(path: Path, kind: DirectoryKind) -> Iterator[bool]:
    """Let no other process write `path` meanwhile; raises TryAgainError while one writes it.

    For what takes long before `new_directory`, whose `is_reserved` is the value that this yields.
    """
    with locks.only_writer(_real_name(path), _COMMANDS.get(kind, "nmt")) as is_reserved:
        yield is_reserved


@contextlib.contextmanager
def new_directory(
    path: Path, kind: DirectoryKind, *, force: bool = False, is_reserved: bool = False
) -> Iterator[Path]:
    """A directory to fill, which gets its manifest and the name `path` if the block succeeds.

    kind: what is written. An existing `path` is refused with CannotCreateError unless `force`,
    which replaces an empty directory, or one of this kind of which nmt wrote every file. Raises
    TryAgainError while another process writes it; is_reserved: `reserved` has checked that.
    """
    path = _real_name(path)
    require_free(path, kind, force=force)
    files.require_creatable(path)
    files.make_directory(path.parent)
    with contextlib.nullcontext() if is_reserved else reserved(path, kind):
        # The process that wrote it may have ended just now.
        require_free(path, kind, force=force)
        with manifest.replacing(path, if_exists=force) as directory:
            yield directory
            if force:
                # Something else may have made it meanwhile.
                require_free(path, kind, force=True)


def require_free(path: Path, kind: DirectoryKind, *, force: bool) -> None:
    """Raise CannotCreateError if `path` exists; with `force`, if it must not be replaced."""
    if not path.exists():
        return
    require_same_kind(path, kind)
    if not force:
        raise CannotCreateError(f"`{path}` exists already", replace_hint("--out"))


def require_same_kind(path: Path, kind: DirectoryKind) -> None:
    """Raise CannotCreateError unless `path` is an empty directory, or all of it is nmt's `kind`."""
    if _is_empty(path):
        return
    if not manifest.is_own(path):
        raise CannotCreateError(
            f"`{path}` was not written by nmt and is not replaced",
            "remove it yourself if you mean it, or choose another --out",
        )
    existing = kind_of(path)
    if existing is not kind:
        raise CannotCreateError(
            f"`{path}` is {existing.value}, and is not replaced by {kind.value}",
            "choose another --out, or remove it yourself if you do not need it any more: "
            f"`rm -r {shlex.quote(str(path))}`",
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


def kind_of(directory: Path) -> DirectoryKind:
    """What `directory` is, which nmt wrote (`manifest.is_own`); files may be missing or damaged."""
    listed = _listed(directory)
    if CORPUS in listed:
        return DirectoryKind.CORPUS
    if any((directory / name).exists() for name in (LOG, CHECKPOINTS)):
        return DirectoryKind.RUN
    if EXPORT_RECORD in listed:
        return DirectoryKind.EXPORT
    if IMPORT_RECORD in listed:
        return DirectoryKind.IMPORT
    if CONFIG in listed:
        is_average = WEIGHTS in listed and AVERAGED in metadata_of_file(directory / WEIGHTS)
        return DirectoryKind.AVERAGE if is_average else DirectoryKind.MODEL
    return DirectoryKind.CHECKPOINT if listed.intersection(CHECKPOINT) else DirectoryKind.OTHER


def _listed(directory: Path) -> set[str]:
    """The names in the manifest, of any version."""
    data = files.read_bytes(directory / manifest.MANIFEST, max_bytes=manifest.MOST_BYTES)
    return set(json.loads(data)["files"])


def _is_empty(path: Path) -> bool:
    return path.is_dir() and next(path.iterdir(), None) is None


def _foreign_files(directory: Path) -> Iterator[Path]:
    """The files in `directory` that are not in its manifest."""
    listed = _listed(directory)
    for path in directory.rglob("*"):
        name = path.relative_to(directory)
        if path.is_dir() and not path.is_symlink():
            continue
        if str(name) in listed or path.name in (manifest.MANIFEST, locks.LOCK):
            continue
        if not any(level.startswith(files.TEMPORARY_PREFIX) for level in name.parts):
            yield path


def _real_name(path: Path) -> Path:
    """`path` with a final `.` or `..` resolved."""
    return path.resolve() if path.name in ("", "..") else path
