"""Write failures that a run tolerates: a full disk may have room again at the next attempt."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from nmt_cli.errors import CannotCreateError, NmtError, WriteError

FAILURES_ALLOWED = 2
FAILED = (WriteError, CannotCreateError, OSError)


class WriteFailures:
    """Counts the failed writes of one run.

    notes: messages for the user that were not shown yet.
    """

    def __init__(self, directory: Path) -> None:
        """directory: that of the checkpoints, which need not exist, in the model directory."""
        self.notes: list[str] = []
        self._directory = directory
        self._in_a_row: dict[str, int] = {}
        self._messages: dict[str, str] = {}
        self._has_raised = False

    def take_notes(self) -> list[str]:
        """Return the notes and forget them."""
        notes, self.notes = self.notes, []
        return notes

    def count(self, what: str) -> int:
        """How often in a row writing `what` failed."""
        return self._in_a_row.get(what, 0)

    @contextlib.contextmanager
    def tolerate(self, what: str, size: int = 0, *, always: bool = False) -> Iterator[None]:
        """The context of writing `what`, of `size` bytes; a failure becomes a note.

        The third failure in a row raises WriteError; with `always`, only `require_none` does. So
        does a failure after the model directory was moved or deleted, which no attempt mends.
        """
        try:
            yield
        except FAILED as error:
            if not self._directory.parent.is_dir():
                self._has_raised = True
                raise WriteError(
                    f"{what} is not written: `{self._directory.parent}` was moved or deleted while "
                    "it was trained",
                    "move it back, or give its new name with --out, and run the command again: it "
                    "continues after the last checkpoint",
                ) from error
            self._in_a_row[what] = self.count(what) + 1
            message = self._messages[what] = self._message(what, error, size)
            if self.count(what) > FAILURES_ALLOWED and not always:
                self._has_raised = True
                raise WriteError(
                    f"{message}; this was the {FAILURES_ALLOWED + 1}rd time in a row",
                    "free some space and run the same command again",
                ) from error
            if self.count(what) == 1 or not always:
                self.notes.append(f"{message}; training continues and the next save tries again")
        else:
            self._in_a_row.pop(what, None)

    def require_none(self, but: str = "") -> None:
        """Raises WriteError if something is still not written, unless that error was raised before.

        but: what is not checked.
        """
        failed = [what for what in self._in_a_row if what != but]
        if failed and not self._has_raised:
            raise WriteError(
                "; ".join(self._messages[what] for what in failed),
                "free some space and run the same command again: it resumes from the last save",
            )

    def _message(self, what: str, error: Exception, size: int) -> str:
        reason = error.message if isinstance(error, NmtError) else str(error)
        return f"{what} is not written: {reason}{self._space(size)}"

    def _space(self, size: int) -> str:
        parents = (self._directory, *self._directory.parents)
        directory = next(parent for parent in parents if parent.is_dir())
        try:
            free = shutil.disk_usage(directory).free
        except OSError:
            return ""
        needed = f"{size / 1e6:,.1f} MB are needed, " if size else ""
        return f" ({needed}{free / 1e6:,.1f} MB are free)"
