"""Asks the system for cores, memory, signals, folders and functions of the C library.

Each feature that only Linux has is looked for before it is used, and has a fallback.
"""

import contextlib
import gc
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

# Parameters of mallopt on Linux.
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
# The C library's own value: smaller blocks always come from the heap.
SMALLEST_MAPPED = 1 << 17
LARGEST_IN_HEAP = 1 << 30


class _Heap:
    """What this process has told the C library: keeps_freed: see `keep_freed_memory`."""

    keeps_freed = False


def cache_folder() -> Path | None:
    """The cache directory, $XDG_CACHE_HOME/nmt or ~/.cache/nmt; None if there is none."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    # Training asks in every layer of every step, and Path takes ten times as long.
    parent = chosen if os.path.isabs(chosen) else os.path.expanduser("~/.cache")  # noqa: PTH111,PTH117
    # Not expanded where neither HOME nor an account says where home is.
    return None if parent.startswith("~") else _own_folder(parent)


@cache
def _own_folder(parent: str) -> Path:
    return Path(parent) / "nmt"


def usable_cores() -> int:
    """The number of threads that can run at once here, at least 1."""
    quota = core_quota()
    affine = affine_cores()
    return affine if quota is None else max(1, min(affine, math.ceil(quota)))


def compute_threads() -> int:
    """The threads that a computation uses: torch's number where torch is loaded.

    Otherwise it is OMP_NUM_THREADS, as torch would take it, or else `usable_cores`.
    """
    count = getattr(sys.modules.get("torch"), "get_num_threads", None)
    if count is not None:
        return int(count())
    chosen = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(chosen) if chosen.isdecimal() and int(chosen) else usable_cores()


def kernel_threads() -> int:
    """The threads of the kernels: `compute_threads`, but no more than there are cores.

    Threads that share a core wait for each other at each product.
    """
    return min(compute_threads(), affine_cores())


def affine_cores() -> int:
    """The cores this process may run on; all cores where the system knows no CPU affinity."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def core_quota(root: Path = Path("/")) -> float | None:
    """The cores that the control groups of this process grant; None: no limit.

    Version 2 groups (`cpu.max`) limit at every level; version 1 groups with `cpu.cfs_quota_us`.
    """
    limits = [*_quotas_version_2(root), *_quotas_version_1(root)]
    return min(limits, default=None)


def available_memory(root: Path = Path("/")) -> int | None:
    """Bytes that this process can still allocate, swap included; None where /proc does not say.

    This is the least of what the machine has free and of what each control group of this process
    has left. File pages that a group keeps in memory can be dropped, so they count as free.
    """
    memory_info = _pairs(_read(root / "proc/meminfo").replace(":", " "))
    if "MemAvailable" not in memory_info:
        return None
    available = [1024 * memory_info["MemAvailable"], *_group_memory(root)]
    return max(0, min(available)) + 1024 * memory_info.get("SwapFree", 0)


def address_space_limit() -> int | None:
    """The bytes that `ulimit -v` lets this process map; None where there is no limit."""
    try:
        import resource
    except ImportError:  # Windows has none.
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def _group_memory(root: Path) -> list[int]:
    """The bytes that each control group of this process has left, of both versions."""
    version_2 = [root / "sys/fs/cgroup" / group for group in _groups(root, "")]
    version_1 = [root / "sys/fs/cgroup/memory" / group for group in _groups(root, "memory")]
    names_2 = ("memory.max", "memory.current", "inactive_file", "active_file")
    names_1 = (
        "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
        "total_active_file",
    )  # fmt: skip
    remaining = []
    for folders, (limit_name, usage_name, *cache_names) in (
        (version_2, names_2),
        (version_1, names_1),
    ):
        for folder in folders:
            limit, usage = (_read(folder / name).strip() for name in (limit_name, usage_name))
            if limit.isdigit() and usage.isdigit():
                statistics = _pairs(_read(folder / "memory.stat"))
                cached = sum(statistics.get(name, 0) for name in cache_names)
                remaining.append(int(limit) - int(usage) + cached)
    return remaining


def _pairs(text: str) -> dict[str, int]:
    """The lines `name number` of a file under /proc or /sys."""
    lines = (line.split() for line in text.splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdigit()}


