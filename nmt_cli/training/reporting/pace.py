"""The speed of a run and the time to its end, measured on the steps of this process only."""

# The speed is a running mean over about this many steps.
MEMORY = 200
# The first step also loads, allocates and compiles.
WARM_UP = 1


class RunningMean:
    """An exponentially weighted mean, in which older values fade out.

    >>> mean = RunningMean(2)
    >>> for value in (1.0, 1.0, 4.0):
    ...     mean.add(value)
    >>> round(mean.value, 3)
    2.714
    """

    def __init__(self, memory: int) -> None:
        """memory: about how many values the mean is over."""
        self._keep = 1 - 1 / memory
        self._sum = self._weight = 0.0

    def add(self, value: float) -> None:
        """Add a value."""
        self._sum = self._sum * self._keep + value
        self._weight = self._weight * self._keep + 1

    @property
    def value(self) -> float:
        """The mean; 0 before the first value."""
        return self._sum / self._weight if self._weight else 0.0


class Pace:
    """The speed of this process; steps and validations are measured separately.

    fresh: how many steps this process has taken.
    """

    def __init__(self) -> None:
        self.fresh = 0
        self._first = 0.0, 0
        self._step = RunningMean(MEMORY)
        self._tokens = RunningMean(MEMORY)
        self._validation = RunningMean(4)

    def add_step(self, seconds: float, tokens: int) -> None:
        """Count one step on so many target tokens."""
        self.fresh += 1
        if self.fresh <= WARM_UP:
            self._first = seconds, tokens
            return
        self._step.add(seconds)
        self._tokens.add(tokens)

    def add_validation(self, seconds: float) -> None:
        """Count one validation."""
        self._validation.add(seconds)

    def seconds_left_validating(
        self, step: int, last: int, validate_every: int, spent: float
    ) -> float | None:
        """Seconds to the end, during the validation at `step`, after `spent` seconds of it.

        None if it is not known: no step was measured, or only a first validation is left.
        """
        if self.fresh <= WARM_UP or (step >= last and not self._validation.value):
            return None
        later = self.seconds_left(step, last, validate_every) if step < last else 0.0
        return later + max(0.0, self._validation.value - spent)

    @property
    def seconds_per_step(self) -> float:
        """Mean seconds of a step; of the first one as long as there is no other."""
        return self._step.value if self.fresh > WARM_UP else self._first[0]

    @property
    def tokens_per_second(self) -> float:
        """Target tokens per second, on all ranks together."""
        tokens = self._tokens.value if self.fresh > WARM_UP else self._first[1]
        return tokens / max(1e-9, self.seconds_per_step)

    def seconds_left(self, step: int, last: int, validate_every: int) -> float:
        """Seconds from `step` to the step `last`, including the validations on the way.

        Before the first validation, their time is not known and counts as zero.
        """
        validations = -(-last // validate_every) - step // validate_every
        return (
            max(0, last - step) * self.seconds_per_step
            + max(0, validations) * self._validation.value
        )
