"""Bootstrap resampling: confidence intervals of a score, and significance of a difference.

Koehn (2004), "Statistical significance tests for machine translation evaluation". The draws and
the formulas are sacreBLEU's, so that the figures agree. Counts are summed draw by draw in float64,
so that memory does not grow with (draws times lines).
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nmt_cli.scoring.sacrebleu_adapter import score_of_sums

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric as SacreMetric

Numbers = NDArray[np.float64]


def resampled_values(
    engine: "SacreMetric", statistics: list[list[float]], resamples: int, seed: int
) -> Numbers:
    """The score of each of `resamples` corpora drawn with replacement, (resamples,).

    `statistics`: (lines, counts). Equal seeds draw the same lines for every system.
    """
    counts = np.array(statistics, dtype=np.float64)
    lines = len(counts)
    generator = np.random.default_rng(seed)
    values = np.empty(resamples)
    for index in range(resamples):
        drawn = np.bincount(generator.choice(lines, size=lines), minlength=lines)
        values[index] = score_of_sums(engine, list(drawn @ counts))
    return values


def interval(values: Numbers) -> tuple[float, float]:
    """The bounds of the middle 95 % of `values`."""
    ordered = np.sort(values)
    outside = len(ordered) // 40
    return float(ordered[outside]), float(ordered[len(ordered) - outside - 1])


def paired_p_value(system: Numbers, baseline: Numbers, difference: float) -> float:
    """The probability that two equally good systems differ by `difference` or more; two-sided.

    `system` and `baseline` are their values on the same draws. sacreBLEU counts only differences
    greater than `difference`, by which a system is significantly different from itself.
    """
    differences = np.abs(system - baseline)
    as_large = int(np.sum(differences - differences.mean() >= abs(difference)))
    return (as_large + 1) / (len(differences) + 1)
