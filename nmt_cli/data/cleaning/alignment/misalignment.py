"""Finds where two files are no longer translations of each other line by line.

A translation is about as long as its source, and a question remains a question. Where the files are
shifted against each other, lengths and last characters match with an offset and not without one.
"""

from array import array
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

WINDOW = 64
# Larger offsets are only looked for where no small one is accepted.
SMALL_OFFSET, LARGEST_OFFSET = 8, 64
# An offset is accepted if its cost is below this share of that of none in two windows in a row. Of
# many large ones, one may fit by chance.
SUSPICIOUS_RATIO = 0.7
SUSPICIOUS_RATIO_OF_LARGE = 0.6
# A larger difference of logarithms gives no more information than "not a translation".
LARGEST_COST = 1.0
OTHER_END_COST = 0.5
# The small ones come first.
OFFSETS = (0, *(sign * size for size in range(1, LARGEST_OFFSET + 1) for sign in (1, -1)))
SMALL_OFFSETS = OFFSETS[: 1 + 2 * SMALL_OFFSET]
# Lines that far apart have nothing to do with each other. The cost of lines that belong together is
# below this share of theirs.
OFFSETS_OF_OTHERS, FITTING_RATIO = (31, 67, 101, 151, 211), 0.85
# Of lines that are matched one by one: the cost of a line without a counterpart, how far they may
# be shifted beyond the difference of the lengths. That many lines take two seconds. Where more are
# missing, the place of each would be left to chance.
GAP_COST, MARGIN = 3.0, 4
MOST_MATCHED, MOST_MISSING = 100_000, 16
LONGEST_RECORDED = (1 << 16) - 1
ALIKE_ENDS = ("?？؟", "!！", ":：", ".。।")
ENDS: Mapping[str, int] = {
    mark: kind for kind, marks in enumerate(ALIKE_ENDS, start=1) for mark in marks
}


class Profile:
    """The lengths and last characters of the lines of a file, 3 bytes per line."""

    def __init__(self) -> None:
        """Create a profile without lines."""
        self.lengths = array("H")
        self.ends = array("B")

    def add(self, line: str) -> None:
        """Add a line."""
        self.lengths.append(min(len(line), LONGEST_RECORDED))
        self.ends.append(ENDS.get(line[-1:], 0))

    @classmethod
    def of(cls, lines: Iterable[str]) -> "Profile":
        """Return the profile of all `lines`."""
        profile = cls()
        for line in lines:
            profile.add(line)
        return profile

    def __len__(self) -> int:
        return len(self.lengths)


class Shift(NamedTuple):
    """The lines from `first` to `last`, counted from 1, that are shifted against each other."""

    first: int
    last: int


def find_shifts(src: Profile, tgt: Profile) -> list[Shift]:
    """Return all ranges of shifted lines of two files of equal length."""
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
    """Return the line, from 1, from which on the files are shifted; None if they seem aligned.

    Where some lines are missing in one of the files, the lines are matched one by one, unless there
    are so many that it would take long.
    """
    src_file, tgt_file = _Features(src), _Features(tgt)
    difference = abs(len(src) - len(tgt))
    if 0 < difference <= MOST_MISSING and len(src) <= MOST_MATCHED:
        return _first_gap(src_file, tgt_file) + 1
    windows = _compare_windows(src_file, tgt_file)
    window = windows.first_shifted(0)
    if window is not None:
        return _find_change(src_file, tgt_file, windows.offset(window), *_around(window)) + 1
    if len(src) != len(tgt):
        longer = max(len(src), len(tgt))
        return _find_change(src_file, tgt_file, len(tgt) - len(src), 0, longer) + 1
    return None


def belong_together(src: Profile, tgt: Profile, lines: int) -> bool:
    """Whether the first `lines` of two files fit each other better than others of the same files.

    Fewer than a window of lines are taken to fit.
    """
    value = fit(src, tgt, lines)
    return value is None or value < FITTING_RATIO


def fit(src: Profile, tgt: Profile, lines: int) -> float | None:
    """Return the cost of the first `lines` of two files, as a share of that of others.

    Sides in no common order have about 1. None if there are fewer than a window of lines.
    """
    src_file, tgt_file = _Features(src), _Features(tgt)
    lines = min(lines, len(src), len(tgt))
    if lines < WINDOW:
        return None
    cost = _cost(src_file, tgt_file, 0, 0, lines).mean()
    others = []
    for offset in OFFSETS_OF_OTHERS:
        end = min(lines, len(tgt) - offset)
        if end >= WINDOW:
            others.append(_cost(src_file, tgt_file, offset, 0, end).mean())
    usual = float(np.median(others)) if others else 0.0
    return float(cost) / usual if usual else None


