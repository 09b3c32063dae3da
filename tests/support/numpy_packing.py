"""Packing in NumPy, with which that of the library is compared to the bit."""

from typing import NamedTuple

import numpy as np

from nmt_cli.inference.native.linear import PANEL, QUAD, QuantizedMatrix


class PackedArrays(NamedTuple):
    """As in `PackedLinear`."""

    packed: np.ndarray
    scales: np.ndarray | None = None
    totals: np.ndarray | None = None


def packed_arrays(weight: np.ndarray, precision: str) -> PackedArrays:
    """`weight`, (outputs, inputs), in this precision, filled up to whole panels."""
    if precision != "int8":
        return PackedArrays(in_panels(bf16_bits(weight) if precision == "bf16" else weight, 1))
    integers, scales = QuantizedMatrix.of(weight)
    # In NumPy it depends on the processor which sign the scale of a row of zeros has.
    scales = scales + np.float32(0)
    totals = integers.sum(axis=1, dtype=np.int32)
    more = -len(weight) % PANEL
    return PackedArrays(
        in_panels(integers, QUAD), *(np.pad(x, (0, more)) for x in (scales, totals))
    )


def bf16_bits(weight: np.ndarray) -> np.ndarray:
    """The nearest bf16 of each number, of two the even one, as uint16."""
    bits = np.ascontiguousarray(weight, np.float32).view(np.uint32)
    rounded = bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    return (rounded >> np.uint32(16)).astype(np.uint16)


def in_panels(weight: np.ndarray, together: int) -> np.ndarray:
    """Weights in panels of outputs and inputs, `together` inputs as one number of 32 bits."""
    outputs, inputs = weight.shape
    weight = np.pad(weight, ((0, -outputs % PANEL), (0, -inputs % together)))
    if together > 1:
        weight = np.ascontiguousarray(weight).view(np.int32)
    return np.ascontiguousarray(weight.reshape(-1, PANEL, weight.shape[1]).transpose(0, 2, 1))
