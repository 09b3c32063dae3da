"""Messages for the user, on stderr: errors with hints, notes, progress bars, tables.

Text from outside (file names, sentences, settings) is never read as markup, and its control
characters are escaped. rich is imported only when a table is drawn.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

from nmt_cli.errors import NmtError
from nmt_cli.terminal.progress import Progress as Progress
from nmt_cli.terminal.progress import columns_of
from nmt_cli.terminal.progress import duration as duration
from nmt_cli.terminal.wrapping import wrapped

if TYPE_CHECKING:
    from rich.table import Table

# On narrower terminals the terminal itself breaks lines.
NARROWEST_WRAPPED = 24
RED, GREEN, YELLOW, CYAN, DIM = "31", "32", "33", "36", "2"
# C0 without newline and tab, DEL, C1, separators of lines, bidirectional controls, and what
# stands for bytes that are not UTF-8.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# A call of nmt within a command line.
_OWN_CALL = re.compile(r"(?<![\w./-])nmt(?= [a-z])")
# Longer words of a table may be broken.
_LONGEST_WHOLE_WORD = 24

ProgressFunction = Callable[[str, int, int | None], None]


def escaped(text: str) -> str:
    r"""`text` with control characters escaped, so that it cannot control a terminal.

    >>> escaped("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return _CONTROL.sub(lambda match: ascii(match.group())[1:-1], text)


class Console:
    """Writes messages and progress to a terminal or a log.

    `stream`: None means the current stderr; it is stdout where a table is the result of a command.
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
        self._bar: Progress | None = None

    @property
    def stream(self) -> TextIO:
        """Where it writes."""
        return self._given if self._given is not None else sys.stderr

    def plain(self, text: str) -> None:
        """Write lines as they are, even if quiet."""
        self._write(escaped(text) + "\n")

    def _write(self, text: str) -> None:
        """Write above the bar, if one is on the screen."""
        # A closed or full stderr must not decide how the command ends; stdout holds its result.
        ignored = () if self.stream is sys.stdout else (OSError, ValueError)
        with (
            contextlib.suppress(*ignored),
            self._bar.aside() if self._bar is not None else contextlib.nullcontext(),
        ):
            self.stream.write(text)
            self.stream.flush()

    def _labelled(self, label: str, color: str, text: str, *, whole: bool = False) -> None:
        """Write a message after its label; whole: do not wrap it, because it is a command."""
        shown = f"\x1b[{color}m{label}:\x1b[0m" if self.color else f"{label}:"
        line = self.safe(text)
        self._write(f"{shown} {line if whole else self._wrapped(line, len(label) + 2)}\n")

    def error(self, error: NmtError) -> None:
        """`error: ...`, and `hint: ...` after a blank line."""
        self._labelled("error", RED, error.message)
        if error.hint:
            self.plain("")
            self._labelled("hint", CYAN, error.hint)

    def warning(self, text: str) -> None:
        """Write a warning."""
        self._labelled("warning", YELLOW, text)

    def note(self, text: str) -> None:
        """Write lines, wrapped between words on a terminal; nothing if quiet."""
        if not self.quiet:
            # What is indented is a list, a sentence or a command, which stays as it is.
            lines = escaped(text).split("\n")
            self.plain(
                "\n".join(line if line[:1] in " $" else self._wrapped(line) for line in lines)
            )

    def detail(self, text: str) -> None:
        """Write a line with details of the one before, dimmed on colour terminals; not if quiet."""
        if not self.quiet:
            line = self._wrapped(self.safe(text))
            self._write(f"\x1b[{DIM}m{line}\x1b[0m\n" if self.color else f"{line}\n")

    @property
    def columns(self) -> int:
        """The width of the terminal, also of one that cannot be redrawn; 0 if there is none."""
        with contextlib.suppress(ValueError):  # A closed stream.
            if self.interactive or self.stream.isatty():
                return columns_of(self.stream)
        return 0

    def _wrapped(self, line: str, taken: int = 0) -> str:
        """The line, wrapped between words to the width of the terminal."""
        columns = self.columns
        return wrapped(line, columns, taken) if columns >= NARROWEST_WRAPPED else line

    def next(self, command: str) -> None:
        """Write the command to run next; nothing if quiet."""
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
        """Write a table; columns of numbers are aligned to the right.

        `styles` colours the cells that hold exactly its key.
        """
        if self.quiet or not rows:
            return
        drawn = self._drawn(_make_table(rows, header, styles))
        self._write((f"{escaped(title)}\n" if title else "") + drawn)

    def _drawn(self, table: Table) -> str:
        from rich.console import Console as RichConsole

        # Without a terminal nothing is cut: a log has no width.
        screen = RichConsole(
            file=io.StringIO(), width=self.columns or 10_000,
            force_terminal=self.color, no_color=not self.color, markup=False, highlight=False,
            emoji=False, legacy_windows=False,
        )  # fmt: skip
        with screen.capture() as capture:
            screen.print(table, crop=False)
        return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())

    def show_bar(self, progress: Progress) -> None:
        """Replace the bar on the screen by that of `progress`."""
        if self._bar is not None and self._bar is not progress:
            self._bar.close()
        self._bar = progress

    def clear(self) -> None:
        """Remove the bar from the screen."""
        if self._bar is not None:
            self._bar.close()

    def safe(self, text: str) -> str:
        """`text` in one line, so that no file name can look like a message of nmt."""
        return escaped(text).replace("\n", r"\n")

    @contextlib.contextmanager
    def progress(
        self,
        label: str,
        total: int | None = None,
        unit: str = "",
        estimate_after: int | None = 0,
    ) -> Iterator[Progress]:
        """Show progress through `total` units: a bar on a terminal, else a line per minute.

        estimate_after: as `Progress` has it.
        """
        progress = Progress(self, label, total, unit, self._clock, estimate_after=estimate_after)
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
                current.append(Progress(self, stage, total, "", self._clock, before=done))
            current[-1].total = total
            current[-1].update(done)

        try:
            yield show
        finally:
            while current:
                current.pop().close()


def _make_table(
    rows: Sequence[Sequence[object]], header: Sequence[str], styles: Mapping[str, str]
) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=bool(header), pad_edge=False, padding=(0, 2, 0, 0))
    for index in range(max(len(row) for row in rows)):
        cells = [row[index] for row in rows if index < len(row)]
        is_number = all(isinstance(cell, int | float) for cell in cells)
        name = Text(escaped(header[index]), style="bold") if index < len(header) else ""
        words = [word for cell in [name, *map(_cell, cells)] for word in str(cell).split()]
        width = min(_LONGEST_WHOLE_WORD, max(map(len, words), default=0))
        table.add_column(
            name, justify="right" if is_number else "left", overflow="fold", min_width=width
        )
    for row in rows:
        texts = [_cell(cell) for cell in row]
        table.add_row(*(Text(escaped(text), style=styles.get(text, "")) for text in texts))
    return table


def _cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
