"""Refuses to overwrite files that are still needed: data, inputs, settings, files of a model.

Any other file with content is replaced only with --force.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config.schema import Config
from nmt_cli.errors import CannotCreateError
from nmt_cli.storage import manifest
from nmt_cli.storage.special_files import has_content

STDIN = "-"
HINT = "write to another file; a file that you do not need any more you can remove first"


class Needed(NamedTuple):
    """A file that must not be overwritten; `role` says why, as in "`FILE` <role>"."""

    path: Path
    role: str


def needed_files(role: str, *names: Path | str | None) -> Iterator[Needed]:
    """`names` as files that a command reads, without None and stdin."""
    for name in names:
        if name is not None and str(name) != STDIN:
            yield Needed(Path(name), role)


def data_files(config: Config, origin: str) -> Iterator[Needed]:
    """The text files named in the settings; `origin`: where the settings are from."""
    data = config.data
    for key, groups in (("train", data.train), ("valid", [data.valid]), ("test", [data.test])):
        for group in groups:
            yield from needed_files(f"is named as data.{key} by {origin}", *group)


def require_replaceable(
    outputs: Iterable[Path],
    needed: Iterable[Needed],
    directories: Iterable[Path] = (),
    *,
    force: bool = False,
) -> None:
    """Raise CannotCreateError, naming every reason, if one of `outputs` must not be written.

    That is so if it exists and is the same file as one of `needed`, by any path or link, and
    anywhere in a model directory or corpus. The files in `directories` are also compared with the
    outputs for hard links. Other files that have any content are refused too, unless `force`.
    """
    outputs = list(outputs)
    needed, directories = list(needed), list(directories)
    reasons = (_problem(output, needed, directories) for output in outputs)
    problems = list(dict.fromkeys(reason for reason in reasons if reason))
    if problems:
        raise CannotCreateError("; ".join(problems), HINT)
    existing = [] if force else [output for output in outputs if has_content(output)]
    if existing:
        raise _exist_already(list(dict.fromkeys(existing)))


def _exist_already(existing: list[Path]) -> CannotCreateError:
    names = ", ".join(f"`{output}`" for output in existing)
    if len(existing) == 1:
        hint = "choose another file, or replace this one with --force"
        return CannotCreateError(f"{names} exists already", hint)
    hint = "choose other files, or replace these with --force"
    return CannotCreateError(f"{names} exist already", hint)


def _problem(output: Path, needed: list[Needed], directories: list[Path]) -> str:
    """The reason why `output` must not be written, or ""."""
    role = next((file.role for file in needed if is_same_file(output, file.path)), "")
    if role:
        return f"`{output}` {role}"
    directory = _directory_around(output) or _linked_directory(output, directories)
    return f"`{output}` belongs to `{directory}`, which nmt wrote" if directory else ""


def is_same_file(output: Path, other: Path) -> bool:
    """Whether both exist and are the same regular file, by any path or link."""
    try:
        status = output.stat()
        return stat.S_ISREG(status.st_mode) and os.path.samestat(status, other.stat())
    except (OSError, ValueError):
        return False


def _directory_around(output: Path) -> Path | None:
    """The model directory, checkpoint or corpus that contains `output` or its link target."""
    try:
        # With links followed in the parents only, then completely: neither may lead into a model.
        paths = [output.parent.resolve() / output.name, output.resolve()]
    except (OSError, RuntimeError, ValueError):
        # Writing will fail too, with the reason.
        return None
    parents = dict.fromkeys(parent for path in paths for parent in path.parents)
    return next((parent for parent in parents if manifest.is_own(parent)), None)


def _linked_directory(output: Path, directories: list[Path]) -> Path | None:
    """The first of `directories` with a file that is a hard link to `output`, or None."""
    try:
        if output.stat().st_nlink < 2:
            return None
    except OSError:
        return None
    for directory in filter(manifest.is_own, directories):
        if any(is_same_file(output, path) for path in directory.rglob("*")):
            return directory
    return None
