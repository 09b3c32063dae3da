"""float32 products as three bf16 products by the tiles of AMX, for training on a CPU.

A number is taken as a sum of two bf16 numbers, high and low; low x low is left out of a product.
"""

import ctypes
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmt_cli.kernels.instruction_sets import INSTRUCTION_SETS, VARIABLE, wanted_lanes
from nmt_cli.kernels.training import (
    TrainingKernels,
    compute_in_ranges,
    load_training_kernels,
    require_instructions,
)
from nmt_cli.model.torch_adapter import OperatorMode

AMX = INSTRUCTION_SETS["amx"]
# Rows or columns of a range of a thread are a multiple of this.
PAIR = 32
# Fewer multiplications than this are done by one thread.
LEAST_WORK_PER_THREAD = 1 << 22
# What is missing of the product of two numbers, at most, as a share of it: low x low is 2^-16, and
# what is missing of each number 2^-17 (bf16 numbers have 8 bits), or a 2^-17th of that more.
LARGEST_ERROR = 2**-15 * (1 + 2**-17)
# What `nmt_find_split` returns where it is not 0.
REASONS = {
    1: "the C compiler knows no AMX; GCC 11 and later do",
    2: "this CPU has no AMX-BF16 instructions",
    3: "the system does not let processes use AMX; Linux 5.16 and later do",
}
# The shapes of the products in the self-test: rows, depth, columns.
TESTED = ((1, 1, 1), (37, 300, 70), (64, 33, 16))
aten = torch.ops.aten
PRODUCTS = frozenset(
    (aten.mm.default, aten.mm.out, aten.addmm.default, aten.addmm.out, aten.addmm_.default)
)


class _Operand(ctypes.Structure):
    """The struct `operand` of the kernels; the stride of a single number does not matter."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("stride", ctypes.c_int64), ("depth_stride", ctypes.c_int64),
    )  # fmt: skip

    @classmethod
    def of(cls, matrix: Tensor) -> "_Operand":
        """matrix: (indices, depth), which must outlive this; one of its strides is 1."""
        return cls(matrix.data_ptr(), *matrix.stride())


class _SplitProduct(ctypes.Structure):
    """The struct `split_product` of the kernels."""

    _fields_ = (
        ("left", _Operand), ("right", _Operand), ("out", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("stride", "rows", "columns", "depth")),
        ("accumulates", ctypes.c_int64),
    )  # fmt: skip


class SplitProducts(OperatorMode):  # type: ignore[no-untyped-call]
    """A context in which torch's products of two float32 matrices on the CPU are split products.

    Products of batches of matrices, and with vectors, are torch's. Entered for the backward pass
    too, it computes all three products of a linear layer.
    """

    def __init__(self, kernels: TrainingKernels) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._kernels = kernels

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Compute a product, or have torch call `func`."""
        kwargs = kwargs or {}
        if func not in PRODUCTS:
            return func(*args, **kwargs)
        start, left, right = (None, *args) if len(args) == 2 else args
        out = start if func is aten.addmm_.default else kwargs.get("out")
        if out is None:
            out = left.new_empty(len(left), right.shape[1])
        if not kwargs.keys() <= {"out"} or not _fits(left, right, out):
            return func(*args, **kwargs)
        if start is not None and start is not out:
            out.copy_(start)
        multiply(self._kernels, left, right, out, accumulates=start is not None)
        return out


