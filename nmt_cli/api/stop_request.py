"""Requests that stop train() after the current step, with everything saved."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

Event = TypeVar("Event")


class StopRequest:
    """Asks for a stop on Ctrl-C, when the caller's `stop` says so, or when a callback fails.

    In a `with` block of the main thread, the first Ctrl-C asks for a stop and the second one raises
    KeyboardInterrupt at once. A handler of SIGINT that is not Python's own is left alone, and in
    other threads no handler is set, which Python does not allow.
    `failure`: what train() raises after saving: KeyboardInterrupt or the error of a callback.
    """

    def __init__(self, stop: Callable[[], bool] | None) -> None:
        self.failure: BaseException | None = None
        self._stop = stop
        self._has_steps = False
        self._handles_interrupts = False

    def __enter__(self) -> "StopRequest":
        """Handle Ctrl-C from now on, if this is the main thread."""
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._interrupt)
            self._handles_interrupts = True
        return self

    def __exit__(self, *_: object) -> None:
        """Leave Ctrl-C to Python again."""
        if self._handles_interrupts:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if not self._has_steps:
            # There is nothing to save yet.
            raise KeyboardInterrupt
        self.failure = KeyboardInterrupt()

    def __call__(self) -> bool:
        """Whether to stop; called by the training loop from the end of its first step on."""
        self._has_steps = True
        if self.failure is None and self._stop is not None:
            try:
                return bool(self._stop())
            except Exception as error:
                self.failure = error
        return self.failure is not None

    def guarded(self, callback: Callable[[Event], None]) -> Callable[[Event], None]:
        """`callback`; if it raises an error, training stops and saves before that is raised."""

        def call(event: Event) -> None:
            if self.failure is None:
                try:
                    callback(event)
                except Exception as error:
                    self.failure = error

        return call
