"""The queue of sources for continuous batching: how many are admitted, and when."""

from collections.abc import Iterator

from nmt_cli.search.decoder import Source

# Slots stay empty until the tokens in work fall to this share: admitting one by one costs more.
REFILL_BELOW = 0.75

IndexedSource = tuple[int, Source]


class SourceQueue:
    """Sources with their indices; one of them is read ahead."""

    def __init__(self, sources: Iterator[Source], budget: int, min_free_slots: int = 1) -> None:
        """budget: source tokens searched together; min_free_slots: below it nothing is admitted."""
        self._budget = budget
        self._min_free_slots = min_free_slots
        self._indexed = enumerate(sources)
        self._next = next(self._indexed, None)

    def take(self, slots: int, busy_tokens: int) -> list[IndexedSource]:
        """The sources to admit into that many free slots; at least one while no slot is busy."""
        new: list[IndexedSource] = []
        too_few = slots < self._min_free_slots
        if busy_tokens and (too_few or busy_tokens > REFILL_BELOW * self._budget):
            return new
        tokens = busy_tokens
        while self._next is not None and len(new) < slots:
            tokens += len(self._next[1].ids)
            if tokens > self._budget and (busy_tokens or new):
                break
            new.append(self._next)
            self._next = next(self._indexed, None)
        return new
