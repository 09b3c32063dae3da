"""The course of the training loss, and whether it has left it, which says that training diverges.

The rule is Marian's: a fast mean far above a slow one.
"""

import math
from dataclasses import dataclass

FAST_STEPS, SLOW_STEPS = 10, 1_000
DEVIATIONS, MOST_DEVIATIONS = 5.0, 3.0
# Before so many steps there is no course to leave.
FIRST_STEPS = 100


@dataclass
class Trend:
    """Running means of the loss per token.

    steps: how many were seen; fast, slow: means over about the last 10 and 1,000 steps; variance:
    of single steps around the slow mean; high: whether the fast mean is far above the slow one.
    """

    steps: int = 0
    fast: float = 0.0
    slow: float = 0.0
    variance: float = 0.0
    high: bool = False

    def add(self, loss: float) -> bool:
        """Count a step; whether the loss has left its course in it, once until it is back.

        >>> trend = Trend()
        >>> [step for step in range(200) if trend.add(9.0 if step >= 150 else 3.0 + step % 2)]
        [157]
        """
        self.steps += 1
        self.fast += (loss - self.fast) / min(self.steps, FAST_STEPS)
        share = 1 / min(self.steps, SLOW_STEPS)
        distance = loss - self.slow
        if self.steps > FIRST_STEPS:
            # A jump is not to become the course that it is measured by.
            most = MOST_DEVIATIONS * math.sqrt(self.variance)
            distance = min(max(distance, -most), most)
        self.slow += share * distance
        self.variance = (1 - share) * (self.variance + share * distance**2)
        was_high = self.high
        limit = self.slow + DEVIATIONS * math.sqrt(self.variance)
        self.high = self.steps >= FIRST_STEPS and self.fast > limit
        return self.high and not was_high
