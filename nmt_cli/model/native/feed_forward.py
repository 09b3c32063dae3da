"""The feed-forward network with ReLU (section 3.3) for training on a CPU.

Products are torch's; bias, ReLU and their gradients are computed in one pass each, in C.
"""

from typing import Any

import torch
from torch import Tensor, nn

from nmt_cli.kernels.training import TrainingKernels
from nmt_cli.machine import cache_folder
from nmt_cli.model.native.rows import add_bias_, bias_gradient_, row_kernels


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
        with torch.autocast("cpu", enabled=False):
            x, inner, outer = x.to(dtype), inner.to(dtype), outer.to(dtype)
            hidden = add_bias_(kernels, x @ inner.T, inner_bias, relu=True)
            y = add_bias_(kernels, hidden @ outer.T, outer_bias, relu=False)
        ctx.save_for_backward(x, inner, outer, hidden)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, inner, outer, hidden = ctx.saved_tensors
        gradient = gradient.contiguous()
        outer_bias = bias_gradient_(ctx.kernels, gradient, None)
        outer_gradient = gradient.T @ hidden
        to_hidden = gradient @ outer
        inner_bias = bias_gradient_(ctx.kernels, to_hidden, hidden)
        to_x = (to_hidden @ inner).to(ctx.dtype)
        inner_gradient = to_hidden.T @ x
        return (
            None, None, to_x, inner_gradient.float(), inner_bias, outer_gradient.float(),
            outer_bias,
        )  # fmt: skip
