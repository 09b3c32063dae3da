"""sacreBLEU's metrics as nmt uses them: counts of each line, and scores of summed counts.

sacreBLEU has no public functions for these, so its private ones are called, only in this module.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacreMetric
    from sacrebleu.metrics.chrf import CHRF

# sacreBLEU keeps the n-grams of all references that it gets at a time.
LINES_AT_ONCE = 1_000


class CorpusScore(NamedTuple):
    """The score of a corpus; details: what the metric says beyond its value."""

    name: str
    value: float
    details: str


def line_statistics(
    engine: "SacreMetric", hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> list[list[float]]:
    """The counts of each line that the metric sums over a corpus: (lines, counts)."""
    statistics: list[list[float]] = []
    for start in range(0, len(hypotheses), LINES_AT_ONCE):
        portion = slice(start, start + LINES_AT_ONCE)
        statistics += engine._extract_corpus_statistics(
            hypotheses[portion], [lines[portion] for lines in references]
        )
    return statistics


def corpus_score(engine: "SacreMetric", statistics: list[list[float]]) -> CorpusScore:
    """The score of the corpus whose lines have these counts, (lines, counts)."""
    score = engine._aggregate_and_compute(statistics)
    return CorpusScore(score.name, float(score.score), score._verbose)


def score_of_sums(engine: "SacreMetric", sums: list[float]) -> float:
    """The value of a corpus whose counts sum up to these, (counts,)."""
    return float(engine._compute_score_from_stats(sums).score)


def make_sentence_scorer(engine: "SacreMetric", reference: str) -> Callable[[str], float]:
    """A function from a hypothesis to its value; the n-grams of `reference` are counted once."""
    reference_statistics = engine._cache_references([[reference]])[0]

    def score(hypothesis: str) -> float:
        preprocessed = engine._preprocess_segment(hypothesis)
        statistics = engine._compute_segment_statistics(preprocessed, reference_statistics)
        return score_of_sums(engine, statistics)

    return score


def character_ngrams(engine: "CHRF", text: str) -> Sequence[Mapping[str, int]]:
    """The n-grams of a text with their counts, one mapping for each order."""
    ngrams: Sequence[Mapping[str, int]] = engine._cache_references([[text]])[0]["ref_ngrams"][0]
    return ngrams
