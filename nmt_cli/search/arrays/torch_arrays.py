"""The array operations of a search in torch; none synchronises with a GPU unless it has to."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nmt_cli.batch import moved
from nmt_cli.search.arrays.interface import Shape
from nmt_cli.search.arrays.torch_top_k import top_k


class TorchArrays:
    """`Arrays` of tensors on one device."""

    def __init__(self, device: torch.device | str) -> None:
        self.device = torch.device(device)

    def inference(self) -> AbstractContextManager[object]:
        """A context for computing without gradients."""
        return torch.inference_mode()

    def integers(self, values: Sequence[Any]) -> Tensor:
        """An array of these numbers, or of equally long rows of them."""
        return moved(torch.tensor(values, dtype=torch.int64), self.device)

    def floats(self, values: Sequence[float]) -> Tensor:
        """An array of these numbers."""
        return moved(torch.tensor(values, dtype=torch.float32), self.device)

    def filled(self, shape: Shape, value: int) -> Tensor:
        """Integers that all have this value."""
        return torch.full(tuple(shape), value, dtype=torch.int64, device=self.device)

    def filled_floats(self, shape: Shape, value: float) -> Tensor:
        """Floats that all have this value."""
        return torch.full(tuple(shape), value, dtype=torch.float32, device=self.device)

    def arange(self, count: int) -> Tensor:
        """The integers below `count`."""
        return torch.arange(count, device=self.device)

    def from_numpy(self, array: np.ndarray) -> Tensor:
        """The same numbers, of the same type."""
        return moved(torch.from_numpy(array), self.device)

    def to_numpy(self, array: Tensor) -> np.ndarray:
        """The same numbers in memory that NumPy can read; waits for a GPU."""
        return array.cpu().numpy()

    def as_floats(self, array: Tensor) -> Tensor:
        """Integers or wider floats as floats."""
        return array.float()

    def as_doubles(self, array: Tensor) -> Tensor:
        """Floats of 64 bits."""
        return array.double()

    def copied(self, array: Tensor) -> Tensor:
        """A copy."""
        return array.clone()

    def padded(self, array: Tensor, axis: int, count: int, value: int = 0) -> Tensor:
        """The array with `count` more entries of this value at the end of an axis."""
        # torch counts the axes from the last one, with an entry for each end.
        padding = [0, 0] * (array.dim() - 1 - axis) + [0, count]
        return torch.nn.functional.pad(array, padding, value=value)

    def joined(self, arrays: Sequence[Tensor], axis: int = 0) -> Tensor:
        """The arrays one after the other."""
        return torch.cat(list(arrays), dim=axis)

    def repeated(self, column: Tensor, times: int) -> Tensor:
        """(rows,) -> (rows * times,), each entry several times."""
        return column[:, None].expand(-1, times).flatten()

    def chosen(self, array: Tensor, indices: Tensor) -> Tensor:
        """(rows, columns, ...) -> (rows, chosen, ...): other columns for each row."""
        if array.dim() == 3:
            indices = indices[:, :, None].expand(-1, -1, array.shape[2])
        return array.gather(1, indices)

    def best_first(self, array: Tensor) -> tuple[Tensor, Tensor]:
        """Each row of a matrix in descending order, and the columns the values come from."""
        values, order = array.sort(dim=1, descending=True, stable=True)
        return values, order

    def replaced(self, array: Tensor, mask: Tensor, value: int | float) -> Tensor:
        """A copy with `value` where `mask` is true."""
        return array.masked_fill(mask, value)

    def fill_rows(self, array: Tensor, rows: Tensor, value: int | float) -> None:
        """Set all numbers of these rows."""
        array.index_fill_(0, rows, value)

    def add_at(self, array: Tensor, indices: tuple[Tensor, Tensor], values: Tensor) -> None:
        """Add each value to the number at its place; places may occur several times."""
        array.index_put_(indices, values, accumulate=True)

    def maxima(self, array: Tensor) -> Tensor:
        """The greatest value of each row."""
        return array.amax(dim=1)

    def at_most(self, array: Tensor, limit: int) -> Tensor:
        """The lesser of each number and the limit."""
        return array.clamp(max=limit)

    def at_least(self, array: Tensor, limit: int) -> Tensor:
        """The greater of each number and the limit."""
        return array.clamp(min=limit)

    def without_nan(self, array: Tensor) -> Tensor:
        """-inf in place of NaN."""
        return array.nan_to_num(nan=-torch.inf, neginf=-torch.inf)

    def places(self, mask: Tensor) -> tuple[Tensor, ...]:
        """The indices at which a mask is true, an array for each axis."""
        return mask.nonzero().unbind(1)

    def distinct_rows(self, array: Tensor) -> Tensor:
        """The different rows of a matrix, sorted."""
        distinct: Tensor = torch.unique(array, dim=0)
        return distinct

    def windows(self, array: Tensor, size: int) -> Tensor:
        """(rows, columns) -> (rows, columns - size + 1, size): `size` neighbouring columns."""
        return array.unfold(1, size, 1)

    def top_k(self, scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Values and columns of the best `k` (or all) of each row; ties go to the first column."""
        return top_k(scores, k)

    def logarithms(self, array: Tensor) -> Tensor:
        """The natural logarithm of each number."""
        return array.log()

    def softmax(self, scores: Tensor) -> Tensor:
        """The exponentials of each row, divided by their sum; 0 in a row that has no sum."""
        return scores.softmax(dim=1).nan_to_num(0.0)

    def running_sums(self, array: Tensor) -> Tensor:
        """The sums of each row up to each column."""
        return array.cumsum(dim=1)

    def first_above(self, ascending: Tensor, limits: Tensor) -> Tensor:
        """The first column above the limit of its row, or the last: (rows, 1)."""
        columns = torch.searchsorted(ascending, limits, right=True)
        return columns.clamp(max=ascending.shape[1] - 1)
