"""Tags around words that a translation lacks stand around another word, which is flagged."""

import numpy as np
import pytest
from projections import project

from nmt_cli.translation.markup.carrier import Pair
from nmt_cli.translation.markup.rules import Places
from nmt_cli.translation.markup.spans import Aligned, Spans
from nmt_cli.translation.markup.tokens import tokens_of


@pytest.mark.parametrize(
    ("line", "target", "is_moved"),
    [
        ("The <b>kitchen</b> table", "Der Tisch", True),
        ("The <b>kitchen</b> table", "Der Küchentisch", False),
        ("The <b>kitchen table</b>", "Der Tisch", False),
        ("The kitchen <b>table</b>", "Der Tisch", False),
    ],
)
def test_tags_whose_words_the_translation_lacks_are_flagged(
    line: str, target: str, is_moved: bool
) -> None:
    links = [("The", "Der"), ("table", "Tisch")]
    links += [("kitchen", "Küchentisch"), ("table", "Küchentisch")]
    assert project(line, target, links).moved is is_moved


@pytest.mark.parametrize(("share", "is_another"), [(0.4, True), (0.6, False)])
def test_word_of_another_one_is_aligned_much_better_with_it(share: float, is_another: bool) -> None:
    src, tgt = (tokens_of(text) for text in ("kitchen table", "Tisch"))
    aligned = Aligned("kitchen table", "Tisch", src, tgt, np.array([[share, 1.0]]))
    spans = Spans(aligned, Places(["Tisch"], [False], strict=False), {})
    spans.of_pairs([Pair(None, None, 0, 7, ())], 0, 1)
    assert spans.displaced is is_another
