"""The library of kernels for training on a CPU, in C: parts of a layer, softmax over words, Muon.

There are kernels for AVX-512 and AVX2, and products for AMX. The callers of a function, which know
its formula, test which of its kernels give correct numbers.
"""

import ctypes
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

from nmt_cli.kernels import library
from nmt_cli.kernels.instruction_sets import wanted_lanes
from nmt_cli.kernels.library import Sources

Item = TypeVar("Item")
_INTEGER, _POINTER = ctypes.c_int64, ctypes.c_void_p
SOURCES = Sources(
    "training",
    {
        "nmt_cli.kernels.sources": (
            "vectors.h", "narrow.h", "products.h", "each_instruction_set.h", "attention_loops.h",
            "attention.c", "softmax_loops.h", "softmax.c", "dropout_loops.h", "dropout.c",
            "layer_loops.h", "layer.c", "orthogonal_loops.h", "orthogonal.c", "tiles.h",
            "split_tiles.h", "split.c",
        ),
    },
    {
        "nmt_attention_bytes": (_INTEGER,) * 3,
        "nmt_attention": (_INTEGER, _INTEGER, _POINTER, _INTEGER, _INTEGER, _POINTER),
        "nmt_softmax_gradient": (_INTEGER, _POINTER, _INTEGER, _INTEGER, _POINTER),
        "nmt_seed_dropout": (_POINTER, _INTEGER),
        "nmt_dropout_bits": (_INTEGER, _POINTER, _INTEGER, _INTEGER, _POINTER),
        "nmt_dropout": (_INTEGER, _POINTER, _INTEGER, _INTEGER),
        "nmt_layer_norm": (_INTEGER, _POINTER, _INTEGER, _INTEGER),
        "nmt_layer_norm_backward": (_INTEGER, _POINTER, _INTEGER, _INTEGER, _POINTER),
        "nmt_bias": (_INTEGER, _POINTER, _INTEGER, _POINTER, *(_INTEGER,) * 4),
        "nmt_bias_backward": (_INTEGER, _POINTER, _POINTER, *(_INTEGER,) * 4, _POINTER),
        "nmt_accumulate": (_INTEGER, _POINTER, _POINTER, _INTEGER, _INTEGER),
        "nmt_orthogonal_bytes": (_INTEGER, _INTEGER),
        "nmt_orthogonalise": (_INTEGER, _POINTER, _POINTER, _POINTER),
        "nmt_find_split": (),
        "nmt_split_bytes": (_POINTER,),
        "nmt_split_product": (_INTEGER, _POINTER, _INTEGER, _INTEGER, _POINTER),
    },
)  # fmt: skip


# There are kernels for AVX-512 and AVX2; those for AMX are products alone.
LANES = 16, 8


class TrainingKernels(NamedTuple):
    """The library and the SIMD lanes of the kernels to use."""

    library: ctypes.CDLL
    lanes: int


def find_training_kernels(
    folder: Path | None, are_right: Callable[[TrainingKernels], bool]
) -> TrainingKernels | None:
    """The best kernels that pass the test `are_right`; None where there are none.

    folder: a folder of this user, where the library is kept. It is compiled there if it is missing.
    """
    import torch

    compiled = load_training_kernels(folder)[0]
    if compiled is None:
        return None
    for lanes in wanted_lanes():
        kernels = TrainingKernels(compiled, lanes)
        try:
            # The first validation may come before the first step; the tests compute gradients.
            with torch.inference_mode(mode=False):
                right = are_right(kernels)
            if right:
                return kernels
        except MissingInstructionsError:
            continue
    return None


def can_have_training_kernels() -> bool:
    """Whether `find_training_kernels` can be expected to find some; does not load or compile."""
    has_library = library.carried_library(SOURCES).is_file() or shutil.which("cc") is not None
    return has_library and any(lanes in LANES for lanes in wanted_lanes())


def must_compile(folder: Path) -> bool:
    """Whether `find_training_kernels` will have to compile, which takes a few seconds."""
    return library.must_compile(folder, SOURCES)


@cache
def load_training_kernels(folder: Path | None) -> tuple[ctypes.CDLL | None, str]:
    """The library and "", or None and why there is none; folder: as `find_training_kernels`."""
    if folder is None:
        return None, "there is no folder for compiled kernels"
    return library.load_library(folder, SOURCES)


class MissingInstructionsError(RuntimeError):
    """This CPU has no instructions for kernels of so many lanes."""


def require_instructions(failed: int, kernels: TrainingKernels) -> None:
    """Raise MissingInstructionsError if a kernel returned that it cannot run."""
    if failed:
        raise MissingInstructionsError(f"this CPU has no kernels of {kernels.lanes} lanes")


def compute_in_ranges(count: int, threads: int, compute: Callable[[int, int], None]) -> None:
    """Call `compute(first, last)` for ranges that divide `count` items among the threads."""
    if threads <= 1:
        compute(0, count)
        return
    bounds = [count * index // threads for index in range(threads + 1)]
    compute_each(pairwise(bounds), threads, lambda: lambda both: compute(*both))


def compute_each(
    items: Iterable[Item], threads: int, start: Callable[[], Callable[[Item], None]]
) -> None:
    """Call what `start` returns, which each thread calls once, for all items.

    A thread takes the next item when it is done with one. The thread that calls is one of them:
    others may be woken milliseconds later, and it does their work meanwhile.
    """
    rest = iter(items)

    def work() -> None:
        compute = start()
        for item in rest:
            compute(item)

    others = [_thread_pool(threads).submit(work) for _ in range(threads - 1)]
    try:
        work()
    finally:
        wait(others)
    for other in others:
        other.result()


@cache
def _thread_pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "kernels")
