"""Section 3.5: how the order of the tokens enters the model."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nmt_cli.config.schema import ModelConfig
from nmt_cli.model.position_tables import (
    TABLE_ROWS,
    halves_table,
    position_angles,
    rotation_table,
    sinusoidal_table,
    t2t_table,
)

# From the number of rows and d_model to a table, (rows, d_model).
Encoding = Callable[[int, int], Tensor]


def sinusoidal_encoding(rows: int, d_model: int) -> Float[Tensor, "rows d_model"]:
    """`position_tables.sinusoidal_table` as a tensor.

    >>> [round(x, 3) for x in sinusoidal_encoding(2, 4)[1].tolist()]
    [0.841, 0.54, 0.01, 1.0]
    """
    return _tensor(sinusoidal_table(rows, d_model))


def sinusoidal_halves_encoding(rows: int, d_model: int) -> Float[Tensor, "rows d_model"]:
    """`position_tables.halves_table` as a tensor."""
    return _tensor(halves_table(rows, d_model))


def sinusoidal_t2t_encoding(rows: int, d_model: int) -> Float[Tensor, "rows d_model"]:
    """`position_tables.t2t_table` as a tensor."""
    return _tensor(t2t_table(rows, d_model))


def _tensor(table: np.ndarray) -> Tensor:
    # Always on the CPU: for the meta device torch would load its compiler, which takes a second.
    return torch.from_numpy(table)


class Positions(nn.Module):
    """The interface of positional encodings; this class adds none.

    rotates: whether `rotate` changes what it is given.
    """

    rotates = False

    def add(
        self,
        embedded: Float[Tensor, "tokens d_model"],
        positions: Int[Tensor, " tokens"],
        max_length: int,
    ) -> Float[Tensor, "tokens d_model"]:
        """Embeddings with their positions; `max_length` is an upper bound of `positions`."""
        del positions, max_length
        return embedded

    def rotate(
        self,
        heads: Float[Tensor, "tokens heads d_k"],
        positions: Int[Tensor, " tokens"],
        max_length: int,
    ) -> Float[Tensor, "tokens heads d_k"]:
        """Queries or keys of self-attention, rotated by their positions."""
        del positions, max_length
        return heads

    def rotation(self, max_length: int) -> Tensor:
        """(positions, 2, d_k), float32: `rotation_table` of at least `max_length` positions."""
        raise NotImplementedError(f"{type(self).__name__} does not rotate")

    def reserve(self, max_length: int) -> None:
        """Make tables long enough for sentences of `max_length` tokens, before they are needed."""


class SinusoidalPositions(Positions):
    """Sines and cosines added to the embeddings, as in the paper."""

    table: Tensor

    def __init__(self, config: ModelConfig, encoding: Encoding = sinusoidal_encoding) -> None:
        """encoding: computes the table."""
        super().__init__()
        self.encoding = encoding
        self.offset, self.width = config.position_offset, config.d_model
        self.register_buffer("table", self._rows(TABLE_ROWS), persistent=False)

    def _rows(self, count: int) -> Float[Tensor, "count d_model"]:
        """The encodings of the first `count` tokens of a sentence."""
        return self.encoding(self.offset + count, self.width)[self.offset :]

    def add(
        self,
        embedded: Float[Tensor, "tokens d_model"],
        positions: Int[Tensor, " tokens"],
        max_length: int,
    ) -> Float[Tensor, "tokens d_model"]:
        """Add rows of the table, which grows for sentences longer than it has rows."""
        self.reserve(max_length)
        return embedded + self.table.index_select(0, positions).to(embedded.dtype)

    def reserve(self, max_length: int) -> None:
        """Lengthen the table for longer sentences than it has rows."""
        if max_length > len(self.table):
            self.table = self._rows(2 * max_length).to(self.table)


class LearnedPositions(Positions):
    """A learned vector for each position (Table 3, row E)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(config.max_positions, config.d_model))

    def add(
        self,
        embedded: Float[Tensor, "tokens d_model"],
        positions: Int[Tensor, " tokens"],
        max_length: int,
    ) -> Float[Tensor, "tokens d_model"]:
        """Add the learned rows; positions beyond the last row share it."""
        del max_length
        last = len(self.weight) - 1
        return embedded + self.weight.index_select(0, positions.clamp(max=last)).to(embedded.dtype)


class RotaryPositions(Positions):
    """Queries and keys of self-attention rotated by position (Su et al. 2021, RoFormer)."""

    rotates = True

    cosines: Tensor
    sines: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.width = config.d_model // config.heads if config.d_k == "auto" else config.d_k
        self.register_buffer("cosines", torch.empty(0, device="cpu"), persistent=False)
        self.register_buffer("sines", torch.empty(0, device="cpu"), persistent=False)
        # Not a buffer: the kernels in C read it, on the CPU and in float32 whatever the model is.
        self._rotation = torch.empty(0, 2, self.width, device="cpu")
        self._fill(TABLE_ROWS)

    def _fill(self, rows: int) -> None:
        angles = position_angles(rows, self.width)
        self.cosines = _tensor(np.cos(angles)).to(self.cosines)
        self.sines = _tensor(np.sin(angles)).to(self.sines)

    def rotate(
        self,
        heads: Float[Tensor, "tokens heads d_k"],
        positions: Int[Tensor, " tokens"],
        max_length: int,
    ) -> Float[Tensor, "tokens heads d_k"]:
        """Rotate each pair of neighbouring coordinates by position times its rate."""
        self.reserve(max_length)
        cosines = self.cosines.index_select(0, positions)[:, None, :].to(heads.dtype)
        sines = self.sines.index_select(0, positions)[:, None, :].to(heads.dtype)
        even, odd = heads[..., 0::2], heads[..., 1::2]
        rotated = [even * cosines - odd * sines, even * sines + odd * cosines]
        return torch.stack(rotated, dim=-1).flatten(-2)

    def rotation(self, max_length: int) -> Float[Tensor, "positions 2 d_k"]:
        """What `rotate` multiplies by, for attention that rotates queries and keys itself."""
        self.reserve(max_length)
        if len(self._rotation) < len(self.cosines):
            self._rotation = _tensor(rotation_table(len(self.cosines), self.width))
        return self._rotation

    def reserve(self, max_length: int) -> None:
        """Lengthen the tables for longer sentences than they have rows."""
        if max_length > len(self.cosines):
            self._fill(2 * max_length)


# The tables of sinusoids, by the value of model.positions.
SINUSOIDAL_ENCODINGS: dict[str, Encoding] = {
    "sinusoidal": sinusoidal_encoding,
    "sinusoidal_halves": sinusoidal_halves_encoding,
    "sinusoidal_t2t": sinusoidal_t2t_encoding,
}
POSITIONS: dict[str, Callable[[ModelConfig], Positions]] = {
    **{
        name: partial(SinusoidalPositions, encoding=encoding)
        for name, encoding in SINUSOIDAL_ENCODINGS.items()
    },
    "learned": LearnedPositions,
    "rotary": RotaryPositions,
}
