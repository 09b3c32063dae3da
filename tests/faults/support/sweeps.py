"""Sweeps: each single operation on the disk dies, fails or is forgotten, and a next run comes."""

import os
import shutil
import signal
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import NoReturn

from faults.support.disks import DyingDisk, FailingDisk, RememberingDisk, WatchedDisk, on
from faults.support.forked import ended, start
from faults.support.power import MODES, Machine, digest, on_disk, write_out

from nmt_cli.errors import CannotCreateError, WriteError

Checks = Callable[[], None]
Work = Callable[[Path], None]
Outcome = Callable[[Path], object]


class AtOnce:
    """An executor without a thread: which operation is the 50th is then always the same."""

    def __init__(self, *_: object) -> None:
        pass

    def submit(self, work: Callable[..., object], *arguments: object) -> Future:
        done: Future = Future()
        try:
            done.set_result(work(*arguments))
        except Exception as error:
            done.set_exception(error)
        return done


def fork(work: Callable[[], None]) -> int:
    """Do `work` in a process forked from this one; its exit code, negative for a signal."""

    def do() -> NoReturn:
        work()
        os._exit(0)

    return ended(start(do))


class Scene:
    """A folder as it is before, what is done in it, and what must then be true of it.

    outcome: checks the folder, goes on in it as the next run would, and gives what is there then;
    equal folders are tried once.
    """

    def __init__(
        self,
        tmp_path: Path,
        before: Path,
        work: Work,
        outcome: Outcome,
        is_new: Callable[[Path], bool],
        seen: dict[str, object] | None = None,
    ) -> None:
        """is_new: whether the work is done; seen: what is known already of such a scene."""
        self.place = tmp_path / "place"
        self.before = before
        self.work = work
        self.outcome = outcome
        self.is_new = is_new
        self.seen: dict[str, object] = {} if seen is None else seen
        self.begin()
        with on(RememberingDisk()) as disk:
            work(self.place)
        self.log = disk.log

    def begin(self) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.before, self.place, symlinks=True)

    def found(self) -> object:
        """The outcome in the place as it is now."""
        key = digest(on_disk(self.place))
        if key not in self.seen:
            with on(WatchedDisk()):
                self.seen[key] = self.outcome(self.place)
        return self.seen[key]

    def killed_anywhere(self, checks: Checks) -> None:
        """A real SIGKILL ahead of each operation, in the middle of each write."""
        undisturbed = self.undisturbed()
        for at in range(1, len(self.log) + 1):
            self.begin()

            def work(at: int = at) -> None:
                with on(DyingDisk(at)):
                    self.work(self.place)

            assert fork(work) == -signal.SIGKILL
            assert self.found() == undisturbed, f"{at}: {self.log[at - 1][:2]}"
            checks()

    def undisturbed(self) -> object:
        self.begin()
        with on(WatchedDisk()):
            self.work(self.place)
        return self.found()

    def failing_anywhere(self, checks: Checks, numbers: tuple[int, ...]) -> list[int]:
        """Each operation fails, with each of these errors in turn; where the work ended with that.

        It ends with an error that says why, and whether it ended or not the next run goes on.
        """
        undisturbed, stopped = self.undisturbed(), []
        for at in range(1, len(self.log) + 1):
            self.begin()
            number = numbers[at % len(numbers)]
            problem = self.problem(FailingDisk(at, number))
            if problem:
                assert os.strerror(number) in problem, f"{at}: {self.log[at - 1][:2]}"
                stopped.append(at)
            assert self.found() == undisturbed, f"{at}: {self.log[at - 1][:2]}"
            checks()
        return stopped

    def problem(self, disk: FailingDisk) -> str:
        """What ended the work, if anything did."""
        try:
            with on(disk):
                self.work(self.place)
        except (WriteError, CannotCreateError) as error:
            return error.message
        return ""

    def without_power(self, checks: Checks) -> None:
        """The power is cut after each operation, and what was not synced is lost or is not."""
        undisturbed = self.undisturbed()
        self.begin()
        machine = Machine(self.place)
        for index, operation in enumerate([("sync", str(self.place)), *self.log]):
            machine.do(*operation)
            for mode in MODES:
                shutil.rmtree(self.place)
                write_out(machine.left(mode), self.place)
                # What the command had said to be done stays done.
                assert index < len(self.log) or self.is_new(self.place), mode
                assert self.found() == undisturbed, f"{mode} after {index}: {operation[:2]}"
                checks()
