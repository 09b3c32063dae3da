"""The times of a validation in progress: that of its losses, and that of its translations."""

# With a smaller share of its sentences translated, the time of a validation is not estimated.
MIN_SHARE_DONE = 0.1


class ValidationClock:
    """Measures one validation, or one comparison, from its progress.

    began: when its first progress was reported, None before; expected: the seconds that all of it
    takes according to its progress, 0 as long as that says too little.

    >>> clock = ValidationClock()
    >>> for done, now in [(0, 0.0), (0, 3.0), (20, 5.0)]:
    ...     clock.update(done, 100, now)
    >>> clock.expected, clock.translating(7.0)
    (13.0, 4.0)
    """

    def __init__(self) -> None:
        self.began: float | None = None
        self.expected = 0.0
        self._translating_since = 0.0
        self._done = 0

    def update(self, done: int, total: int, now: float) -> None:
        """So many sentences of `total` are translated; 0 while the losses are computed.

        The expected seconds change only if more sentences are done, so that the time left becomes
        shorter between.
        """
        if self.began is None:
            self.began = now
        if not done:
            self._translating_since = now
        elif done > self._done and done >= MIN_SHARE_DONE * total:
            self._done = done
            losses = self._translating_since - self.began
            self.expected = losses + self.translating(now) * total / done

    def translating(self, now: float) -> float:
        """Seconds since its first sentence began to be translated; 0 before."""
        return 0.0 if self.began is None else now - self._translating_since
