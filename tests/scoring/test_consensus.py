"""The translation most like the others, as sacreBLEU's sentence metrics see it."""

import random

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from nmt_cli.scoring.consensus import CONSENSUS, expected_scores

TEXTS = [
    "the dog sleeps in the garden", "a dog sleeps in a garden", "the dog sleeps in the garden",
    "the cat", "", "the dogs sleep in the garden.",
]  # fmt: skip


@pytest.mark.parametrize("metric", ["chrf", "bleu"])
def test_expected_scores_are_means_of_sentence_scores(metric: str) -> None:
    engine = CHRF() if metric == "chrf" else BLEU(effective_order=True)
    expected = [
        sum(
            engine.sentence_score(text, [other]).score
            for other_index, other in enumerate(TEXTS)
            if other_index != index
        )
        / (len(TEXTS) - 1)
        for index, text in enumerate(TEXTS)
    ]
    assert expected_scores(TEXTS, metric) == pytest.approx(expected)


def test_chrf_of_pairs_is_exactly_that_of_sacrebleu() -> None:
    letters = random.Random(1)
    texts = ["", " ", "a", "ß€ x"] + [
        "".join(letters.choices("abc äß", k=letters.randrange(40))) for _ in range(30)
    ]
    scores = CONSENSUS["chrf"](texts)
    for reference, of_reference in zip(texts, scores, strict=True):
        expected = [CHRF().sentence_score(text, [reference]).score for text in texts]
        assert of_reference == expected


def test_expected_scores_prefer_the_majority() -> None:
    result = expected_scores(["x y z", "the dog", "the dog", "a cat"], "chrf")
    assert result.index(max(result)) == 1


def test_expected_score_of_a_single_text_is_zero() -> None:
    assert expected_scores(["a"], "chrf") == [0.0]
    assert expected_scores([], "bleu") == []
