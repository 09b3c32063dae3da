"""Checks that text is not given for two roles: both sides, training, validation or testing."""

from collections.abc import Collection, Sequence
from pathlib import Path

from nmt_cli.data.text.streams import STDIN
from nmt_cli.errors import NmtError, UsageError
from nmt_cli.plurals import agreeing, counted

# If a larger share of the test pairs are validation pairs, a warning says so.
MOST_SHARED = 0.5


def repeated_files(
    train: Sequence[Sequence[str]],
    held_out: Sequence[tuple[str, Sequence[str]]],
    train_name: str,
    *,
    drop_duplicates: bool = True,
) -> list[NmtError]:
    """Return an error for each file for both sides, and each text that is named twice.

    held_out: validation and test files with the names of their settings or options; train_name:
    that of the training files, which may be repeated if duplicates are not dropped.
    """
    named = [*((train_name, paths) for paths in train), *held_out]
    problems: list[NmtError] = []
    for index, paths in enumerate(train if drop_duplicates else ()):
        if any(_are_same(paths, other) for other in train[:index]):
            problems.append(
                UsageError(f"{train_name}: {_shown(paths)} named twice", "name the text once")
            )
    for name, paths in named:
        if _resolved(paths[:1]) & _resolved(paths[1:]):
            message = f"{name}: `{paths[0]}` is given for both sides"
            problems.append(UsageError(message, "name two files"))
        elif name != train_name and any(_are_same(paths, other) for other in train):
            use = "test" if "test" in name else "valid"
            problems.append(
                UsageError(
                    f"{name}: {_shown(paths)} training text too, so scores say nothing about new "
                    "text",
                    f"name other files, or set training pairs apart with --{use}-split N",
                )
            )
    return problems


def shared_pairs_notes(
    valid: Collection[tuple[str, str]], test: Collection[tuple[str, str]]
) -> list[str]:
    """The warning that most of the test pairs are validation pairs, if they are."""
    known = set(valid)
    shared = sum(pair in known for pair in test)
    if shared <= MOST_SHARED * len(test):
        return []
    return [
        f"{shared:,} of {counted(len(test), 'test pair')} {agreeing(shared, 'is a', 'are')} "
        f"{agreeing(shared, 'validation pair', 'validation pairs')}: training chooses the "
        "checkpoint by these, so the score on them is higher than that on new text; name other "
        "test pairs"
    ]


def _shown(paths: Sequence[str]) -> str:
    """The files and their verb."""
    shown = " and ".join(f"`{path}`" for path in paths[:2])
    return f"{shown} {agreeing(len(paths[:2]), 'is', 'are')}"


def _are_same(paths: Sequence[str], others: Sequence[str]) -> bool:
    """Whether source and target, or the table, are the same files."""
    resolved = _resolved(paths[:2])
    return bool(resolved) and resolved == _resolved(others)


def _resolved(paths: Sequence[str]) -> set[Path]:
    return {Path(path).resolve() for path in paths if path != STDIN}
