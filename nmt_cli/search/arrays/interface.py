"""The array operations of a search, which NumPy and torch both provide.

A search runs on arrays of the library that its engine computes with: NumPy for nmt's own kernels,
so that translating needs no torch, and torch for the other engines. Indexing, comparison and
arithmetic are written alike in both; `Arrays` has the rest.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

# A NumPy array or a torch tensor.
Array: TypeAlias = Any
Shape = Sequence[int]


@runtime_checkable
class Arrays(Protocol):
    """The operations of one library, on one device. Floats have 32 bits, integers 64."""

    def inference(self) -> AbstractContextManager[object]:
        """A context for computing without gradients."""
        ...

    def integers(self, values: Sequence[Any]) -> Array:
        """An array of these numbers, or of equally long rows of them."""
        ...

    def floats(self, values: Sequence[float]) -> Array:
        """An array of these numbers."""
        ...

    def filled(self, shape: Shape, value: int) -> Array:
        """Integers that all have this value."""
        ...

    def filled_floats(self, shape: Shape, value: float) -> Array:
        """Floats that all have this value."""
        ...

    def arange(self, count: int) -> Array:
        """The integers below `count`."""
        ...

    def from_numpy(self, array: np.ndarray) -> Array:
        """The same numbers, of the same type."""
        ...

    def to_numpy(self, array: Array) -> np.ndarray:
        """The same numbers in memory that NumPy can read; waits for a GPU."""
        ...

    def as_floats(self, array: Array) -> Array:
        """Integers or wider floats as floats."""
        ...

    def as_doubles(self, array: Array) -> Array:
        """Floats of 64 bits."""
        ...

    def copied(self, array: Array) -> Array:
        """A copy."""
        ...

    def padded(self, array: Array, axis: int, count: int, value: int = 0) -> Array:
        """The array with `count` more entries of this value at the end of an axis."""
        ...

    def joined(self, arrays: Sequence[Array], axis: int = 0) -> Array:
        """The arrays one after the other."""
        ...

    def repeated(self, column: Array, times: int) -> Array:
        """(rows,) -> (rows * times,), each entry several times."""
        ...

    def chosen(self, array: Array, indices: Array) -> Array:
        """(rows, columns, ...) -> (rows, chosen, ...): other columns for each row."""
        ...

    def best_first(self, array: Array) -> tuple[Array, Array]:
        """Each row of a matrix in descending order, and the columns the values come from.

        Equal values keep their order.
        """
        ...

    def replaced(self, array: Array, mask: Array, value: int | float) -> Array:
        """A copy with `value` where `mask` is true."""
        ...

    def fill_rows(self, array: Array, rows: Array, value: int | float) -> None:
        """Set all numbers of these rows."""
        ...

    def add_at(self, array: Array, indices: tuple[Array, Array], values: Array) -> None:
        """Add each value to the number at its place; places may occur several times."""
        ...

    def maxima(self, array: Array) -> Array:
        """The greatest value of each row."""
        ...

    def at_most(self, array: Array, limit: int) -> Array:
        """The lesser of each number and the limit."""
        ...

    def at_least(self, array: Array, limit: int) -> Array:
        """The greater of each number and the limit."""
        ...

    def without_nan(self, array: Array) -> Array:
        """-inf in place of NaN."""
        ...

    def places(self, mask: Array) -> tuple[Array, ...]:
        """The indices at which a mask is true, an array for each axis."""
        ...

    def distinct_rows(self, array: Array) -> Array:
        """The different rows of a matrix, sorted."""
        ...

    def windows(self, array: Array, size: int) -> Array:
        """(rows, columns) -> (rows, columns - size + 1, size): `size` neighbouring columns."""
        ...

    def top_k(self, scores: Array, k: int) -> tuple[Array, Array]:
        """Values and columns of the best `k` (or all) of each row, best first.

        Of equal values the one in the first column comes first.
        """
        ...

    def logarithms(self, array: Array) -> Array:
        """The natural logarithm of each number."""
        ...

    def softmax(self, scores: Array) -> Array:
        """The exponentials of each row, divided by their sum; 0 in a row that has no sum."""
        ...

    def running_sums(self, array: Array) -> Array:
        """The sums of each row up to each column."""
        ...

    def first_above(self, ascending: Array, limits: Array) -> Array:
        """The first column above the limit of its row, or the last: (rows, 1)."""
        ...
