"""When a run will end, with its validations and within its time limit."""

import math
from dataclasses import replace

from nmt_cli.config.automatic import Intervals
from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.training.evaluation.passes import comparison_share
from nmt_cli.training.reporting.events import EndsEarly
from nmt_cli.training.reporting.pace import RELIABLE_AFTER, Pace, validations_left

# An advised number of steps takes this share of the allowed time, as speeds vary.
SHARE_USED = 0.85
# A run that reaches this share of its steps is not reported as ending early.
SHARE_REACHED = 0.95
# An early end is reported again if so many times the steps are expected after all.
MANY_MORE = 1.25


class Forecast:
    """The expected end of a run.

    Without a validation text there is nothing to wait for at a validation.
    """

    def __init__(self, config: Config, corpus: Corpus, last: int, pace: Pace) -> None:
        """last: the last step planned; pace: the measured speed, which changes."""
        self._config = config
        self._corpus = corpus
        self._last = last
        self._pace = pace
        self._every = Intervals.of(config.train).validate
        # The last step that was reported as an early end, and whether the answer may still change.
        self._reported = 0
        self._is_final = False
        # What the comparison at the end translates, as a multiple of a validation.
        self._compared = comparison_share(config, corpus)

    @property
    def _comparison(self) -> float:
        """The time of the comparison at the end, as a multiple of a validation.

        It translates more sentences, but computes losses of as many pairs.
        """
        translating = self._pace.translating_share
        return 1 - translating + translating * self._compared if self._compared else 0.0

    def seconds_allowed(self, elapsed: float) -> float:
        """Seconds until the time limit; infinite without one, negative after it."""
        hours = self._config.train.max_hours
        return hours * 3_600 - elapsed if hours else math.inf

    def seconds_left(self, step: int, elapsed: float) -> float:
        """Seconds to the end after `step`; validations count once one has been measured.

        So does the comparison at the end, which takes as long as several validations.
        """
        allowed = self.seconds_allowed(elapsed)
        left = self._pace.seconds_left(step, self._last, self._every, seconds_allowed=allowed)
        return left + self._comparison * self._pace.validation_seconds

    def seconds_left_validating(
        self, step: int, elapsed: float, spent: float, expected: float
    ) -> float | None:
        """Seconds to the end in a validation; the arguments are those of the pace."""
        left = self._pace.seconds_left_validating(
            step, self._last, self._every, spent,
            seconds_allowed=self.seconds_allowed(elapsed), expected=expected,
        )  # fmt: skip
        if left is None:
            return None
        return left + self._comparison * (expected or self._pace.validation_seconds)

    def seconds_left_comparing(self, spent: float, expected: float) -> float | None:
        """Seconds to the end in the comparison, after `spent` seconds of it.

        expected: seconds of all of it according to its progress, 0 if that says nothing yet. None
        if the time left is not known.
        """
        whole = expected or self._comparison * self._pace.validation_seconds
        return max(0.0, whole - spent) if whole else None

    def average_published(self, step: int) -> None:
        """The average of `step` is published: if it is the last one, nothing is compared.

        In fine-tuning, the weights before training are compared with it.
        """
        if step >= self._last and not self._config.train.init_from:
            self._compared = 0.0

    def unmeasured(self, step: int, elapsed: float, *, validating: bool = False) -> int:
        """The validations that `seconds_left` does not include, as none has been measured.

        validating: that of `step` is in progress, and counts.
        """
        if self._corpus.valid is None or self._pace.validation_seconds:
            return 0
        end = self._end(step, elapsed, 0.0)
        later = validations_left(step, end, self._every) if step < end else 0
        return later + validating

    def _end(self, step: int, elapsed: float, validation_seconds: float) -> int:
        allowed = self.seconds_allowed(elapsed)
        return self._pace.end_step(step, self._last, self._every, allowed, validation_seconds)

    def early_end(self, step: int, elapsed: float) -> EndsEarly | None:
        """The expected end, if it comes early and this is known only now.

        That is after some steps. It is judged again after the first validation, which may be slow,
        and as the first steps may have been much slower than those that followed.
        """
        pace = self._pace
        is_known = pace.fresh >= RELIABLE_AFTER and (
            pace.fresh == RELIABLE_AFTER or pace.validation_seconds > 0
        )
        if self._is_final or not is_known or not self._config.train.max_hours:
            return None
        self._is_final = pace.validation_seconds > 0
        end = self._end(step, elapsed, pace.validation_seconds)
        if end >= SHARE_REACHED * self._last or end <= MANY_MORE * self._reported:
            return None
        self._reported = end
        validation_seconds = self._validation_seconds()
        return EndsEarly(
            step=step,
            first=self._end(step, elapsed, validation_seconds),
            last=end,
            fitting=self._fitting_steps(step, elapsed, validation_seconds),
            seconds_left=max(0.0, self.seconds_allowed(elapsed)),
        )

    def _validation_seconds(self) -> float:
        """Seconds of a validation; before the first one, of one with the longest outputs."""
        if self._corpus.valid is None:
            return 0.0
        if self._pace.validation_seconds:
            return self._pace.validation_seconds
        search = self._config.search
        lengths = self._corpus.valid.src_lengths
        sentences = min(self._config.train.validation_sentences, len(lengths))
        # Searching for a token is assumed to take as long as training on one.
        tokens = sentences * search.beam * (float(lengths.mean()) + search.max_extra_length)
        return (float(lengths.sum()) + tokens) / max(1e-9, self._pace.tokens_per_second)

    def _fitting_steps(self, step: int, elapsed: float, validation_seconds: float) -> int:
        """The most steps that end within the time limit, rounded; 0 if there are none left.

        The intervals of validations change with the number of steps. The last validation does not
        count, as it comes on top.
        """
        seconds_per_step = self._pace.seconds_per_step
        allowed = SHARE_USED * self.seconds_allowed(elapsed)
        steps = min(self._last, step + int(allowed / max(seconds_per_step, 1e-9)))
        while steps > step:
            every = Intervals.of(replace(self._config.train, max_steps=steps)).validate
            validations = max(0, validations_left(step, steps, every) - 1)
            needed = (steps - step) * seconds_per_step + validations * validation_seconds
            if needed <= allowed:
                return max(step + 1, _two_digits(steps))
            steps -= max(1, steps // 100)
        return 0


def _two_digits(count: int) -> int:
    """A number rounded down to its first two digits.

    >>> _two_digits(7), _two_digits(79), _two_digits(1_234)
    (7, 79, 1200)
    """
    unit: int = 10 ** max(0, len(str(count)) - 2)
    return count // unit * unit
