"""Means over runs that differ in their random seeds alone."""

import json
from collections.abc import Sequence
from statistics import mean, stdev

from nmt_cli.extras.tracking.records import RunSummary

SEED = "train.seed"


def seed_notes(summaries: Sequence[RunSummary]) -> list[str]:
    """Mean and standard deviation of the scores of each group of runs with other seeds.

    Runs that are still training, or were stopped, are left out: their scores are of fewer steps.
    Of copies of a run only the first counts. Groups in which two other runs have the same seed are
    left out, and those whose seeds are not known.
    """
    groups: dict[str, dict[tuple[object, ...], RunSummary]] = {}
    for summary in summaries:
        if summary.perplexity is not None and summary.state.startswith("finished"):
            result = summary.settings.get(SEED), summary.bleu, summary.perplexity
            groups.setdefault(_all_but_seed(summary), {}).setdefault(result, summary)
    return [
        f"{', '.join(run.run for run in runs.values())} differ in {SEED} alone: "
        f"{_scores([*runs.values()])}"
        for runs in groups.values()
        if len({seed for seed, *_ in runs}) == len(runs) > 1
    ]


def _all_but_seed(summary: RunSummary) -> str:
    settings = {key: value for key, value in summary.settings.items() if key != SEED}
    others = (
        summary.corpus, summary.init_from, summary.subwords, summary.validation_text,
        summary.validation_sentences, summary.bleu is None,
    )  # fmt: skip
    return json.dumps([settings, others], sort_keys=True, default=str)


def _scores(runs: Sequence[RunSummary]) -> str:
    """Means of the scores, with sample standard deviations."""
    scores = {
        "BLEU": [run.bleu for run in runs if run.bleu is not None],
        "perplexity": [run.perplexity for run in runs if run.perplexity is not None],
    }
    shown = [
        f"{name} {mean(values):.2f} (standard deviation {stdev(values):.2f})"
        for name, values in scores.items()
        if values
    ]
    return f"mean {', '.join(shown)}"
