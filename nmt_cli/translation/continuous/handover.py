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
    inbox = getattr(_thread_local, "inbox", None)
    if inbox is None or inbox.loop is not loop:
        inbox = _thread_local.inbox = _Inbox(loop)
    return inbox.awaitable(future)


class _Inbox:
    """The results that have come for one event loop and were not handed out yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._arrived: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()
        self._is_woken = False

    def awaitable(self, future: "Future[Result]") -> "asyncio.Future[Result]":
        loop_future: asyncio.Future[Result] = self.loop.create_future()
        future.add_done_callback(lambda done: self._arrive(loop_future, done))
        loop_future.add_done_callback(lambda done: future.cancel() if done.cancelled() else None)
        return loop_future

    def _arrive(self, loop_future: "asyncio.Future[Any]", done: "Future[Any]") -> None:
        """Keep a result until the loop hands it out, and wake the loop; called by any thread."""
        self._arrived.append((loop_future, done))
        if not self._is_woken:
            self._is_woken = True
            # Nobody waits in a loop that is closed.
            with suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._hand_out)

    def _hand_out(self) -> None:
        """Give the results to the futures of the loop; called by the loop."""
        # What arrives from here on wakes the loop again.
        self._is_woken = False
        while self._arrived:
            loop_future, done = self._arrived.popleft()
            if loop_future.done():
                continue
            if done.cancelled():
                loop_future.cancel()
            elif (error := done.exception()) is not None:
                loop_future.set_exception(error)
            else:
                loop_future.set_result(done.result())


# The inbox of the loop that this thread has run last.
_thread_local = threading.local()
