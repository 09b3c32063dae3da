"""Linear layers with packed weights of 32, 16 or 8 bits; a row is bitwise equal in any batch.

An 8-bit weight is an integer times the scale of its output; a row of x is quantised to integers
from 0 to 255 with a scale and a zero point of its own. Sums of their products are exact, and so
the same on every processor. 16-bit weights are bf16; the arithmetic with them is float32.
"""

import ctypes
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from nmt_cli.inference.packed.linear import Product, make_product
from nmt_cli.inference.packed.weights import Affine

PANEL = 16
# Of 8-bit weights: AVX2 sums two products in 16 bits, and 2 * 255 * 64 is less than 2^15.
LARGEST_WEIGHT = 64
# Inputs whose 8-bit weights lie together, and the largest integer of a quantised row; one less
# than there are, because both the number and the zero point are rounded.
QUAD, LARGEST_INPUT = 4, 254
# A row whose range of values is at most this counts as zeros.
NARROWEST = 1e-30
ROWS = 1_024
# Weight dtypes, as the kernels number them.
KINDS = {"float32": 0, "bf16": 1, "int8": 2}


class QuantizedMatrix(NamedTuple):
    """whole: (outputs, inputs) int8, scales: (outputs,): the weight is whole * scales."""

    whole: Tensor
    scales: Tensor

    @classmethod
    def of(cls, weight: Tensor) -> "QuantizedMatrix":
        """The nearest quantised matrix to `weight`."""
        scales = torch.maximum(weight.amax(1), -weight.amin(1)) / LARGEST_WEIGHT
        whole = torch.empty(weight.shape, dtype=torch.int8)
        divisors = scales.where(scales > 0, 1.0)[:, None]
        # Some rows at a time: the temporary copies of a whole vocabulary would be several times it.
        for first in range(0, len(weight), ROWS):
            rows = slice(first, first + ROWS)
            whole[rows] = (weight[rows] / divisors[rows]).round()
        return cls(whole, scales)


class Linear(ctypes.Structure):
    """The struct `linear` of the kernels."""

    _fields_ = (
        ("packed", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
        ("scales", ctypes.c_void_p),
        ("totals", ctypes.c_void_p),
        ("inputs", ctypes.c_int64),
        ("outputs", ctypes.c_int64),
        ("kind", ctypes.c_int64),
    )


class Kernels(NamedTuple):
    """The library and the SIMD lanes of the kernels to use."""

    library: ctypes.CDLL
    lanes: int


class NativeLinear:
    """x -> x W^T + b in the library, for float32 rows."""

    def __init__(self, kernels: Kernels, affine: Affine, kind: str = "int8") -> None:
        """kind: one of KINDS."""
        self._kernels = kernels
        rows = PackedRows.of(affine.weight, kind)
        outputs, inputs = affine.weight.shape
        more = -outputs % PANEL
        self._packed = in_panels(rows.weight, kind)
        self._sums = [None if sums is None else F.pad(sums, (0, more)) for sums in rows[1:]]
        self._bias = None if affine.bias is None else F.pad(affine.bias, (0, more))
        # Refers to the tensors above.
        self.linear = Linear(
            self._packed.data_ptr(), address(self._bias), *map(address, self._sums), inputs,
            outputs, KINDS[kind],
        )  # fmt: skip

    def __call__(self, x: Tensor) -> Tensor:
        """The product with the rows of `x`, by as many threads as torch has."""
        x = x.contiguous()
        rows, inputs = x.shape
        library, threads = self._kernels.library, torch.get_num_threads()
        scratch = torch.empty(threads * library.nmt_product_bytes(inputs), dtype=torch.uint8)
        out = torch.empty(rows, self.linear.outputs)
        completed = library.nmt_product(
            self._kernels.lanes, threads, ctypes.byref(self.linear), x.data_ptr(), rows,
            out.data_ptr(), scratch.data_ptr(),
        )  # fmt: skip
        if not completed:
            raise RuntimeError(f"no kernels of {self._kernels.lanes} lanes here")
        return out


def address(tensor: Tensor | None) -> int | None:
    """The address of a tensor's numbers; None where there is no tensor."""
    return None if tensor is None else tensor.data_ptr()


class PackedRows(NamedTuple):
    """Weights of a dtype, not yet packed: (outputs, inputs); 8-bit ones with scales and totals."""

    weight: Tensor
    scales: Tensor | None = None
    totals: Tensor | None = None

    @classmethod
    def of(cls, weight: Tensor, kind: str) -> "PackedRows":
        """The nearest to `weight` in this dtype."""
        if kind == "int8":
            whole, scales = QuantizedMatrix.of(weight)
            return cls(whole, scales, whole.sum(1, dtype=torch.int32))
        return cls(weight.to(torch.bfloat16) if kind == "bf16" else weight)


def in_panels(weight: Tensor, kind: str) -> Tensor:
    """Weights in panels of outputs and inputs; those of 8 bits in quads of inputs."""
    outputs, inputs = weight.shape
    more = -inputs % QUAD if kind == "int8" else 0
    if outputs % PANEL or more:
        weight = F.pad(weight, (0, more, 0, -outputs % PANEL))
    if kind == "int8":
        # Quads are moved as one 32-bit integer.
        weight = weight.view(torch.int32)
    return weight.view(-1, PANEL, weight.shape[1]).transpose(1, 2).contiguous()


def make_rounded(affine: Affine) -> Product:
    """The same product of 8-bit integers without the library: computed in float32, not faster."""
    whole, scales = QuantizedMatrix.of(affine.weight)
    multiply = make_product(Affine(whole.float(), None))

    def product(x: Tensor) -> Tensor:
        rounded, row_scales = rounded_rows(x)
        result = multiply(rounded) * (scales * row_scales)
        return result if affine.bias is None else result + affine.bias

    return product


def rounded_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """A row's integers minus its zero point, and the scale of each row: (rows, 1)."""
    width = x.amax(1, keepdim=True).clamp(min=0) - x.amin(1, keepdim=True).clamp(max=0)
    largest = torch.full_like(width, LARGEST_INPUT)
    factor = torch.where((width <= NARROWEST) | width.isposinf(), 0.0, largest / width)
    return (x * factor).round(), width / largest


def make_halved(affine: Affine) -> Product:
    """The same 16-bit weights without the library: used as float32 numbers, not faster."""
    return make_product(Affine(affine.weight.to(torch.bfloat16).float(), affine.bias))
