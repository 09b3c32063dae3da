"""Products with weights of 8 bits: the same numbers on every processor, for any neighbours.

A weight is a whole number times the scale of its output; a row of x is made of whole numbers of up
to 16 bits when it comes, with a scale of its own. Sums of their products are exact.
"""

import ctypes
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from nmt_cli.inference.native.library import load_library
from nmt_cli.inference.products import Product, make_product
from nmt_cli.inference.weights import Affine

PANEL = 16
LARGEST_WEIGHT = 127
LARGEST_INPUT = 2**15 - 1
# Kernels by the floats they take at once, best first.
LANES = (16, 8, 4)
LARGEST_ERROR = 1e-5


class Quantised(NamedTuple):
    """whole: (outputs, inputs) int8, scales: (outputs,): the weight is whole * scales."""

    whole: Tensor
    scales: Tensor

    @classmethod
    def of(cls, weight: Tensor) -> "Quantised":
        """The nearest to `weight`."""
        scales = weight.abs().amax(1) / LARGEST_WEIGHT
        whole = (weight / scales.where(scales > 0, 1.0)[:, None]).round().to(torch.int8)
        return cls(whole, scales)


class _Linear(ctypes.Structure):
    _fields_ = (
        ("packed", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
        ("scales", ctypes.c_void_p),
        ("inputs", ctypes.c_int64),
        ("outputs", ctypes.c_int64),
    )


class Kernels(NamedTuple):
    """The library and which of its kernels."""

    library: ctypes.CDLL
    lanes: int


class NativeProduct:
    """x -> x W^T + b in the library, for float32 rows."""

    def __init__(self, kernels: Kernels, affine: Affine) -> None:
        self._kernels = kernels
        self._whole, self._scales, self._bias = _packed(affine)
        outputs, inputs = affine.weight.shape
        self._limit = min(LARGEST_INPUT, (2**31 - 1) // (LARGEST_WEIGHT * inputs))
        bias = None if self._bias is None else self._bias.data_ptr()
        self._linear = _Linear(
            self._whole.data_ptr(), bias, self._scales.data_ptr(), inputs, outputs
        )

    def __call__(self, x: Tensor) -> Tensor:
        """The product of the rows of `x`, with as many threads as torch has."""
        x = x.contiguous()
        rows, inputs = x.shape
        whole = torch.empty(rows, inputs + inputs % 2, dtype=torch.int16)
        scales, out = torch.empty(rows), torch.empty(rows, self._linear.outputs)
        done = self._kernels.library.nmt_product(
            self._kernels.lanes,
            torch.get_num_threads(),
            ctypes.byref(self._linear),
            *map(ctypes.c_void_p, [x.data_ptr()]),
            ctypes.c_int64(rows),
            ctypes.c_float(self._limit),
            *map(ctypes.c_void_p, [whole.data_ptr(), scales.data_ptr(), out.data_ptr()]),
        )
        if not done:
            raise RuntimeError(f"no kernels of {self._kernels.lanes} lanes here")
        return out


def _packed(affine: Affine) -> tuple[Tensor, Tensor, Tensor | None]:
    """Weights by panels of outputs and pairs of inputs, scales and bias of whole panels."""
    outputs, inputs = affine.weight.shape
    more = -outputs % PANEL
    whole, scales = Quantised.of(affine.weight)
    whole = F.pad(whole, (0, inputs % 2, 0, more))
    panels = whole.view(-1, PANEL, (inputs + 1) // 2, 2).transpose(1, 2).contiguous()
    bias = None if affine.bias is None else F.pad(affine.bias, (0, more))
    return panels, F.pad(scales, (0, more)), bias


def find_kernels(cache: Path) -> tuple[Kernels | None, str]:
    """The best kernels that give the right numbers here and "", or None and why there are none."""
    library, reason = load_library(cache)
    if library is None:
        return None, reason
    for lanes in LANES:
        if _right(Kernels(library, lanes)):
            return Kernels(library, lanes), ""
    return None, "the kernels give wrong numbers here"


def _right(kernels: Kernels) -> bool:
    """Whether they are there and agree with the plain form."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(35, 37, generator=generator)
    x, bias = torch.randn(29, 37, generator=generator), torch.randn(35, generator=generator)
    whole, scales = Quantised.of(weight)
    expected = F.linear(x.double(), whole.double() * scales.double()[:, None], bias.double())
    try:
        found = NativeProduct(kernels, Affine(weight, bias))(x)
    except RuntimeError:
        return False
    return bool((found - expected).abs().max() < LARGEST_ERROR * expected.abs().max() * 10)


def make_rounded(affine: Affine) -> Product:
    """The same weights of 8 bits without the library: as float32 numbers, not faster."""
    whole, scales = Quantised.of(affine.weight)
    return make_product(Affine(whole * scales[:, None], affine.bias))
