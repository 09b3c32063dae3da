"""Writes that failed and do not end a run: a full disk may have room again by the next one."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from nmt_cli.errors import CannotCreateError, NmtError, WriteError

FAILURES_ALLOWED = 2
FAILED = (WriteError, CannotCreateError, OSError)


class WriteFailures:
    """What could not be written of one run.

    notes: what the user should know of it and was not told yet.
    """

    def __init__(self, directory: Path) -> None:
        """directory: on the disk in question; need not exist."""
        self.notes: list[str] = []
        self._directory = directory
        self._in_a_row: dict[str, int] = {}
        self._last: dict[str, str] = {}
        self._has_ended = False

    def take_notes(self) -> list[str]:
        """The notes; from now on they count as told."""
        taken, self.notes = self.notes, []
        return taken

    def count(self, what: str) -> int:
        """How often in a row writing `what` has failed."""
        return self._in_a_row.get(what, 0)

    @contextlib.contextmanager
    def forgiving(self, what: str, size: int = 0, *, always: bool = False) -> Iterator[None]:
        """Writes `what` (`size` bytes); failing is a note, for the third time in a row WriteError.

        always: no number of times is an error before `require_none`.
        """
        try:
            yield
        except FAILED as error:
            self._in_a_row[what] = self.count(what) + 1
            told = self._last[what] = self._told(what, error, size)
            if self.count(what) > FAILURES_ALLOWED and not always:
                self._has_ended = True
                raise WriteError(
                    f"{told}; this was the {FAILURES_ALLOWED + 1}rd time in a row",
                    "free some space and run the same command again",
                ) from error
            if self.count(what) == 1 or not always:
                self.notes.append(f"{told}; the run goes on and tries again")
        else:
            self._in_a_row.pop(what, None)

    def require_none(self, but: str = "") -> None:
        """Raises WriteError where something is still not written, unless the run ends with that."""
        left = [what for what in self._in_a_row if what != but]
        if left and not self._has_ended:
            raise WriteError(
                "; ".join(self._last[what] for what in left),
                "free some space and run the same command again: it goes on from what is saved",
            )

    def _told(self, what: str, error: Exception, size: int) -> str:
        reason = error.message if isinstance(error, NmtError) else str(error)
        return f"{what} is not written: {reason}{self._space(size)}"

    def _space(self, size: int) -> str:
        place = next(one for one in (self._directory, *self._directory.parents) if one.is_dir())
        try:
            free = shutil.disk_usage(place).free
        except OSError:
            return ""
        needed = f"{size / 1e6:,.1f} MB are needed, " if size else ""
        return f" ({needed}{free / 1e6:,.1f} MB are free)"
