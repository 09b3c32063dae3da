"""Dropout (section 5.4) in C for training on a CPU, with the residual connection in the same pass.

The masks are those of `nmt_cli.model.dropout`, which draws them with torch: the kernels compute the
numbers of torch's generator, and keep one bit of a value for the backward pass.
"""

import ctypes
import threading
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmt_cli.kernels.training import (
    TrainingKernels,
    compute_in_ranges,
    find_training_kernels,
    require_instructions,
)
from nmt_cli.machine import cache_folder

# A random number of 16 bits decides about each value.
LEVELS = 1 << 16
# Values of a block; threads take whole ones, whose bits fill whole bytes.
BLOCK = 64
# Fewer blocks than this are computed by one thread.
LEAST_BLOCKS_PER_THREAD = 1 << 10
# The generator's state: 624 words, and the index of the next one in 64 bits.
STATE_WORDS = 626
DTYPES = (torch.float32, torch.bfloat16)


class _Masks(threading.local):
    """The generator of this thread's masks; seed: what it is to start with at its next use."""

    def __init__(self) -> None:
        self.state = (ctypes.c_uint32 * STATE_WORDS)()
        self.seed: int | None = torch.initial_seed()


class _DropoutArguments(ctypes.Structure):
    """The struct `dropout` of the kernels."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("values", "residual", "bits", "out")),
        *((name, ctypes.c_int64) for name in ("count", "values_are_bf16", "out_is_bf16")),
        ("scale", ctypes.c_float),
    )


_masks = _Masks()


def seed_native_masks(seed: int) -> None:
    """Seed the masks of this thread; the first use draws what torch draws after this seed."""
    _masks.seed = seed


def native_dropout(values: Tensor, residual: Tensor | None, dropped_levels: int) -> Tensor:
    """Dropout of `values`, plus `residual`; dropped_levels / 65,536 of the values become zero.

    values: float32 or bf16, on the CPU; residual: float32, of the same shape. Returns float32 with
    a residual, else the dtype of `values`. Raises RuntimeError where `dropout_kernels` gives none.
    """
    kernels = dropout_kernels(cache_folder())
    if kernels is None:
        raise RuntimeError("there are no kernels for this CPU")
    dropped: Tensor = _NativeDropout.apply(kernels, values, residual, dropped_levels)  # type: ignore[no-untyped-call]
    return dropped


@cache
def dropout_kernels(folder: Path | None) -> TrainingKernels | None:
    """The best kernels that draw torch's masks here, from the library in `folder`, or None."""
    return find_training_kernels(folder, _are_right)


class _NativeDropout(torch.autograd.Function):
    """The two passes in C, as one function of torch."""

    @staticmethod
    def forward(
        ctx: Any,
        kernels: TrainingKernels,
        values: Tensor,
        residual: Tensor | None,
        dropped_levels: int,
    ) -> Tensor:
        bits = draw_bits(kernels, values.numel(), dropped_levels)
        ctx.save_for_backward(bits)
        ctx.kernels, ctx.dtype = kernels, values.dtype
        ctx.scale = LEVELS / (LEVELS - dropped_levels)
        out = torch.empty(values.shape, dtype=values.dtype if residual is None else torch.float32)
        residual = None if residual is None else residual.contiguous()
        _apply(kernels, values.contiguous(), residual, bits, out, ctx.scale)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (bits,) = ctx.saved_tensors
        out = torch.empty(gradient.shape, dtype=ctx.dtype)
        _apply(ctx.kernels, gradient.contiguous(), None, bits, out, ctx.scale)
        return None, out, gradient if ctx.needs_input_grad[2] else None, None


def draw_bits(kernels: TrainingKernels, count: int, dropped_levels: int) -> Tensor:
    """The next masks of this thread: bytes with one bit for each of `count` values, set to keep."""
    bits = torch.empty(-(-count // BLOCK) * (BLOCK // 8), dtype=torch.uint8)
    if _masks.seed is not None:
        kernels.library.nmt_seed_dropout(_masks.state, _signed(_masks.seed))
        _masks.seed = None
    failed = kernels.library.nmt_dropout_bits(
        kernels.lanes, _masks.state, count, dropped_levels, bits.data_ptr()
    )
    require_instructions(failed, kernels)
    return bits


def _signed(seed: int) -> int:
    """The seed as a signed number of 64 bits, as the kernel takes it."""
    return ctypes.c_int64(seed).value


def _apply(
    kernels: TrainingKernels,
    values: Tensor,
    residual: Tensor | None,
    bits: Tensor,
    out: Tensor,
    scale: float,
) -> None:
    count = values.numel()
    struct = _DropoutArguments(
        values=values.data_ptr(), residual=None if residual is None else residual.data_ptr(),
        bits=bits.data_ptr(), out=out.data_ptr(), count=count, scale=scale,
        values_are_bf16=values.dtype == torch.bfloat16, out_is_bf16=out.dtype == torch.bfloat16,
    )  # fmt: skip

    def compute(first: int, last: int) -> None:
        failed = kernels.library.nmt_dropout(kernels.lanes, ctypes.byref(struct), first, last)
        require_instructions(failed, kernels)

    blocks = -(-count // BLOCK)
    compute_in_ranges(
        blocks, min(torch.get_num_threads(), blocks // LEAST_BLOCKS_PER_THREAD), compute
    )


def _are_right(kernels: TrainingKernels) -> bool:
    """Whether masks are those of torch's generator, and the numbers those of torch's products."""
    state, seed = bytes(_masks.state), _masks.seed
    try:
        seed_native_masks(7)
        generator = torch.Generator().manual_seed(7)
        x = torch.randn(1_301, generator=torch.Generator().manual_seed(1))
        for dropped_levels in (6_554, 40_000):
            numbers = torch.empty(-(-len(x) // 4), dtype=torch.int64)
            numbers.random_(torch.iinfo(torch.int64).min, None, generator=generator)
            keep = numbers.view(torch.int16)[: len(x)] >= dropped_levels - LEVELS // 2
            scale = LEVELS / (LEVELS - dropped_levels)
            bits = draw_bits(kernels, len(x), dropped_levels)
            out = torch.empty_like(x)
            _apply(kernels, x, x, bits, out, scale)
            if not torch.equal(out, x + x * keep * scale):
                return False
        return True
    finally:
        ctypes.memmove(_masks.state, state, len(state))
        _masks.seed = seed
