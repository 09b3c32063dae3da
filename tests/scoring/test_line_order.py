"""References in another order than the hypotheses."""

import random

import pytest
from noisy_lines import LINES, noisy

from nmt_cli.scoring.line_order import other_order


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.6, 1.0])
def test_lines_in_the_same_order_are_not_misplaced(share: float) -> None:
    assert other_order(noisy(share), LINES) is None


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_shifted_and_shuffled_references_are_misplaced(share: float) -> None:
    found = other_order(noisy(share), [LINES[-1], *LINES[:-1]])
    assert found is not None
    assert (found.shift, found.reference) == (1, found.hypothesis + 1)
    order = list(range(len(LINES)))
    random.Random(1).shuffle(order)
    found = other_order(noisy(share), [LINES[index] for index in order])
    assert found is not None
    assert found.shift == 0
    assert order[found.reference - 1] == found.hypothesis - 1


def test_a_line_that_is_missing_in_the_middle_shifts_the_rest() -> None:
    references = [*LINES[:150], *LINES[151:], "One more."]
    found = other_order(LINES, references)
    assert found is not None
    assert found.shift == -1
    assert LINES[found.hypothesis - 1] == references[found.reference - 1]


def test_some_misplaced_lines_are_not_all() -> None:
    assert other_order(LINES, [*LINES[150:170], *LINES[20:150], *LINES[:20], *LINES[170:]]) is None


def test_equal_or_few_hypotheses_prove_nothing() -> None:
    assert other_order(LINES[:1] * 300, LINES) is None
    assert other_order(LINES[:4], [*LINES[1:4], LINES[0]]) is None
    assert other_order([], []) is None
    assert other_order([""] * 300, LINES) is None