def multiply(
    kernels: TrainingKernels, left: Tensor, right: Tensor, out: Tensor, *, accumulates: bool
) -> None:
    """out = left @ right, or out += left @ right; float32, of any strides.

    left: (rows, depth); right: (depth, columns); out: (rows, columns), another tensor. The number
    of threads does not change the result.
    """
    left, right = _with_unit_stride(left), _with_unit_stride(right.T)
    (rows, depth), columns = left.shape, len(right)
    target = out if out.stride(1) == 1 else out.contiguous()
    product = _SplitProduct(
        left=_Operand.of(left), right=_Operand.of(right), out=target.data_ptr(),
        stride=target.stride(0), rows=rows, columns=columns, depth=depth,
        accumulates=accumulates,
    )  # fmt: skip
    scratch_bytes = kernels.library.nmt_split_bytes(ctypes.byref(product))

    def compute(first: int, last: int) -> None:
        scratch = _scratch.of(scratch_bytes)
        failed = kernels.library.nmt_split_product(
            kernels.lanes, ctypes.byref(product), first, last, scratch.data_ptr()
        )
        require_instructions(failed, kernels)

    count = -(-max(rows, columns) // PAIR) if out.numel() else 0
    threads = min(torch.get_num_threads(), count)
    threads = min(threads, rows * columns * depth // LEAST_WORK_PER_THREAD)
    compute_in_ranges(count, threads, compute)
    if target is not out:
        out.copy_(target)


class _Scratch(threading.local):
    """Memory that a thread keeps for its next product, since the system clears new memory."""

    def __init__(self) -> None:
        self._kept = torch.empty(0, dtype=torch.uint8)

    def of(self, size: int) -> Tensor:
        """At least so many bytes."""
        if len(self._kept) < size:
            self._kept = torch.empty(size, dtype=torch.uint8)
        return self._kept


_scratch = _Scratch()


def _fits(left: Tensor, right: Tensor, out: Tensor) -> bool:
    """Whether `multiply` can compute this product; torch computes others, or refuses them."""
    tensors = (left, right, out)
    return (
        all(part.dtype == torch.float32 and part.device.type == "cpu" for part in tensors)
        and left.shape[1] == right.shape[0]
        and out.shape == (left.shape[0], right.shape[1])
    )


def _with_unit_stride(matrix: Tensor) -> Tensor:
    return matrix if 1 in matrix.stride() else matrix.contiguous()


@cache
def split_kernels(folder: Path | None) -> tuple[TrainingKernels | None, str]:
    """The kernels that compute split products here and "", or None and why there are none.

    folder: a folder of this user, where the library is kept.
    """
    if AMX not in wanted_lanes():
        return None, f"{VARIABLE} names an instruction set without AMX"
    library, reason = load_training_kernels(folder)
    if library is None:
        return None, reason
    reason = REASONS.get(library.nmt_find_split(), "")
    if reason:
        return None, reason
    kernels = TrainingKernels(library, AMX)
    return (kernels, "") if _are_right(kernels) else (None, "the kernels give wrong numbers here")


def _are_right(kernels: TrainingKernels) -> bool:
    """Whether the products of all layouts are near those in double precision."""
    with torch.inference_mode(mode=False):
        generator = torch.Generator().manual_seed(0)
        return all(_is_right(kernels, shape, generator) for shape in TESTED)


def _is_right(
    kernels: TrainingKernels, shape: tuple[int, int, int], generator: torch.Generator
) -> bool:
    rows, depth, columns = shape
    left = torch.randn(rows, depth, generator=generator)
    right = torch.randn(depth, columns, generator=generator)
    exact, limit = left.double() @ right.double(), largest_errors(left, right)
    for first, second in ((left, right), (left, right.T.clone().T), (left.T.clone().T, right)):
        out = torch.zeros(rows, columns)
        for times in (1, 2):
            multiply(kernels, first, second, out, accumulates=times == 2)
            if not bool(((out - times * exact).abs() <= times * limit).all()):
                return False
    return True


def largest_errors(left: Tensor, right: Tensor) -> Tensor:
    """What a split product may differ by from the exact one: of splitting, and of the sums.

    A sum of n numbers is rounded less often than n + 32 times, each time by at most 2^-24.
    """
    rounding = (left.shape[1] + 32) * 2**-24
    return (left.abs().double() @ right.abs().double()) * (LARGEST_ERROR + rounding)
