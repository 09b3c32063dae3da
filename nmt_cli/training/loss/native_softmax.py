"""The softmax of one chunk of logits on a CPU, in C: one pass over memory instead of six."""

import ctypes
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from nmt_cli.kernels.training import (
    TrainingKernels,
    compute_in_ranges,
    find_training_kernels,
    require_instructions,
)
from nmt_cli.machine import cache_folder

DTYPES = (torch.float32, torch.bfloat16)
# The largest difference from torch's numbers, which are below 10, in the self-test.
LARGEST_ERROR = 1e-5
# Fewer logits than this are computed by one thread.
LEAST_WORK_PER_THREAD = 1 << 16
# The kernels write whole vectors.
ROOM = 16


class _Softmax(ctypes.Structure):
    """The struct `softmax` of the kernels."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("logits", "bias", "targets")),
        *((name, ctypes.c_int64) for name in ("stride", "size", "is_bf16", "needs_gradient")),
        *((name, ctypes.c_void_p) for name in ("target_scores", "log_sums")),
        ("epsilon", ctypes.c_float),
    )


@cache
def softmax_kernels(folder: Path | None) -> TrainingKernels | None:
    """The best kernels that give correct numbers here, from the library in `folder`, or None."""
    return find_training_kernels(folder, _are_right)


def native_softmax_gradient(
    logits: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    means: Tensor,
    epsilon: float,
    *,
    needs_gradient: bool,
) -> tuple[Tensor, Tensor | None]:
    """`softmax_gradient.softmax_gradient`, in the memory of `logits`, which are overwritten.

    logits: (tokens, vocabulary), float32 or bfloat16, rows contiguous; bias and means: float32.
    Raises RuntimeError where `softmax_kernels` gives none.
    """
    kernels = softmax_kernels(cache_folder())
    if kernels is None:
        raise RuntimeError("there are no kernels for this CPU")
    return _softmax_gradient(
        kernels, logits, bias, targets, means, epsilon, needs_gradient=needs_gradient
    )


def _softmax_gradient(
    kernels: TrainingKernels,
    logits: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    means: Tensor,
    epsilon: float,
    *,
    needs_gradient: bool,
) -> tuple[Tensor, Tensor | None]:
    tokens, size = logits.shape
    target_scores, log_sums = means.new_empty(tokens), means.new_empty(tokens)
    bias = None if bias is None else bias.detach().contiguous()
    targets = targets.contiguous()
    struct = _Softmax(
        logits=logits.data_ptr(), bias=None if bias is None else bias.data_ptr(),
        targets=targets.data_ptr(), stride=logits.stride(0), size=size,
        is_bf16=logits.dtype == torch.bfloat16, needs_gradient=needs_gradient,
        target_scores=target_scores.data_ptr(), log_sums=log_sums.data_ptr(), epsilon=epsilon,
    )  # fmt: skip

    def compute(first: int, last: int) -> None:
        scores = torch.empty(size + ROOM)
        failed = kernels.library.nmt_softmax_gradient(
            kernels.lanes, ctypes.byref(struct), first, last, scores.data_ptr()
        )
        require_instructions(failed, kernels)

    threads = min(torch.get_num_threads(), tokens * size // LEAST_WORK_PER_THREAD)
    compute_in_ranges(tokens, threads, compute)
    mask = (targets >= 0).to(means.dtype)
    nll = log_sums - target_scores
    total = (1.0 - epsilon) * nll - epsilon * (means - log_sums)
    return torch.stack([total @ mask, nll @ mask]), logits if needs_gradient else None


def _are_right(kernels: TrainingKernels) -> bool:
    """Whether sums and gradient are those of torch's functions."""
    generator = torch.Generator().manual_seed(0)
    logits, bias = torch.randn(5, 37, generator=generator), torch.randn(37, generator=generator)
    targets = torch.tensor([0, 36, -1, 17, 5])
    scores = logits + bias
    used = targets >= 0
    log_probs = scores[used].log_softmax(1)
    expected = torch.zeros_like(logits)
    expected[used] = log_probs.exp()
    expected[used, targets[used]] -= 0.9
    nll = -log_probs.gather(1, targets[used, None])[:, 0]
    total = 0.9 * nll - 0.1 * log_probs.mean(1)
    with torch.autocast("cpu", enabled=False):
        sums, gradient = _softmax_gradient(
            kernels, logits, bias, targets, scores.mean(1), 0.1, needs_gradient=True
        )
    assert gradient is not None
    exact = torch.stack([total.sum(), nll.sum()])
    return all(
        torch.allclose(*pair, rtol=LARGEST_ERROR, atol=LARGEST_ERROR)
        for pair in ((gradient, expected), (sums, exact))
    )
