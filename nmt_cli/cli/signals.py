"""Signals: what ends the process, at once or after saving, and with which exit code."""

import contextlib
import os
import signal
from types import FrameType

# How training ends when a signal asks it to, after saving (SIGUSR1: a scheduler will requeue).
EXIT_CODES = {
    signal.SIGINT: 130,
    signal.SIGTERM: 143,
    signal.SIGHUP: 129,
    signal.SIGUSR1: 75,
}

INTERRUPTED = 130


def _end_import(frame: FrameType | None, code: int, words: bytes = b"") -> None:
    """End the process if the signal came in the midst of an import.

    What a handler raises there is swallowed by some libraries, which then go on half loaded.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            with contextlib.suppress(OSError):
                os.write(2, words)
            os._exit(code)
        frame = frame.f_back


def heed_interrupts() -> None:
    """Let Ctrl-C be a KeyboardInterrupt, as Python does; in an import it ends the process."""

    def interrupt(_: int, frame: FrameType | None) -> None:
        _end_import(frame, INTERRUPTED, b"interrupted\n")
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)


class StopSignals:
    """Remembers the first signal that asks to stop; a Ctrl-C after it ends the process at once.

    at_once: until it is asked for the first time there is nothing to save, and the first signal
    ends the process. tells: whether to say that it was heard.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self.received: signal.Signals | None = None
        self.at_once = at_once
        self.tells = False
        for number in EXIT_CODES:
            # What `nohup` and a shell's background jobs ignore stays ignored.
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._remember)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            return
        self.received = signal.Signals(number)
        if self.at_once:
            _end_import(frame, self.exit_code)
            raise SystemExit(self.exit_code)
        # From now on the kernel does it, whatever this process is at.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if self.tells:
            # Not through a stream: the signal may have come in the midst of its writing.
            with contextlib.suppress(OSError):
                os.write(2, b"\nstopping: saves first; Ctrl-C ends it at once\n")

    def __call__(self) -> bool:
        """Whether to stop."""
        self.at_once = False
        return self.received is not None

    @property
    def exit_code(self) -> int:
        """0, or what the signal asks for."""
        return EXIT_CODES[self.received] if self.received is not None else 0
