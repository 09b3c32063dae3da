"""Refuses to write a file over one that is still needed: data, inputs, settings, parts of a model.

An ordinary file is replaced without a question, as `sort -o` does.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from nmt_cli.config.schema import Config
from nmt_cli.errors import CannotCreateError
from nmt_cli.storage import manifest

STDIN = "-"
HINT = "write to another file; a file that you do not need any more you can remove first"


class Needed(NamedTuple):
    """A file that may not be written over; `role` says why, as in "`FILE` <role>"."""

    path: Path
    role: str


def needed_files(role: str, *names: Path | str | None) -> Iterator[Needed]:
    """`names` as files that a command reads; None and stdin are none."""
    for name in names:
        if name is not None and str(name) != STDIN:
            yield Needed(Path(name), role)


def data_files(config: Config, origin: str) -> Iterator[Needed]:
    """The text files that settings name; `origin`: where the settings are from."""
    data = config.data
    for key, groups in (("train", data.train), ("valid", [data.valid]), ("test", [data.test])):
        for group in groups:
            yield from needed_files(f"is named as data.{key} by {origin}", *group)


def require_replaceable(
    outputs: Iterable[Path], needed: Iterable[Needed], directories: Iterable[Path] = ()
) -> None:
    """Raise CannotCreateError, naming every reason, where one of `outputs` may not be written.

    It may not where it exists and is the same file as one of `needed`, by whatever path or link,
    nor anywhere in a model directory or corpus; `directories`: those whose files are also looked
    at for hard links.
    """
    needed, directories = list(needed), list(directories)
    found = (_problem(output, needed, directories) for output in outputs)
    problems = list(dict.fromkeys(problem for problem in found if problem))
    if problems:
        raise CannotCreateError("; ".join(problems), HINT)


def _problem(output: Path, needed: list[Needed], directories: list[Path]) -> str:
    """Why `output` may not be written; empty: it may."""
    role = next((one.role for one in needed if is_same_file(output, one.path)), "")
    if role:
        return f"`{output}` {role}"
    directory = _directory_around(output) or _linked_directory(output, directories)
    return f"`{output}` belongs to `{directory}`, which nmt wrote" if directory else ""


def is_same_file(output: Path, other: Path) -> bool:
    """Whether both exist and are one regular file, by whatever path or link."""
    try:
        here = output.stat()
        return stat.S_ISREG(here.st_mode) and os.path.samestat(here, other.stat())
    except (OSError, ValueError):
        return False


def _directory_around(output: Path) -> Path | None:
    """The model directory, checkpoint or corpus in which `output`, or what it links to, lies."""
    try:
        # Links are followed on the way, then to the end: neither may lead into a model.
        places = [output.parent.resolve() / output.name, output.resolve()]
    except (OSError, RuntimeError, ValueError):
        # Writing will fail too, and say why.
        return None
    parents = dict.fromkeys(parent for place in places for parent in place.parents)
    return next((parent for parent in parents if manifest.is_own(parent)), None)


def _linked_directory(output: Path, directories: list[Path]) -> Path | None:
    """The one of `directories` that has a file which is `output` too, by a hard link."""
    try:
        if output.stat().st_nlink < 2:
            return None
    except OSError:
        return None
    for directory in filter(manifest.is_own, directories):
        if any(is_same_file(output, path) for path in directory.rglob("*")):
            return directory
    return None
