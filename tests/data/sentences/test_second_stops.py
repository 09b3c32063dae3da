"""Full stops behind a name that ends in one."""

import pytest

from nmt_cli.data.sentences.second_stops import has_second_stop


@pytest.mark.parametrize(
    ("name", "after", "source_after"),
    [
        ("Ltd.", ".", ""),
        ("Ltd.", ". Der Hund schläft.", " The dog sleeps."),
        # The stop of the sentence is behind the name in the translation alone.
        ("Ltd.", ".", " sleeps."),
        ("Wait...", ".", ""),
        ("Yahoo!", ".", ""),
        ("Yahoo!", "!", ""),
        ("Ask?", "?", ' "'),
        ("Ask?", ".", "” The dog sleeps."),
        ("Wait…", "…", ""),
        ("Wait…", ". Der Hund", " (The dog sleeps.)"),
        ("商店。", "。", ""),
    ],
)
def test_stop_that_is_too_many(name: str, after: str, source_after: str) -> None:
    assert has_second_stop(name, after, name, source_after)


@pytest.mark.parametrize(
    ("name", "after", "source_after"),
    [
        # What the source has, too.
        ("Ltd.", ".", "."),
        ("Ltd.", "?", "?"),
        ("Yahoo!", ".", "."),
        # The mark says something else than the stop of the name.
        ("Ltd.", "!", ""),
        ("Ltd.", ", das", ", which"),
        ("Ltd.", "…", ""),
        ("Ltd.", "...", ""),
        ("Ltd.", " .", ""),
        # The sentence goes on behind the name, and has an end of its own.
        ("Yahoo!", ".", " sleeps."),
        ("Ask?", "?", " sleep?"),
        ("Yahoo!", ".", "-based dogs sleep."),
        ("Ltd", ".", ""),
        ("", ".", ""),
        ("Ltd.", "", ""),
    ],
)
def test_stop_that_is_right(name: str, after: str, source_after: str) -> None:
    assert not has_second_stop(name, after, name, source_after)


def test_stop_of_the_sentence_behind_a_term_is_that_of_its_form() -> None:
    assert has_second_stop("Hund GmbH.", ".", "dog", ".")
    assert not has_second_stop("Hund GmbH.", "!", "dog", "!")
    assert not has_second_stop("Mieze!", "!", "cat", "!")
    assert not has_second_stop("Mieze!", ".", "cat", "")
