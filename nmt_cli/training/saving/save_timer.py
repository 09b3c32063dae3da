"""When to save between the checkpoints of the interval, to limit the work that can be lost."""

import time
from collections.abc import Callable

FIRST_MINUTES = 2.0


class SaveTimer:
    """Due when the last checkpoint is `minutes` old; the first time after two minutes at most."""

    def __init__(self, minutes: float, clock: Callable[[], float] = time.monotonic) -> None:
        """minutes: 0 for never. The clock starts now."""
        self._minutes = minutes
        self._clock = clock
        self._due = clock() + 60 * min(minutes, FIRST_MINUTES)

    @property
    def is_due(self) -> bool:
        """Whether a checkpoint should be saved now."""
        return self._minutes > 0 and self._clock() >= self._due

    def restart(self) -> None:
        """A checkpoint was saved now."""
        self._due = self._clock() + 60 * self._minutes
