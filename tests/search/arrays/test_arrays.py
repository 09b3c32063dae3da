"""The array operations of NumPy and torch give the same results."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from nmt_cli.search.arrays.choice import arrays_of
from nmt_cli.search.arrays.interface import Array, Arrays
from nmt_cli.search.arrays.numpy_arrays import NUMPY
from nmt_cli.search.arrays.torch_arrays import TorchArrays

TORCH = TorchArrays("cpu")
FLOATS = np.random.default_rng(1).normal(size=(5, 200)).astype(np.float32).round(1)
FLOATS[2, 3:9], FLOATS[3] = -np.inf, -np.inf
FLOATS[0, 1], FLOATS[0, 2] = 0.0, -0.0
IDS = np.random.default_rng(2).integers(0, 6, (5, 7))
MASK = FLOATS[:, :7] > 0


def added(arrays: Arrays, floats: Array) -> Array:
    copy = arrays.copied(floats)
    indices = arrays.integers([0, 0, 4]), arrays.integers([3, 3, 1])
    arrays.add_at(copy, indices, arrays.floats([1.5, 2.0, -1.0]))
    return copy


def filled(arrays: Arrays, floats: Array) -> Array:
    copy = arrays.copied(floats)
    arrays.fill_rows(copy, arrays.integers([1, 3]), -np.inf)
    return copy


OPERATIONS: dict[str, Callable[[Arrays, Array, Array, Array], object]] = {
    "integers": lambda a, f, i, m: a.integers([[1, 2], [3, 4]]),
    "filled": lambda a, f, i, m: (a.filled((2, 3), 7), a.filled_floats((2,), -np.inf)),
    "arange": lambda a, f, i, m: a.arange(5),
    "kinds": lambda a, f, i, m: (a.as_floats(i), a.as_doubles(f)),
    "padded": lambda a, f, i, m: (a.padded(i, 1, 3, -1), a.padded(i, 0, 2)),
    "joined": lambda a, f, i, m: (a.joined([i, i]), a.joined([i, i], axis=1)),
    "repeated": lambda a, f, i, m: a.repeated(i[:, 0], 3),
    "chosen": lambda a, f, i, m: (a.chosen(f, i), a.chosen(f.reshape(5, 20, 10), i)),
    "narrow": lambda a, f, i, m: a.best_first(f[:, :30]),
    "wide": lambda a, f, i, m: a.best_first(f),
    "replaced": lambda a, f, i, m: (a.replaced(f[:, :7], m, -np.inf), a.replaced(i, m, 9)),
    "added": lambda a, f, i, m: (added(a, f), filled(a, f)),
    "limits": lambda a, f, i, m: (a.maxima(f), a.at_most(i, 3), a.at_least(i, 2)),
    "without_nan": lambda a, f, i, m: a.without_nan(f * 0),
    "places": lambda a, f, i, m: a.places(m),
    "distinct_rows": lambda a, f, i, m: a.distinct_rows(i % 2),
    "windows": lambda a, f, i, m: a.windows(i, 3),
    "top_k": lambda a, f, i, m: [a.top_k(f, k) for k in (1, 9, 199, 200, 300)],
    "running_sums": lambda a, f, i, m: a.running_sums(a.as_doubles(i)),
    "first_above_narrow": lambda a, f, i, m: a.first_above(
        a.running_sums(a.as_doubles(i[:, :50])), a.as_doubles(i[:, :1]) * 3 + 2
    ),
    "first_above": lambda a, f, i, m: a.first_above(
        a.running_sums(a.as_doubles(i)), a.as_doubles(i[:, :1]) * 3 + 2
    ),
}


def as_lists(result: object) -> object:
    if isinstance(result, tuple | list):
        return [as_lists(each) for each in result]
    array = arrays_of(result).to_numpy(result)
    return str(array.dtype), array.shape, array.tolist()


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("name", OPERATIONS)
def test_numpy_and_torch_agree_to_the_bit(name: str) -> None:
    operation = OPERATIONS[name]
    in_torch = operation(TORCH, *map(torch.from_numpy, (FLOATS, IDS, MASK)))
    assert as_lists(operation(NUMPY, FLOATS, IDS, MASK)) == as_lists(in_torch)


def test_softmax_and_logarithms_agree_up_to_rounding() -> None:
    doubles = FLOATS.astype(np.float64)
    with NUMPY.inference():
        result = NUMPY.softmax(doubles)
    assert np.allclose(result, TORCH.softmax(torch.from_numpy(doubles)).numpy(), atol=1e-15)
    assert (result[3] == 0.0).all()
    positive = np.abs(FLOATS[:2]) + 1
    expected = TORCH.logarithms(torch.from_numpy(positive)).numpy()
    assert np.allclose(NUMPY.logarithms(positive), expected)


@pytest.mark.parametrize("width", [640, 1_000, 1_023, 1_025])
@pytest.mark.parametrize("values", [2, 5, 400])
def test_best_of_wide_rows_are_those_of_a_stable_sort(width: int, values: int) -> None:
    """With many equal ones, rows of few numbers, and a last block of one column."""
    generator = np.random.default_rng(width * values)
    scores = generator.integers(-values, 1, (60, width)).astype(np.float32)
    scores[generator.random(scores.shape) < 0.2] = -np.inf
    scores[:9] = -np.inf
    scores[1, -1], scores[2, -2:], scores[3, [70, -1]] = -1.0, -1.0, -1.0
    expected = np.argsort(-scores, axis=1, kind="stable")
    for k in (1, 2, 3):
        found, columns = NUMPY.top_k(scores, k)
        assert np.array_equal(columns, expected[:, :k])
        assert np.array_equal(found, NUMPY.chosen(scores, columns))
