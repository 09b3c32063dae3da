"""An equal load: on each core a process that computes without end, at the priority of this one."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

BUSY = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
print(flush=True)
while os.getppid() == int(sys.argv[2]):
    for _ in range(1_000_000):
        pass
"""


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keep each core that this process may use busy with one process, while the body runs."""
    own = str(os.getpid())
    processes = [
        subprocess.Popen([sys.executable, "-c", BUSY, str(core), own], stdout=subprocess.PIPE)
        for core in sorted(os.sched_getaffinity(0))
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        yield
    finally:
        for process in processes:
            process.kill()
            process.communicate()
