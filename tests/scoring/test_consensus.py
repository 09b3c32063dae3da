"""The translation most like the others, as sacreBLEU's sentence metrics see it."""

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from nmt_cli.scoring.consensus import expected_scores

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


def test_expected_scores_prefer_the_majority() -> None:
    result = expected_scores(["x y z", "the dog", "the dog", "a cat"], "chrf")
    assert result.index(max(result)) == 1


def test_expected_score_of_a_single_text_is_zero() -> None:
    assert expected_scores(["a"], "chrf") == [0.0]
    assert expected_scores([], "bleu") == []
