"""Runs tasks in several processes: ordered results, with a bounded number of pending tasks."""

import signal
import sys
import time
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import TypeVar

from nmt_cli.data.multiprocessing_adapter import end_processes as end_processes
from nmt_cli.errors import TryAgainError
from nmt_cli.machine import usable_cores
from nmt_cli.parent_watch import end_with_pool

Task = TypeVar("Task")
Result = TypeVar("Result")
# More processes would only wait for the one that reads and writes.
MAX_WORKERS = 32
# Starting processes takes about this long, so work that takes less is done in this process.
ALONE_SECONDS = 2.0


class WorkerProcess(SpawnProcess):
    """A process that does not run the script of its parent, which spawned processes usually do.

    A script that calls nmt needs no `if __name__ == "__main__":` then.
    """

    def start(self) -> None:
        """Start the process, which sees a main module without a file."""
        main = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            super().start()
        finally:
            sys.modules["__main__"] = main


class WorkerContext(SpawnContext):
    """Starts WorkerProcess. It spawns: forking a process that has threads can deadlock."""

    Process = WorkerProcess


class ProcessPool:
    """A pool of `workers` processes; use it in a `with` block.

    The first tasks are done in this process, so that little work does not wait for others to start.
    """

    def __init__(self, workers: int) -> None:
        """Prepare `workers` processes: 0 means one per usable core, 1 means no other process."""
        self.workers = min(workers or usable_cores(), MAX_WORKERS)
        self._seconds_alone = ALONE_SECONDS
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> "ProcessPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes; tasks that have not begun are dropped."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield `function(task)` of each task in order; raises TryAgainError if a worker is killed.

        `function` and the tasks are pickled. Tasks are taken from the iterable as needed.
        """
        tasks = iter(tasks)
        if self._executor is None:
            begin = time.monotonic()
            for task in tasks:
                yield function(task)
                if self.workers > 1 and time.monotonic() - begin >= self._seconds_alone:
                    break
        with _naming_killed_workers():
            yield from self._map_in_processes(function, tasks)

    def start(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        """Begin all tasks now, in other processes, and return an iterator over `function(task)`.

        With one worker, each task is done in this process when its result is asked for.
        """
        if self.workers == 1:
            return map(function, tasks)
        return _results([self._start_executor().submit(function, task) for task in tasks])

    def _map_in_processes(
        self, function: Callable[[Task], Result], tasks: Iterator[Task]
    ) -> Iterator[Result]:
        pending: deque[Future[Result]] = deque()
        for task in tasks:
            pending.append(self._start_executor().submit(function, task))
            if len(pending) > 2 * self.workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()

    def _start_executor(self) -> ProcessPoolExecutor:
        if self._executor is None:
            self._executor = ProcessPoolExecutor(
                self.workers, mp_context=WorkerContext(), initializer=_begin_worker
            )
        return self._executor


def _results(futures: Sequence[Future[Result]]) -> Iterator[Result]:
    with _naming_killed_workers():
        for future in futures:
            yield future.result()


@contextmanager
def _naming_killed_workers() -> Iterator[None]:
    try:
        yield
    except BrokenProcessPool as error:
        raise TryAgainError(
            "a worker process was killed: was there too little memory?",
            "use fewer processes, such as --workers 1",
        ) from error


def _begin_worker() -> None:
    """Ignore Ctrl-C, which the main process handles, and exit whenever the main process exits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_pool()
