"""Blocks of lines in which many pairs are no translations of each other.

Where a file has the lines of another text for a while, some of the wrong pairs look right: sides
that share a name, for example. Their neighbours tell more.
"""

from collections.abc import Sequence

import numpy as np

from nmt_cli.data.cleaning.clean import CleanText
from nmt_cli.plurals import enumerated

# In a block, this share of so many pairs in a row are wrong; in the whole text, few are.
PAIRS, LEAST_SHARE, MOST_IN_ALL = 100, 0.3, 0.1


def wrong_block_notes(
    text: CleanText, wrong: np.ndarray, names: Sequence[Sequence[str]]
) -> list[str]:
    """Return the warning about the first block of each corpus.

    wrong: (pairs,) bool, the pairs that are no translations; names: the files of each corpus.
    """
    if not wrong.any() or wrong.mean() > MOST_IN_ALL:
        return []
    notes = []
    for corpus, files in enumerate(names):
        spans = [span for span in text.spans if span.corpus == corpus]
        if not spans:
            continue
        lines = np.concatenate([span.lines() for span in spans])
        found = np.concatenate([wrong[span.first : span.first + span.pairs] for span in spans])
        if block := find_block(found):
            first, last = block
            shown = enumerated(f"`{name}`" for name in files)
            notes.append(
                f"{shown}: {int(found[first : last + 1].sum()):,} of the {last + 1 - first:,} "
                f"pairs from line {lines[first]:,} to {lines[last]:,} are no translations of each "
                "other by their words, so that perhaps all of this block belong to other lines: "
                "look at it"
            )
    return notes


def find_block(wrong: np.ndarray) -> tuple[int, int] | None:
    """Return the first and the last wrong pair of the first block, or None.

    >>> find_block(np.repeat([False, True, False], [500, 60, 500]))
    (500, 559)
    >>> find_block(np.arange(1_000) % 5 == 0) is None
    True
    """
    if len(wrong) < PAIRS:
        return None
    sums = np.concatenate([[0], wrong.cumsum()])
    dense = np.flatnonzero(sums[PAIRS:] - sums[:-PAIRS] >= LEAST_SHARE * PAIRS)
    if not len(dense):
        return None
    # Overlapping windows are one block.
    gaps = np.flatnonzero(np.diff(dense) > PAIRS)
    last = dense[gaps[0]] if len(gaps) else dense[-1]
    inside = dense[0] + np.flatnonzero(wrong[dense[0] : last + PAIRS])
    return int(inside[0]), int(inside[-1])
