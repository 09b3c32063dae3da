"""Work spread over processes, results in the order of the tasks, a bounded number under way."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import TypeVar

from nmt_cli.errors import TryAgainError

Task = TypeVar("Task")
Result = TypeVar("Result")
# More processes only wait for the one that reads and writes.
MOST_WORKERS = 32


def usable_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Pool:
    """`workers` processes, or none at all where that is 1; use it in a `with` block."""

    def __init__(self, workers: int) -> None:
        """Processes start with the first task."""
        self.workers = min(workers or usable_cores(), MOST_WORKERS)
        self._executor: ProcessPoolExecutor | None = None

    def __enter__(self) -> "Pool":
        if self.workers > 1:
            self._executor = ProcessPoolExecutor(
                self.workers,
                # A fork of a process with threads can hang.
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_begin_worker,
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)

    def map(
        self, function: Callable[[Task], Result], tasks: Iterable[Task]
    ) -> Iterator[Result]:
        """`function` of each task, in order; raises TryAgainError where a process is killed."""
        if self._executor is None:
            yield from map(function, tasks)
            return
        under_way: deque[Future[Result]] = deque()
        try:
            for task in tasks:
                under_way.append(self._executor.submit(function, task))
                if len(under_way) > 2 * self.workers:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        except BrokenProcessPool as error:
            raise TryAgainError(
                "a worker process was killed: was there too little memory?",
                "use fewer of them, for example --workers 1",
            ) from error


def _begin_worker() -> None:
    """Leave Ctrl-C to the first process, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
