"""Chooses the operations for an array, which is one of NumPy or of torch."""

import numpy as np

from nmt_cli.search.arrays.interface import Array, Arrays
from nmt_cli.search.arrays.numpy_arrays import NUMPY


def arrays_of(array: Array) -> Arrays:
    """The operations of the library and the device of an array."""
    if isinstance(array, np.ndarray):
        return NUMPY
    # Translating without torch must not import it.
    from nmt_cli.search.arrays.torch_arrays import TorchArrays

    return TorchArrays(array.device)
