"""Scores of groups of lines, such as the documents, the origins or the lengths of a test set."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nmt_cli.data.languages.unspaced import spaced_words

LENGTH = "length"
# The last length, in words, of each group; longer lines are the last group.
LENGTH_BOUNDS = (5, 10, 15, 20, 30, 40, 60)


class GroupScore(NamedTuple):
    """The score of the lines that have the same label; by: what the labels are."""

    by: str
    label: str
    lines: int
    value: float


def length_labels(lines: Sequence[str]) -> list[str]:
    """For each line the range that its number of words, separated by white space, is in.

    >>> length_labels(["a b", "", "a " * 61])
    ['1-5 words', '0 words', 'over 60 words']
    """
    return [_length_label(len(spaced_words(line))) for line in lines]


def _length_label(words: int) -> str:
    first = 1
    for last in LENGTH_BOUNDS:
        if words <= last:
            return f"{first}-{last} words" if words else "0 words"
        first = last + 1
    return f"over {LENGTH_BOUNDS[-1]} words"


def groups_of(labels: Sequence[str]) -> dict[str, list[int]]:
    """The indices of the lines of each label, in the order in which the labels first occur.

    >>> groups_of(["b", "a", "b"])
    {'b': [0, 2], 'a': [1]}
    """
    groups: dict[str, list[int]] = {}
    for index, label in enumerate(labels):
        groups.setdefault(label, []).append(index)
    return groups


def all_groups(labelings: Mapping[str, Sequence[str]]) -> list[tuple[str, str, list[int]]]:
    """(by, label, indices of its lines) of all labels; ranges of lengths are in ascending order."""
    return [
        (by, label, indices)
        for by, labels in labelings.items()
        for label, indices in _ordered(by, groups_of(labels))
    ]


def _ordered(by: str, groups: Mapping[str, list[int]]) -> list[tuple[str, list[int]]]:
    if by != LENGTH:
        return list(groups.items())
    order = ["0 words", *(_length_label(bound) for bound in LENGTH_BOUNDS), _length_label(10**9)]
    return sorted(groups.items(), key=lambda group: order.index(group[0]))
