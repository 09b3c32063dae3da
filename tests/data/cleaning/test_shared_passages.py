"""Passages that were not translated are the same on both sides."""

import pytest

from nmt_cli.data.cleaning.doubts import find_doubts
from nmt_cli.data.cleaning.kinds import CLEAN, COPIED, PASSAGE
from nmt_cli.data.cleaning.shared_passages import has_shared_passage

PASSAGE_TEXT = "the dog that sleeps in the garden has seen a cat on the old wall"


@pytest.mark.parametrize(
    ("src", "tgt", "is_shared"),
    [
        (f"Er sagt: {PASSAGE_TEXT}", f"He says: {PASSAGE_TEXT}", True),
        (f"{PASSAGE_TEXT}.", f"{PASSAGE_TEXT}!", True),
        *((" " * shift + f"x{PASSAGE_TEXT}", f"y{PASSAGE_TEXT}z", True) for shift in range(21)),
        # It is behind another piece that both sides have, and that is none.
        (
            f"Anna Berger, Tom Frank, Ida Lang, Max Kurz, Eva Gross und {PASSAGE_TEXT}",
            f"Anna Berger, Tom Frank, Ida Lang, Max Kurz, Eva Gross and {PASSAGE_TEXT}",
            True,
        ),
        (PASSAGE_TEXT, PASSAGE_TEXT, False),
        # Too short, of few words, and names.
        (f"Er sagt: {PASSAGE_TEXT[:55]}", f"He says: {PASSAGE_TEXT[:55]}", False),
        ("Er: " + "methylenebis" * 9, "He: " + "methylenebis" * 9, False),
        (f"Er: {PASSAGE_TEXT.title()}", f"He: {PASSAGE_TEXT.title()}", False),
        (f"Er: {'12 345 ' * 12}", f"He: {'12 345 ' * 12}", False),
    ],
)
def test_long_passages_of_words_are_found(src: str, tgt: str, is_shared: bool) -> None:
    assert has_shared_passage(src, tgt) is is_shared
    assert has_shared_passage(tgt, src) is is_shared


def test_pairs_are_marked() -> None:
    src = [f"Er sagt: {PASSAGE_TEXT}", PASSAGE_TEXT, "Der Hund schläft."]
    tgt = [f"He says: {PASSAGE_TEXT}", PASSAGE_TEXT, "The dog sleeps."]
    assert find_doubts(src, tgt, ("de", "en")).tolist() == [PASSAGE, COPIED, CLEAN]
