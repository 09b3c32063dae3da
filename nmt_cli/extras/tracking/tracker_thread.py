"""Feeds a tracker from a thread, so that training never waits for it and never fails by it."""

import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from nmt_cli.errors import NmtError
from nmt_cli.extras.tracking.adapters import Tracker
from nmt_cli.extras.tracking.records import texts_of, values_of
from nmt_cli.plurals import counted

# Reports of hours, at the intervals of the presets.
MOST_WAITING = 1_000
# How long the end of training waits for a tracker that is still writing.
CLOSING_SECONDS = 10.0

Record = Mapping[str, Any]


class TrackerThread:
    """Passes the records of a run to one tracker.

    log.jsonl has every record whatever happens here. If the tracker raises, it gets nothing more,
    and there is one warning; if it hangs, records wait, and those beyond MOST_WAITING are left out.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], Tracker],
        warn: Callable[[str], None],
        *,
        closing_seconds: float = CLOSING_SECONDS,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        """make: makes the tracker, in the thread; warn: is only called by `send` and `close`."""
        self._name = name
        self._make = make
        self._warn = warn
        self._closing_seconds = closing_seconds
        self._records: queue.Queue[Record | None] = queue.Queue(most_waiting)
        self._left_out = 0
        self._failure = ""
        self._has_warned = False
        # The process may end while the tracker hangs.
        self._thread = threading.Thread(target=self._run, name=f"track {name}", daemon=True)
        self._thread.start()

    def send(self, record: Record) -> None:
        """Pass on a record of log.jsonl; returns at once."""
        self._warn_of_failure()
        if self._failure:
            return
        try:
            self._records.put_nowait(record)
        except queue.Full:
            self._left_out += 1

    def close(self) -> None:
        """End the tracker's run; waits for it for at most `closing_seconds`."""
        end = time.monotonic() + self._closing_seconds
        try:
            self._records.put(None, timeout=self._closing_seconds)
            self._thread.join(max(0.0, end - time.monotonic()))
        except queue.Full:
            pass
        self._warn_of_failure()
        missing = self._left_out + self._records.qsize() * self._thread.is_alive()
        if self._thread.is_alive() or (self._left_out and not self._failure):
            self._warn(
                f"--track {self._name}: it is too slow; about {counted(missing, 'record')} did not "
                "arrive (log.jsonl has them)"
            )

    def _warn_of_failure(self) -> None:
        if self._failure and not self._has_warned:
            self._has_warned = True
            self._warn(
                f"--track {self._name} failed and gets nothing more: {self._failure} (log.jsonl "
                "goes on)"
            )

    def _run(self) -> None:
        try:
            tracker = self._make()
            while (record := self._records.get()) is not None:
                pass_on(tracker, record)
            tracker.close()
        except NmtError as error:
            self._failure = error.message
        # Trackers raise anything, sys.exit() too.
        except BaseException as error:
            self._failure = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def pass_on(tracker: Tracker, record: Record) -> None:
    """Give the numbers and texts of a record of log.jsonl to a tracker."""
    step = int(record["step"])
    values = values_of(record)
    if values:
        tracker.values(step, values)
    for name, text in texts_of(record).items():
        tracker.text(step, name, text)