class _Features:
    """The lines of a file as numbers: log lengths and kinds of last characters, both (lines,)."""

    def __init__(self, profile: Profile) -> None:
        self.lengths = np.log1p(np.frombuffer(profile.lengths, np.uint16), dtype=np.float32)
        if len(profile):
            # Text in one language is longer than in the other by a constant factor.
            self.lengths -= np.median(self.lengths)
        self.ends = np.frombuffer(profile.ends, np.uint8)

    def __len__(self) -> int:
        return len(self.ends)


def _cost(src: _Features, tgt: _Features, offset: int, start: int, end: int) -> np.ndarray:
    """Return how badly line i of src fits line i + offset of tgt: (end - start,)."""
    cost = np.full(end - start, LARGEST_COST, np.float32)
    low = max(start, 0, -offset)
    high = min(end, len(src), len(tgt) - offset)
    if low < high:
        shifted = slice(low + offset, high + offset)
        difference = src.lengths[low:high] - tgt.lengths[shifted]
        fit = np.minimum(np.square(difference), LARGEST_COST)
        fit += OTHER_END_COST * (src.ends[low:high] != tgt.ends[shifted])
        cost[low - start : high - start] = fit
    return cost


class _Windows(NamedTuple):
    """The index in OFFSETS of the best offset of each window, and whether it is accepted."""

    best: np.ndarray
    shifted: np.ndarray

    def first_shifted(self, start: int) -> int | None:
        """Return the first window from `start` on that is shifted as the next one is."""
        best, shifted = self.best[start:], self.shifted[start:]
        twice = np.flatnonzero(shifted[:-1] & shifted[1:] & (best[:-1] == best[1:]))
        return start + int(twice[0]) if len(twice) else None

    def offset(self, window: int) -> int:
        """Return by how many lines a window is shifted."""
        return OFFSETS[int(self.best[window])]

    def end(self, window: int) -> int:
        """Return the first window after `window` that, like the next one, has another offset."""
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
    small = costs[: len(SMALL_OFFSETS)]
    is_small = small.min(0) < SUSPICIOUS_RATIO * costs[0]
    is_large = costs.min(0) < SUSPICIOUS_RATIO_OF_LARGE * costs[0]
    best = np.where(is_small, small.argmin(0), costs.argmin(0))
    return _Windows(best, (best > 0) & (is_small | is_large))


def _around(window: int) -> tuple[int, int]:
    """Return the range of lines of a window and its neighbours."""
    return max(0, (window - 1) * WINDOW), (window + 2) * WINDOW


def _first_gap(src: _Features, tgt: _Features) -> int:
    """Return the line of src, from 0, before or at which the best alignment leaves out a line.

    The cheapest sequence of pairs and of lines that are left out (Needleman and Wunsch 1970), whose
    lines are shifted against each other by little more than the difference of the lengths.
    """
    total = len(tgt) - len(src)
    low = min(0, total) - MARGIN
    offsets = np.arange(low, max(0, total) + MARGIN + 1)
    costs = np.stack([_cost(src, tgt, int(offset), 0, len(src)) for offset in offsets])
    steps = GAP_COST * np.arange(len(offsets))
    # By the line and offset: whether the line before was left out in src, and some in tgt.
    left_src = np.zeros((len(src) + 1, len(offsets)), bool)
    left_tgt = np.zeros((len(src) + 1, len(offsets)), bool)
    best = np.where(offsets == 0, 0.0, np.inf)
    for line in range(len(src) + 1):
        if line:
            paired = best + costs[:, line - 1]
            without = np.append(best[1:] + GAP_COST, np.inf)
            left_src[line] = without < paired
            best = np.minimum(paired, without)
        later = np.minimum.accumulate(best - steps) + steps
        left_tgt[line] = later < best - 1e-9
        best = later
    place, line, index = len(src), len(src), total - low
    while line or index != -low:
        if left_tgt[line, index]:
            place, index = line, index - 1
        elif left_src[line, index]:
            place, line, index = line - 1, line - 1, index + 1
        else:
            line -= 1
    return place


def _find_change(
    src: _Features, tgt: _Features, offset: int, start: int, end: int, *, back: bool = False
) -> int:
    """Return the line from `start` to `end` from which on `offset` fits better than none.

    back: the line from which on no offset fits better again. Lines before it whose counterparts are
    missing are shifted, too.
    """
    offsets = (offset, 0) if back else (0, offset)
    before, after = (
        np.cumsum(_cost(src, tgt, shift, start, end), dtype=np.float64) for shift in offsets
    )
    # The lines of src whose counterparts are missing fit neither before nor after.
    gap = min(max(0, offsets[0] - offsets[1]), len(after))
    rest = np.pad(after[-1] - np.concatenate([[0.0], after])[gap:], (0, gap))
    totals = np.concatenate([[0.0], before]) + rest
    # Of equally good lines the last: the files fit each other as long as they can.
    last = len(totals) - 1 - int(totals[::-1].argmin())
    return start + min(last + gap * back, len(after))
