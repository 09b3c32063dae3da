"""Progress: a bar on a terminal, or a line per minute in a log.

The width of the terminal decides how much the bar shows. tqdm, which draws it, is imported when the
first bar is drawn.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TextIO

SECONDS_BETWEEN_LINES = 60.0
SECONDS_BETWEEN_DRAWINGS = 0.1
NARROWEST_BAR = 5
DEFAULT_COLUMNS = 80


def duration(seconds: float) -> str:
    """A duration in readable units.

    >>> duration(45), duration(150), duration(7_380), duration(400_000)
    ('45s', '2m 30s', '2h 03m', '4d 15h')
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    if whole < 48 * 3600:
        return f"{whole // 3600}h {whole % 3600 // 60:02}m"
    return f"{whole // 86400}d {whole % 86400 // 3600:02}h"


def speed(count: float, seconds: float, unit: str) -> str:
    """A rate, in units per second.

    >>> speed(1_000, 12.0, "line"), speed(3, 12.0, "layer")
    ('83 lines/s', '0.25 layers/s')
    """
    rate = count / max(seconds, 1e-9)
    digits = 0 if rate >= 10 else 1 if rate >= 1 else 2
    return f"{rate:,.{digits}f} {unit}s/s"


def fitted(fixed: str, details: Sequence[str], columns: int) -> str:
    """`fixed` and as many of the first `details` as fit into `columns`, separated by commas.

    >>> fitted("5/10", ["3s left", "12 lines/s"], 16)
    '5/10, 3s left'
    """
    text = fixed
    for detail in details:
        longer = f"{text}, {detail}" if text else detail
        if len(longer) > columns:
            break
        text = longer
    return text


