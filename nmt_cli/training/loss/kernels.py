"""Triton kernel of the label-smoothed cross-entropy (section 5.4): logits become slopes in place.

A program takes one row of logits and reads it twice: for the softmax's sum, and for the slopes.
All arithmetic is float32, and nothing of the logits' size is allocated. No atomics: the same bits
in every run. Triton compiles the kernel, so that is untyped.
"""

from contextlib import nullcontext
from typing import no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

# Columns that a program holds at a time, and its warps: 16 numbers a thread.
BLOCK = 4096
WARPS = 8
# Less than every finite logit: -inf less -inf would be no number.
LOWEST = tl.constexpr(-3.4028234663852886e38)


def fused_softmax_gradient(
    logits: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    means: Tensor,
    epsilon: float,
    *,
    wanted: bool,
    size: int,
) -> tuple[Tensor, Tensor | None]:
    """`softmax_slopes` in one kernel; the slopes take the place of `logits`.

    logits: (tokens, columns), contiguous, bfloat16, float16 or float32, without the bias; columns
    from `size` on are padding, their slopes 0. bias: (size,), means: (tokens,), both float32.
    """
    losses = means.new_empty(2, len(logits))
    with torch.cuda.device(logits.device) if logits.is_cuda else nullcontext():
        loss_row[(len(logits),)](
            logits, bias, targets, means, losses, epsilon, len(logits),
            **constants(logits.shape[1], size), wanted=wanted,
        )  # fmt: skip
    return losses.sum(dim=1), logits if wanted else None


def constants(columns: int, size: int) -> dict[str, int]:
    """What the kernel is compiled for: known widths let it read 16 bytes at a time."""
    block = min(BLOCK, triton.next_power_of_2(columns))
    warps = max(1, WARPS * block // BLOCK)
    return {"columns": columns, "size": size, "block": block, "num_warps": warps}


@triton.jit
@no_type_check
def _load(row, bias, places, columns: tl.constexpr, size: tl.constexpr):
    """Logits at `places`, float32; -inf beyond the vocabulary."""
    found = tl.load(row + places, mask=places < columns, other=0.0).to(tl.float32)
    if bias is not None:
        found += tl.load(bias + places, mask=places < size, other=0.0)
    return tl.where(places < size, found, float("-inf"))


# One compiled form for chunks of any length, wherever they begin.
@triton.jit(do_not_specialize=["targets", "tokens"])
@no_type_check
def loss_row(
    logits, bias, targets, means, losses, epsilon, tokens,
    columns: tl.constexpr, size: tl.constexpr, block: tl.constexpr, wanted: tl.constexpr,
):  # fmt: skip
    """Total and nll of one row into `losses` (2, tokens); with `wanted`, slopes into `logits`.

    Slopes are softmax - (1 - epsilon) at the target: the uniform share is the caller's. Zeros for
    a negative target.
    """
    token = tl.program_id(0)
    row = logits + token.to(tl.int64) * columns
    target = tl.load(targets + token)
    kept = target >= 0
    # Read before the row is overwritten, with the barriers of the first loop between.
    hit = tl.load(row + target, mask=kept, other=0.0).to(tl.float32)
    if bias is not None:
        hit += tl.load(bias + target, mask=kept, other=0.0)
    steps = tl.arange(0, block)
    largest = LOWEST
    sums = tl.zeros([block], tl.float32)
    for start in range(0, columns, block):
        found = _load(row, bias, start + steps, columns, size)
        raised = tl.maximum(largest, tl.max(found, 0))
        sums = sums * tl.exp(largest - raised) + tl.exp(found - raised)
        largest = raised
    total = tl.sum(sums, 0)
    # Differences first: logits may be large.
    nll = (largest - hit) + tl.log(total)
    spread = (largest - tl.load(means + token)) + tl.log(total)
    smoothed = (1.0 - epsilon) * nll + epsilon * spread
    tl.store(losses + token, tl.where(kept, smoothed, 0.0))
    tl.store(losses + tokens + token, tl.where(kept, nll, 0.0))
    if wanted:
        scale = 1.0 / total
        for start in range(0, columns, block):
            places = start + steps
            slopes = tl.exp(_load(row, bias, places, columns, size) - largest) * scale
            slopes = tl.where(places == target, slopes - (1.0 - epsilon), slopes)
            slopes = tl.where(kept, slopes, 0.0)
            tl.store(row + places, slopes.to(logits.dtype.element_ty), mask=places < columns)
