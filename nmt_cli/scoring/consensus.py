"""Minimum Bayes risk decoding: scores each translation against the others as references."""

import types
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from nmt_cli.scoring.sacrebleu_adapter import (
    character_ngrams,
    make_sentence_scorer,
    score_of_sums,
)

if TYPE_CHECKING:
    import numpy as np


def expected_scores(texts: Sequence[str], metric: str) -> list[float]:
    """The average score of each of `texts` with each of the others as its reference.

    metric: a key of CONSENSUS, as sacreBLEU computes it for single sentences. The texts are
    samples, so a text that occurs several times counts as often. (Kumar and Byrne 2004; Eikema and
    Aziz 2020.)
    """
    if len(texts) < 2:
        return [0.0] * len(texts)
    counts = {text: texts.count(text) for text in texts}
    totals = dict.fromkeys(counts, 0.0)
    scores = CONSENSUS[metric](list(counts))
    for (reference, times), reference_scores in zip(counts.items(), scores, strict=True):
        for text, score in zip(counts, reference_scores, strict=True):
            totals[text] += score * (times - (text == reference))
    return [totals[text] / (len(texts) - 1) for text in texts]


def _chrf(texts: Sequence[str]) -> list[list[float]]:
    import numpy as np
    from sacrebleu.metrics.chrf import CHRF

    engine = CHRF()
    # The n-grams of each text are counted once, and those of two texts are compared as arrays.
    ngrams = [character_ngrams(engine, text) for text in texts]
    # (hypothesis counts, reference counts, matches) of each order: (references, hypotheses, 3)
    orders = [_common(counts) for counts in zip(*ngrams, strict=True)]
    statistics = np.concatenate(orders, axis=2).tolist()
    return [[score_of_sums(engine, sums) for sums in row] for row in statistics]


def _common(counts: Sequence[Mapping[str, int]]) -> "np.ndarray":
    """The n-grams of one order that each text has in common with each other one.

    counts: those of each text. Returns (references, hypotheses, 3), as sacreBLEU sums them up: the
    n-grams of the hypothesis, of the reference, and those in both.
    """
    import numpy as np

    columns = {ngram: column for column, ngram in enumerate(dict.fromkeys(chain(*counts)))}
    matrix = np.zeros((len(counts), len(columns)), np.int32)
    for row, text_counts in zip(matrix, counts, strict=True):
        row[[columns[ngram] for ngram in text_counts]] = list(text_counts.values())
    matches = np.stack([np.minimum(matrix, reference).sum(1) for reference in matrix])
    references, hypotheses = np.meshgrid(matrix.sum(1), matrix.sum(1), indexing="ij")
    return np.stack([hypotheses, references, matches], axis=2)


def _bleu(texts: Sequence[str]) -> list[list[float]]:
    from sacrebleu.metrics.bleu import BLEU

    engine = BLEU(effective_order=True)
    scorers = [make_sentence_scorer(engine, reference) for reference in texts]
    return [[score(text) for text in texts] for score in scorers]


# The score of each text with each text as its reference: (references, hypotheses).
CONSENSUS: Mapping[str, Callable[[Sequence[str]], list[list[float]]]] = types.MappingProxyType(
    {"chrf": _chrf, "bleu": _bleu}
)
