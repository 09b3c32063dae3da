"""Finds hypotheses that are shifted against their references from some line on.

A line that is missing or doubled shifts all that follow. Hypothesis n then shares more words with a
neighbour of reference n than with this one, line after line.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nmt_cli.scoring.unspaced import unspaced_tokenizer

# The most lines that are looked at.
MOST_LINES = 5_000
# The distances that are compared.
OFFSETS = (1, -1, 2, -2, 3, -3)
# The gain of a line is how much more alike it is to a neighbour than to its own reference. A line
# with at least this gain or loss tells for or against a shift; a run of shifted lines must have
# this gain on average.
LEAST_GAIN = 0.05
# A run of shifted lines has at least this many lines that tell, LEAST_RATIO times as many for the
# shift as against it, and a sum of gains of at least this many standard deviations.
FEWEST_TELLING, LEAST_DEVIATIONS, LEAST_RATIO = 10, 5.0, 4
# The first and the last line of a run gain at least this share of what its lines do on average. A
# line that has no counterpart, beside the run, is more like its neighbour by chance.
LEAST_SHARE = 0.2
# Words in more lines than these, of which the second is a share, tell little about a line.
FEWEST_LINES, MOST_COMMON = 2, 0.05
_WORD = re.compile(r"\w+")


class LineShift(NamedTuple):
    """Hypotheses from the line `first` to `last`, from 1, that fit references at a distance.

    Both of these lines clearly do, and do not fit the references of their own lines.
    offset: how many lines the references stand after the hypotheses.
    """

    first: int
    last: int
    offset: int


def find_line_shift(hypotheses: Sequence[str], references: Sequence[str]) -> LineShift | None:
    """Return the clearest run of shifted lines; None if no run is sure.

    hypotheses, references: as many lines.
    """
    sides = [texts[:MOST_LINES] for texts in (hypotheses, references)]
    is_unspaced = unspaced_tokenizer(sides[1]) != ""
    words = [[_words(line, is_unspaced=is_unspaced) for line in lines] for lines in sides]
    seen = Counter(word for line in words[1] for word in line)
    lines = min(map(len, words))
    most = max(FEWEST_LINES, MOST_COMMON * lines)
    weights = {word: math.log(lines / count) ** 2 for word, count in seen.items() if count <= most}
    rarest = max(weights.values(), default=1.0)
    norms = [[_norm(line, seen, weights, rarest) for line in side] for side in words]
    words = [[line & weights.keys() for line in side] for side in words]

    def likeness(line: int, other: int) -> float:
        shared = words[0][line] & words[1][other]
        if not shared:
            return 0.0
        return sum(map(weights.__getitem__, shared)) / (norms[0][line] * norms[1][other])

    own = [likeness(line, line) for line in range(lines)]
    shifts: list[tuple[float, LineShift]] = []
    for offset in OFFSETS:
        compared = range(max(0, -offset), min(lines, lines - offset))
        gains = [likeness(line, line + offset) - own[line] for line in compared]
        first, end = _best_run(gains)
        run = gains[first:end]
        if _is_sure(run):
            first, end = _clear_ends(gains, first, end)
            shift = LineShift(compared.start + first + 1, compared.start + end, offset)
            shifts.append((sum(run), shift))
    return max(shifts)[1] if shifts else None


def _words(line: str, *, is_unspaced: bool) -> frozenset[str]:
    """The different words of a line; of text without spaces, its pairs of characters."""
    if is_unspaced:
        return frozenset(_pairs("".join(line.split())))
    return frozenset(_WORD.findall(line.lower()))


def _pairs(text: str) -> Iterator[str]:
    return (text[index : index + 2] for index in range(len(text) - 1))


def _norm(
    words: frozenset[str], seen: Mapping[str, int], weights: Mapping[str, float], rarest: float
) -> float:
    # A word that no reference has is as rare as can be; common ones have no weight.
    return (
        math.sqrt(sum(weights.get(word, 0.0 if word in seen else rarest) for word in words)) or 1.0
    )


def _best_run(gains: Sequence[float]) -> tuple[int, int]:
    """The first index of the run with the greatest sum, and its end (Kadane's algorithm).

    >>> _best_run([-1.0, 2.0, -1.0, 3.0, -5.0, 1.0]), _best_run([-1.0])
    ((1, 4), (0, 0))
    """
    best, best_run, total, first = 0.0, (0, 0), 0.0, 0
    for index, gain in enumerate(gains):
        if total <= 0:
            total, first = 0.0, index
        total += gain
        if total > best:
            best, best_run = total, (first, index + 1)
    return best_run


def _clear_ends(gains: Sequence[float], first: int, end: int) -> tuple[int, int]:
    """The run from `first` to before `end` without unclear lines at its ends.

    >>> _clear_ends([0.05, 0.6, 0.0, 0.8, 0.0], 0, 5)
    (1, 4)
    """
    least = LEAST_SHARE * sum(gains[first:end]) / (end - first)
    clear = [index for index in range(first, end) if gains[index] >= least]
    return clear[0], clear[-1] + 1


def _is_sure(gains: Sequence[float]) -> bool:
    """Whether a run of lines clearly is shifted."""
    telling = [gain for gain in gains if abs(gain) > LEAST_GAIN]
    speak_for = sum(gain > 0 for gain in telling)
    deviation = math.sqrt(sum(gain * gain for gain in gains))
    return (
        len(telling) >= FEWEST_TELLING
        and speak_for >= LEAST_RATIO * (len(telling) - speak_for)
        and sum(gains) >= max(LEAST_DEVIATIONS * deviation, LEAST_GAIN * len(gains))
    )
