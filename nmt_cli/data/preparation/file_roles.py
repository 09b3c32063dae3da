"""Checks that a file is not given for two roles: both sides, or training and held-out text."""

from collections.abc import Sequence
from pathlib import Path

from nmt_cli.data.text.streams import STDIN
from nmt_cli.errors import NmtError, UsageError
from nmt_cli.plurals import agreeing


def repeated_files(
    train: Sequence[Sequence[str]], held_out: Sequence[tuple[str, Sequence[str]]], train_name: str
) -> list[NmtError]:
    """Return an error for each file for both sides, and each held-out text that is training text.

    held_out: validation and test files with the names of their settings or options; train_name:
    that of the training files.
    """
    named = [*((train_name, paths) for paths in train), *held_out]
    problems: list[NmtError] = []
    for name, paths in named:
        if _resolved(paths[:1]) & _resolved(paths[1:]):
            message = f"{name}: `{paths[0]}` is given for both sides"
            problems.append(UsageError(message, "name two files"))
        elif name != train_name and any(_are_same(paths, other) for other in train):
            shown = " and ".join(f"`{path}`" for path in paths[:2])
            are = agreeing(len(paths[:2]), "is", "are")
            use = "test" if "test" in name else "valid"
            problems.append(
                UsageError(
                    f"{name}: {shown} {are} training text too, so scores say "
                    "nothing about new text",
                    f"name other files, or set training pairs apart with --{use}-split N",
                )
            )
    return problems


def _are_same(paths: Sequence[str], others: Sequence[str]) -> bool:
    """Whether source and target, or the table, are the same files."""
    resolved = _resolved(paths[:2])
    return bool(resolved) and resolved == _resolved(others)


def _resolved(paths: Sequence[str]) -> set[Path]:
    return {Path(path).resolve() for path in paths if path != STDIN}
