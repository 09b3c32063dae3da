"""Triton kernel of the label-smoothed cross-entropy (section 5.4); logits become gradients.

A program takes one row of logits and reads it twice: for the softmax's sum, and for the gradient.
All arithmetic is float32, and nothing of the size of the logits is allocated. There are no atomic
operations, so that every run gives the same bits. Triton compiles the kernel, which has no types.
"""

from contextlib import nullcontext
from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

# Columns that a program holds at a time, and its warps: 16 numbers per thread.
BLOCK = 4096
WARPS = 8
# Below every finite logit; with -inf instead, -inf - -inf would be NaN.
LOWEST = tl.constexpr(-3.4028234663852886e38)


def fused_softmax_gradient(
    logits: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    means: Tensor,
    epsilon: float,
    *,
    needs_gradient: bool,
    size: int,
) -> tuple[Tensor, Tensor | None]:
    """`softmax_gradient` in one kernel; the gradient replaces `logits`.

    logits: (tokens, columns), contiguous, bfloat16, float16 or float32, without the bias; columns
    from `size` on are padding, with a gradient of 0. bias: (size,), means: (tokens,), both float32.
    """
    losses = means.new_empty(2, len(logits))
    with torch.cuda.device(logits.device) if logits.is_cuda else nullcontext():
        loss_row[(len(logits),)](
            logits, bias, targets, means, losses, epsilon, len(logits),
            **kernel_constants(logits.shape[1], size), needs_gradient=needs_gradient,
        )  # fmt: skip
    return losses.sum(dim=1), logits if needs_gradient else None


def kernel_constants(columns: int, size: int) -> dict[str, int]:
    """The constants the kernel is compiled for: known widths let it read 16 bytes at a time."""
    block = min(BLOCK, triton.next_power_of_2(columns))
    warps = max(1, WARPS * block // BLOCK)
    return {"columns": columns, "size": size, "block": block, "num_warps": warps}


@triton.jit
@no_type_check
def _load(row, bias, positions, columns: tl.constexpr, size: tl.constexpr):
    """Logits at `positions`, float32; -inf beyond the vocabulary."""
    logits = tl.load(row + positions, mask=positions < columns, other=0.0).to(tl.float32)
    if bias is not None:
        logits += tl.load(bias + positions, mask=positions < size, other=0.0)
    return tl.where(positions < size, logits, float("-inf"))


# One compiled kernel for chunks of any length and start.
@triton.jit(do_not_specialize=["targets", "tokens"])
@no_type_check
def loss_row(
    logits, bias, targets, means, losses, epsilon, tokens,
    columns: tl.constexpr, size: tl.constexpr, block: tl.constexpr, needs_gradient: tl.constexpr,
):  # fmt: skip
    """Write total and nll of one row to `losses` (2, tokens), and the gradient to `logits`.

    The gradient is written if `needs_gradient`. It is the softmax, minus 1 - epsilon at the target;
    the caller subtracts the uniform share. All are zero for a negative target.
    """
    token = tl.program_id(0)
    row = logits + token.to(tl.int64) * columns
    target = tl.load(targets + token)
    is_token = target >= 0
    # Read before the row is overwritten; the barriers of the first loop are in between.
    target_logit = tl.load(row + target, mask=is_token, other=0.0).to(tl.float32)
    if bias is not None:
        target_logit += tl.load(bias + target, mask=is_token, other=0.0)
    offsets = tl.arange(0, block)
    largest = LOWEST
    sums = tl.zeros([block], tl.float32)
    for start in range(0, columns, block):
        chunk = _load(row, bias, start + offsets, columns, size)
        new_largest = tl.maximum(largest, tl.max(chunk, 0))
        sums = sums * tl.exp(largest - new_largest) + tl.exp(chunk - new_largest)
        largest = new_largest
    total = tl.sum(sums, 0)
    # Differences are taken first, since logits may be large.
    nll = (largest - target_logit) + tl.log(total)
    spread = (largest - tl.load(means + token)) + tl.log(total)
    smoothed = (1.0 - epsilon) * nll + epsilon * spread
    tl.store(losses + token, tl.where(is_token, smoothed, 0.0))
    tl.store(losses + tokens + token, tl.where(is_token, nll, 0.0))
    if needs_gradient:
        scale = 1.0 / total
        for start in range(0, columns, block):
            positions = start + offsets
            gradient = tl.exp(_load(row, bias, positions, columns, size) - largest) * scale
            gradient = tl.where(positions == target, gradient - (1.0 - epsilon), gradient)
            gradient = tl.where(is_token, gradient, 0.0)
            tl.store(
                row + positions, gradient.to(logits.dtype.element_ty), mask=positions < columns
            )
