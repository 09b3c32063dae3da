"""Everything a person sees, on stderr: errors with hints, notes, progress with ETA, tables.

Words from outside (file names, sentences, settings) are shown as they are: never read as markup,
with control characters spelt out. rich and tqdm are imported only when a table or a bar is drawn.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TextIO

from nmt_cli.errors import NmtError
from nmt_cli.wrapping import wrapped

if TYPE_CHECKING:
    from rich.table import Table

RED, GREEN, YELLOW, CYAN = "31", "32", "33", "36"
# C0 without newline and tab, DEL, C1, separators of lines, bidirectional controls, and what
# stands for bytes that are no UTF-8.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_SECONDS_BETWEEN_LINES = 60.0
# A call of ours within a command line.
_OWN_CALL = re.compile(r"(?<![\w./-])nmt(?= [a-z])")
# Longer words of a table may be broken.
_LONGEST_WHOLE_WORD = 24
# In fewer columns there is no room to break between words.
_NARROWEST = 24

ProgressFunction = Callable[[str, int, int | None], None]


def escaped(text: str) -> str:
    r"""`text` with control characters spelt out, so that it cannot steer a terminal.

    >>> escaped("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return _CONTROL.sub(lambda match: ascii(match.group())[1:-1], text)


def duration(seconds: float) -> str:
    """A length of time for people.

    >>> duration(45), duration(150), duration(7_380)
    ('45s', '2m 30s', '2h 03m')
    """
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{whole // 3600}h {whole % 3600 // 60:02}m"


class Console:
    """One place to speak to a person.

    `stream`: None means the stderr of the moment; stdout where a table is a command's result.
    `interactive`: a terminal that can be redrawn. `quiet`: errors and warnings only.
    `program`: what starts nmt here, for the commands that are to be run next.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        interactive: bool = False,
        color: bool = False,
        quiet: bool = False,
        program: str = "nmt",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._given = stream
        self.interactive = interactive
        self.color = color
        self.quiet = quiet
        self._program = program
        self._clock = clock

    @property
    def stream(self) -> TextIO:
        """Where it writes."""
        return self._given if self._given is not None else sys.stderr

    def plain(self, text: str) -> None:
        """One or more lines as they are, whether quiet or not."""
        # A closed or full stderr must not decide how the command ends.
        with contextlib.suppress(OSError, ValueError):
            self.stream.write(escaped(text) + "\n")
            self.stream.flush()

    def _labelled(self, label: str, color: str, text: str, *, whole: bool = False) -> None:
        """One message behind its label; whole: never broken into lines, as a command to copy."""
        shown = f"\x1b[{color}m{label}:\x1b[0m" if self.color else f"{label}:"
        # One line, so that no file's name can look like a message of ours.
        line = escaped(text).replace("\n", r"\n")
        if not whole:
            line = self._wrapped(line, len(label) + 2)
        with contextlib.suppress(OSError, ValueError):
            self.stream.write(f"{shown} {line}\n")
            self.stream.flush()

    def error(self, error: NmtError) -> None:
        """`error: ...`, and `hint: ...` after a blank line."""
        self._labelled("error", RED, error.message)
        if error.hint:
            self.plain("")
            self._labelled("hint", CYAN, error.hint)

    def warning(self, text: str) -> None:
        """Something to look at that does not stop the work."""
        self._labelled("warning", YELLOW, text)

    def note(self, text: str) -> None:
        """A line of news; nothing when quiet."""
        if not self.quiet:
            # What is indented is a list, a sentence or a command, which stays as it is.
            lines = escaped(text).split("\n")
            self.plain("\n".join(one if one[:1] in " $" else self._wrapped(one) for one in lines))

    def _wrapped(self, line: str, taken: int = 0) -> str:
        """One line, broken between words where a terminal would break it within one."""
        if not self.interactive:
            return line
        try:
            width = os.get_terminal_size(self.stream.fileno()).columns
        except (OSError, ValueError):
            width = shutil.get_terminal_size().columns
        return wrapped(line, width, taken) if width >= _NARROWEST else line

    def next(self, command: str) -> None:
        """The command to run next; nothing when quiet."""
        if not self.quiet:
            command = _OWN_CALL.sub(lambda _: self._program, command)
            self._labelled("next", GREEN, command, whole=True)

    def table(
        self,
        rows: Sequence[Sequence[object]],
        *,
        title: str = "",
        header: Sequence[str] = (),
        styles: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """A table; a column of numbers is aligned to the right.

        `styles` colours the cells that hold exactly its key.
        """
        if self.quiet or not rows:
            return
        drawn = self._drawn(_make_table(rows, header, styles))
        with contextlib.suppress(OSError, ValueError):
            self.stream.write((f"{escaped(title)}\n" if title else "") + drawn)
            self.stream.flush()

    def _drawn(self, table: Table) -> str:
        from rich.console import Console as RichConsole

        # Without a terminal nothing is cut: a log has no width.
        screen = RichConsole(
            file=io.StringIO(), width=None if self.interactive else 10_000,
            force_terminal=self.color, no_color=not self.color, markup=False, highlight=False,
            emoji=False, legacy_windows=False,
        )  # fmt: skip
        with screen.capture() as capture:
            screen.print(table, crop=False)
        return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())

    @contextlib.contextmanager
    def progress(self, label: str, total: int | None = None, unit: str = "") -> Iterator[Progress]:
        """Progress through `total` things: a bar with ETA on a terminal, else a line a minute."""
        progress = Progress(self, label, total, unit, self._clock)
        try:
            yield progress
        finally:
            progress.close()

    @contextlib.contextmanager
    def stages(self) -> Iterator[ProgressFunction]:
        """A function `(stage, done, total)` for a library call; each new stage gets its own bar."""
        current: list[Progress] = []

        def show(stage: str, done: int, total: int | None) -> None:
            if not current or current[-1].label != stage:
                while current:
                    current.pop().close()
                current.append(Progress(self, stage, total, "", self._clock))
            current[-1].total = total
            current[-1].update(done)

        try:
            yield show
        finally:
            while current:
                current.pop().close()


class Progress:
    """How far one piece of work is; made by `Console.progress`."""

    def __init__(
        self,
        console: Console,
        label: str,
        total: int | None,
        unit: str,
        clock: Callable[[], float],
    ) -> None:
        self.label = label
        self.total = total
        self._console = console
        self._unit = unit
        self._clock = clock
        self._start = self._last_line = clock()
        self._before = 0
        self._moved = False
        self._bar: Any = None

    def skip(self, done: int) -> None:
        """`done` things were finished before this work began: they say nothing of its speed."""
        if not self._moved:
            self._before = done
            self._start = self._clock()

    def update(self, done: int, text: str = "") -> None:
        """`done` things are finished by now; `text` is shown beside."""
        if self._console.quiet:
            return
        self._moved = self._moved or done > self._before
        if self._console.interactive:
            self._draw(done, text)
        elif self._clock() - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = self._clock()
            self._console.plain(self.line(done, text))

    def line(self, done: int, text: str = "") -> str:
        """The state in one line, with the time that is left."""
        parts = [f"{self.label}: {done:,}"]
        if self.total:
            elapsed = self._clock() - self._start
            parts[0] += f" of {self.total:,}"
            parts.append(f"{done / self.total:.0%}")
            fresh = done - self._before
            if fresh > 0 and done < self.total:
                parts.append(f"{duration(elapsed * (self.total - done) / fresh)} left")
        return ", ".join([*parts, *([text] if text else [])])

    def _draw(self, done: int, text: str) -> None:
        # The terminal may be gone.
        with contextlib.suppress(OSError, ValueError):
            if self._bar is None:
                self._bar = self._make_bar()
            self._bar.total = self.total
            if text:
                self._bar.set_postfix_str(escaped(text), refresh=False)
            self._bar.update(done - self._bar.n)

    def _make_bar(self) -> Any:
        from tqdm import tqdm

        # The monitor is a thread, and a process with threads cannot fork safely.
        tqdm.monitor_interval = 0
        return tqdm(
            desc=escaped(self.label), total=self.total, unit=escaped(self._unit) or "it",
            leave=False, file=self._console.stream, dynamic_ncols=True, unit_scale=True,
            initial=self._before,
        )  # fmt: skip

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Write other lines above the bar while the block runs."""
        self._with_bar("clear")
        yield
        self._with_bar("refresh")

    def close(self) -> None:
        """Take the bar away."""
        self._with_bar("close")

    def _with_bar(self, change: str) -> None:
        if self._bar is not None:
            with contextlib.suppress(OSError, ValueError):
                getattr(self._bar, change)()


def _make_table(
    rows: Sequence[Sequence[object]], header: Sequence[str], styles: Mapping[str, str]
) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=bool(header), pad_edge=False, padding=(0, 2, 0, 0))
    for index in range(max(len(row) for row in rows)):
        cells = [row[index] for row in rows if index < len(row)]
        number = all(isinstance(cell, int | float) for cell in cells)
        name = Text(escaped(header[index]), style="bold") if index < len(header) else ""
        words = [word for cell in [name, *map(_cell, cells)] for word in str(cell).split()]
        width = min(_LONGEST_WHOLE_WORD, max(map(len, words), default=0))
        table.add_column(
            name, justify="right" if number else "left", overflow="fold", min_width=width
        )
    for row in rows:
        texts = [_cell(cell) for cell in row]
        table.add_row(*(Text(escaped(text), style=styles.get(text, "")) for text in texts))
    return table


def _cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
