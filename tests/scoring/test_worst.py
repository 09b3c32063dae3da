"""Differences of words: both lines can be put together from them, at any length."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.scoring.worst import ADDED, MISSING, MOST_WORDS, SAME, word_differences

lines = st.lists(st.sampled_from(["der", "Hund", "die", "Katze", "."]), max_size=12).map(" ".join)


@given(lines, lines)
def test_both_lines_follow_from_the_differences(hypothesis: str, reference: str) -> None:
    runs = word_differences(hypothesis, reference)
    for line, other in ((reference, MISSING), (hypothesis, ADDED)):
        assert " ".join(run.text for run in runs if run.kind in (SAME, other)) == line
    assert all(run.text for run in runs)
    # Runs of one kind are one run.
    assert all(run.kind != after.kind for run, after in pairwise(runs))


def test_very_long_lines_are_not_compared_word_by_word() -> None:
    long = " ".join(["a", "b"] * MOST_WORDS)
    assert [run.kind for run in word_differences(long, "a b")] == [MISSING, ADDED]
    assert [run.kind for run in word_differences(long, "")] == [ADDED]


def test_lines_of_repeated_words_are_not_compared_word_by_word() -> None:
    """A model that loops: comparing these two would take most of a minute."""
    hypothesis, reference = "b c " * 900, "b e " * 900
    assert [run.kind for run in word_differences(hypothesis, reference)] == [MISSING, ADDED]
    assert len(word_differences("b c " * 300, "b e " * 300)) == 900
