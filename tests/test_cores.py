"""The cores that control groups grant, of both versions; memory that is freed is kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli import cores


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        # The strictest of a group and all above it counts.
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/cpu.max": "200000 100000\n",
                "sys/fs/cgroup/a/b/cpu.max": "400000 100000\n",
            },
            2.0,
        ),
        # Inside a container the path may lead out of what is mounted.
        ({"proc/self/cgroup": "0::/../x\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 0.5),
        (
            {
                "proc/self/cgroup": "5:memory:/m\n4:cpu,cpuacct:/job\n",
                "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "300000\n",
                "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
            },
            3.0,
        ),
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "nonsense"}, None),
    ],
)
def test_the_quota(tmp_path: Path, files: dict[str, str], quota: float | None) -> None:
    assert cores.core_quota(machine(tmp_path, files)) == quota


@pytest.mark.parametrize(
    ("affine", "quota", "usable"), [(8, None, 8), (8, 2.5, 3), (2, 16.0, 2), (4, 0.2, 1)]
)
def test_usable_cores(
    monkeypatch: pytest.MonkeyPatch, affine: int, quota: float | None, usable: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(affine)))
    monkeypatch.setattr(cores, "core_quota", lambda: quota)
    assert cores.usable_cores() == usable


FREED = """
import os, sys
import numpy as np
from nmt_cli.cores import keep_freed_memory
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
def test_large_blocks_that_are_freed_stay_with_the_process() -> None:
    """64 MiB, which the C library would else give back to the kernel."""
    kept, given_back = (
        int(subprocess.check_output([sys.executable, "-c", FREED, name]))
        for name in ("kept", "given back")
    )
    assert kept > 60
    assert given_back < 10


GAPS = """
import os, sys
import numpy as np
from nmt_cli.cores import give_back_freed_memory
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
def test_blocks_before_one_that_is_still_held_are_given_back() -> None:
    """31 of 2 MiB, after one of 24 MiB has taught the C library to keep them."""
    kept, given_back = (
        int(subprocess.check_output([sys.executable, "-c", GAPS, name]))
        for name in ("kept", "given back")
    )
    assert kept > 60
    assert given_back < 10
