"""Linear layers with packed weights.

Packing is tested before it is used. Where torch cannot pack weights, or packed weights give wrong
numbers, torch's usual linear layer is used instead.
"""

from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from nmt_cli.inference.packed.weights import Affine
from nmt_cli.model.torch_adapter import pack_linear

Product = Callable[[Tensor], Tensor]
MakeProduct = Callable[[Affine], Product]
# The number of rows that weights are packed for; they work with any number.
PACKED_FOR = 64
# The inputs and outputs of the layer that is tested, and the largest error for each input.
TESTED_WIDTH = 48
LARGEST_ERROR = 1e-5


def make_product(affine: Affine) -> Product:
    """x -> x W^T + b, with packed weights if they work here."""
    weight, bias = affine.weight, affine.bias
    if weight.dtype == torch.float32 and packing_works():
        return pack_linear(weight, bias, PACKED_FOR)
    return lambda x: F.linear(x, weight, bias)


@cache
def packing_works() -> bool:
    """Whether the packed product exists here and equals the plain one."""
    generator = torch.Generator().manual_seed(0)
    x, weight = torch.randn(2, TESTED_WIDTH, TESTED_WIDTH, generator=generator)
    bias = torch.randn(TESTED_WIDTH, generator=generator)
    try:
        with torch.inference_mode():
            result = pack_linear(weight, bias, PACKED_FOR)(x)
    except (RuntimeError, AttributeError):
        return False
    error = (result - F.linear(x, weight, bias)).abs().max()
    return bool(error < LARGEST_ERROR * TESTED_WIDTH)