def _groups(root: Path, controller: str) -> list[Path]:
    """This process's control group in one hierarchy and all groups above it, as relative paths."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller in controllers.split(","):
            group = Path(path.lstrip("/"))
            return [group, *group.parents] if ".." not in group.parts else [Path()]
    return [Path()]


def _quotas_version_2(root: Path) -> list[float]:
    limits = []
    for group in _groups(root, ""):
        quota, _, period = _read(root / "sys/fs/cgroup" / group / "cpu.max").strip().partition(" ")
        if quota.isdigit() and period.isdigit():
            limits.append(int(quota) / int(period))
    return limits


def _quotas_version_1(root: Path) -> list[float]:
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


def child_processes() -> list[int]:
    """The ids of the processes that this one has started; empty if /proc does not list them.

    Threads other than the main one may have started further processes, which are not listed.
    """
    pid = os.getpid()
    return [int(child) for child in _read(Path(f"/proc/{pid}/task/{pid}/children")).split()]


def existing_signals(*names: str) -> list[signal.Signals]:
    """Those of the named signals that this system has, in the given order."""
    numbers = (getattr(signal, name, None) for name in names)
    return [number for number in numbers if isinstance(number, signal.Signals)]


def c_function(name: str) -> Callable[..., int] | None:
    """A function of the C library, which sets ctypes.get_errno(); None where it has none so named.

    The function takes and returns the C type int unless its `argtypes` and `restype` are set.
    """
    import ctypes

    try:
        # Windows has no handle for the process itself: a TypeError.
        function: Callable[..., int] = getattr(ctypes.CDLL(None, use_errno=True), name)
    except (OSError, AttributeError, TypeError):
        return None
    return function


def has_gpu_driver() -> bool:
    """Whether the driver of a GPU that torch could use is installed (CUDA or ROCm)."""
    import ctypes

    for name in ("libcuda.so.1", "nvcuda.dll"):
        with contextlib.suppress(OSError):
            ctypes.CDLL(name)
            return True
    return Path("/dev/kfd").exists()


def keep_freed_memory() -> None:
    """Make the C library reuse large blocks instead of returning them to the kernel.

    Each step frees and allocates the same large tensors; faulting their pages in anew costs a CPU
    a quarter of its time. All threads share one heap: with a heap for each thread, memory freed by
    one thread cannot be used by the others, and each heap is fragmented by itself. Does nothing
    where the C library has no mallopt.
    """
    _set_allocator({MMAP_THRESHOLD: LARGEST_IN_HEAP, TRIM_THRESHOLD: (1 << 31) - 1, ARENA_MAX: 1})
    _Heap.keeps_freed = True


@contextmanager
def outside_heap() -> Iterator[None]:
    """Within the block, take large blocks from the kernel although `keep_freed_memory` was called.

    What is allocated here and stays would otherwise lie between the tensors of a training step, and
    later tensors would not fit into the gaps.
    """
    if not _Heap.keeps_freed:
        yield
        return
    _set_allocator({MMAP_THRESHOLD: SMALLEST_MAPPED})
    try:
        yield
    finally:
        _set_allocator({MMAP_THRESHOLD: LARGEST_IN_HEAP})


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Within the block, do not search for cyclic garbage, nor later among the objects made here.

    For imports: torch makes hundreds of thousands of objects that stay, and each search visits all.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def trim_heap() -> None:
    """Return free memory to the kernel now; does nothing where the C library has no malloc_trim."""
    malloc_trim = c_function("malloc_trim")
    if malloc_trim is not None:
        malloc_trim(0)


def give_back_freed_memory() -> None:
    """Make the C library return blocks of a megabyte or more as soon as they are freed.

    Loading a model otherwise teaches it to keep blocks up to 32 MB, and later allocations do not
    fit into the gaps: up to 150 MB are then held without use.
    """
    _set_allocator({MMAP_THRESHOLD: 1 << 20})


def _set_allocator(parameters: Mapping[int, int]) -> None:
    mallopt = c_function("mallopt")
    if mallopt is not None:
        for parameter, value in parameters.items():
            mallopt(parameter, value)


def use_threads(count: int) -> None:
    """Compute with `count` threads, in torch and without it, loaded yet or not."""
    os.environ["OMP_NUM_THREADS"] = str(count)
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(count)


def peak_memory() -> int:
    """The largest number of bytes of memory that this process has used."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
