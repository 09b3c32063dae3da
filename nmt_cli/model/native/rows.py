"""Layer normalisation, bias and ReLU over the rows of a stream in C, without gradients of torch.

Tensors are contiguous and on the CPU. `norm` and `feed_forward` make functions of torch of them.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from nmt_cli.kernels.training import (
    TrainingKernels,
    compute_in_ranges,
    find_training_kernels,
    require_instructions,
)

# The outputs of layer normalisation: float32, bf16, or both.
Widths = Literal["wide", "narrow", "both"]
# Floats that the kernels may write after the end of a row of sums.
ROOM = 16
# Fewer numbers than this are computed by one thread.
LEAST_PER_THREAD = 1 << 16
# The largest difference from torch's numbers, of numbers of about 1, in the self-test.
LARGEST_ERROR = 1e-5


class _NormArguments(ctypes.Structure):
    """The struct `layer_norm` of the kernels."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("x", "weight", "bias", "statistics")),
        *((name, ctypes.c_void_p) for name in ("wide", "narrow")),
        *((name, ctypes.c_void_p) for name in ("wide_gradient", "narrow_gradient", "x_gradient")),
        ("width", ctypes.c_int64),
        ("epsilon", ctypes.c_float),
    )


@cache
def row_kernels(folder: Path | None) -> TrainingKernels | None:
    """The best kernels that give correct numbers here, from the library in `folder`, or None."""
    return find_training_kernels(folder, _are_right)


def normalise(
    kernels: TrainingKernels,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    epsilon: float,
    widths: Widths,
) -> tuple[Tensor | None, Tensor | None, Tensor]:
    """Layer normalisation of `x` (rows, width): in float32 and in bf16, or one of both.

    The third tensor has the statistics (rows, 2) of the rows.
    """
    wide = torch.empty_like(x) if widths != "narrow" else None
    narrow = torch.empty_like(x, dtype=torch.bfloat16) if widths != "wide" else None
    statistics = torch.empty(len(x), 2)
    arguments = _NormArguments(
        x=x.data_ptr(), weight=weight.data_ptr(), bias=bias.data_ptr(),
        statistics=statistics.data_ptr(), wide=_address(wide), narrow=_address(narrow),
        width=x.shape[1], epsilon=epsilon,
    )  # fmt: skip

    def compute(first: int, last: int) -> None:
        failed = kernels.library.nmt_layer_norm(kernels.lanes, ctypes.byref(arguments), first, last)
        require_instructions(failed, kernels)

    _in_ranges(x, compute)
    return wide, narrow, statistics


