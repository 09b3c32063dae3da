"""The order in which the sources of several calls are taken, and what is left of a call."""

from nmt_cli.search.decoder import Source
from nmt_cli.translation.continuous.tickets import FairQueue, Ticket


def made(*calls: tuple[int, ...]) -> tuple[FairQueue, list[Ticket]]:
    """A queue with a ticket for each call; calls: the only id of each of their sources."""
    queue, tickets = FairQueue(), [Ticket(Source((number,)) for number in call) for call in calls]
    for ticket in tickets:
        queue.add(ticket)
    return queue, tickets


def popped(queue: FairQueue, count: int) -> list[int]:
    """The ids of the next sources."""
    return [queue.pop()[1].ids[0] for _ in range(count)]


def test_sources_are_taken_from_each_call_in_turn() -> None:
    queue, _ = made((1, 2, 3), (), (4,), (5, 6))
    assert len(queue) == 3
    assert popped(queue, 6) == [1, 4, 5, 2, 6, 3]
    assert queue.first() is None


def test_nothing_is_left_of_a_removed_call() -> None:
    queue, (first, second) = made((1, 2, 3), (4, 5))
    assert popped(queue, 2) == [1, 4]
    assert queue.remove(first) == {0}
    assert queue.tickets() == [second]
    assert popped(queue, 1) == [5]
    assert queue.first() is None
    assert queue.remove(first) == set()


def test_sources_that_are_put_back_come_first_and_in_their_order() -> None:
    queue, tickets = made((1, 2, 3), (4,), (5,))
    queue.finish(queue.pop()[0], [])
    assert popped(queue, 3) == [4, 5, 2]
    queue.put_back()
    assert popped(queue, 2) == [4, 5]
    queue.put_back()
    taken = [queue.pop() for _ in range(4)]
    assert [source.ids[0] for _, source in taken] == [4, 5, 2, 3]
    for number, _ in taken:
        queue.finish(number, [])
    assert [ticket.is_done for ticket in tickets] == [True] * 3
    assert len(queue) == 0
    assert [index for index, _ in tickets[0].found] == [0, 1, 2]


def test_two_sources_of_a_call_that_are_put_back_keep_their_order() -> None:
    queue, _ = made((1, 2, 3))
    assert popped(queue, 2) == [1, 2]
    queue.put_back()
    assert popped(queue, 3) == [1, 2, 3]
