"""Finds out whether references seem to be in another order than the hypotheses."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

# The most references and hypotheses that are looked at.
MOST_REFERENCES, MOST_HYPOTHESES = 5_000, 100
# Lines are compared by their sequences of SIZE characters, those that at most this share of the
# references has.
SIZE, MOST_LINES = 4, 0.02
# A reference clearly resembles a hypothesis if it has this share of its sequences, and MARGIN times
# as many as any other reference.
LEAST_SHARE, MARGIN = 0.2, 1.5
# The least number of hypotheses, and the least share of all, that must clearly resemble references
# of other lines. They must also be RATIO times as many as those that resemble the reference of
# their own line most, unless the least number of them is shifted by the same distance.
FEWEST, FEWEST_SHARE, RATIO = 5, 0.2, 4


class OtherOrder(NamedTuple):
    """A hypothesis and the reference that it resembles, by line, from 1.

    shift: how many lines most of the references stand after the hypotheses; 0: it differs.
    """

    hypothesis: int
    reference: int
    shift: int


def other_order(hypotheses: Sequence[str], references: Sequence[str]) -> OtherOrder | None:
    """How references are ordered otherwise than the hypotheses, with the clearest example.

    None if hypotheses resemble the references of their own lines, or none.
    """
    references = references[:MOST_REFERENCES]
    lines_with = _lines_with(references)
    step = max(1, len(references) // MOST_HYPOTHESES)
    compared = range(0, min(len(hypotheses), len(references)), step)
    own, elsewhere = 0, {}
    for line in compared:
        alike = _alike(hypotheses[line], lines_with)
        (best, share), (_, second), *_ = [*alike.items(), (line, 0.0), (line, 0.0)]
        if alike.get(line) == share:
            own += 1
        elif share >= max(LEAST_SHARE, MARGIN * second):
            # Hypotheses that are all alike resemble one reference.
            elsewhere[best] = line, share
    fewest = max(FEWEST, FEWEST_SHARE * len(compared))
    shifts = Counter(reference - line for reference, (line, _) in elsewhere.items())
    shift, shifted = shifts.most_common(1)[0] if shifts else (0, 0)
    if shifted < fewest:
        shift = 0
    if not shift and len(elsewhere) < max(fewest, RATIO * own):
        return None
    examples = [
        (share, line, reference)
        for reference, (line, share) in elsewhere.items()
        if not shift or reference - line == shift
    ]
    _, hypothesis, reference = max(examples)
    return OtherOrder(hypothesis + 1, reference + 1, shift)


def _lines_with(references: Sequence[str]) -> Mapping[str, list[int]]:
    """The lines that have each sequence of characters which is not in many of them."""
    lines_with: defaultdict[str, list[int]] = defaultdict(list)
    for line, reference in enumerate(references):
        for part in _parts(reference):
            lines_with[part].append(line)
    most = max(1, int(MOST_LINES * len(references)))
    return {part: lines for part, lines in lines_with.items() if len(lines) <= most}


def _alike(hypothesis: str, lines_with: Mapping[str, Sequence[int]]) -> dict[int, float]:
    """The share of the parts of a hypothesis that each reference has, the greatest first."""
    parts = _parts(hypothesis)
    counts = Counter(chain.from_iterable(lines_with.get(part, ()) for part in parts))
    return {line: count / len(parts) for line, count in counts.most_common()}


def _parts(line: str) -> set[str]:
    text = " ".join(line.lower().split())
    return {text[start : start + SIZE] for start in range(len(text) - SIZE + 1)}
