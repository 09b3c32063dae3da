"""Finds where two files stop being line by line translations.

A translation is about as long as its source, and a question stays a question. Where the files are
shifted against each other, length and last character fit with an offset and not without.
"""

from array import array
from collections.abc import Iterable, Mapping

import numpy as np

WINDOW = 64
LARGEST_OFFSET = 8
# An offset must fit so much better than none, in two windows running, to be believed.
SUSPICIOUS_RATIO = 0.7
# Beyond it a difference of logarithms says only "not a translation".
LARGEST_COST = 1.0
OTHER_END_COST = 0.5
LONGEST_RECORDED = (1 << 16) - 1
ALIKE_ENDS = ("?？؟", "!！", ":：", ".。।")
ENDS: Mapping[str, int] = {
    mark: kind for kind, marks in enumerate(ALIKE_ENDS, start=1) for mark in marks
}


class Profile:
    """What is kept of each line of a file: 3 bytes."""

    def __init__(self) -> None:
        """No lines yet."""
        self.lengths = array("H")
        self.ends = array("B")

    def add(self, line: str) -> None:
        """Take down one more line."""
        self.lengths.append(min(len(line), LONGEST_RECORDED))
        self.ends.append(ENDS.get(line[-1:], 0))

    @classmethod
    def of(cls, lines: Iterable[str]) -> "Profile":
        """The profile of all `lines`."""
        profile = cls()
        for line in lines:
            profile.add(line)
        return profile

    def __len__(self) -> int:
        return len(self.lengths)


def find_misalignment(src: Profile, tgt: Profile) -> int | None:
    """The first line, from 1, from which on the files are shifted; None where all seems well."""
    src_file, tgt_file = _Features(src), _Features(tgt)
    place = _find_in_windows(src_file, tgt_file)
    if place is None and len(src) != len(tgt):
        longer = max(len(src), len(tgt))
        place = _find_change(src_file, tgt_file, len(tgt) - len(src), 0, longer)
    return None if place is None else place + 1


class _Features:
    """A file's lines as numbers: (lines,) logarithms of lengths, and kinds of last characters."""

    def __init__(self, profile: Profile) -> None:
        self.lengths = np.log1p(np.frombuffer(profile.lengths, np.uint16), dtype=np.float32)
        if len(profile):
            # One language is longer than the other by a factor.
            self.lengths -= np.median(self.lengths)
        self.ends = np.frombuffer(profile.ends, np.uint8)

    def __len__(self) -> int:
        return len(self.ends)


def _cost(src: _Features, tgt: _Features, offset: int, start: int, end: int) -> np.ndarray:
    """(end - start,) how badly line i of src fits line i + offset of tgt."""
    cost = np.full(end - start, LARGEST_COST, np.float32)
    low = max(start, 0, -offset)
    high = min(end, len(src), len(tgt) - offset)
    if low < high:
        there = slice(low + offset, high + offset)
        difference = src.lengths[low:high] - tgt.lengths[there]
        fit = np.minimum(np.square(difference), LARGEST_COST)
        fit += OTHER_END_COST * (src.ends[low:high] != tgt.ends[there])
        cost[low - start : high - start] = fit
    return cost


def _find_in_windows(src: _Features, tgt: _Features) -> int | None:
    windows = min(len(src), len(tgt)) // WINDOW
    if windows < 2:
        return None
    offsets = [0, *(sign * one for one in range(1, LARGEST_OFFSET + 1) for sign in (1, -1))]
    costs = np.stack(
        [
            _cost(src, tgt, offset, 0, windows * WINDOW).reshape(windows, WINDOW).mean(1)
            for offset in offsets
        ]
    )
    best = costs.argmin(0)
    shifted = (best > 0) & (costs.min(0) < SUSPICIOUS_RATIO * costs[0])
    twice = np.flatnonzero(shifted[:-1] & shifted[1:] & (best[:-1] == best[1:]))
    if not len(twice):
        return None
    window = int(twice[0])
    start, end = max(0, (window - 1) * WINDOW), (window + 2) * WINDOW
    return _find_change(src, tgt, offsets[best[window]], start, end)


def _find_change(src: _Features, tgt: _Features, offset: int, start: int, end: int) -> int:
    """The line between `start` and `end` from which on `offset` fits better than none."""
    before = np.cumsum(_cost(src, tgt, 0, start, end), dtype=np.float64)
    after = np.cumsum(_cost(src, tgt, offset, start, end), dtype=np.float64)
    totals = np.concatenate([[0.0], before]) + (after[-1] - np.concatenate([[0.0], after]))
    return start + int(totals.argmin())
