"""Packing in NumPy, with which that of the library is compared to the bit."""

from typing import NamedTuple

import numpy as np

from nmt_cli.inference.native.linear import PANEL, QuantizedMatrix

# The inputs of a tile of AMX in bf16.
TILE_INPUTS = 32


class PackedArrays(NamedTuple):
    """As in `PackedLinear`."""

    packed: np.ndarray
    scales: np.ndarray | None = None
    totals: np.ndarray | None = None


def packed_arrays(weight: np.ndarray, precision: str) -> PackedArrays:
    """`weight`, (outputs, inputs), in this precision, filled up to whole panels."""
    if precision == "float32":
        return PackedArrays(in_panels(weight, 1))
    if precision == "bf16":
        return PackedArrays(in_panels(bf16_bits(weight), 2))
    if precision == "split":
        return PackedArrays(in_panels(halves_of(weight), 2))
    integers, scales = QuantizedMatrix.of(weight)
    # In NumPy it depends on the processor which sign the scale of a row of zeros has.
    scales = scales + np.float32(0)
    totals = integers.sum(axis=1, dtype=np.int32)
    more = -len(weight) % PANEL
    return PackedArrays(in_panels(integers, 4), *(np.pad(x, (0, more)) for x in (scales, totals)))


def bf16_bits(weight: np.ndarray) -> np.ndarray:
    """The nearest bf16 of each number, of two the even one, as uint16."""
    bits = np.ascontiguousarray(weight, np.float32).view(np.uint32)
    rounded = bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))
    return (rounded >> np.uint32(16)).astype(np.uint16)


def from_bf16(bits: np.ndarray) -> np.ndarray:
    """The float32 numbers of these bits."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def halves_of(weight: np.ndarray) -> np.ndarray:
    """The bits of two bf16 numbers whose sum is about the weight: all high ones, then all low ones.

    Both are filled up with zeros to whole tiles of inputs: (outputs, 2 * filled inputs). The low
    half of a number whose high half is infinite is 0.
    """
    high = bf16_bits(weight)
    rest = weight - from_bf16(high)
    low = np.where(np.isfinite(from_bf16(high)), bf16_bits(rest), np.uint16(0))
    more = -weight.shape[1] % TILE_INPUTS
    return np.concatenate([np.pad(half, ((0, 0), (0, more))) for half in (high, low)], axis=1)


def in_panels(weight: np.ndarray, together: int) -> np.ndarray:
    """Weights in panels of outputs and inputs, `together` inputs as one number of 32 bits."""
    outputs, inputs = weight.shape
    weight = np.pad(weight, ((0, -outputs % PANEL), (0, -inputs % together)))
    if together > 1:
        weight = np.ascontiguousarray(weight).view(np.int32)
    return np.ascontiguousarray(weight.reshape(-1, PANEL, weight.shape[1]).transpose(0, 2, 1))
