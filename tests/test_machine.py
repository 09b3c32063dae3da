"""The cores that control groups grant, of both versions; memory that is freed is kept."""

import gc
import os
import subprocess
import sys

import pytest

from nmt_cli import machine


def test_usable_cores_without_cpu_affinity(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """macOS: every command asks for the cores first."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    monkeypatch.setattr(machine, "core_quota", lambda: None)
    assert machine.usable_cores() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert machine.usable_cores() == 1


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"XDG_CACHE_HOME": "/caches", "HOME": "/home/a"}, "/caches/nmt"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/home/a"}, "/home/a/.cache/nmt"),
        ({"XDG_CACHE_HOME": "", "HOME": "/home/a"}, "/home/a/.cache/nmt"),
        ({"HOME": "/home/b/"}, "/home/b/.cache/nmt"),
    ],
)
def test_cache_folder_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], folder: str
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(machine.cache_folder()) == folder


def test_no_cache_folder_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.cache_folder() is not None
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert machine.cache_folder() is None


FREED = """
import os, sys
import numpy as np
from nmt_cli.machine import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
before = resident()
block = np.ones(8 << 20)
del block
print(resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the switches are those of Linux's C library")
def test_keep_freed_memory_keeps_large_blocks() -> None:
    """64 MiB, which the C library would else give back to the kernel."""
    kept, given_back = (
        int(subprocess.check_output([sys.executable, "-c", FREED, name]))
        for name in ("kept", "given back")
    )
    assert kept > 60
    assert given_back < 10


OUTSIDE = FREED.replace(
    "block = np.ones(8 << 20)\n", "with outside_heap():\n    block = np.ones(8 << 20)\n"
).replace("import keep_freed_memory", "import keep_freed_memory, outside_heap")


@pytest.mark.skipif(sys.platform != "linux", reason="the switches are those of Linux's C library")
def test_outside_heap_gives_blocks_back_although_freed_memory_is_kept() -> None:
    """64 MiB within the block; afterwards large blocks are kept again."""
    again = "block = np.ones(8 << 20)\ndel block\nprint(resident() - before)\n"
    done = subprocess.check_output([sys.executable, "-c", OUTSIDE + again, "kept"])
    within, afterwards = map(int, done.split())
    assert within < 10
    assert afterwards > 60


def test_outside_heap_changes_nothing_where_memory_is_not_kept(monkeypatch) -> None:
    changes: list[object] = []
    monkeypatch.setattr("nmt_cli.machine._Heap.keeps_freed", False)
    monkeypatch.setattr("nmt_cli.machine._set_allocator", changes.append)
    with machine.outside_heap():
        pass
    assert not changes


GAPS = """
import os, sys
import numpy as np
from nmt_cli.machine import give_back_freed_memory
if sys.argv[1] == "given back":
    give_back_freed_memory()
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
before = resident()
one = np.ones(3 << 20)
del one
blocks = [np.ones(1 << 18) for _ in range(32)]
del blocks[:-1]
print(resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the switches are those of Linux's C library")
def test_give_back_freed_memory_returns_blocks() -> None:
    """31 of 2 MiB, after one of 24 MiB has taught the C library to keep them."""
    kept, given_back = (
        int(subprocess.check_output([sys.executable, "-c", GAPS, name]))
        for name in ("kept", "given back")
    )
    assert kept > 60
    assert given_back < 10


HEAP_PROGRAM = """
import os, sys, threading
import numpy as np
from nmt_cli.machine import keep_freed_memory, trim_heap
if "kept" in sys.argv:
    keep_freed_memory()
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
before = resident()
thread = threading.Thread(target=lambda: np.ones(5 << 20))
thread.start()
thread.join()
block = np.ones(5 << 20)
del block
if "trimmed" in sys.argv:
    trim_heap()
print(resident() - before)
"""


def grown(*arguments: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", HEAP_PROGRAM, *arguments], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="the switches are those of Linux's C library")
def test_threads_share_one_heap_that_can_be_trimmed() -> None:
    """A thread and the main one use 40 MiB, one after the other."""
    assert 35 < grown("kept") < 60
    assert grown("kept", "trimmed") < 20


def test_objects_made_without_garbage_collection_are_never_visited_again():
    before = gc.get_freeze_count()
    try:
        with machine.without_garbage_collection():
            assert not gc.isenabled()
            made = [[] for _ in range(1_000)]
        assert gc.isenabled()
        assert gc.get_freeze_count() >= before + len(made)
        visited = {id(item) for item in gc.get_objects()}
        assert not visited & {id(item) for item in made}
    finally:
        gc.unfreeze()
