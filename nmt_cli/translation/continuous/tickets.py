"""What one caller wants searched, and the order in which the sources of all callers are taken."""

from collections import deque
from collections.abc import Iterable

from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.search.source_queue import IndexedSource

Found = tuple[int, list[Hypothesis]]


class Ticket:
    """The sources of one call, in a search that other calls use too.

    waiting: the sources that have no slot yet, with their indices; found: those that are done;
    error: why the search failed.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self.waiting = deque(enumerate(sources))
        self.found: list[Found] = []
        self.error: BaseException | None = None
        self._left = len(self.waiting)

    @property
    def is_done(self) -> bool:
        """Whether all sources are done, or the search has failed."""
        return self.error is not None or not self._left

    def add(self, index: int, hypotheses: list[Hypothesis]) -> None:
        """Add the finished hypotheses of a source."""
        self.found.append((index, hypotheses))
        self._left -= 1


class FairQueue:
    """The waiting sources of several tickets, one from each in turn.

    A ticket of many sources thus delays the others by one source each time, not by all of them. The
    queue numbers the sources anew: an index belongs to a source of one ticket.
    """

    def __init__(self) -> None:
        # Those that have waiting sources; the first is next.
        self._turns: deque[Ticket] = deque()
        # The ticket, and the index there, of each source that was popped and is not done.
        self._taken: dict[int, tuple[Ticket, IndexedSource]] = {}
        self._count = 0

    def __len__(self) -> int:
        """The number of tickets that are not done."""
        return len(self.tickets())

    def tickets(self) -> list[Ticket]:
        """The tickets that are not done."""
        taken = (ticket for ticket, _ in self._taken.values())
        return list(dict.fromkeys([*self._turns, *taken]))

    def add(self, ticket: Ticket) -> None:
        """Add a ticket after the others."""
        if ticket.waiting:
            self._turns.append(ticket)

    def first(self) -> IndexedSource | None:
        """As in `search.source_queue.WaitingSources`."""
        if not self._turns:
            return None
        return self._count, self._turns[0].waiting[0][1]

    def pop(self) -> IndexedSource:
        """As in `search.source_queue.WaitingSources`; the ticket goes to the end of the queue."""
        ticket = self._turns.popleft()
        index, source = ticket.waiting.popleft()
        if ticket.waiting:
            self._turns.append(ticket)
        number = self._count
        self._count += 1
        self._taken[number] = ticket, (index, source)
        return number, source

    def finish(self, number: int, hypotheses: list[Hypothesis]) -> Ticket:
        """Give the hypotheses of a source to its ticket, which is returned."""
        ticket, (index, _) = self._taken.pop(number)
        ticket.add(index, hypotheses)
        return ticket

    def remove(self, ticket: Ticket) -> set[int]:
        """Remove a ticket; returns the numbers of its sources that have slots."""
        if ticket in self._turns:
            self._turns.remove(ticket)
        numbers = {number for number, (owner, _) in self._taken.items() if owner is ticket}
        for number in numbers:
            del self._taken[number]
        return numbers

    def put_back(self) -> None:
        """Let all sources that were popped and are not done wait again, as the first ones."""
        for ticket, source in reversed(self._taken.values()):
            if not ticket.waiting:
                self._turns.appendleft(ticket)
            ticket.waiting.appendleft(source)
        self._taken.clear()
