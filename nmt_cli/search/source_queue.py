"""Sources that have not begun: how many of them are admitted, and when."""

from collections.abc import Iterator

from nmt_cli.search.decoder import Source

# Refilling one by one would cost more than the places that stand empty for a while.
REFILL_BELOW = 0.75

Numbered = tuple[int, Source]


class SourceQueue:
    """Numbered sources, read one ahead of what fits."""

    def __init__(self, sources: Iterator[Source], budget: int, fewest: int = 1) -> None:
        """`budget`: source tokens searched together; `fewest`: slots that are worth refilling."""
        self._budget = budget
        self._fewest = fewest
        self._numbered = enumerate(sources)
        self._next = next(self._numbered, None)

    def take(self, slots: int, busy_tokens: int) -> list[Numbered]:
        """What to admit now into that many free slots; never nothing while nothing is busy."""
        new: list[Numbered] = []
        if busy_tokens and (slots < self._fewest or busy_tokens > REFILL_BELOW * self._budget):
            return new
        tokens = busy_tokens
        while self._next is not None and len(new) < slots:
            tokens += len(self._next[1].ids)
            if tokens > self._budget and (busy_tokens or new):
                break
            new.append(self._next)
            self._next = next(self._numbered, None)
        return new
