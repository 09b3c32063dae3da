"""Lets one thread at a time use a translator, and notices that the process was forked."""

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import ClassVar, TypeVar

from nmt_cli.errors import UnavailableError

T = TypeVar("T")


class _Process:
    """was_busy: whether another thread was translating when this process was forked."""

    uses: ClassVar["weakref.WeakSet[ExclusiveUse]"] = weakref.WeakSet()
    was_busy = False


class ExclusiveUse:
    """A context manager around all that needs the engine of a translator.

    A thread may enter it again. A forked process has the weights, but none of the threads: there it
    is made usable again, once, when it is entered first.
    """

    def __init__(self, is_on_gpu: Callable[[], bool], start_anew: Callable[[], None]) -> None:
        """is_on_gpu: then a forked process cannot use it; start_anew: called in a forked process.

        What the parent has prepared for its searches is not used by the new process.
        """
        self._is_on_gpu = is_on_gpu
        self._start_anew = start_anew
        self._lock = threading.RLock()
        self._is_closed = self._is_forked = False
        _Process.uses.add(self)

    def __enter__(self) -> None:
        """Wait until no other thread is inside; raises ValueError after `close`.

        Raises UnavailableError in a process that was forked while another thread was inside of any,
        or if the model is on a GPU.
        """
        if _Process.was_busy:
            raise UnavailableError(
                "this process was forked while another thread was translating, and would wait for "
                "that thread for ever",
                'fork while no thread translates, or start processes with the method "spawn"',
            )
        if self._is_forked:
            self._begin_after_fork()
        self._lock.acquire()
        if self._is_closed:
            self._lock.release()
            raise ValueError("the translator is closed")

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def close(self, free: Callable[[], None]) -> None:
        """Refuse all further use and call `free`, once no thread is inside.

        A second call does nothing.
        """
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                free()

    def each(self, items: Iterator[T]) -> Iterator[T]:
        """The items, each of which is computed inside."""
        while True:
            with self:
                try:
                    item = next(items)
                except StopIteration:
                    return
            yield item

    def was_forked(self) -> bool:
        """Prepare for use in a forked process; return whether a thread of the parent was inside."""
        is_free = self._lock.acquire(blocking=False)
        if is_free:
            self._lock.release()
        self._lock = threading.RLock()
        self._is_forked = True
        return not is_free

    def _begin_after_fork(self) -> None:
        if self._is_on_gpu():
            raise UnavailableError(
                "the translator was loaded before this process was forked, and a GPU cannot be "
                "used after a fork",
                'load it in this process, or start processes with the method "spawn"',
            )
        self._is_forked = False
        if not self._is_closed:
            self._start_anew()


def _after_fork() -> None:
    uses = list(_Process.uses)
    # Locks that another thread held, also inside of libraries, are never released here.
    _Process.was_busy |= sum(use.was_forked() for use in uses) > 0
    torch = sys.modules.get("torch")
    if uses and torch is not None:
        # With more threads, OpenMP (GNU's) would wait for those that the parent has.
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
