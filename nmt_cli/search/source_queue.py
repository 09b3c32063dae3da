"""The queue of sources for continuous batching: how many are admitted, and when."""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from nmt_cli.search.decoder import Source

# Slots stay empty until the tokens in work fall to this share: admitting one by one costs more.
REFILL_BELOW = 0.75

IndexedSource = tuple[int, Source]


@runtime_checkable
class WaitingSources(Protocol):
    """Sources that wait for a slot; more may come after it was empty."""

    def first(self) -> IndexedSource | None:
        """The source that is next, with its index; None: none is waiting now."""
        ...

    def pop(self) -> IndexedSource:
        """Remove the source that is next, and return it."""
        ...


class ReadAhead:
    """The sources of an iterator, numbered in their order; one of them is read ahead."""

    def __init__(self, sources: Iterator[Source]) -> None:
        self._indexed = enumerate(sources)
        self._next = next(self._indexed, None)

    def first(self) -> IndexedSource | None:
        """The next source; None at the end."""
        return self._next

    def pop(self) -> IndexedSource:
        """The next source, which is removed."""
        assert self._next is not None
        popped, self._next = self._next, next(self._indexed, None)
        return popped


class SourceQueue:
    """Decides how many of the waiting sources are admitted."""

    def __init__(self, budget: int, min_free_slots: int = 1) -> None:
        """budget: source tokens searched together; min_free_slots: below it nothing is admitted."""
        self._budget = budget
        self._min_free_slots = min_free_slots

    def take(
        self, waiting: WaitingSources, free_slots: int, busy_tokens: int
    ) -> list[IndexedSource]:
        """The sources to admit into that many free slots; at least one while no slot is busy."""
        new: list[IndexedSource] = []
        too_few = free_slots < self._min_free_slots
        if busy_tokens and (too_few or busy_tokens > REFILL_BELOW * self._budget):
            return new
        tokens = busy_tokens
        while len(new) < free_slots and (following := waiting.first()) is not None:
            tokens += len(following[1].ids)
            if tokens > self._budget and (busy_tokens or new):
                break
            new.append(waiting.pop())
        return new
