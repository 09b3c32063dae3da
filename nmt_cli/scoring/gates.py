"""Bounds that a score must meet, and the verdict of a comparison with a baseline."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nmt_cli.errors import UsageError
from nmt_cli.scoring.metrics import LOWER_IS_BETTER, check_metrics
from nmt_cli.scoring.scores import Comparison, Score


class Gate(NamedTuple):
    """The metric must be at least `bound`, or at most `bound` where lower is better."""

    metric: str
    bound: float


def make_gate(option: str, text: str) -> Gate:
    """The gate that `option` (--min or --max) sets with a text such as `bleu=27`.

    Raises UsageError, also for --min with a metric that is better when lower, and the reverse.
    """
    metric, _, number = text.partition("=")
    try:
        bound = float(number)
    except ValueError:
        bound = float("nan")
    if bound != bound:
        raise UsageError(f"{option} {text}: a metric and a number are needed", "such as bleu=27")
    check_metrics([metric])
    right, better = ("--max", "lower") if metric in LOWER_IS_BETTER else ("--min", "higher")
    if option != right:
        raise UsageError(f"{option} {text}: {metric} is better when {better}", f"use {right}")
    return Gate(metric, bound)


def missed(results: Mapping[str, Score], gates: Sequence[Gate]) -> list[str]:
    """One sentence for each gate that `results` (metric to score) do not meet."""
    messages = []
    for metric, bound in gates:
        name, value = results[metric].name, results[metric].value
        if metric in LOWER_IS_BETTER and value > bound:
            messages.append(f"{name} {value:.4f} is above {bound:g}")
        elif metric not in LOWER_IS_BETTER and value < bound:
            messages.append(f"{name} {value:.4f} is below {bound:g}")
    return messages


def verdict(metric: str, comparison: Comparison, level: float) -> str:
    """`better` or `worse` than the baseline, where the p-value is below `level`."""
    if comparison.p_value >= level:
        return "no significant difference"
    return "better" if (comparison.difference > 0) != (metric in LOWER_IS_BETTER) else "worse"
