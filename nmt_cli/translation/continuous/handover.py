"""Hands the results of another thread to an event loop, which is woken once for many of them.

Waking a loop lets its thread take Python's lock, for which the other thread then waits. A worker
has several results at the end of a step, and `asyncio.wrap_future` would wake the loop for each.
"""

import asyncio
import threading
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")


def awaitable(future: "Future[Result]") -> "asyncio.Future[Result]":
    """A future of the running event loop for one of another thread, as `asyncio.wrap_future`.

    Where it is cancelled, so is the other.
    """
    loop = asyncio.get_running_loop()
    inbox = getattr(_of_thread, "inbox", None)
    if inbox is None or inbox.loop is not loop:
        inbox = _of_thread.inbox = _Inbox(loop)
    return inbox.awaitable(future)


class _Inbox:
    """The results that have come for one event loop and were not handed out yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._arrived: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._is_woken = False

    def awaitable(self, future: "Future[Result]") -> "asyncio.Future[Result]":
        own: asyncio.Future[Result] = self.loop.create_future()
        future.add_done_callback(lambda done: self._arrive(own, done))
        own.add_done_callback(lambda done: future.cancel() if done.cancelled() else None)
        return own

    def _arrive(self, own: "asyncio.Future[Any]", done: "Future[Any]") -> None:
        """Called by any thread."""
        self._arrived.append((own, done))
        if not self._is_woken:
            self._is_woken = True
            # Nobody waits in a loop that is closed.
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._hand_out)

    def _hand_out(self) -> None:
        """Called by the loop."""
        # What arrives from here on wakes the loop again.
        self._is_woken = False
        while self._arrived:
            own, done = self._arrived.popleft()
            if own.done():
                continue
            if done.cancelled():
                own.cancel()
            elif (error := done.exception()) is not None:
                own.set_exception(error)
            else:
                own.set_result(done.result())


# The inbox of the loop that this thread has run last.
_of_thread = threading.local()
