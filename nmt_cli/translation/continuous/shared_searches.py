"""Searches that several callers share: one for all callers with equal settings.

All of this runs in one thread. A caller that waits for its sources lets the other callers go on.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import is_out_of_memory
from nmt_cli.inference.engines import Engine
from nmt_cli.search.beam import Searcher
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.search.logits_processors import LogitsProcessor
from nmt_cli.search.strategy import BeamStrategy
from nmt_cli.translation.continuous.tickets import FairQueue, Found, Ticket

# Settings that are searched at a time; others wait until a search is idle. Each needs memory.
MAX_SEARCHES = 4
# More sources than this are not searched together on a CPU: it has too few cores.
MAX_SLOTS = 64


class SharedSearches:
    """The searches of an engine, and the tickets of those who wait for them.

    steps: how many were run; busy_slots: the sources that are searched at present.
    """

    def __init__(self, engine: Engine, wait: Callable[[Ticket], None]) -> None:
        """wait: lets other callers go on; it returns when the ticket is done."""
        self._engine = engine
        self._wait = wait
        self._slots = engine.slots if engine.reusable else min(engine.slots, MAX_SLOTS)
        self._groups: dict[_Key, _Group] = {}
        # Tickets for settings that no group has.
        self._without_group: deque[tuple[_Settings, Ticket]] = deque()
        self.steps = self.busy_slots = 0

    def halve(self, sources: int) -> bool:
        """Return False: `step` itself uses fewer slots where memory ran out, and searches again."""
        return False

    def searcher(
        self,
        sources: int,
        rows: int,
        config: SearchConfig,
        processors: Sequence[LogitsProcessor],
        strategy: BeamStrategy | None,
        unbanned_ids: Set[int],
    ) -> "SharedSearch":
        """A search whose slots all callers with these settings share."""
        settings = _Settings(rows, _searched(config), processors, strategy, frozenset(unbanned_ids))
        return SharedSearch(self, settings)

    def wait_for(self, settings: "_Settings", sources: Iterator[Source]) -> Iterator[Found]:
        """The finished hypotheses of the sources, when all of them are done."""
        ticket = Ticket(sources)
        self._without_group.append((settings, ticket))
        try:
            if not ticket.is_done:
                self._wait(ticket)
        finally:
            self._remove(ticket)
        if ticket.error is not None:
            raise ticket.error
        yield from ticket.found

    def _remove(self, ticket: Ticket) -> None:
        self._without_group = deque(
            (settings, other) for settings, other in self._without_group if other is not ticket
        )
        for group in self._groups.values():
            group.remove(ticket)

    def step(self) -> list[Ticket]:
        """Run a step of each search that has work; returns the tickets that are done with it."""
        self._admit()
        done = []
        for key, group in list(self._groups.items()):
            try:
                if group.admit():
                    self.steps += 1
                    done += group.advance()
            except Exception as error:
                del self._groups[key]
                done += self._recover(group, error)
        self.busy_slots = sum(group.searcher.busy for group in self._groups.values())
        return done

    def _recover(self, group: "_Group", error: Exception) -> list[Ticket]:
        """After an error in a search: its tickets have failed, unless memory can be freed."""
        tickets = group.queue.tickets()
        if is_out_of_memory(error) and self._slots > 1:
            self._slots = max(1, self._slots // 2)
            group.queue.put_back()
            self._without_group.extend((group.settings, ticket) for ticket in tickets)
            return []
        for ticket in tickets:
            ticket.error = error
        return tickets

    def _admit(self) -> None:
        """Put tickets into the groups of their settings, in order, while there is room."""
        while self._without_group:
            settings, ticket = self._without_group[0]
            group = self._groups.pop(settings.key, None) or self._new_group(settings)
            if group is None:
                return
            # The group that was used last is the last one.
            self._groups[settings.key] = group
            group.queue.add(ticket)
            self._without_group.popleft()

    def _new_group(self, settings: "_Settings") -> "_Group | None":
        """A group for these settings; None if all groups are in use."""
        if len(self._groups) >= MAX_SEARCHES:
            idle = next((key for key, group in self._groups.items() if group.is_idle), None)
            if idle is None:
                return None
            del self._groups[idle]
        config = settings.config
        if config.batch_tokens == "auto":
            config = replace(config, batch_tokens=self._engine.batch_tokens)
        decoder = self._engine.decoder(self._slots, settings.rows)
        searcher = Searcher(
            decoder, config, settings.processors, settings.strategy, settings.unbanned_ids
        )
        return _Group(settings, searcher)


class SharedSearch:
    """A `translation.lines.searcher_cache.Search` with settings that other callers may have."""

    def __init__(self, searches: SharedSearches, settings: "_Settings") -> None:
        self._searches = searches
        self._settings = settings

    def run(
        self, sources: Iterator[Source], on_step: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """The index and the finished hypotheses of each source; `on_step` is not called."""
        return self._searches.wait_for(self._settings, sources)


class _Key(NamedTuple):
    """What is equal for all sources of a group; processors: their identities."""

    rows: int
    config: SearchConfig
    processors: tuple[int, ...]
    is_constrained: bool
    unbanned_ids: frozenset[int]


class _Settings(NamedTuple):
    """What a search is made of. Strategies with the same rows are interchangeable."""

    rows: int
    config: SearchConfig
    processors: Sequence[LogitsProcessor]
    strategy: BeamStrategy | None
    unbanned_ids: frozenset[int]

    @property
    def key(self) -> _Key:
        """Equal for settings that can share a search."""
        processors = tuple(map(id, self.processors))
        is_constrained = self.strategy is not None
        return _Key(self.rows, self.config, processors, is_constrained, self.unbanned_ids)


@dataclass
class _Group:
    """A search with the tickets of its callers."""

    settings: _Settings
    searcher: Searcher

    def __post_init__(self) -> None:
        self.queue = FairQueue()

    @property
    def is_idle(self) -> bool:
        return not self.searcher.busy and self.queue.first() is None

    def admit(self) -> bool:
        """Put waiting sources into free slots; returns whether any slot is busy."""
        return self.searcher.admit(self.queue)

    def advance(self) -> list[Ticket]:
        """Run a step; returns the tickets that are done now."""
        finished = self.searcher.advance()
        tickets = [self.queue.finish(number, hypotheses) for number, hypotheses in finished]
        return list(dict.fromkeys(ticket for ticket in tickets if ticket.is_done))

    def remove(self, ticket: Ticket) -> None:
        """Remove a ticket, and free the slots of its sources."""
        numbers = self.queue.remove(ticket)
        if numbers:
            self.searcher.drop(numbers)


@lru_cache(maxsize=64)
def _searched(config: SearchConfig) -> SearchConfig:
    """The settings that a search depends on; the others are the same for all callers."""
    return replace(
        config,
        sentences="auto", markup="keep", keep_numbers=False, retry=False, shortlist=0,
        alignment=False, replace_unknown=False,
    )  # fmt: skip