def normalise_backward(
    kernels: TrainingKernels,
    wide_gradient: Tensor | None,
    narrow_gradient: Tensor | None,
    x: Tensor,
    weight: Tensor,
    statistics: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of x, weight and bias, float32, from those of both outputs, or of one."""
    width = x.shape[1]
    x_gradient = torch.empty_like(x)
    arguments = _NormArguments(
        x=x.data_ptr(), weight=weight.data_ptr(), statistics=statistics.data_ptr(),
        wide_gradient=_address(wide_gradient), narrow_gradient=_address(narrow_gradient),
        x_gradient=x_gradient.data_ptr(), width=width,
    )  # fmt: skip
    parts = []

    def compute(first: int, last: int) -> None:
        sums = torch.empty(4, width + ROOM)
        parts.append((first, sums))
        failed = kernels.library.nmt_layer_norm_backward(
            kernels.lanes, ctypes.byref(arguments), first, last, sums.data_ptr()
        )
        require_instructions(failed, kernels)

    _in_ranges(x, compute)
    sums = _in_order(parts)
    return x_gradient, sums[0, :width], sums[1, :width]


def add_bias_(kernels: TrainingKernels, values: Tensor, bias: Tensor, *, relu: bool) -> Tensor:
    """Add `bias` (width,), float32, to `values` (rows, width) in place; relu: then max(0, ...)."""

    def compute(first: int, last: int) -> None:
        failed = kernels.library.nmt_bias(
            kernels.lanes, values.data_ptr(), values.dtype == torch.bfloat16, bias.data_ptr(),
            values.shape[1], relu, first, last,
        )  # fmt: skip
        require_instructions(failed, kernels)

    _in_ranges(values, compute)
    return values


def bias_gradient_(kernels: TrainingKernels, gradient: Tensor, outputs: Tensor | None) -> Tensor:
    """The gradient (width,) of the bias, float32, from that of the outputs of `add_bias_`.

    outputs: those of ReLU; `gradient` becomes zero in place where they are.
    """
    width = gradient.shape[1]
    parts = []

    def compute(first: int, last: int) -> None:
        sums = torch.empty(2, width + ROOM)
        parts.append((first, sums))
        failed = kernels.library.nmt_bias_backward(
            kernels.lanes, gradient.data_ptr(), None if outputs is None else outputs.data_ptr(),
            gradient.dtype == torch.bfloat16, width, first, last, sums.data_ptr(),
        )  # fmt: skip
        require_instructions(failed, kernels)

    _in_ranges(gradient, compute)
    return _in_order(parts)[0, :width]


def accumulate_(kernels: TrainingKernels, sums: Tensor, values: Tensor) -> None:
    """sums += values, in one pass: float32 and bf16."""

    def compute(first: int, last: int) -> None:
        failed = kernels.library.nmt_accumulate(
            kernels.lanes, sums.data_ptr(), values.data_ptr(), first, last
        )
        require_instructions(failed, kernels)

    _in_ranges(sums.view(-1, 1), compute)


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _in_ranges(rows: Tensor, compute: Callable[[int, int], None]) -> None:
    threads = min(torch.get_num_threads(), rows.numel() // LEAST_PER_THREAD)
    compute_in_ranges(len(rows), threads, compute)


def _in_order(parts: list[tuple[int, Tensor]]) -> Tensor:
    """The sum of what the threads added up, in the order of the rows."""
    first, *others = (sums for _, sums in sorted(parts, key=lambda part: part[0]))
    for sums in others:
        first += sums
    return first


def _are_right(kernels: TrainingKernels) -> bool:
    """Whether all of the functions give torch's numbers."""
    generator = torch.Generator().manual_seed(0)
    x, gradient = torch.randn(2, 70, 37, generator=generator)
    weight, bias = torch.randn(2, 37, generator=generator)
    leaves = [tensor.clone().requires_grad_() for tensor in (x, weight, bias)]
    with torch.enable_grad(), torch.autocast("cpu", enabled=False):
        normal = F.layer_norm(leaves[0], (37,), leaves[1], leaves[2], 1e-5)
        positive = (leaves[0] + leaves[2]).relu()
        # Not with gradients given to autograd.grad(), for which torch would import sympy.
        expected_gradients = torch.autograd.grad((normal * gradient).sum(), leaves)
        (bias_gradient,) = torch.autograd.grad((positive * gradient).sum(), leaves[2])
    wide, narrow, statistics = normalise(kernels, x, weight, bias, 1e-5, "both")
    assert wide is not None
    assert narrow is not None
    rounded = gradient.bfloat16()
    norm_gradients = normalise_backward(kernels, gradient - rounded, rounded, x, weight, statistics)
    outputs = add_bias_(kernels, x.clone(), bias, relu=True)
    masked, sums = gradient.clone(), x.clone()
    actual_bias_gradient = bias_gradient_(kernels, masked, outputs)
    accumulate_(kernels, sums, rounded)
    compared = [
        (wide, normal), (narrow, wide.bfloat16()), (outputs, positive),
        (actual_bias_gradient, bias_gradient), (masked, gradient * (positive > 0)),
        (sums, x + rounded), *zip(norm_gradients, expected_gradients, strict=True),
    ]  # fmt: skip
    return all(
        torch.allclose(actual, expected, rtol=LARGEST_ERROR, atol=LARGEST_ERROR)
        for actual, expected in compared
    )
