"""A thread that owns a translator and works on the translations of several callers at once.

The code that translates lines is written as if it were alone: it asks for searches and waits for
their results. Here each call runs in a greenlet, a function whose execution can be suspended. While
it waits for its search, other calls begin or go on, and the sources of all of them share the slots
of one search: a call joins at the next step. Only one greenlet runs at a time, in one thread.
"""

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

from nmt_cli.translation.continuous.shared_searches import SharedSearches
from nmt_cli.translation.continuous.tickets import Ticket
from nmt_cli.translation.translator import Translator

Result = TypeVar("Result")
AFTER_FORK = (
    "the translator was made before this process was forked, and its thread is in the other "
    "process: make it in this one"
)


class CallCancelledError(BaseException):
    """Raised in a call that nobody waits for any more; no handler of errors may catch it."""


class _Call:
    """A function to run with the translator, and the future of its result."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.future: Future[Any] = Future()
        self.greenlet: greenlet | None = None
        # What gives the future its result or its error, once there is one.
        self._settle: Callable[[], None] | None = None

    def run(self) -> None:
        """Run in the greenlet of the call."""
        if self.future.cancelled():
            return
        try:
            result = self.function()
        except BaseException as error:
            self._settle = partial(self.future.set_exception, error)
        else:
            self._settle = partial(self.future.set_result, result)

    def settle(self) -> None:
        """Give the result of a call that has ended to those who wait for it."""
        if self._settle is not None:
            # It may have been cancelled.
            with suppress(InvalidStateError):
                self._settle()

    def fail(self, error: BaseException) -> None:
        """Let the call fail, if it has not ended yet."""
        if self._settle is None:
            self._settle = partial(self.future.set_exception, error)
        self.settle()

    def abandon(self) -> None:
        """End the greenlet where it waits, so that it gives back what it holds."""
        if self.greenlet is not None and not self.greenlet.dead:
            self.greenlet.throw(CallCancelledError)


class TranslationWorker:
    """Runs calls with one translator in one thread, interleaved at the steps of their searches.

    restarts: how often the worker began again after an error of its own.
    """

    def __init__(self, translator: Translator) -> None:
        """The translator must not be used elsewhere until the worker is closed."""
        self._translator = translator
        self._inbox: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._closing = False
        # Nothing is put into the inbox after the None that ends the thread.
        self._closing_lock = threading.Lock()
        # Futures that were cancelled, by any thread.
        self._cancelled: deque[Future[Any]] = deque()
        self._process = os.getpid()
        self._turn_begun = 0.0
        self._thread = threading.Thread(target=self._work, name="translate", daemon=True)
        self.restarts = 0
        self._reset()
        self._thread.start()

    def submit(self, function: Callable[[Translator], Result]) -> "Future[Result]":
        """Run `function` with the translator; it is dropped when the future is cancelled.

        The future is never in the state "running", so that it can be cancelled at any time.
        """
        call = _Call(lambda: function(self._translator))
        call.future.add_done_callback(self._note_cancelled)
        if self._process != os.getpid():
            call.fail(RuntimeError(AFTER_FORK))
            return call.future
        with self._closing_lock:
            if self._closing:
                call.fail(RuntimeError("the translator is closed: its worker takes no more calls"))
            else:
                self._inbox.put(call)
        return call.future

    def close(self, seconds: float | None = 10.0) -> None:
        """Take no more calls, finish those that were submitted, and end the thread.

        seconds: to wait for that; None: as long as it takes.
        """
        if self._process != os.getpid():
            return
        with self._closing_lock:
            self._closing = True
            self._inbox.put(None)
        self._thread.join(seconds)

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    @property
    def turn_seconds(self) -> float:
        """How long the work between two looks at new calls has taken so far; 0 while idle."""
        begun = self._turn_begun
        return time.monotonic() - begun if begun else 0.0

    @property
    def steps(self) -> int:
        """The number of steps so far."""
        return self._searches.steps

    @property
    def busy_slots(self) -> int:
        """The sources that are searched at present."""
        return self._searches.busy_slots

    def _reset(self) -> None:
        self._searches = SharedSearches(self._translator.engine, self._wait)
        self._translator.search_with(self._searches)
        self._calls: dict[Future[Any], _Call] = {}
        self._ended: list[_Call] = []
        self._waiting: dict[Ticket, greenlet] = {}

    def _note_cancelled(self, future: "Future[Any]") -> None:
        if future.cancelled():
            self._cancelled.append(future)

    def _wait(self, ticket: Ticket) -> None:
        """Let the others go on until this ticket is done; called in the greenlet of a call."""
        this = getcurrent()
        if this.parent is None:
            raise RuntimeError(
                "the translator belongs to a worker (an AsyncTranslator or a server), through "
                "which alone it can be used"
            )
        self._waiting[ticket] = this
        try:
            this.parent.switch()
        finally:
            self._waiting.pop(ticket, None)

    def _work(self) -> None:
        """The thread: begins again after an error that is not one of a call."""
        while not (self._closing and self._inbox.empty() and not self._calls):
            try:
                new = self._receive()
                self._turn_begun = time.monotonic()
                self._turn(new)
            except BaseException as error:
                self.restarts += 1
                for call in self._calls.values():
                    call.fail(error)
                    call.abandon()
                self._reset()
            self._turn_begun = 0.0

    def _receive(self) -> list[_Call]:
        """Take new calls from the inbox; waits for one if there is nothing else to do."""
        new = [] if self._calls else [self._inbox.get()]
        while not self._inbox.empty():
            new.append(self._inbox.get())
        calls = [call for call in new if call is not None]
        self._calls.update((call.future, call) for call in calls)
        return calls

    def _turn(self, new: Sequence[_Call]) -> None:
        """Begin new calls, drop cancelled ones, run a step, and go on with calls that it served."""
        for call in new:
            call.greenlet = greenlet(partial(self._run, call))
            call.greenlet.switch()
        while self._cancelled:
            cancelled = self._calls.get(self._cancelled.popleft())
            if cancelled is not None:
                cancelled.abandon()
        self._settle_ended()
        for ticket in self._searches.step():
            self._waiting[ticket].switch()
        self._settle_ended()

    def _run(self, call: _Call) -> None:
        """What the greenlet of a call does."""
        call.run()
        self._ended.append(call)

    def _settle_ended(self) -> None:
        """Give the results of the calls that have ended, all at once: see `handover`."""
        for call in self._ended:
            del self._calls[call.future]
            call.settle()
        self._ended.clear()
