"""Dropout (section 5.4): like torch's, with cheaper random numbers on a CPU."""

import threading
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt_cli.model.native.dropout import DTYPES, LEVELS, native_dropout, seed_native_masks
from nmt_cli.model.native.part import NativePart

# One 64-bit random number decides about four values; torch's mask takes two for each value.
PER_NUMBER = 4


class _MaskGenerator(threading.local):
    """The generator of this thread's masks; None: torch's default generator."""

    generator: torch.Generator | None = None


_masks = _MaskGenerator()


def use_own_generator() -> None:
    """Give this thread its own generator, so that other threads do not change its masks."""
    _masks.generator = torch.Generator()


def seed_masks(seed: int) -> None:
    """Seed the masks of this thread; without its own generator, those of GPUs too."""
    if _masks.generator is None:
        torch.manual_seed(seed)
    else:
        _masks.generator.manual_seed(seed)
    seed_native_masks(seed)


class Dropout(NativePart, nn.Module):
    """In training, sets values to zero with probability `rate` and scales up the others.

    On a CPU the rate is rounded to a multiple of 1/65,536; the scale fits the rounded rate.
    Computed in C, it gives the same numbers.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """`x` with dropout; `x` itself in evaluation."""
        if not self.training or self.rate == 0.0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.rate)
        if self.native and x.dtype in DTYPES:
            return native_dropout(x, None, self._dropped_levels)
        dropped: Tensor = _Dropout.apply(x, self._dropped_levels)  # type: ignore[no-untyped-call]
        return dropped

    def add(self, residual: Tensor, x: Tensor) -> Tensor:
        """residual + `x` with dropout."""
        in_c = self.native and self.training and self.rate > 0.0 and x.dtype in DTYPES
        if in_c and residual.dtype == torch.float32:
            return native_dropout(x, residual, self._dropped_levels)
        dropped: Tensor = self(x)
        return residual + dropped

    @property
    def _dropped_levels(self) -> int:
        return round(self.rate * LEVELS)


class _Dropout(torch.autograd.Function):
    """Dropout that saves one byte for each value for the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dropped_levels: int) -> Tensor:
        numbers = torch.empty(-(-x.numel() // PER_NUMBER), dtype=torch.int64)
        numbers.random_(torch.iinfo(torch.int64).min, None, generator=_masks.generator)
        levels = numbers.view(torch.int16)[: x.numel()].view(x.shape)
        keep = levels >= dropped_levels - LEVELS // 2
        ctx.save_for_backward(keep)
        ctx.scale = LEVELS / (LEVELS - dropped_levels)
        return keep.to(x.dtype).mul_(x).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (keep,) = ctx.saved_tensors
        return keep.to(gradient.dtype).mul_(gradient).mul_(ctx.scale), None
