"""Minimum Bayes risk: of several translations, the one that is most like all the others."""

import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric


def expected_scores(texts: Sequence[str], metric: str) -> list[float]:
    """How good each of `texts` is on average, with each of the others as its reference.

    metric: a key of CONSENSUS, as sacreBLEU computes it for single sentences. The texts stand for
    samples: what came several times counts as often. (Kumar and Byrne 2004; Eikema and Aziz 2020.)
    """
    if len(texts) < 2:
        return [0.0] * len(texts)
    engine = CONSENSUS[metric]()
    counts = {text: texts.count(text) for text in texts}
    totals = dict.fromkeys(counts, 0.0)
    for reference, times in counts.items():
        # What a reference is made of is counted once, not for each hypothesis.
        known = engine._cache_references([[reference]])
        for text in totals:
            statistics = engine._compute_segment_statistics(
                engine._preprocess_segment(text), known[0]
            )
            value = float(engine._compute_score_from_stats(statistics).score)
            totals[text] += value * (times - (text == reference))
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
