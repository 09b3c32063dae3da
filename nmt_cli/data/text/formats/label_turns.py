"""Which of two labels that begin the lines of a text in turn begins its pairs.

The first line may be a stray one, so that the first label is not always that of the first side.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import StatisticsError, correlation
from typing import NamedTuple

_NUMBER = re.compile(r"\d+")
# The numbers of the sides tell the order if so many pairs in one of the orders have the same ones,
# and so many times as many as in the other order.
FEWEST_NUMBERS, NUMBERS_RATIO = 3, 2
# The lengths tell it if their correlations in the two orders differ by so much, of so many pairs.
LEAST_DIFFERENCE, FEWEST_LENGTHS = 0.2, 10


class LabelledLine(NamedTuple):
    """A line with its label, without it, and the number of empty lines above it."""

    label: str
    text: str
    block: int


def begins_pairs(lines: Sequence[LabelledLine]) -> str:
    """The label of the first side of the pairs, of two labels that take turns.

    In the right order the sides have the same numbers or, if there are hardly any, similar lengths,
    or they are not divided by empty lines. If nothing tells, the pairs begin with the first line.

    >>> lines = [("en", "In 1999.", 0), ("xx", "Ka 5", 0), ("en", "At 5", 0), ("xx", "Mi 7", 0)]
    >>> begins_pairs([LabelledLine(*line) for line in [*lines, ("en", "It is 7.", 0)] * 3])
    'xx'
    """
    first = lines[0].label
    second = next(line.label for line in lines if line.label != first)
    orders = [list(_pairs(lines, label)) for label in (first, second)]
    for is_second in (_by_numbers(orders), _by_lengths(orders), _by_blocks(orders)):
        if is_second is not None:
            return second if is_second else first
    return first


_Pair = tuple[LabelledLine, LabelledLine]


def _pairs(lines: Sequence[LabelledLine], label: str) -> Iterator[_Pair]:
    """The lines with this label, each with the line behind it, which has the other one."""
    return (pair for pair in pairwise(lines) if pair[0].label == label != pair[1].label)


def _by_numbers(orders: Sequence[Sequence[_Pair]]) -> bool | None:
    """Whether the second order has the pairs with the same numbers; None if these do not tell."""
    same = [
        sum(bool(numbers) and numbers == others for numbers, others in map(_numbers, pairs))
        for pairs in orders
    ]
    if max(same) < FEWEST_NUMBERS or max(same) < NUMBERS_RATIO * min(same):
        return None
    return same[1] > same[0]


def _numbers(pair: _Pair) -> tuple[list[str], list[str]]:
    src, tgt = (sorted(_NUMBER.findall(line.text)) for line in pair)
    return src, tgt


def _by_lengths(orders: Sequence[Sequence[_Pair]]) -> bool | None:
    """Whether the lengths of the sides agree in the second order; None if these do not tell."""
    if min(map(len, orders)) < FEWEST_LENGTHS:
        return None
    try:
        first, second = (
            correlation([len(src.text) for src, _ in pairs], [len(tgt.text) for _, tgt in pairs])
            for pairs in orders
        )
    except StatisticsError:
        # All lines of a side have the same length.
        return None
    return second > first if abs(second - first) > LEAST_DIFFERENCE else None


def _by_blocks(orders: Sequence[Sequence[_Pair]]) -> bool | None:
    """Whether empty lines stand within the pairs of the first order alone, or of the second."""
    first, second = (sum(src.block < tgt.block for src, tgt in pairs) for pairs in orders)
    if min(first, second) > 0 or first == second:
        return None
    return first > second
