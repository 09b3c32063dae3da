"""The Newton-Schulz iterations of Muon on a CPU, in C: of symmetric products, only one half."""

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.kernels.training import (
    TrainingKernels,
    compute_each,
    find_training_kernels,
    require_instructions,
)

# The largest difference from numbers of double precision, which are about 1, in the self-test.
LARGEST_ERROR = 1e-4
# Smaller matrices (numbers times rows or columns, whichever are fewer) have one thread.
LEAST_WORK_PER_THREAD = 1 << 18


class Quintic(NamedTuple):
    """Every iteration makes of each singular value s: a s + b s^3 + c s^5.

    Where a matrix has at least `long_ratio` times as many columns as rows, or rows as columns, its
    (rows, rows) products are iterated. epsilon: added to the norm, by which it is divided before.
    """

    iterations: int
    long_ratio: int
    a: float
    b: float
    c: float
    epsilon: float


class _Quintic(ctypes.Structure):
    """The struct `quintic` of the kernels."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("rows", "columns", "iterations", "long_ratio")),
        *((name, ctypes.c_float) for name in ("a", "b", "c", "epsilon")),
    )


@cache
def muon_kernels(folder: Path | None) -> TrainingKernels | None:
    """The best kernels that give correct numbers here, from the library in `folder`, or None."""
    return find_training_kernels(folder, _are_right)


def orthogonalise_(kernels: TrainingKernels, stacks: Sequence[Tensor], quintic: Quintic) -> None:
    """`muon.orthogonalise` of float32 matrices on the CPU, in their own memory.

    stacks: (n, rows, columns) each, contiguous. Each matrix is computed by one thread, so that the
    numbers do not depend on the threads.
    """
    structs = [_Quintic(*stack.shape[1:], *quintic) for stack in stacks]
    room = max(
        kernels.library.nmt_orthogonal_bytes(struct.rows, struct.columns) for struct in structs
    )
    matrices = [
        (struct, matrix)
        for struct, stack in zip(structs, stacks, strict=True)
        for matrix in stack.unbind()
    ]

    def start() -> Callable[[tuple[_Quintic, Tensor]], None]:
        scratch = torch.empty(room, dtype=torch.uint8)

        def compute(item: tuple[_Quintic, Tensor]) -> None:
            struct, matrix = item
            failed = kernels.library.nmt_orthogonalise(
                kernels.lanes, ctypes.byref(struct), matrix.data_ptr(), scratch.data_ptr()
            )
            require_instructions(failed, kernels)

        return compute

    work = sum(stack.numel() * min(stack.shape[1:]) for stack in stacks)
    threads = min(torch.get_num_threads(), len(matrices), work // LEAST_WORK_PER_THREAD)
    compute_each(matrices, max(1, threads), start)


def _are_right(kernels: TrainingKernels) -> bool:
    """Whether square, wide and tall matrices become what the singular values say."""
    quintic = Quintic(3, 2, 3.0, -4.0, 2.0, 1e-7)
    generator = torch.Generator().manual_seed(0)
    for shape in ((40, 40), (37, 90), (48, 16)):
        matrices = torch.randn(2, *shape, generator=generator)
        u, values, v = torch.linalg.svd(matrices.double(), full_matrices=False)
        values = values / values.norm(dim=1, keepdim=True)
        for _ in range(quintic.iterations):
            values = quintic.a * values + quintic.b * values**3 + quintic.c * values**5
        expected = (u * values[:, None]) @ v
        orthogonalise_(kernels, [matrices], quintic)
        if not torch.allclose(matrices.double(), expected, rtol=0, atol=LARGEST_ERROR):
            return False
    return True
