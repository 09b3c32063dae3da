"""The cores and the memory this process may use: the machine's, and what its container grants."""

import contextlib
import math
import os
from collections.abc import Mapping
from pathlib import Path

# Switches of the C library on Linux.
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8


def usable_cores() -> int:
    """The number of threads that can run at once here, at least 1."""
    quota = core_quota()
    affine = affine_cores()
    return affine if quota is None else max(1, min(affine, math.ceil(quota)))


def affine_cores() -> int:
    """The cores that the system lets this process use; systems other than Linux do not say."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def core_quota(root: Path = Path("/")) -> float | None:
    """The cores that the control groups of this process grant; None: no limit.

    Version 2 groups (`cpu.max`) limit at every level; version 1 groups with `cpu.cfs_quota_us`.
    """
    limits = [*_version_2(root), *_version_1(root)]
    return min(limits, default=None)


def available_memory(root: Path = Path("/")) -> int | None:
    """Bytes that processes started here can still get, swap included; None: the system is silent.

    The least of what the machine has left and of what each control group of this process leaves;
    files that a group keeps in memory can be dropped, so they count as free.
    """
    facts = _pairs(_read(root / "proc/meminfo").replace(":", " "))
    if "MemAvailable" not in facts:
        return None
    left = [1024 * facts["MemAvailable"], *_memory_left(root)]
    return max(0, min(left)) + 1024 * facts.get("SwapFree", 0)


def _memory_left(root: Path) -> list[int]:
    """What the control groups of both versions leave of their limits."""
    version_2 = [root / "sys/fs/cgroup" / group for group in _groups(root, "")]
    version_1 = [root / "sys/fs/cgroup/memory" / group for group in _groups(root, "memory")]
    names_2 = ("memory.max", "memory.current", "inactive_file", "active_file")
    names_1 = (
        "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
        "total_active_file",
    )  # fmt: skip
    found = []
    for folders, (limit, usage, *files) in ((version_2, names_2), (version_1, names_1)):
        for folder in folders:
            most, used = (_read(folder / name).strip() for name in (limit, usage))
            if most.isdigit() and used.isdigit():
                held = _pairs(_read(folder / "memory.stat"))
                found.append(int(most) - int(used) + sum(held.get(name, 0) for name in files))
    return found


def _pairs(text: str) -> dict[str, int]:
    """The lines `name number` of a file of the kernel's."""
    words = (line.split() for line in text.splitlines())
    return {one[0]: int(one[1]) for one in words if len(one) > 1 and one[1].isdigit()}


def _groups(root: Path, controller: str) -> list[Path]:
    """This process's group in one hierarchy, and all above it, as relative paths."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller in controllers.split(","):
            group = Path(path.lstrip("/"))
            return [group, *group.parents] if ".." not in group.parts else [Path()]
    return [Path()]


def _version_2(root: Path) -> list[float]:
    limits = []
    for group in _groups(root, ""):
        quota, _, period = _read(root / "sys/fs/cgroup" / group / "cpu.max").strip().partition(" ")
        if quota.isdigit() and period.isdigit():
            limits.append(int(quota) / int(period))
    return limits


def _version_1(root: Path) -> list[float]:
    limits = []
    for group in _groups(root, "cpu"):
        folder = root / "sys/fs/cgroup/cpu" / group
        quota = _read(folder / "cpu.cfs_quota_us").strip()
        period = _read(folder / "cpu.cfs_period_us").strip()
        if quota.isdigit() and period.isdigit():
            limits.append(int(quota) / int(period))
    return limits


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def keep_freed_memory() -> None:
    """Tell the C library to reuse large blocks instead of returning them to the kernel.

    Each step frees and allocates the same large tensors; faulting their pages in anew costs a CPU
    a quarter of its time. All threads share one heap: with one each, what one of them has freed is
    of no use to the others, and each heap has gaps of its own. Does nothing where the C library has
    no such switches.
    """
    _tell_allocator({MMAP_THRESHOLD: 1 << 30, TRIM_THRESHOLD: (1 << 31) - 1, ARENA_MAX: 1})


def trim_heap() -> None:
    """Return what is free at the moment to the kernel, however the C library is set."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def give_back_freed_memory() -> None:
    """Tell the C library to return blocks of a megabyte as soon as they are freed.

    It learns from the blocks of a model that is loaded to keep those up to 32 MB, in whose gaps
    what comes next does not fit: up to 150 MB are then held in vain.
    """
    _tell_allocator({MMAP_THRESHOLD: 1 << 20})


def _tell_allocator(switches: Mapping[int, int]) -> None:
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        for switch, value in switches.items():
            library.mallopt(switch, value)
