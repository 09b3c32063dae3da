"""The end of the process at one of the operations that change the disk."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from faults.support.disks import WatchedDisk

from nmt_cli.storage import files


class Crash(BaseException):
    """Stands for the end of the process: nothing in the library may catch and continue."""


class CrashingDisk(WatchedDisk):
    """Ends the process at operation number `step`; a dead one does nothing any more."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step
        self.calls: list[str] = []

    def before(self, name: str, arguments: tuple[Any, ...]) -> None:
        if self.count > self.step:
            raise Crash(name)
        self.calls.append(name)


@contextlib.contextmanager
def crash_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let `step` of the operations happen; what did is in the list."""
    disk = CrashingDisk(step)
    with monkeypatch.context() as patch:
        patch.setattr(files, "DISK", disk)
        with contextlib.suppress(Crash):
            yield disk.calls
