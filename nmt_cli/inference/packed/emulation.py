"""Linear layers with weights of 8 or 16 bits in torch, for CPUs without the kernels.

They give about the results of the kernels, in float32, and are no faster than float32.
"""

import torch
from torch import Tensor

from nmt_cli.inference.native.linear import LARGEST_INPUT, QuantizedMatrix
from nmt_cli.inference.packed.linear import Product, make_product
from nmt_cli.inference.packed.weights import Affine

# A row whose values differ by at most this is treated as zeros.
NARROWEST = 1e-30


def make_int8_emulation(affine: Affine) -> Product:
    """The linear layer with 8-bit weights."""
    integers, scales = map(torch.from_numpy, QuantizedMatrix.of(affine.weight.numpy()))
    multiply = make_product(Affine(integers.float(), None))

    def product(x: Tensor) -> Tensor:
        rounded, row_scales = quantized_rows(x)
        result = multiply(rounded) * (scales * row_scales)
        return result if affine.bias is None else result + affine.bias

    return product


def quantized_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """Each row of `x` as integers, without its zero point, and its scale, (rows, 1)."""
    width = x.amax(1, keepdim=True).clamp(min=0) - x.amin(1, keepdim=True).clamp(max=0)
    largest = torch.full_like(width, LARGEST_INPUT)
    factor = torch.where((width <= NARROWEST) | width.isposinf(), 0.0, largest / width)
    return (x * factor).round(), width / largest


def make_bf16_emulation(affine: Affine) -> Product:
    """The linear layer with bf16 weights."""
    return make_product(Affine(affine.weight.to(torch.bfloat16).float(), affine.bias))


# Makes linear layers of each weight precision where the kernels cannot be used.
LINEAR_WITHOUT_KERNELS = {
    "float32": make_product,
    # As exact as float32, and so the same without the kernels that it makes faster.
    "split": make_product,
    "bf16": make_bf16_emulation,
    "int8": make_int8_emulation,
}
