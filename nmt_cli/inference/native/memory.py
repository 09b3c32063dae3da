"""Memory for the kernels: arrays that begin at a cache line, as SIMD instructions read fastest."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike

# Bytes of a cache line.
CACHE_LINE = 64


def address(array: np.ndarray | None) -> int | None:
    """The address of an array's numbers; None where there is no array."""
    return None if array is None else array.__array_interface__["data"][0]


def empty(shape: int | Sequence[int], dtype: DTypeLike = np.float32) -> np.ndarray:
    """An uninitialised array of this shape."""
    kind = np.dtype(dtype)
    size = (shape if isinstance(shape, int) else math.prod(shape)) * kind.itemsize
    buffer = np.empty(size + CACHE_LINE, np.uint8)
    start = -buffer.__array_interface__["data"][0] % CACHE_LINE
    return buffer[start : start + size].view(kind).reshape(shape)
