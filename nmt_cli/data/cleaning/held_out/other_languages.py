"""Warns of validation and test pairs with a side that is not in its language."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from nmt_cli.data.cleaning.chunks import Cleaning
from nmt_cli.data.cleaning.held_out.faults import first_lines
from nmt_cli.data.cleaning.held_out.texts import HeldOutText
from nmt_cli.data.cleaning.kinds import CLEAN, KINDS

# Fewer pairs, or a smaller share of them, may be lines with many names of the other language.
LEAST_LINES, LEAST_SHARE = 12, 0.01
# So many lines of each kind are named, since someone is to look at them all.
MOST_NAMED = 40

Judge = Callable[[Sequence[str], Sequence[str]], np.ndarray]


def other_language_notes(
    texts: Iterable[HeldOutText], cleaning: Cleaning, judge: Judge | None
) -> list[str]:
    """Return a warning for each held-out text with several such pairs.

    judge: gives the kind of each pair of cleaned lines, as learnt from the training text; None if
    it does not tell the languages apart.
    """
    return [
        f"{text.counted('pair')}: {found}; scores on such pairs say little: look at these lines, "
        "and correct or remove those that are wrong"
        for text in texts
        if judge is not None and text.files and (found := _found(text, cleaning, judge))
    ]


def _found(text: HeldOutText, cleaning: Cleaning, judge: Judge) -> str:
    """The kinds with their numbers and first lines; "" for few."""
    if not text.src:
        return ""
    verdicts = judge(*cleaning.repaired(text.src, text.tgt))
    named = []
    for kind in np.unique(verdicts[verdicts != CLEAN]).tolist():
        indices = np.flatnonzero(verdicts == kind).tolist()
        if len(indices) >= max(LEAST_LINES, LEAST_SHARE * len(text.src)):
            lines = first_lines(indices, text.line(0), MOST_NAMED)
            named.append(f"{KINDS[kind].name}: {len(indices):,} (lines {lines})")
    return ", ".join(named)
