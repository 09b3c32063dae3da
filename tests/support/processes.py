"""Waiting for other processes, and whether they are still there."""

import time
from collections.abc import Callable
from pathlib import Path


def wait_until(come: Callable[[], bool], seconds: float = 120.0) -> None:
    """Return when `come()` is true; it fails after so many seconds."""
    deadline = time.monotonic() + seconds
    while not come():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s"
        time.sleep(0.02)


def is_alive(process: int) -> bool:
    """Whether this process runs; one that is dead and not yet waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
