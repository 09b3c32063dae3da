"""The AMX kernels with their instructions emulated in C, and what they compute in NumPy."""

import ctypes
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from native_cases import native_linear
from torch import Tensor

from nmt_cli.inference.native.library import load_library
from nmt_cli.inference.native.linear import Kernels
from nmt_cli.inference.packed.weights import Affine
from nmt_cli.kernels import library

AMX = 32
# The inputs of a tile in bf16.
TILE_INPUTS = 32


class Emulation(NamedTuple):
    """A library with the tile instructions in plain C, and the lanes of the vectors beside them."""

    library: ctypes.CDLL
    lanes: int

    @property
    def amx(self) -> Kernels:
        return Kernels(self.library, AMX)

    @property
    def vectors(self) -> Kernels:
        """The kernels without tiles that share all else with those of AMX."""
        return Kernels(self.library, self.lanes)


def emulate(cache: Path, lanes: int) -> Emulation:
    """Compile the library with the tiles of the kernels of so many lanes emulated."""
    before = library.FLAGS
    library.FLAGS = (*before, f"-DNMT_EMULATE_TILES={lanes}")
    try:
        loaded, reason = load_library(cache)
    finally:
        library.FLAGS = before
    assert loaded is not None, reason
    return Emulation(loaded, lanes)


def some_affine(outputs: int, inputs: int, *, bias: bool = True) -> Affine:
    generator = torch.Generator().manual_seed(outputs)
    weight = torch.randn(outputs, inputs, generator=generator)
    return Affine(weight, torch.randn(outputs, generator=generator) if bias else None)


def some_rows(count: int, inputs: int) -> Tensor:
    return torch.randn(count, inputs, generator=torch.Generator().manual_seed(count))


def product(kernels: Kernels, layer: Affine, precision: str, x: Tensor) -> Tensor:
    return native_linear(kernels, layer, precision)(x)


def to_bf16(numbers: np.ndarray) -> np.ndarray:
    return torch.from_numpy(numbers).bfloat16().float().numpy()


def tile_product(x: np.ndarray, weight: np.ndarray, precision: str) -> np.ndarray:
    """x W^T in float32, in the order of additions of AMX, with rows and weights in bf16 or split.

    In a tile, the products of even and those of odd inputs are added up, then their sums.
    """
    more = -x.shape[1] % TILE_INPUTS
    x, weight = (np.pad(each, ((0, 0), (0, more))) for each in (x, weight))
    pairs = [(to_bf16(x), to_bf16(weight))]
    if precision == "split":
        low_x, low_weight = (to_bf16(each - to_bf16(each)) for each in (x, weight))
        pairs = [(pairs[0][0], low_weight), pairs[0], (low_x, pairs[0][1])]
    sums = np.zeros((len(x), len(weight)), np.float32)
    for first in range(0, x.shape[1], TILE_INPUTS):
        for rows, columns in pairs:
            parts = [np.zeros_like(sums), np.zeros_like(sums)]
            for k in range(first, first + TILE_INPUTS):
                parts[k % 2] += rows[:, k, None] * columns[:, k]
            sums += parts[0] + parts[1]
    return sums
