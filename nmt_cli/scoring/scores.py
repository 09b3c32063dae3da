"""score(): hypotheses and references in, one Score with its signature for each metric out."""

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nmt_cli.errors import DataError, UsageError
from nmt_cli.scoring.metrics import Metric, Options, make_metric

RESAMPLES = 1_000
SEED = 12_345
LINES_AT_ONCE = 1_000
NO_BASELINES: Mapping[str, Sequence[str]] = types.MappingProxyType({})


@dataclass(frozen=True)
class Comparison:
    """A system against one baseline, by paired bootstrap resampling.

    `difference` is the system's value minus the baseline's; `p_value` the chance that systems
    which are equally good differ as much.
    """

    baseline: str
    value: float
    difference: float
    p_value: float


@dataclass(frozen=True)
class Score:
    """A value and the signature it may not be separated from.

    `interval`: bounds of the 95 % confidence interval, where it was asked for. `details`: what
    the metric tells beyond its value (BLEU: precisions, brevity penalty, lengths).
    """

    name: str
    value: float
    signature: str
    interval: tuple[float, float] | None = None
    details: str = ""
    comparisons: tuple[Comparison, ...] = ()


def score(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    metrics: Sequence[str] = ("bleu",),
    *,
    lowercase: bool = False,
    tokenize: str = "",
    tgt_lang: str = "",
    confidence: bool = False,
    baselines: Mapping[str, Sequence[str]] = NO_BASELINES,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[Score]:
    """Score `hypotheses` against `references`: one list of lines for each reference translation.

    Gives one Score for each of `metrics` (keys of METRICS), in their order. `tokenize` is one of
    sacreBLEU's tokenizers ("": 13a, or the one for `tgt_lang`); `tgt_lang` also chooses the rules
    of `bleu-paper`. Each of `baselines` (name to lines) is another system, which the hypotheses are
    compared to; with any, or with `confidence`, intervals come from `resamples` draws.

    Raises DataError where the lines do not go together, UsageError for an unknown name.
    """
    if not references:
        raise UsageError("a score needs at least one reference")
    check_aligned(
        [
            ("the hypotheses", hypotheses),
            *((f"reference {number}", lines) for number, lines in enumerate(references, 1)),
            *((f"baseline `{name}`", lines) for name, lines in baselines.items()),
        ]
    )
    if resamples < 1:
        raise UsageError(f"a confidence needs at least one resample, not {resamples}")
    made = [make_metric(name, Options(lowercase, tokenize, tgt_lang)) for name in metrics]
    draws = resamples if confidence or baselines else 0
    return [
        _score_one(one, [hypotheses, *baselines.values()], references, list(baselines), draws, seed)
        for one in made
    ]


def check_aligned(texts: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Raise DataError unless all `texts` (name, lines) have as many lines, and at least one."""
    if len({len(lines) for _, lines in texts}) > 1:
        raise DataError(
            "not the same number of lines: "
            + ", ".join(f"{name} {len(lines):,}" for name, lines in texts),
            "line n of one must translate the same sentence as line n of the others",
        )
    if not all(lines for _, lines in texts):
        raise DataError(
            "nothing to score, no lines at all: " + ", ".join(name for name, _ in texts),
            "did the step before write its output?",
        )


def _score_one(
    metric: Metric,
    systems: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    baselines: Sequence[str],
    draws: int,
    seed: int,
) -> Score:
    """Score the first of `systems`; the others are the named `baselines`."""
    prepared = [metric.prepare(lines) for lines in references]
    counted = [_count(metric, metric.prepare(lines), prepared) for lines in systems]
    results = [metric.engine._aggregate_and_compute(statistics) for statistics in counted]
    ours, theirs = results[0], results[1:]
    plain = Score(
        metric.name or ours.name,
        float(ours.score),
        metric.signature(draws, seed),
        details=ours._verbose,
    )
    if not draws:
        return plain
    from nmt_cli.scoring.bootstrap import interval, paired_p_value, resampled_values

    drawn = [resampled_values(metric.engine, statistics, draws, seed) for statistics in counted]
    comparisons = []
    for name, other, values in zip(baselines, theirs, drawn[1:], strict=True):
        difference = plain.value - float(other.score)
        p_value = paired_p_value(drawn[0], values, difference)
        comparisons.append(Comparison(name, float(other.score), difference, p_value))
    return replace(plain, interval=interval(drawn[0]), comparisons=tuple(comparisons))


def _count(
    metric: Metric, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
) -> list[list[float]]:
    """The counts of each line that the metric sums: (lines, counts)."""
    statistics: list[list[float]] = []
    # In portions: sacreBLEU keeps the n-grams of all references it is given.
    for start in range(0, len(hypotheses), LINES_AT_ONCE):
        portion = slice(start, start + LINES_AT_ONCE)
        statistics += metric.engine._extract_corpus_statistics(
            hypotheses[portion], [lines[portion] for lines in references]
        )
    return statistics
