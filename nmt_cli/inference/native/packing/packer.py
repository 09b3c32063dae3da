"""Packs linear layers by the library, a few rows of their weights at a time.

No threads are used: to read the weights from their file takes longer than to pack them.
"""

import ctypes

import numpy as np

from nmt_cli.inference.native.huge_pages import Arena
from nmt_cli.inference.native.linear import PANEL, PRECISIONS, PackedLinear
from nmt_cli.inference.native.memory import address, empty
from nmt_cli.inference.weights import ProjectionRows

# The numbers of 32 bits that packed weights consist of, and how many inputs one is for: pairs of
# bf16, quads of int8. One layout serves all instruction sets: 16 pairs or quads of a panel are a
# tile of AMX.
UNITS = {
    "float32": (np.float32, 1), "bf16": (np.int32, 2), "int8": (np.int32, 4),
    "split": (np.int32, 2),
}  # fmt: skip
# The inputs of a tile of split weights.
TILE_INPUTS = 32


class Packing(ctypes.Structure):
    """The struct `packing` of the kernels."""

    _fields_ = (
        ("weight", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("first", "rows", "inputs", "kind")),
        *((name, ctypes.c_void_p) for name in ("packed", "scales", "totals")),
    )


class Packer:
    """Packs layers into memory that they share."""

    def __init__(self, library: ctypes.CDLL, precision: str) -> None:
        """precision: of the packed weights, one of PRECISIONS."""
        self._library, self._precision = library, precision
        self._arena = Arena()

    def pack(self, projection: ProjectionRows) -> PackedLinear:
        """The layer with its outputs filled up to whole panels, by weights of 0."""
        outputs, inputs = projection.shape
        more = -outputs % PANEL
        bias = None if projection.bias is None else np.pad(projection.bias, (0, more))
        shape = (outputs + more) // PANEL, _units_of(inputs, self._precision), PANEL
        scales, totals = (
            np.zeros(outputs + more, kind) if self._precision == "int8" else None
            for kind in (np.float32, np.int32)
        )
        layer = PackedLinear(
            self._arena.zeros(shape, UNITS[self._precision][0]), bias, scales, totals, inputs,
            outputs, PRECISIONS[self._precision],
        )  # fmt: skip
        first = 0
        for piece in projection.pieces:
            _pack_rows(self._library, piece, layer, first)
            first += len(piece)
        return layer


def _units_of(inputs: int, precision: str) -> int:
    """How many units an output has; split weights have high and low halves, in whole tiles."""
    inputs_per_unit = UNITS[precision][1]
    if precision == "split":
        return 2 * -(-inputs // TILE_INPUTS) * TILE_INPUTS // inputs_per_unit
    return -(-inputs // inputs_per_unit)


def _pack_rows(library: ctypes.CDLL, weight: np.ndarray, layer: PackedLinear, first: int) -> None:
    """Round `weight`, (rows, inputs), and write it as the outputs of `layer` from `first` on."""
    rows, inputs = weight.shape
    weight = np.ascontiguousarray(weight, np.float32)
    sums = address(layer.scales), address(layer.totals)
    packing = Packing(
        address(weight), first, rows, inputs, layer.kind, address(layer.packed), *sums
    )
    library.nmt_pack(ctypes.byref(packing))


def copy_outputs(library: ctypes.CDLL, layer: PackedLinear, outputs: np.ndarray) -> PackedLinear:
    """A layer with these outputs of `layer` only; int64, a multiple of PANEL.

    Raises IndexError for outputs that the layer does not have.
    """
    panels, units, _ = layer.packed.shape
    if not 0 <= outputs.min() <= outputs.max() < panels * PANEL:
        raise IndexError(f"{outputs.max()} is not one of {layer.outputs:,} outputs")
    packed = empty((len(outputs) // PANEL, units, PANEL), layer.packed.dtype)
    library.nmt_copy_outputs(
        address(layer.packed), address(outputs), len(outputs), units, address(packed)
    )
    columns = layer.bias, layer.scales, layer.totals
    bias, scales, totals = (None if array is None else array[outputs] for array in columns)
    return PackedLinear(packed, bias, scales, totals, layer.inputs, len(outputs), layer.kind)
