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

from nmt_cli.inference.native.huge_pages import Arena
from nmt_cli.inference.packed.linear import Product, make_product
from nmt_cli.inference.packed.weights import Affine
from nmt_cli.kernels.instruction_sets import INSTRUCTION_SETS

PANEL = 16
# The largest 8-bit weight. AVX2 adds two products in 16 bits, and 2 * 255 * 64 is below 2^15.
LARGEST_WEIGHT = 64
# How many inputs of an output have their 8-bit weights side by side, and the largest integer of a
# quantised row: 254 instead of 255, because both the value and the zero point are rounded.
QUAD, LARGEST_INPUT = 4, 254
# A row whose values differ by at most this is treated as zeros.
NARROWEST = 1e-30
ROWS = 1_024
# The precisions of weights, and the numbers that the kernels have for them.
PRECISIONS = {"float32": 0, "bf16": 1, "int8": 2}


class QuantizedMatrix(NamedTuple):
    """integers: (outputs, inputs) int8, scales: (outputs,): the weight is integers * scales."""

    integers: Tensor
    scales: Tensor

    @classmethod
    def of(cls, weight: Tensor) -> "QuantizedMatrix":
        """`weight` rounded to integers, with a scale for each output."""
        scales = torch.maximum(weight.amax(1), -weight.amin(1)) / LARGEST_WEIGHT
        integers = torch.empty(weight.shape, dtype=torch.int8)
        divisors = scales.where(scales > 0, 1.0)[:, None]
        # Some rows at a time: the temporary copies of a whole vocabulary would be several times it.
        for first in range(0, len(weight), ROWS):
            rows = slice(first, first + ROWS)
            integers[rows] = (weight[rows] / divisors[rows]).round()
        return cls(integers, scales)


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
    """The library and the SIMD lanes of the kernels to use.

    notice: tells users that the instruction set that they asked for is not used, else empty.
    """

    library: ctypes.CDLL
    lanes: int
    notice: str = ""

    @property
    def instruction_set(self) -> str:
        """Its name, one of INSTRUCTION_SETS."""
        return next(name for name, lanes in INSTRUCTION_SETS.items() if lanes == self.lanes)


class NativeLinear:
    """x -> x W^T + b in the library, for float32 rows."""

    def __init__(
        self,
        kernels: Kernels,
        affine: Affine,
        precision: str = "int8",
        arena: Arena | None = None,
    ) -> None:
        """precision: of the weights, one of PRECISIONS; arena: the memory for them."""
        self._kernels = kernels
        rows = PackedRows.of(affine.weight, precision)
        outputs, inputs = affine.weight.shape
        more = -outputs % PANEL
        panels = in_panels(rows.weight, precision)
        # NumPy has no bf16.
        numbers = panels.view(torch.int16) if panels.dtype == torch.bfloat16 else panels
        self._packed = torch.from_numpy((arena or Arena()).copy(numbers.detach().numpy()))
        self._sums = [None if sums is None else F.pad(sums, (0, more)) for sums in rows[1:]]
        self._bias = None if affine.bias is None else F.pad(affine.bias, (0, more))
        # Refers to the tensors above.
        self.linear = Linear(
            self._packed.data_ptr(), address(self._bias), *map(address, self._sums), inputs,
            outputs, PRECISIONS[precision],
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
    """Weights, (outputs, inputs), before they are packed; 8-bit ones have scales and totals.

    scales: of the integers of each output; totals: the sum of the integers of each output.
    """

    weight: Tensor
    scales: Tensor | None = None
    totals: Tensor | None = None

    @classmethod
    def of(cls, weight: Tensor, precision: str) -> "PackedRows":
        """`weight` rounded to this precision."""
        if precision == "int8":
            integers, scales = QuantizedMatrix.of(weight)
            return cls(integers, scales, integers.sum(1, dtype=torch.int32))
        return cls(weight.to(torch.bfloat16) if precision == "bf16" else weight)


def in_panels(weight: Tensor, precision: str) -> Tensor:
    """Weights in panels of outputs and inputs; those of 8 bits in quads of inputs."""
    outputs, inputs = weight.shape
    more = -inputs % QUAD if precision == "int8" else 0
    if outputs % PANEL or more:
        weight = F.pad(weight, (0, more, 0, -outputs % PANEL))
    if precision == "int8":
        # Quads are moved as one 32-bit integer.
        weight = weight.view(torch.int32)
    return weight.view(-1, PANEL, weight.shape[1]).transpose(1, 2).contiguous()


def make_int8_emulation(affine: Affine) -> Product:
    """The linear layer with 8-bit weights, without the library: in float32, and no faster."""
    integers, scales = QuantizedMatrix.of(affine.weight)
    multiply = make_product(Affine(integers.float(), None))

    def product(x: Tensor) -> Tensor:
        rounded, row_scales = quantized_rows(x)
        result = multiply(rounded) * (scales * row_scales)
        return result if affine.bias is None else result + affine.bias

    return product


def quantized_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    """A row's integers minus its zero point, and the scale of each row: (rows, 1)."""
    width = x.amax(1, keepdim=True).clamp(min=0) - x.amin(1, keepdim=True).clamp(max=0)
    largest = torch.full_like(width, LARGEST_INPUT)
    factor = torch.where((width <= NARROWEST) | width.isposinf(), 0.0, largest / width)
    return (x * factor).round(), width / largest


def make_bf16_emulation(affine: Affine) -> Product:
    """The linear layer with bf16 weights, without the library: in float32, and no faster."""
    return make_product(Affine(affine.weight.to(torch.bfloat16).float(), affine.bias))
