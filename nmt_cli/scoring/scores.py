"""score(): scores hypotheses against references, one Score with its signature for each metric."""

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nmt_cli.errors import DataError, UsageError
from nmt_cli.scoring.grouping import GroupScore, all_groups
from nmt_cli.scoring.metrics import Metric, Options, make_metric
from nmt_cli.scoring.sacrebleu_adapter import corpus_score, line_statistics

RESAMPLES = 1_000
SEED = 12_345
NO_BASELINES: Mapping[str, Sequence[str]] = types.MappingProxyType({})


@dataclass(frozen=True)
class Comparison:
    """A system against one baseline, by paired bootstrap resampling.

    `difference` is the system's value minus the baseline's. `p_value` is the probability that two
    equally good systems differ by as much.
    """

    baseline: str
    value: float
    difference: float
    p_value: float


@dataclass(frozen=True)
class Score:
    """A value and its signature, without which the value must not be reported.

    `interval`: bounds of the 95 % confidence interval, if requested. `details`: what the metric
    says beyond its value (BLEU: precisions, brevity penalty, lengths). `groups`: the scores of
    groups of lines, if requested. `digits`: the decimals that are worth showing. `notes`: what the
    texts show that makes the value too low, by `score()` of Python only.
    """

    name: str
    value: float
    signature: str
    interval: tuple[float, float] | None = None
    details: str = ""
    comparisons: tuple[Comparison, ...] = ()
    groups: tuple[GroupScore, ...] = ()
    digits: int = 2
    notes: tuple[str, ...] = ()


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
    labelings: Mapping[str, Sequence[str]] = NO_BASELINES,
) -> list[Score]:
    """Score `hypotheses` against `references`: one list of lines for each reference translation.

    Returns one Score for each of `metrics` (keys of METRICS), in their order. `tokenize` is one of
    sacreBLEU's tokenizers ("": 13a, or the one for `tgt_lang`); `tgt_lang` also chooses the rules
    of `bleu-paper`. Each of `baselines` (name to lines) is another system that the hypotheses are
    compared with. With baselines or with `confidence`, intervals come from `resamples` draws.
    Each of `labelings` (name to a label for each line) adds the scores of the lines by label.

    Raises DataError where the numbers of lines differ, UsageError for an unknown name.
    """
    if not references:
        raise UsageError("a score needs at least one reference")
    check_aligned(
        [
            ("the hypotheses", hypotheses),
            *((f"reference {index}", lines) for index, lines in enumerate(references, 1)),
            *((f"baseline `{name}`", lines) for name, lines in baselines.items()),
            *((f"labels `{name}`", labels) for name, labels in labelings.items()),
        ]
    )
    if resamples < 1:
        raise UsageError(f"a confidence interval needs at least one resample, not {resamples}")
    options = Options(lowercase, tokenize, tgt_lang)
    # All are made before any is used: a wrong name is refused before any work.
    usable_metrics = [make_metric(name, options) for name in metrics]
    systems = [hypotheses, *baselines.values()]
    draws = resamples if confidence or baselines else 0
    groups = all_groups(labelings)
    return [
        _score_metric(metric, systems, references, list(baselines), draws, seed, groups)
        for metric in usable_metrics
    ]


def check_aligned(texts: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Raise DataError unless all `texts` (name, lines) have as many lines, and at least one."""
    if len({len(lines) for _, lines in texts}) > 1:
        raise DataError(
            "not the same number of lines: "
            + ", ".join(f"{name}: {len(lines):,}" for name, lines in texts),
            "line n of one must translate the same sentence as line n of the others",
        )
    if not all(lines for _, lines in texts):
        raise DataError(
            "nothing to score: no lines in " + ", ".join(name for name, _ in texts),
            "check the step that writes these files",
        )


def _score_metric(
    metric: Metric,
    systems: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    baselines: Sequence[str],
    draws: int,
    seed: int,
    groups: Sequence[tuple[str, str, list[int]]],
) -> Score:
    """Score the first of `systems` by `metric`; the others are the named `baselines`.

    groups: (by, label, indices of the lines), as `all_groups` returns them.
    """
    prepared = [metric.prepare(lines) for lines in references]
    counts = [line_statistics(metric.engine, metric.prepare(lines), prepared) for lines in systems]

    def group_value(indices: Sequence[int]) -> float:
        return corpus_score(metric.engine, [counts[0][index] for index in indices]).value

    system, *others = (corpus_score(metric.engine, statistics) for statistics in counts)
    result = Score(
        metric.name or system.name,
        system.value,
        metric.signature(draws, seed),
        details=system.details,
        groups=tuple(
            GroupScore(by, label, len(indices), group_value(indices))
            for by, label, indices in groups
        ),
    )
    if not draws:
        return result
    from nmt_cli.scoring.bootstrap import interval, paired_p_value, resampled_values

    resampled = [resampled_values(metric.engine, statistics, draws, seed) for statistics in counts]
    comparisons = []
    for name, other, values in zip(baselines, others, resampled[1:], strict=True):
        difference = result.value - other.value
        p_value = paired_p_value(resampled[0], values, difference)
        comparisons.append(Comparison(name, other.value, difference, p_value))
    return replace(result, interval=interval(resampled[0]), comparisons=tuple(comparisons))