def columns_of(stream: TextIO) -> int:
    """The width of the terminal that `stream` writes to."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_COLUMNS
    return shutil.get_terminal_size((DEFAULT_COLUMNS, 24)).columns


class Screen(Protocol):
    """Where progress is shown."""

    interactive: bool
    quiet: bool

    @property
    def stream(self) -> TextIO:
        """Where the bar is drawn."""
        ...

    def plain(self, text: str) -> None:
        """Write a line."""
        ...

    def show_bar(self, progress: Progress) -> None:
        """Replace the bar on the screen by this one."""
        ...

    def safe(self, text: str) -> str:
        """`text` without anything that controls a terminal."""
        ...


class Progress:
    """The progress of one task; `Console.progress` makes it, and its clock starts then."""

    def __init__(
        self,
        screen: Screen,
        label: str,
        total: int | None,
        unit: str,
        clock: Callable[[], float],
        before: int = 0,
        estimate_after: int | None = 0,
    ) -> None:
        """before: units that were done when the clock started, which are not part of the speed.

        estimate_after: the time left and the speed are estimated once more units than this are
        done; None: they are shown only if `update` receives them.
        """
        self.label = label
        self.total = total
        self._screen = screen
        self._unit = unit
        self._clock = clock
        self._before = before
        self._estimate_after = estimate_after
        self._start = self._last_line = clock()
        self._last_drawing = float("-inf")
        self._done = before
        self._details: Sequence[str] = ()
        self._activity = ""
        self._elapsed: float | None = None
        self._left: float | None = None
        self._beyond = ""
        self._bar: Any = None

    def update(
        self,
        done: int,
        *details: str,
        activity: str = "",
        elapsed: float | None = None,
        left: float | None = None,
        beyond: str = "",
    ) -> None:
        """Show that `done` units are done, and the `details`, the most important first.

        activity: what is being done at present, shown before all else. elapsed, left: seconds, if
        the caller knows them better than the clock of this object. beyond: what `left` does not
        include, such as "2 validations".
        """
        self._done, self._details, self._elapsed, self._left = done, details, elapsed, left
        self._activity, self._beyond = activity, beyond
        if self._screen.quiet:
            return
        now = self._clock()
        if self._screen.interactive:
            if self._bar is None or now - self._last_drawing >= SECONDS_BETWEEN_DRAWINGS:
                self._last_drawing = now
                self.draw()
        elif now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            self._screen.plain(self.line(done, *details))

    def line(self, done: int, *details: str) -> str:
        """The progress in one line, with the time left."""
        self._done, self._details = done, details
        parts = [f"{self.label}: {done:,}"]
        if self.total:
            parts[0] += f" of {self.total:,}"
            parts.append(f"{done / self.total:.0%}")
        if self._activity:
            parts.append(self._activity)
        left = self._seconds_left()
        if left is not None:
            parts.append(self._left_text(left))
        return ", ".join([*parts, *details])

    def _seconds_left(self) -> float | None:
        if self._left is not None:
            return self._left
        fresh = self._done - self._before
        if self._estimate_after is None or fresh <= self._estimate_after:
            return None
        if not self.total or fresh <= 0 or self._done >= self.total:
            return None
        return (self._clock() - self._start) * (self.total - self._done) / fresh

    def _left_text(self, seconds: float) -> str:
        beyond = f" + {self._beyond}" if self._beyond else ""
        return f"{duration(seconds)}{beyond} left"

    def _extras(self) -> list[str]:
        """What the bar shows besides the count, the most important first."""
        left, details = self._seconds_left(), list(self._details)
        elapsed = self._clock() - self._start if self._elapsed is None else self._elapsed
        measured = self._estimate_after is not None and self._done > self._before
        if not details and self._unit and measured and elapsed > 0:
            details = [speed(self._done - self._before, elapsed, self._unit)]
        times = [] if left is None else [self._left_text(left)]
        first = [self._activity] if self._activity else []
        return [*first, *times, *details, *([f"{duration(elapsed)} so far"] if self._done else [])]

    def shape(self, columns: int) -> str:
        """The line on a terminal that is `columns` wide, with `{bar}` in the place of the bar."""
        label = _literal(self._screen.safe(self.label))
        extras = [_literal(self._screen.safe(extra)) for extra in self._extras()]
        if not self.total:
            start = f"{label}: {self._done:,}" if self._done else f"{label} ..."
            return fitted(start, extras, columns)
        start = f"{label}: {min(1.0, self._done / self.total):>4.0%} |"
        room = columns - len(start) - NARROWEST_BAR - len("| ")
        return f"{start}{{bar}}| {fitted(f'{self._done:,}/{self.total:,}', extras, room)}"

    def draw(self) -> None:
        """Draw the bar as it is now."""
        # The terminal may be gone.
        with contextlib.suppress(OSError, ValueError):
            columns = max(1, columns_of(self._screen.stream) - 1)
            shape = self.shape(columns)
            if self._bar is None:
                self._screen.show_bar(self)
                self._bar = self._make_bar(shape, columns)
                return
            self._bar.bar_format, self._bar.ncols = shape, columns
            self._bar.n, self._bar.total = self._done, self.total
            self._bar.refresh()

    def _make_bar(self, shape: str, columns: int) -> Any:
        from tqdm import tqdm

        # The monitor is a thread, and a process with threads cannot fork safely.
        tqdm.monitor_interval = 0
        return tqdm(
            total=self.total, initial=self._done, leave=False, file=self._screen.stream,
            ncols=columns, bar_format=shape, position=0,
        )  # fmt: skip

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Write other lines above the bar while the block runs."""
        self._change_bar("clear")
        try:
            yield
        finally:
            if self._bar is not None:
                self.draw()

    def close(self) -> None:
        """Remove the bar; a later `update` draws it again."""
        self._change_bar("close")
        self._bar = None

    def _change_bar(self, change: str) -> None:
        if self._bar is not None:
            with contextlib.suppress(OSError, ValueError):
                getattr(self._bar, change)()


def _literal(text: str) -> str:
    """`text` in a format string."""
    return text.replace("{", "{{").replace("}", "}}")
