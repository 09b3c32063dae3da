"""Bounds that a score must meet, and the verdict of a comparison with a baseline."""

import types
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nmt_cli.errors import UsageError
from nmt_cli.scoring.metrics import LOWER_IS_BETTER, METRICS, check_metrics
from nmt_cli.scoring.scores import Comparison, Score

# Options that name their metric.
METRIC_OF = {"--min-bleu": "bleu="}
NONE_GIVEN: Mapping[str, bool] = types.MappingProxyType({})


class Gate(NamedTuple):
    """The metric must be at least `bound`, or with `at_most` at most `bound`; `option` says so."""

    metric: str
    bound: float
    at_most: bool
    option: str


def make_gate(option: str, text: str, given: Mapping[str, bool] = NONE_GIVEN) -> Gate:
    """The gate that `option` sets: --min or --max with a text such as `bleu=27`, --min-bleu `27`.

    given: the names of other tools' scores, and whether lower is better. Raises UsageError, also
    for --min with a metric that is better when lower, and the reverse.
    """
    metric, _, number = (METRIC_OF.get(option, "") + text).partition("=")
    try:
        bound = float(number)
    except ValueError:
        bound = float("nan")
    if bound != bound:
        if option in METRIC_OF:
            raise UsageError(f"{option} {text}: a number is needed", "such as 27")
        raise UsageError(f"{option} {text}: a metric and a number are needed", "such as bleu=27")
    check_metrics([metric], [*METRICS, *given])
    at_most = given.get(metric, metric in LOWER_IS_BETTER)
    right, better = ("--max", "lower") if at_most else ("--min", "higher")
    if (option == "--max") != at_most:
        raise UsageError(f"{option} {text}: {metric} is better when {better}", f"use {right}")
    return Gate(metric, bound, at_most, option)


def missed(results: Mapping[str, Score], gates: Sequence[Gate]) -> list[str]:
    """One sentence for each gate that `results` (metric to score) do not meet."""
    messages = []
    for metric, bound, at_most, _ in gates:
        name, value = results[metric].name, results[metric].value
        if at_most and value > bound:
            messages.append(f"{name} {value:.4f} is above {bound:g}, by {value - bound:.4g}")
        elif not at_most and value < bound:
            messages.append(f"{name} {value:.4f} is below {bound:g}, by {bound - value:.4g}")
    return messages


def verdict(metric: str, comparison: Comparison, level: float) -> str:
    """`better` or `worse` than the baseline, where the p-value is below `level`."""
    if comparison.p_value >= level:
        return "no significant difference"
    return "better" if (comparison.difference > 0) != (metric in LOWER_IS_BETTER) else "worse"
