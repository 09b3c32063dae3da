"""Work spread over processes: results in the order of the tasks, a bounded number under way."""

import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from nmt_cli.errors import TryAgainError
from nmt_cli.machine import usable_cores
from nmt_cli.parent_watch import end_with_pool

Task = TypeVar("Task")
Result = TypeVar("Result")
# More processes would only wait for the one that reads and writes.
MOST_WORKERS = 32
# Starting processes takes about as long: less work than that is done faster without.
ALONE_SECONDS = 2.0


class ProcessPool:
    """`workers` processes beside this one; use it in a `with` block.

    The first tasks are done in this process: small work never waits for processes to start.
    """

    def __init__(self, workers: int) -> None:
        """0 workers: one a usable core; 1: no other process."""
        self.workers = min(workers or usable_cores(), MOST_WORKERS)
        self._alone_seconds = ALONE_SECONDS
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> "ProcessPool":
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def map(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """`function` of each task, in order; raises TryAgainError where a process is killed.

        `function` and the tasks are pickled; tasks are taken as they are needed.
        """
        tasks = iter(tasks)
        if self._executor is None:
            begin = time.monotonic()
            for task in tasks:
                yield function(task)
                if self.workers > 1 and time.monotonic() - begin >= self._alone_seconds:
                    break
        try:
            yield from self._map_spread(function, tasks)
        except BrokenProcessPool as error:
            raise TryAgainError(
                "a worker process was killed: was there too little memory?",
                "use fewer of them, for example --workers 1",
            ) from error

    def _map_spread(
        self, function: Callable[[Task], Result], tasks: Iterator[Task]
    ) -> Iterator[Result]:
        under_way: deque[Future[Result]] = deque()
        for task in tasks:
            under_way.append(self._start().submit(function, task))
            if len(under_way) > 2 * self.workers:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()

    def _start(self) -> ProcessPoolExecutor:
        if self._executor is None:
            self._executor = ProcessPoolExecutor(
                self.workers,
                # A fork of a process with threads can hang.
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_begin_worker,
            )
        return self._executor


def _begin_worker() -> None:
    """Leave Ctrl-C to the first process, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_pool()
