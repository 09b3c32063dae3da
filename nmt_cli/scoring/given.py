"""Scores of lines that another tool computed, such as a quality estimation model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nmt_cli.errors import DataError
from nmt_cli.scoring.grouping import GroupScore, all_groups
from nmt_cli.scoring.scores import RESAMPLES, SEED, Score


@dataclass(frozen=True)
class GivenScores:
    """The score of each line, as another tool computed it.

    name: of the score; file: where it was read; lower_is_better: as for counts of errors.
    """

    name: str
    file: str
    values: Sequence[float]
    lower_is_better: bool = False


def parse_scores(file: str, lines: Sequence[str]) -> list[float]:
    """The number at the end of each line: alone, or after a tab or space.

    Raises DataError naming the first line without one.
    """
    values = []
    for line_number, line in enumerate(lines, 1):
        words = line.split()
        try:
            value = float(words[-1]) if words else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise DataError(
                f"`{file}`, line {line_number:,}: there is no number at its end",
                "the file needs one line for each line of the hypotheses, each with its score",
            )
        values.append(value)
    return values


def score_given(
    given: GivenScores,
    *,
    confidence: bool = False,
    labelings: Mapping[str, Sequence[str]] | None = None,
) -> Score:
    """The mean of the lines, with its bootstrap interval if requested and the means of groups."""
    groups = tuple(
        GroupScore(by, label, len(indices), _mean([given.values[index] for index in indices]))
        for by, label, indices in all_groups(labelings or {})
    )
    signature = f"mean|lines:{len(given.values)}"
    interval = None
    if confidence:
        interval = _interval(given.values)
        signature += f"|bs:{RESAMPLES}|seed:{SEED}"
    # Such scores often lie between 0 and 1.
    return Score(
        given.name, _mean(given.values), signature, interval=interval, groups=groups, digits=4
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _interval(values: Sequence[float]) -> tuple[float, float]:
    import numpy as np

    from nmt_cli.scoring.bootstrap import interval

    generator = np.random.default_rng(SEED)
    array = np.array(values)
    return interval(
        np.array([array[generator.choice(len(array), len(array))].mean() for _ in range(RESAMPLES)])
    )
