"""The progress bar of `nmt translate`, and the note about the file that it has written."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.terminal.console import Console
    from nmt_cli.terminal.progress import Progress


class LineProgress:
    """The progress bar and the final note, when the translations go to a file."""

    def __init__(
        self, console: "Console", count: Callable[[], int | None], unit: str = "line"
    ) -> None:
        """The time is measured from now on.

        count: returns the number of lines, None if it is not known; unit: what is counted.
        """
        self.console = console
        self._count = count
        self._unit = unit
        self._bar: Progress | None = None
        self._lines = 0
        self._began = time.monotonic()

    @contextlib.contextmanager
    def shown(self) -> Iterator[None]:
        """Show a bar while the block runs, on a terminal only."""
        from nmt_cli.translation.lines.inputs import FIRST_WINDOW

        if not self.console.interactive:
            yield
            return
        # The first window is small and includes what is done only once, so its speed is no
        # estimate of the rest.
        with self.console.progress(
            "translating", self._count(), self._unit, FIRST_WINDOW - 1
        ) as bar:
            self._bar = bar
            self.update(0)
            yield

    def update_within(self, before: int, lines: int, share: float) -> None:
        """Show that `before` lines are written, and a share (0 to 1) of the next `lines` done."""
        self.update(before + int(share * lines))

    def update(self, lines: int) -> None:
        """Show that the first `lines` lines are translated."""
        self._lines = lines
        if self._bar is not None:
            self._bar.update(lines)

    def note_written(self, output: Path | None) -> None:
        """On a terminal, say how many lines the file `output` has and how long they took."""
        from nmt_cli.terminal.progress import duration, speed

        if output is None or not self.console.interactive:
            return
        seconds = time.monotonic() - self._began
        lines = f"{self._lines:,} {self._unit}" + ("" if self._lines == 1 else "s")
        rate = speed(self._lines, seconds, self._unit)
        self.console.note(f"wrote {output}: {lines} in {duration(seconds)} ({rate})")
