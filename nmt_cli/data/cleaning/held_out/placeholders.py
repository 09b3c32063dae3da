"""Warns of targets of validation and test texts that are placeholders, such as `TODO`."""

from collections.abc import Mapping, Sequence

from nmt_cli.data.cleaning.chunks import FIRST_LINES
from nmt_cli.data.cleaning.placeholder_lines import placeholder_targets
from nmt_cli.plurals import agreeing, counted

Sides = tuple[Sequence[str], Sequence[str]]


def placeholder_notes(texts: Mapping[str, Sides]) -> list[str]:
    """Return a warning for each held-out text, by name, with placeholders among its targets."""
    notes = []
    for name, (src, tgt) in texts.items():
        if lines := lines_with_placeholders(src, tgt):
            notes.append(
                f"{counted(len(tgt), f'{name} target')}: {lines}; scores on these lines say "
                "nothing about a model, and none is dropped: translate them, or remove them from "
                "all files of the text"
            )
    return notes


def lines_with_placeholders(src: Sequence[str], tgt: Sequence[str]) -> str:
    """How many targets are placeholders, with one of them and the first lines; "" for none.

    src: the lines beside them, sources or hypotheses.
    """
    indices = placeholder_targets(src, tgt)
    if not indices:
        return ""
    numbers = ", ".join(f"{index + 1:,}" for index in indices[:FIRST_LINES])
    more = ", ..." if len(indices) > FIRST_LINES else ""
    return (
        f"{len(indices):,} {agreeing(len(indices), 'is', 'are')} placeholders such as "
        f"`{tgt[indices[0]].strip()}` in place of translations "
        f"({agreeing(len(indices), 'line', 'lines')} {numbers}{more})"
    )
