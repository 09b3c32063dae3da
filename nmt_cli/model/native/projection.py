"""Several projections of one stream as one product, for training on a CPU.

Their outputs are parts of one matrix and are not copied. If their gradients are, too, as those of
attention in C, they are not copied either.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from nmt_cli.model.native.feed_forward import product_dtype


def joined_projections(x: Tensor, layers: Sequence[nn.Linear]) -> list[Tensor]:
    """`x` (tokens, d_model) through each of `layers`, which all have a bias or none.

    Products are in autocast's precision where it is on.
    """
    biases = [layer.bias for layer in layers if layer.bias is not None]
    weights = [layer.weight for layer in layers]
    outputs: tuple[Tensor, ...] = _JoinedProjections.apply(  # type: ignore[no-untyped-call]
        product_dtype(), x, len(weights), *weights, *biases
    )
    return list(outputs)


class _JoinedProjections(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, dtype: torch.dtype, x: Tensor, count: int, *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        weights, biases = parameters[:count], parameters[count:]
        ctx.widths, ctx.dtype = [len(weight) for weight in weights], x.dtype
        ctx.has_bias = bool(biases)
        weight = torch.empty(sum(ctx.widths), x.shape[1], dtype=dtype)
        for part, layer_weight in zip(weight.split_with_sizes(ctx.widths), weights, strict=True):
            part.copy_(layer_weight)
        x = x.to(dtype)
        ctx.save_for_backward(x, weight)
        with torch.autocast("cpu", enabled=False):
            joined = x @ weight.T
        if biases:
            joined += torch.cat(biases)
        return joined.split_with_sizes(ctx.widths, dim=1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *parts: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        gradient = _joined(parts)
        weight_gradients = (gradient.T @ x).float().split_with_sizes(ctx.widths)
        bias_gradients: Sequence[Tensor] = ()
        if ctx.has_bias:
            bias_gradients = gradient.sum(dim=0, dtype=torch.float32).split_with_sizes(ctx.widths)
        x_gradient = (gradient @ weight).to(ctx.dtype)
        return None, x_gradient, None, *weight_gradients, *bias_gradients


def _joined(parts: Sequence[Tensor]) -> Tensor:
    """The parts side by side as one matrix; not a copy if they are parts of one in this order."""
    width = sum(part.shape[1] for part in parts)
    first = parts[0]
    address = first.data_ptr()
    for part in parts:
        is_next = part.data_ptr() == address and part.stride() == (width, 1)
        shares_storage = part.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
        if not (is_next and shares_storage):
            return torch.cat(list(parts), dim=1)
        address += part.shape[1] * part.element_size()
    return first.as_strided((len(first), width), (width, 1))
