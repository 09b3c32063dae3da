"""Disks to put in the place of `files.DISK`: they count operations, fail, die or remember."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.storage import files
from nmt_cli.storage.disk import Disk

OPERATIONS = (
    "open", "write", "sync", "cut", "rename", "rename_new", "exchange", "make_directory",
    "remove_file", "remove_directory",
)  # fmt: skip


def _watched(name: str) -> Callable[..., Any]:
    def operation(self: "WatchedDisk", *arguments: Any) -> Any:
        self.count += 1
        self.before(name, arguments)
        # Nothing here loses what the kernel has: a real sync would only take time.
        return None if name == "sync" else getattr(Disk, name)(self, *arguments)

    return operation


class WatchedDisk(Disk):
    """Counts its single operations; `before` is called ahead of each."""

    def __init__(self) -> None:
        self.count = 0

    def before(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Nothing, here."""

    open = _watched("open")
    write = _watched("write")
    sync = _watched("sync")
    cut = _watched("cut")
    rename = _watched("rename")
    rename_new = _watched("rename_new")
    exchange = _watched("exchange")
    make_directory = _watched("make_directory")
    remove_file = _watched("remove_file")
    remove_directory = _watched("remove_directory")


def write_half(name: str, arguments: tuple[Any, ...]) -> None:
    """Half of what was to be written, where something was."""
    if name == "write":
        descriptor, data = arguments
        os.write(descriptor, bytes(data)[: len(data) // 2])


class DyingDisk(WatchedDisk):
    """Kills the process at operation `at`, in the middle of it where it is a write."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def before(self, name: str, arguments: tuple[Any, ...]) -> None:
        if self.count == self.at:
            write_half(name, arguments)
            os.kill(os.getpid(), signal.SIGKILL)


class FailingDisk(WatchedDisk):
    """Fails at operation `at` (with `lasting`: and at every later one that takes space)."""

    TAKES_SPACE = ("open", "write", "make_directory")

    def __init__(self, at: int, error_number: int, *, lasting: bool = False) -> None:
        super().__init__()
        self.at = at
        self.number = error_number
        self.lasting = lasting
        self.failed: list[str] = []

    def before(self, name: str, arguments: tuple[Any, ...]) -> None:
        later = self.lasting and self.count > self.at and name in self.TAKES_SPACE
        if self.count == self.at or later:
            self.failed.append(name)
            write_half(name, arguments)
            raise OSError(self.number, os.strerror(self.number))


class RememberingDisk(WatchedDisk):
    """Writes down each operation, with the path of what is open."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[tuple[Any, ...]] = []

    def before(self, name: str, arguments: tuple[Any, ...]) -> None:
        first, *rest = arguments
        if isinstance(first, int):
            first = Path(f"/proc/self/fd/{first}").readlink()
        rest = [
            bytes(argument) if isinstance(argument, memoryview) else argument for argument in rest
        ]
        self.log.append((name, str(first), *rest))


@contextmanager
def on(disk: Disk) -> Iterator[Disk]:
    """Everything is written to this disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "DISK", disk)
        yield disk
