"""The array operations of a search in NumPy."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from nmt_cli.search.arrays.interface import Shape

# Wider rows are sorted by keys, and searched one by one.
NARROW = 64
# The low bits of a key, and the parts of a float.
COLUMN = np.uint64((1 << 32) - 1)
WORST = np.uint64((1 << 64) - 1)
SIGN, MAGNITUDE = np.uint32(1 << 31), np.uint32((1 << 31) - 1)
# The best of a row are looked for in the blocks of so many columns that have the greatest maxima,
# if these are at most this share of the row.
BLOCK = 64
SEARCHED = 0.25


class NumpyArrays:
    """`Arrays` of NumPy; use `NUMPY`."""

    def inference(self) -> AbstractContextManager[object]:
        """A context for computing; -inf minus -inf is NaN, as it is in torch without a warning."""
        return np.errstate(invalid="ignore", divide="ignore", over="ignore")

    def integers(self, values: Sequence[Any]) -> np.ndarray:
        """An array of these numbers, or of equally long rows of them."""
        return np.array(values, dtype=np.int64)

    def floats(self, values: Sequence[float]) -> np.ndarray:
        """An array of these numbers."""
        return np.array(values, dtype=np.float32)

    def filled(self, shape: Shape, value: int) -> np.ndarray:
        """Integers that all have this value."""
        return np.full(shape, value, dtype=np.int64)

    def filled_floats(self, shape: Shape, value: float) -> np.ndarray:
        """Floats that all have this value."""
        return np.full(shape, value, dtype=np.float32)

    def arange(self, count: int) -> np.ndarray:
        """The integers below `count`."""
        return np.arange(count, dtype=np.int64)

    def from_numpy(self, array: np.ndarray) -> np.ndarray:
        """The array itself."""
        return array

    def to_numpy(self, array: np.ndarray) -> np.ndarray:
        """The array itself."""
        return array

    def as_floats(self, array: np.ndarray) -> np.ndarray:
        """Integers or wider floats as floats."""
        return array.astype(np.float32)

    def as_doubles(self, array: np.ndarray) -> np.ndarray:
        """Floats of 64 bits."""
        return array.astype(np.float64)

    def copied(self, array: np.ndarray) -> np.ndarray:
        """A copy."""
        return array.copy()

    def padded(self, array: np.ndarray, axis: int, count: int, value: int = 0) -> np.ndarray:
        """The array with `count` more entries of this value at the end of an axis."""
        shape = list(array.shape)
        shape[axis] = count
        return np.concatenate([array, np.full(shape, value, array.dtype)], axis=axis)

    def joined(self, arrays: Sequence[np.ndarray], axis: int = 0) -> np.ndarray:
        """The arrays one after the other."""
        return np.concatenate(arrays, axis=axis)

    def repeated(self, column: np.ndarray, times: int) -> np.ndarray:
        """(rows,) -> (rows * times,), each entry several times."""
        return column.repeat(times)

    def chosen(self, array: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """(rows, columns, ...) -> (rows, chosen, ...): other columns for each row."""
        chosen: np.ndarray = array[np.arange(len(array))[:, None], indices]
        return chosen

    def best_first(self, array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each row of a matrix in descending order, and the columns the values come from."""
        if array.shape[1] > NARROW and array.dtype == np.float32:
            return _of_keys(array, np.sort(_keys(array, np.arange(array.shape[1])), axis=1))
        order = np.argsort(-array, axis=1, kind="stable")
        return self.chosen(array, order), order

    def replaced(self, array: np.ndarray, mask: np.ndarray, value: int | float) -> np.ndarray:
        """A copy with `value` where `mask` is true."""
        copy = array.copy()
        np.copyto(copy, value, where=mask, casting="unsafe")
        return copy

    def fill_rows(self, array: np.ndarray, rows: np.ndarray, value: int | float) -> None:
        """Set all numbers of these rows."""
        array[rows] = value

    def add_at(
        self, array: np.ndarray, indices: tuple[np.ndarray, np.ndarray], values: np.ndarray
    ) -> None:
        """Add each value to the number at its place; places may occur several times."""
        np.add.at(array, indices, values)

    def maxima(self, array: np.ndarray) -> np.ndarray:
        """The greatest value of each row."""
        greatest: np.ndarray = array.max(axis=1)
        return greatest

    def at_most(self, array: np.ndarray, limit: int) -> np.ndarray:
        """The lesser of each number and the limit."""
        lesser: np.ndarray = np.minimum(array, limit)
        return lesser

    def at_least(self, array: np.ndarray, limit: int) -> np.ndarray:
        """The greater of each number and the limit."""
        greater: np.ndarray = np.maximum(array, limit)
        return greater

    def without_nan(self, array: np.ndarray) -> np.ndarray:
        """-inf in place of NaN."""
        numbers: np.ndarray = np.fmax(array, array.dtype.type(-np.inf))
        return numbers

    def places(self, mask: np.ndarray) -> tuple[np.ndarray, ...]:
        """The indices at which a mask is true, an array for each axis."""
        return mask.nonzero()

    def distinct_rows(self, array: np.ndarray) -> np.ndarray:
        """The different rows of a matrix, sorted."""
        return np.unique(array, axis=0)

    def windows(self, array: np.ndarray, size: int) -> np.ndarray:
        """(rows, columns) -> (rows, columns - size + 1, size): `size` neighbouring columns."""
        return np.lib.stride_tricks.sliding_window_view(array, size, axis=1)

    def top_k(self, scores: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Values and columns of the best `k` (or all) of each row; ties go to the first column."""
        width = scores.shape[1]
        k = min(k, width)
        if k * BLOCK <= SEARCHED * width:
            columns = _columns_of_best_blocks(scores, k)
            keys = _keys(self.chosen(scores, np.minimum(columns, width - 1)), columns)
            # The last block may be shorter than the others.
            keys[columns >= width] = WORST
        else:
            keys = _keys(scores, np.arange(width))
        best = np.partition(keys, k - 1, axis=1)[:, :k] if k < keys.shape[1] else keys
        return _of_keys(scores, np.sort(best, axis=1))

    def logarithms(self, array: np.ndarray) -> np.ndarray:
        """The natural logarithm of each number."""
        logarithms: np.ndarray = np.log(array)
        return logarithms

    def softmax(self, scores: np.ndarray) -> np.ndarray:
        """The exponentials of each row, divided by their sum; 0 in a row that has no sum."""
        exponentials = scores - scores.max(axis=1, keepdims=True)
        np.exp(exponentials, out=exponentials)
        sums = exponentials.sum(axis=1, keepdims=True)
        exponentials /= sums
        shares: np.ndarray = np.fmax(exponentials, 0, out=exponentials)
        return shares

    def running_sums(self, array: np.ndarray) -> np.ndarray:
        """The sums of each row up to each column."""
        sums: np.ndarray = array.cumsum(axis=1)
        return sums

    def first_above(self, ascending: np.ndarray, limits: np.ndarray) -> np.ndarray:
        """The first column above the limit of its row, or the last: (rows, 1)."""
        if ascending.shape[1] <= NARROW:
            columns = np.count_nonzero(ascending <= limits, axis=1)
        else:
            columns = np.array(
                [
                    np.searchsorted(row, limit, side="right")
                    for row, limit in zip(ascending, limits[:, 0], strict=True)
                ],
                np.int64,
            )
        return self.at_most(columns[:, None], ascending.shape[1] - 1)


def _columns_of_best_blocks(scores: np.ndarray, k: int) -> np.ndarray:
    """(rows, k * BLOCK): the columns of the k blocks of each row that have the greatest maxima.

    The best k of a row are in them, and of equal ones the first: each block that is left out has a
    maximum that is at most that of k others, and comes after those with the same one.
    """
    rows, width = scores.shape
    whole = width // BLOCK * BLOCK
    maxima = scores[:, :whole].reshape(rows, -1, BLOCK).max(2)
    if whole < width:
        maxima = np.concatenate([maxima, scores[:, whole:].max(1, keepdims=True)], axis=1)
    keys = _keys(maxima, np.arange(maxima.shape[1]))
    _, blocks = _of_keys(maxima, np.partition(keys, k - 1, axis=1)[:, :k])
    columns: np.ndarray = blocks[:, :, None] * BLOCK + np.arange(BLOCK)
    return columns.reshape(rows, -1)


def _keys(scores: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Integers that ascend from the best score to the worst, with the column in the low bits.

    No two are equal, so that any sort gives the same order, and NumPy sorts integers with SIMD.
    """
    # -0.0 + 0.0 is 0.0: equal scores get equal bits.
    bits = (scores + np.float32(0.0)).view(np.uint32)
    # Greater negative numbers have lesser bits.
    ascending = np.where(bits & SIGN, bits, MAGNITUDE - bits)
    keys: np.ndarray = (ascending.astype(np.uint64) << np.uint64(32)) | columns.astype(np.uint64)
    return keys


def _of_keys(scores: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values and the columns of these keys."""
    columns = (keys & COLUMN).astype(np.int64)
    return NUMPY.chosen(scores, columns), columns


NUMPY = NumpyArrays()
