"""Products with packed weights of 32, 16 or 8 bits: the same numbers for any neighbours.

A weight of 8 bits is a whole number times the scale of its output; a row of x is made of whole
numbers of up to 16 bits when it comes, with a scale of its own. Sums of their products are exact,
and so the same on every processor. Weights of 16 bits are bf16, all arithmetic with them float32.
"""

import ctypes
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from nmt_cli.inference.products import Product, make_product
from nmt_cli.inference.weights import Affine

PANEL = 16
LARGEST_WEIGHT = 127
# Kinds of weights, as the kernels number them.
KINDS = {"float32": 0, "bf16": 1, "int8": 2}


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


class Linear(ctypes.Structure):
    """`linear` of the kernels."""

    _fields_ = (
        ("packed", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
        ("scales", ctypes.c_void_p),
        ("inputs", ctypes.c_int64),
        ("outputs", ctypes.c_int64),
        ("kind", ctypes.c_int64),
    )


class Kernels(NamedTuple):
    """The library and which of its kernels."""

    library: ctypes.CDLL
    lanes: int


class NativeProduct:
    """x -> x W^T + b in the library, for float32 rows."""

    def __init__(self, kernels: Kernels, affine: Affine, kind: str = "int8") -> None:
        """kind: one of KINDS."""
        self._kernels = kernels
        self._packed, self._scales = _packed(affine.weight, kind)
        outputs, inputs = affine.weight.shape
        more = -outputs % PANEL
        self._bias = None if affine.bias is None else F.pad(affine.bias, (0, more))
        # Refers to the tensors above.
        self.linear = Linear(
            self._packed.data_ptr(), address(self._bias), address(self._scales), inputs, outputs,
            KINDS[kind],
        )  # fmt: skip

    def __call__(self, x: Tensor) -> Tensor:
        """The product of the rows of `x`, with as many threads as torch has."""
        x = x.contiguous()
        rows, inputs = x.shape
        library, threads = self._kernels.library, torch.get_num_threads()
        scratch = torch.empty(threads * library.nmt_product_bytes(inputs), dtype=torch.uint8)
        out = torch.empty(rows, self.linear.outputs)
        done = library.nmt_product(
            self._kernels.lanes, threads, ctypes.byref(self.linear), x.data_ptr(), rows,
            out.data_ptr(), scratch.data_ptr(),
        )  # fmt: skip
        if not done:
            raise RuntimeError(f"no kernels of {self._kernels.lanes} lanes here")
        return out


def address(tensor: Tensor | None) -> int | None:
    """Where its numbers lie."""
    return None if tensor is None else tensor.data_ptr()


def _packed(weight: Tensor, kind: str) -> tuple[Tensor, Tensor | None]:
    """Weights by panels of outputs and inputs (8-bit ones in pairs of them), and their scales."""
    outputs, inputs = weight.shape
    more = -outputs % PANEL
    if kind != "int8":
        weight = weight.to(torch.bfloat16) if kind == "bf16" else weight
        padded = F.pad(weight, (0, 0, 0, more)) if more else weight
        return padded.view(-1, PANEL, inputs).transpose(1, 2).contiguous(), None
    whole, scales = Quantised.of(weight)
    whole = F.pad(whole, (0, inputs % 2, 0, more))
    panels = whole.view(-1, PANEL, (inputs + 1) // 2, 2).transpose(1, 2).contiguous()
    return panels, F.pad(scales, (0, more))


def make_rounded(affine: Affine) -> Product:
    """The same weights of 8 bits without the library: as float32 numbers, not faster."""
    whole, scales = Quantised.of(affine.weight)
    return make_product(Affine(whole * scales[:, None], affine.bias))


def make_halved(affine: Affine) -> Product:
    """The same weights of 16 bits without the library: as float32 numbers, not faster."""
    return make_product(Affine(affine.weight.to(torch.bfloat16).float(), affine.bias))
