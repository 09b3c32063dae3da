"""Finds where two files stop being line by line translations.

A translation is about as long as its source, and a question stays a question. Where the files are
shifted against each other, length and last character fit with an offset and not without.
"""

from array import array
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

WINDOW = 64
LARGEST_OFFSET = 8
# An offset must fit so much better than none, in two windows running, to be believed.
SUSPICIOUS_RATIO = 0.7
# Beyond it a difference of logarithms says only "not a translation".
LARGEST_COST = 1.0
OTHER_END_COST = 0.5
OFFSETS = (0, *(sign * one for one in range(1, LARGEST_OFFSET + 1) for sign in (1, -1)))
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


class Shift(NamedTuple):
    """Lines, from 1, from `first` to `last`, that are shifted against each other."""

    first: int
    last: int


def find_shifts(src: Profile, tgt: Profile) -> list[Shift]:
    """All stretches of lines of two files of equal length that are shifted."""
    src_file, tgt_file = _Features(src), _Features(tgt)
    windows = _compare_windows(src_file, tgt_file)
    shifts: list[Shift] = []
    window = windows.first_shifted(0)
    while window is not None:
        offset, end = windows.offset(window), windows.end(window)
        first = _find_change(src_file, tgt_file, offset, *_around(window))
        last = len(src)
        if end < len(windows.best):
            last = _find_change(src_file, tgt_file, offset, *_around(end - 1), back=True)
        shifts.append(Shift(first + 1, max(first + 1, last)))
        window = windows.first_shifted(end)
    return shifts


def find_misalignment(src: Profile, tgt: Profile) -> int | None:
    """The first line, from 1, from which on the files are shifted; None where all seems well."""
    src_file, tgt_file = _Features(src), _Features(tgt)
    windows = _compare_windows(src_file, tgt_file)
    window = windows.first_shifted(0)
    if window is not None:
        return _find_change(src_file, tgt_file, windows.offset(window), *_around(window)) + 1
    if len(src) != len(tgt):
        longer = max(len(src), len(tgt))
        return _find_change(src_file, tgt_file, len(tgt) - len(src), 0, longer) + 1
    return None


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


class _Windows(NamedTuple):
    """Which of OFFSETS fits best in each window of lines, and whether it is believed."""

    best: np.ndarray
    shifted: np.ndarray

    def first_shifted(self, start: int) -> int | None:
        """The first window from `start` on that is shifted as the next one is."""
        best, shifted = self.best[start:], self.shifted[start:]
        twice = np.flatnonzero(shifted[:-1] & shifted[1:] & (best[:-1] == best[1:]))
        return start + int(twice[0]) if len(twice) else None

    def offset(self, window: int) -> int:
        """By how many lines a window is shifted."""
        return OFFSETS[int(self.best[window])]

    def end(self, window: int) -> int:
        """The first window behind `window` that, as the next one, is shifted otherwise, or not."""
        other = np.append(self.best[window:] != self.best[window], True)
        twice = np.flatnonzero(other[:-1] & other[1:])
        return window + int(twice[0]) if len(twice) else len(self.best)


def _compare_windows(src: _Features, tgt: _Features) -> _Windows:
    windows = min(len(src), len(tgt)) // WINDOW
    if windows < 2:
        return _Windows(np.zeros(0, np.int64), np.zeros(0, bool))
    costs = np.stack(
        [
            _cost(src, tgt, offset, 0, windows * WINDOW).reshape(windows, WINDOW).mean(1)
            for offset in OFFSETS
        ]
    )
    best = costs.argmin(0)
    return _Windows(best, (best > 0) & (costs.min(0) < SUSPICIOUS_RATIO * costs[0]))


def _around(window: int) -> tuple[int, int]:
    """The lines of a window and of those beside it."""
    return max(0, (window - 1) * WINDOW), (window + 2) * WINDOW


def _find_change(
    src: _Features, tgt: _Features, offset: int, start: int, end: int, *, back: bool = False
) -> int:
    """The line between `start` and `end` from which on `offset` fits better than none.

    `back`: from which on none fits better again.
    """
    offsets = (offset, 0) if back else (0, offset)
    before, after = (
        np.cumsum(_cost(src, tgt, one, start, end), dtype=np.float64) for one in offsets
    )
    totals = np.concatenate([[0.0], before]) + (after[-1] - np.concatenate([[0.0], after]))
    return start + int(totals.argmin())
