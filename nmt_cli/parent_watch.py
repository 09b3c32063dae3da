"""Ends a helper process soon after the process that started it has ended, in whatever way.

Ranks of training get the process id of their parent before they start, and check it first, because
the parent may have ended already. From then on the kernel sends SIGTERM when the parent ends
(Linux: PR_SET_PDEATHSIG). On other systems, and if SIGTERM did not end the process, a thread that
polls the parent ends it. Worker processes of a pool wait on a pipe that only their parent holds
open.
"""

import os
import signal
import threading
import time
from typing import NoReturn

from nmt_cli.machine import c_function

# The environment variable that gives a rank the process id of its parent.
PARENT = "NMT_PARENT"
POLL_SECONDS = 0.25
# How long a rank may take to save after its parent has ended.
GRACE_SECONDS = 3.0
EXIT_CODE = 128 + signal.SIGTERM
# The first argument of prctl on Linux.
PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int) -> None:
    """End this process when the process `parent`, which started it, ends or has ended already.

    SIGTERM comes first, so that training can save; after GRACE_SECONDS the process ends in any
    case. The thread of `parent` that started this process must live as long as `parent` itself.
    """
    request_parent_death_signal(signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(EXIT_CODE)
    threading.Thread(target=_poll_parent, args=(parent,), name="parent watch", daemon=True).start()


def request_parent_death_signal(number: signal.Signals) -> None:
    """Have the kernel send this signal when the thread that started this process ends.

    Does nothing on systems other than Linux.
    """
    prctl = c_function("prctl")
    if prctl is not None:
        prctl(PR_SET_PDEATHSIG, int(number))


def _poll_parent(parent: int) -> NoReturn:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(EXIT_CODE)


def end_with_pool() -> None:
    """End this worker process at once when the process whose pool it belongs to ends.

    The thread that started it does not matter: pools are also used by threads that end before
    their process does.
    """
    threading.Thread(target=_wait_for_parent, name="parent watch", daemon=True).start()


def _wait_for_parent() -> None:
    from multiprocessing import parent_process
    from multiprocessing.connection import wait

    parent = parent_process()
    if parent is not None:
        # The sentinel is the end of a pipe that was created before this process.
        wait([parent.sentinel])
        os._exit(EXIT_CODE)
