"""Minimum Bayes risk decoding: scores each translation against the others as references."""

import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from nmt_cli.scoring.sacrebleu_adapter import make_sentence_scorer

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric


def expected_scores(texts: Sequence[str], metric: str) -> list[float]:
    """The average score of each of `texts` with each of the others as its reference.

    metric: a key of CONSENSUS, as sacreBLEU computes it for single sentences. The texts are
    samples, so a text that occurs several times counts as often. (Kumar and Byrne 2004; Eikema and
    Aziz 2020.)
    """
    if len(texts) < 2:
        return [0.0] * len(texts)
    engine = CONSENSUS[metric]()
    counts = {text: texts.count(text) for text in texts}
    totals = dict.fromkeys(counts, 0.0)
    for reference, times in counts.items():
        score = make_sentence_scorer(engine, reference)
        for text in totals:
            totals[text] += score(text) * (times - (text == reference))
    return [totals[text] / (len(texts) - 1) for text in texts]


def _make_chrf() -> "Metric":
    from sacrebleu.metrics.chrf import CHRF

    return CHRF()


def _make_bleu() -> "Metric":
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(effective_order=True)


CONSENSUS: Mapping[str, Callable[[], "Metric"]] = types.MappingProxyType(
    {"chrf": _make_chrf, "bleu": _make_bleu}
)
