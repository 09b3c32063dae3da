"""The feed-forward network with ReLU (section 3.3) for training on a CPU.

Products are torch's; bias, ReLU and their gradients are computed in one pass each, in C.
"""

from typing import Any

import torch
from torch import Tensor, nn

from nmt_cli.kernels.training import TrainingKernels
from nmt_cli.machine import cache_folder
from nmt_cli.model.native.rows import accumulate_, add_bias_, bias_gradient_, row_kernels

# Tokens that go through both layers before the next ones: their inner values stay in the caches.
PART = 512


def native_feed_forward(x: Tensor, inner: nn.Linear, outer: nn.Linear) -> Tensor:
    """max(0, x W1 + b1) W2 + b2, with products in autocast's precision where it is on.

    x: (tokens, d_model), float32 or in that precision; both layers have a bias. Raises RuntimeError
    where `row_kernels` gives none.
    """
    kernels = row_kernels(cache_folder())
    if kernels is None:
        raise RuntimeError("there are no kernels for this CPU")
    y: Tensor = _NativeFeedForward.apply(  # type: ignore[no-untyped-call]
        kernels, product_dtype(), x, inner.weight, inner.bias, outer.weight, outer.bias
    )
    return y


def _parts(tokens: int) -> list[slice]:
    """Slices of at most PART tokens."""
    return [slice(begin, begin + PART) for begin in range(0, tokens, PART)]


def part_sizes(tokens: int) -> set[int]:
    """The numbers of tokens that `native_feed_forward` takes through both layers at a time."""
    return {len(range(tokens)[part]) for part in _parts(tokens)}


def product_dtype() -> torch.dtype:
    """The dtype of products on the CPU here: autocast's where it is on."""
    is_autocast = torch.is_autocast_enabled("cpu")
    return torch.get_autocast_dtype("cpu") if is_autocast else torch.float32


class _NativeFeedForward(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kernels: TrainingKernels,
        dtype: torch.dtype,
        x: Tensor,
        inner: Tensor,
        inner_bias: Tensor,
        outer: Tensor,
        outer_bias: Tensor,
    ) -> Tensor:
        ctx.kernels, ctx.dtype = kernels, x.dtype
        hidden, y = x.new_empty(len(x), len(inner), dtype=dtype), torch.empty_like(x, dtype=dtype)
        with torch.autocast("cpu", enabled=False):
            x, inner, outer = x.to(dtype), inner.to(dtype), outer.to(dtype)
            for part in _parts(len(x)):
                torch.mm(x[part], inner.T, out=hidden[part])
                add_bias_(kernels, hidden[part], inner_bias, relu=True)
                torch.mm(hidden[part], outer.T, out=y[part])
                add_bias_(kernels, y[part], outer_bias, relu=False)
        ctx.save_for_backward(x, inner, outer, hidden)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, inner, outer, hidden = ctx.saved_tensors
        gradient = gradient.contiguous()
        x_gradient = torch.empty_like(x)
        inner_bias_gradient, outer_bias_gradient = torch.zeros(len(inner)), torch.zeros(len(outer))
        inner_gradient, outer_gradient = torch.zeros(inner.shape), torch.zeros(outer.shape)
        # The gradient of the hidden values of one part, in memory that all parts use.
        buffer = x.new_empty(min(PART, len(x)), len(inner))
        for part in _parts(len(x)):
            y_gradient = gradient[part]
            hidden_gradient = torch.mm(y_gradient, outer, out=buffer[: len(y_gradient)])
            outer_bias_gradient += bias_gradient_(ctx.kernels, y_gradient, None)
            _add_product(ctx.kernels, outer_gradient, y_gradient.T, hidden[part])
            inner_bias_gradient += bias_gradient_(ctx.kernels, hidden_gradient, hidden[part])
            torch.mm(hidden_gradient, inner, out=x_gradient[part])
            _add_product(ctx.kernels, inner_gradient, hidden_gradient.T, x[part])
        weight_gradients = inner_gradient, inner_bias_gradient, outer_gradient, outer_bias_gradient
        return None, None, x_gradient.to(ctx.dtype), *weight_gradients


def _add_product(kernels: TrainingKernels, total: Tensor, left: Tensor, right: Tensor) -> None:
    """total += left @ right, without a pass of its own where the product is float32."""
    if left.dtype == total.dtype:
        total.addmm_(left, right)
    else:
        accumulate_(kernels, total, left @ right)
