"""Linear layers with packed weights of 32, 16 or 8 bits; a row is bitwise equal in any batch.

An 8-bit weight is an integer times the scale of its output; a row of x is quantised to integers
from 0 to 255 with a scale and a zero point of its own. Sums of their products are exact, and so
the same on every processor. 16-bit weights are bf16; the arithmetic with them is float32, but AMX
rounds the rows to bf16, too. Split weights, for AMX only, are sums of two bf16 numbers.
"""

import ctypes
from typing import NamedTuple

import numpy as np

from nmt_cli.inference.native.memory import address, empty
from nmt_cli.kernels.instruction_sets import INSTRUCTION_SETS
from nmt_cli.machine import kernel_threads

PANEL = 16
# The outputs of the output layer come in blocks of this many words.
BLOCK = 64
# The largest 8-bit weight. AVX2 adds two products in 16 bits, and 2 * 255 * 64 is below 2^15.
LARGEST_WEIGHT = 64
# The largest integer of a quantised row: 254 instead of 255, because both the value and the zero
# point are rounded.
LARGEST_INPUT = 254
ROWS = 1_024
# The precisions of weights, and the numbers that the kernels have for them.
PRECISIONS = {"float32": 0, "bf16": 1, "int8": 2, "split": 3}


class QuantizedMatrix(NamedTuple):
    """integers: (outputs, inputs) int8, scales: (outputs,): the weight is integers * scales."""

    integers: np.ndarray
    scales: np.ndarray

    @classmethod
    def of(cls, weight: np.ndarray) -> "QuantizedMatrix":
        """`weight` rounded to integers, with a scale for each output."""
        scales = np.maximum(weight.max(axis=1), -weight.min(axis=1)) / np.float32(LARGEST_WEIGHT)
        integers = np.empty(weight.shape, np.int8)
        divisors = np.where(scales > 0, scales, np.float32(1))[:, None]
        # Some rows at a time: the temporary copies of a whole vocabulary would be several times it.
        for first in range(0, len(weight), ROWS):
            rows = slice(first, first + ROWS)
            integers[rows] = np.rint(weight[rows] / divisors[rows])
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

    precision: of the weights that they are for. notice: tells users that the precision or the
    instruction set that they asked for is not used, else empty.
    """

    library: ctypes.CDLL
    lanes: int
    precision: str = "float32"
    notice: str = ""

    @property
    def instruction_set(self) -> str:
        """Its name, one of INSTRUCTION_SETS."""
        return next(name for name, lanes in INSTRUCTION_SETS.items() if lanes == self.lanes)

    def require_run(self, completed: int) -> None:
        """Raise RuntimeError if a function of the library returned that it ran no kernels."""
        if not completed:
            raise RuntimeError(f"this CPU has no kernels of {self.lanes} lanes")

    def has_form(self, precision: str) -> bool:
        """Whether they have a form of their own for such weights, and this machine can run it."""
        return bool(self.library.nmt_has_form(self.lanes, PRECISIONS[precision]))


class PackedLinear(NamedTuple):
    """A linear layer as the kernels read it, its outputs filled up to whole panels.

    packed: (panels, units, PANEL), numbers of 32 bits, each of some inputs as in `packer.UNITS`.
    scales, totals: of 8-bit weights, the scale and the sum of the integers of each output. inputs,
    outputs: of the layer itself; kind: the number of the precision.
    """

    packed: np.ndarray
    bias: np.ndarray | None
    scales: np.ndarray | None
    totals: np.ndarray | None
    inputs: int
    outputs: int
    kind: int


class NativeLinear:
    """x -> x W^T + b in the library, for float32 rows."""

    def __init__(self, kernels: Kernels, layer: PackedLinear) -> None:
        """Raises ValueError where the kernels cannot read such weights."""
        if layer.kind == PRECISIONS["split"] and not kernels.has_form("split"):
            raise ValueError(f"the {kernels.instruction_set} kernels do not read split weights")
        self._kernels = kernels
        # `linear` refers to its arrays.
        self._layer = layer
        self.linear = Linear(*map(address, layer[:4]), *layer[4:])

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The product with the rows of `x`, by `machine.kernel_threads` threads."""
        x = np.ascontiguousarray(x, np.float32)
        rows, inputs = x.shape
        library, threads = self._kernels.library, kernel_threads()
        scratch = empty(threads * library.nmt_product_bytes(inputs), np.uint8)
        out = empty((rows, self.linear.outputs))
        completed = library.nmt_product(
            self._kernels.lanes, threads, ctypes.byref(self.linear), address(x), rows,
            address(out), address(scratch),
        )  # fmt: skip
        self._kernels.require_run(completed)
        return out
