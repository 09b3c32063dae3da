"""The speed of a run and the time to its end, measured on the steps of this process only."""

import math

# The speed is a running mean over about this many steps.
MEMORY = 200
# The first step also loads, allocates and compiles.
WARM_UP = 1
# Steps of this process after which its speed is reliable enough for an estimate.
RELIABLE_AFTER = 3


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
        # Those of a model that is still bad take longer, as its translations are longer.
        self._validation = RunningMean(2)
        self._translating = RunningMean(2)

    def add_step(self, seconds: float, tokens: int) -> None:
        """Count one step on this many target tokens."""
        self.fresh += 1
        if self.fresh <= WARM_UP:
            self._first = seconds, tokens
            return
        self._step.add(seconds)
        self._tokens.add(tokens)

    def add_validation(self, seconds: float, translating: float | None = None) -> None:
        """Count one validation; translating: how much of it was not its losses, by default all."""
        self._validation.add(seconds)
        self._translating.add(seconds if translating is None else min(seconds, translating))

    def seconds_left_validating(
        self,
        step: int,
        last: int,
        validate_every: int,
        spent: float,
        *,
        seconds_allowed: float = math.inf,
        expected: float = 0.0,
    ) -> float | None:
        """Seconds to the end, during the validation at `step`, after `spent` seconds of it.

        expected: seconds of this validation according to its progress, 0 if that says nothing yet;
        seconds_allowed: as for `seconds_left`. None if the time left is not known: no step was
        measured, or only a first validation is left.
        """
        whole = expected or self.validation_seconds
        if self.fresh <= WARM_UP or (step >= last and not whole):
            return None
        rest = max(0.0, whole - spent)
        allowed = seconds_allowed - rest
        if step >= last or allowed <= 0:
            return rest
        return rest + self.seconds_left(
            step, last, validate_every, seconds_allowed=allowed, validation_seconds=whole
        )

    @property
    def seconds_per_step(self) -> float:
        """Mean seconds of a step; of the first one as long as there is no other."""
        return self._step.value if self.fresh > WARM_UP else self._first[0]

    @property
    def tokens_per_second(self) -> float:
        """Target tokens per second, on all ranks together."""
        tokens = self._tokens.value if self.fresh > WARM_UP else self._first[1]
        return tokens / max(1e-9, self.seconds_per_step)

    @property
    def validation_seconds(self) -> float:
        """Mean seconds of a validation; 0 before the first."""
        return self._validation.value

    @property
    def translating_share(self) -> float:
        """The share of a validation that translates; 1 before the first."""
        seconds = self._validation.value
        return self._translating.value / seconds if seconds else 1.0

    def seconds_left(
        self,
        step: int,
        last: int,
        validate_every: int,
        *,
        seconds_allowed: float = math.inf,
        validation_seconds: float | None = None,
    ) -> float:
        """Seconds from `step` to the end of the run, including its validations.

        last: the last step planned; seconds_allowed: after these the run ends, too, and the last
        validation comes on top; validation_seconds: of one validation, else those measured, which
        are zero before the first.
        """
        if validation_seconds is None:
            validation_seconds = self.validation_seconds
        end = self.end_step(step, last, validate_every, seconds_allowed, validation_seconds)
        validations = validations_left(step, end, validate_every)
        return (end - step) * self.seconds_per_step + validations * validation_seconds

    def end_step(
        self,
        step: int,
        last: int,
        validate_every: int,
        seconds_allowed: float,
        validation_seconds: float,
    ) -> int:
        """The step at which the run ends: `last`, or the first one after `seconds_allowed`."""
        seconds_per_step = self.seconds_per_step
        if seconds_allowed == math.inf or not seconds_per_step or step >= last:
            return max(step, last)
        if seconds_allowed <= 0:
            return step
        # Time and steps are counted from the last validation on.
        since = step % validate_every
        interval = validate_every * seconds_per_step + validation_seconds
        intervals, rest = divmod(seconds_allowed + since * seconds_per_step, interval)
        rest_steps = min(validate_every, math.ceil(rest / seconds_per_step))
        return min(last, step - since + int(intervals) * validate_every + rest_steps)


def validations_left(step: int, last: int, validate_every: int) -> int:
    """Validations after that of `step`, with the one at the end.

    >>> validations_left(0, 12, 5), validations_left(5, 12, 5), validations_left(12, 12, 5)
    (3, 2, 1)
    """
    return max(0, -(-last // validate_every) - step // validate_every)
