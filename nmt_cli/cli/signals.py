"""Signals that end the process, at once or after saving, and their exit codes."""

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from nmt_cli.machine import existing_signals

# How training ends when a signal asks it to, after saving (SIGUSR1: a scheduler will requeue).
NAMED_EXIT_CODES = {
    "SIGINT": 130,
    "SIGTERM": 143,
    "SIGHUP": 129,
    "SIGUSR1": 75,
}
EXIT_CODES = {
    number: code for name, code in NAMED_EXIT_CODES.items() for number in existing_signals(name)
}

# The signals that end every command but those that save first, and what the command writes then.
ENDING = {
    number: message
    for name, message in {
        "SIGTERM": "terminated (SIGTERM)",
        "SIGHUP": "ended by SIGHUP, as when a terminal is closed",
    }.items()
    for number in existing_signals(name)
}
INTERRUPTED = 130
NO_PROCESS = "the system lets this user start no more processes"
NO_PROCESS_HINT = "end some, or raise the limit (`ulimit -u`; with `ulimit -v`, that of memory)"
NO_THREAD_EXIT = 75
NOTHING_TRAINED = b"\nstopped before the first step was complete: nothing was trained yet\n"
# No line is broken by a terminal of 80 columns.
STOPPING = b"""
stopping: the step in progress is finished and saved first;
"""
ABANDONING = b"""
stopping: the validation is abandoned, which takes some seconds,
  and the step is saved; the next run of the command repeats it;
"""
AGAIN = b"  press Ctrl-C again to stop at once\n"
# Who sent another signal may have no terminal to press keys in.
AFTER_SIGNAL = "  after %s, `kill -INT %d` stops at once\n"
# Python handles a signal between two operations; one of torch's may last for minutes.
HANDLING_SECONDS = 0.5


def _end_import(frame: FrameType | None, code: int, words: bytes = b"") -> None:
    """End the process if the signal came during an import.

    Some libraries swallow what a handler raises during their import, and stay half loaded.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            with contextlib.suppress(OSError):
                os.write(2, words)
            _exit_at_once(code)
        frame = frame.f_back


def _exit_at_once(code: int) -> NoReturn:
    """End the process without what Python does at exit, and its pools of processes with it."""
    # Nothing is imported here, since the signal may have interrupted an import.
    pools = sys.modules.get("nmt_cli.data.process_pool")
    # It may be half loaded.
    if pools is not None and hasattr(pools, "end_processes"):
        pools.end_processes()
    os._exit(code)


def _end_without_thread(frame: FrameType | None) -> None:
    """End the process if the signal is one that OpenBLAS sent, because it could start no thread.

    It does so while NumPy is imported; then no thread can be started here either.
    """
    files = (frame.f_code.co_filename for frame, _ in traceback.walk_stack(frame))
    if not any(f"{os.sep}numpy{os.sep}" in file for file in files):
        return
    try:
        threading.Thread(target=int, daemon=True).start()
    except RuntimeError:
        with contextlib.suppress(OSError):
            os.write(2, f"error: {NO_PROCESS}\n\nhint: {NO_PROCESS_HINT}\n".encode())
        os._exit(NO_THREAD_EXIT)


class EndedBySignalError(SystemExit):
    """Raised where a signal ends the command, so that what it was writing is removed first."""

    def __init__(self, number: int) -> None:
        self.message = ENDING[signal.Signals(number)]
        self.exit_code = EXIT_CODES[signal.Signals(number)]
        super().__init__(self.exit_code)


def handle_signals() -> None:
    """Let Ctrl-C raise KeyboardInterrupt, and SIGTERM and SIGHUP EndedBySignalError.

    Where that would be lost, they end the process at once: in some imports, and in destructors and
    other callbacks, whose exceptions Python ignores. The command would go on otherwise, and might
    wait for input for ever. What `nohup` and a shell's background jobs ignore stays ignored.
    """

    def interrupt(_: int, frame: FrameType | None) -> None:
        _end_without_thread(frame)
        _end_import(frame, INTERRUPTED, b"interrupted\n")
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end_command)
    sys.unraisablehook = _report_ignored


def _end_command(number: int, frame: FrameType | None) -> None:
    """Handle SIGTERM or SIGHUP. A further one, as `timeout` sends it, must not stop the removal."""
    for ending in ENDING:
        signal.signal(ending, signal.SIG_IGN)
    error = EndedBySignalError(number)
    _end_import(frame, error.exit_code, f"{error.message}\n".encode())
    raise error


def _report_ignored(ignored: "sys.UnraisableHookArgs") -> None:
    error = ignored.exc_value
    if isinstance(error, EndedBySignalError):
        words, code = error.message, error.exit_code
    elif isinstance(error, KeyboardInterrupt):
        words, code = "interrupted", INTERRUPTED
    else:
        sys.__unraisablehook__(ignored)
        return
    with contextlib.suppress(OSError):
        os.write(2, f"{words}\n".encode())
    _exit_at_once(code)


class StopSignals:
    """Remembers the first signal that asks to stop; a Ctrl-C after it ends the process at once.

    at_once: end the process at the first signal until this object is called for the first time,
    because there is nothing to save before. announces: whether to write what the signal does.
    validating: whether a validation is in progress, which changes what the signal does.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self.received: signal.Signals | None = None
        self.at_once = at_once
        self.announces = False
        self.validating = False
        self._guard = contextlib.ExitStack()
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
            self._write(NOTHING_TRAINED)
            raise SystemExit(self.exit_code)
        # A second Ctrl-C is handled by the kernel, whatever this process is doing.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        at_once = AGAIN
        if self.received != signal.SIGINT:
            at_once = (AFTER_SIGNAL % (self.received.name, os.getpid())).encode()
        self._write((ABANDONING if self.validating else STOPPING) + at_once)

    def _write(self, words: bytes) -> None:
        """Write to stderr without its stream, which the signal may have interrupted in a write."""
        if self.announces:
            with contextlib.suppress(OSError):
                os.write(2, words)

    @contextlib.contextmanager
    def guarded(self) -> Iterator[None]:
        """End the process at once even where Python cannot handle the signal for a long time.

        In effect while the block runs, until this object is asked for the first time.
        """
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        left = threading.Event()
        with self._guard as guard:
            # Called from the last to the first; the closed writer ends the thread.
            guard.callback(os.close, writer)
            guard.callback(left.set)
            guard.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(writer))
            threading.Thread(
                target=self._end_process, args=(reader, left), name="signals", daemon=True
            ).start()
            yield

    def _end_process(self, reader: int, left: threading.Event) -> None:
        """The thread of `guarded`: the system writes the number of each signal into the pipe."""
        number = 0
        while (byte := os.read(reader, 1)) and not number:
            number = byte[0] if byte[0] in EXIT_CODES else 0
            # As a rule the main thread ends the process by itself.
            if number and not left.wait(HANDLING_SECONDS):
                if self.received is None:
                    self._write(NOTHING_TRAINED)
                os._exit(EXIT_CODES[signal.Signals(number)])
        os.close(reader)

    def __call__(self) -> bool:
        """Whether a signal has asked to stop."""
        self._guard.close()
        self.at_once = False
        return self.received is not None

    @property
    def exit_code(self) -> int:
        """The exit code for the signal; 0 if there was none."""
        return EXIT_CODES[self.received] if self.received is not None else 0
