"""How sure a score is: bootstrap resampling, for one system and for a pair.

Koehn (2004), "Statistical significance tests for machine translation evaluation". The draws and
the formulas are sacreBLEU's, so that the figures agree; here a score's sums are taken draw by
draw, in memory that does not grow with (draws times lines), and in float64.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacreMetric

Numbers = NDArray[np.float64]


def resampled_values(
    engine: "SacreMetric", statistics: list[list[float]], resamples: int, seed: int
) -> Numbers:
    """The score of each of `resamples` corpora drawn with replacement, (resamples,).

    `statistics`: (lines, counts of a line). Equal seeds draw equal lines for every system.
    """
    counts = np.array(statistics, dtype=np.float64)
    lines = len(counts)
    generator = np.random.default_rng(seed)
    values = np.empty(resamples)
    for index in range(resamples):
        drawn = np.bincount(generator.choice(lines, size=lines), minlength=lines)
        values[index] = engine._compute_score_from_stats(list(drawn @ counts)).score
    return values


def interval(values: Numbers) -> tuple[float, float]:
    """The bounds that hold the middle 95 % of `values`."""
    ordered = np.sort(values)
    outside = len(ordered) // 40
    return float(ordered[outside]), float(ordered[len(ordered) - outside - 1])


def paired_p_value(ours: Numbers, theirs: Numbers, difference: float) -> float:
    """How likely chance alone makes two equally good systems differ by `difference` or more.

    `ours` and `theirs` are their values on the same draws; two-sided. sacreBLEU counts only what
    exceeds `difference`, which makes a system significantly different from itself.
    """
    differences = np.abs(ours - theirs)
    as_large = int(np.sum(differences - differences.mean() >= abs(difference)))
    return (as_large + 1) / (len(differences) + 1)
