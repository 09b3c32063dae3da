"""Dropout (section 5.4): as torch's, with cheaper random numbers on a CPU."""

import threading
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# One 64-bit random number decides over four values; torch's own mask takes two for each.
LEVELS = 1 << 16
PER_NUMBER = 4


class _Source(threading.local):
    """Where the masks of this thread come from; None: torch's own generator."""

    generator: torch.Generator | None = None


_source = _Source()


def own_generator() -> None:
    """Give this thread a generator of its own: what other threads draw changes nothing here."""
    _source.generator = torch.Generator()


def seed_masks(seed: int) -> None:
    """Begin the masks of this thread anew; those of a GPU too."""
    if _source.generator is None:
        torch.manual_seed(seed)
    else:
        _source.generator.manual_seed(seed)


class Dropout(nn.Module):
    """Zeroes each value with probability `rate` in training, and scales up the others.

    On a CPU the rate is rounded to 1/65,536; the scale is that of the rounded rate.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """`x` itself in evaluation."""
        if not self.training or self.rate == 0.0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.rate)
        dropped: Tensor = _Dropout.apply(x, round(self.rate * LEVELS))  # type: ignore[no-untyped-call]
        return dropped


class _Dropout(torch.autograd.Function):
    """Keeps one byte a value for the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dropped_levels: int) -> Tensor:
        numbers = torch.empty(-(-x.numel() // PER_NUMBER), dtype=torch.int64)
        numbers.random_(torch.iinfo(torch.int64).min, None, generator=_source.generator)
        levels = numbers.view(torch.int16)[: x.numel()].view(x.shape)
        keep = levels >= dropped_levels - LEVELS // 2
        ctx.save_for_backward(keep)
        ctx.scale = LEVELS / (LEVELS - dropped_levels)
        return keep.to(x.dtype).mul_(x).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (keep,) = ctx.saved_tensors
        return keep.to(gradient.dtype).mul_(gradient).mul_(ctx.scale), None
