"""The inner product of a feed-forward network (section 3.3) with ReLU, for training on a GPU.

torch.compile leaves ReLU to a kernel of its own, which reads and writes all that the product has
written: the widest tensor of a layer. The product's kernel can take the maximum itself.
"""

from typing import Any

import torch
from torch import Tensor, nn

from nmt_cli.model.torch_adapter import linear_relu


def fuses_relu(device: torch.device) -> bool:
    """Whether `relu_product` is faster than a product and ReLU: on NVIDIA's GPUs."""
    return device.type == "cuda"


def relu_product(x: Tensor, layer: nn.Linear) -> Tensor:
    """max(0, x W + b) of a layer with a bias, in autocast's precision where it is on.

    x: (tokens, in); returns (tokens, out).
    """
    device_type = x.device.type
    is_autocast = torch.is_autocast_enabled(device_type)
    dtype = torch.get_autocast_dtype(device_type) if is_autocast else layer.weight.dtype
    inputs = (tensor.to(dtype) for tensor in (x, layer.weight, layer.bias))
    y: Tensor = _ReluProduct.apply(*inputs)  # type: ignore[no-untyped-call]
    return y


class _ReluProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        y = linear_relu(x, weight, bias)
        ctx.save_for_backward(x, weight, y)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, weight, y = ctx.saved_tensors
        gradient = gradient.masked_fill(y == 0, 0)
        return gradient @ weight, gradient.t() @ x, gradient.sum(0)
