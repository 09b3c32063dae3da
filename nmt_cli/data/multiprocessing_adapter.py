"""Ends what multiprocessing has started, for exits that skip Python's own handlers."""

import multiprocessing
from multiprocessing import util


def end_processes() -> None:
    """End all processes of pools, and remove the semaphores that they share with this one.

    multiprocessing would write a warning about the semaphores later.
    """
    for child in multiprocessing.active_children():
        child.kill()
    # Not before: a process that is being started opens the semaphores by their names.
    util._run_finalizers(0)  # type: ignore[attr-defined]  # Not in the stubs.
