"""Warns of targets of validation and test texts that are placeholders, such as `TODO`."""

from collections.abc import Iterable, Sequence

from nmt_cli.data.cleaning.chunks import FIRST_LINES
from nmt_cli.data.cleaning.held_out.texts import HeldOutText
from nmt_cli.data.cleaning.placeholder_lines import placeholder_targets
from nmt_cli.plurals import agreeing


def placeholder_notes(texts: Iterable[HeldOutText]) -> list[str]:
    """Return a warning for each held-out text with placeholders among its targets."""
    return [
        f"{text.counted('target')}: {lines}; scores on these lines say nothing about a model, and "
        "none is dropped: translate them, or remove them from all files of the text"
        for text in texts
        if (lines := lines_with_placeholders(text.src, text.tgt, first_line=text.line(0)))
    ]


def lines_with_placeholders(src: Sequence[str], tgt: Sequence[str], *, first_line: int = 1) -> str:
    """How many targets are placeholders, with one of them and the first lines; "" for none.

    src: the lines beside them, sources or hypotheses; first_line: the number of the first one.
    """
    indices = placeholder_targets(src, tgt)
    if not indices:
        return ""
    numbers = ", ".join(f"{index + first_line:,}" for index in indices[:FIRST_LINES])
    more = ", ..." if len(indices) > FIRST_LINES else ""
    return (
        f"{len(indices):,} {agreeing(len(indices), 'is', 'are')} placeholders such as "
        f"`{tgt[indices[0]].strip()}` in place of translations "
        f"({agreeing(len(indices), 'line', 'lines')} {numbers}{more})"
    )
