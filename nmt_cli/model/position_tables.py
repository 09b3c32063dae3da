"""Section 3.5: the tables of positional encodings, computed with NumPy for every engine."""

import math
import types
from collections.abc import Callable, Mapping

import numpy as np

from nmt_cli.array_types import Float

# The rows that a table has at first.
TABLE_ROWS = 1_024
# From the number of rows and d_model to a table, (rows, d_model).
PositionTable = Callable[[int, int], Float[np.ndarray, "rows d_model"]]


def sinusoidal_table(rows: int, d_model: int) -> Float[np.ndarray, "rows d_model"]:
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same.

    >>> [round(float(x), 3) for x in sinusoidal_table(2, 4)[1]]
    [0.841, 0.54, 0.01, 1.0]
    """
    angles = position_angles(rows, d_model)
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return pairs.reshape(rows, -1).astype(np.float32)


def halves_table(rows: int, d_model: int) -> Float[np.ndarray, "rows d_model"]:
    """The same numbers in another order, that of Hugging Face: all sines, then all cosines."""
    return _halves(position_angles(rows, d_model))


def t2t_table(rows: int, d_model: int) -> Float[np.ndarray, "rows d_model"]:
    """All sines, then all cosines, of pos / 10000^(i / (d_model/2 - 1)).

    The longest wavelength is exactly 10000 * 2 pi, as Marian and tensor2tensor compute it; in the
    paper's formula it is a little shorter.

    >>> [round(float(x), 4) for x in t2t_table(2, 4)[1]]
    [0.8415, 0.0001, 0.5403, 1.0]
    """
    steps = np.arange(d_model // 2, dtype=np.float64)
    rates = np.exp(steps * (-math.log(10_000.0) / max(d_model // 2 - 1, 1)))
    return _halves(np.arange(rows, dtype=np.float64)[:, None] * rates[None, :])


def position_angles(rows: int, width: int) -> Float[np.ndarray, "rows half"]:
    """pos / 10000^(2i / width), in 64 bits."""
    halves = np.arange(0, width, 2, dtype=np.float64)
    rates = np.exp(halves * (-math.log(10_000.0) / width))
    return np.arange(rows, dtype=np.float64)[:, None] * rates[None, :]


def rotation_table(rows: int, width: int) -> Float[np.ndarray, "rows 2 width"]:
    """The factors that rotate each pair of neighbouring coordinates by `position_angles`.

    A rotated coordinate is the sum of itself times the first factor, the cosine, and of its
    neighbour times the second, minus or plus the sine.

    >>> rotation_table(2, 2)[1].round(3).tolist()
    [[0.5400000214576721, 0.5400000214576721], [-0.8410000205039978, 0.8410000205039978]]
    """
    angles = position_angles(rows, width)
    sines = np.stack([-np.sin(angles), np.sin(angles)], axis=-1).reshape(rows, width)
    return np.stack([np.cos(angles).repeat(2, axis=1), sines], axis=1).astype(np.float32)


def _halves(angles: Float[np.ndarray, "rows half"]) -> Float[np.ndarray, "rows d_model"]:
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1).astype(np.float32)


SINUSOIDS: Mapping[str, PositionTable] = types.MappingProxyType(
    {
        "sinusoidal": sinusoidal_table,
        "sinusoidal_halves": halves_table,
        "sinusoidal_t2t": t2t_table,
    }
)
