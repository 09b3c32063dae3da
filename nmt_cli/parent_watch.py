"""Ends a helper process soon after the process that started it, however that one came to its end.

Ranks of training are told their parent's number before they start, and look at it first of all: the
parent may be gone already. From then on the kernel sends SIGTERM when the parent ends (Linux:
PR_SET_PDEATHSIG), and a thread that looks now and then ends the process everywhere, and where the
signal was not enough. Worker processes of a pool read from a pipe that only their parent holds.
"""

import contextlib
import os
import signal
import threading
import time
from typing import NoReturn

# The environment variable that tells a rank the number of its parent.
PARENT = "NMT_PARENT"
POLL_SECONDS = 0.25
# How long a rank may take to save when its parent is gone.
GRACE_SECONDS = 3.0
EXIT_CODE = 128 + signal.SIGTERM


def end_with_parent(parent: int) -> None:
    """End this process when the process `parent`, which has started it, is gone, or is already.

    SIGTERM comes first, so that training can save; after GRACE_SECONDS it ends in any case. The
    thread of `parent` that started this process must live as long as `parent` itself.
    """
    ask_for_signal(signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(EXIT_CODE)
    threading.Thread(target=_watch, args=(parent,), name="parent watch", daemon=True).start()


def ask_for_signal(number: signal.Signals) -> None:
    """Have the kernel send this signal when the thread that started this process ends (Linux)."""
    import ctypes

    set_parent_death_signal = 1
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(set_parent_death_signal, number)


def _watch(parent: int) -> NoReturn:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(EXIT_CODE)


def end_with_pool() -> None:
    """End this worker process at once when the process whose pool it belongs to is gone.

    Whichever thread has started it: pools are also used by threads that end before their process.
    """
    threading.Thread(target=_wait_for_first, name="parent watch", daemon=True).start()


def _wait_for_first() -> None:
    from multiprocessing import parent_process
    from multiprocessing.connection import wait

    parent = parent_process()
    if parent is not None:
        # The end of a pipe, which was there before this process was.
        wait([parent.sentinel])
        os._exit(EXIT_CODE)
