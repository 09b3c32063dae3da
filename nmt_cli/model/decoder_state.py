"""What a decoder remembers between steps: keys and values of the prefix, and of the source."""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

GROWTH = 32


@dataclass
class DecoderState:
    """Rows (hypotheses) of any lengths, each bound to a source; a step consumes it.

    self_keys: (layers, rows, heads, capacity, d_k), self_values: (..., d_v): the prefixes.
    cross_keys: (layers, sources, heads, src length, d_k), cross_values: (..., d_v): computed once
    for each source and shared by its rows.
    cross_mask: (sources, src length), True where the source has a token.
    source_of: (rows,) int64; lengths: (rows,) int64, tokens already seen; max_length: their bound.
    """

    self_keys: Float[Tensor, "layers rows heads capacity d_k"]
    self_values: Float[Tensor, "layers rows heads capacity d_v"]
    cross_keys: Float[Tensor, "layers sources heads src d_k"]
    cross_values: Float[Tensor, "layers sources heads src d_v"]
    cross_mask: Bool[Tensor, "sources src"]
    source_of: Int[Tensor, " rows"]
    lengths: Int[Tensor, " rows"]
    max_length: int

    @property
    def rows(self) -> int:
        """How many hypotheses there are."""
        return len(self.lengths)

    def select(self, rows: Int[Tensor, " chosen"]) -> "DecoderState":
        """The given rows in the given order; rows may repeat, and sources without a row go."""
        source_of = self.source_of[rows]
        kept, renumbered = torch.unique(source_of, return_inverse=True)
        every = len(kept) == len(self.cross_mask)
        lengths = self.lengths[rows]
        longest = int(lengths.max()) if len(lengths) else 0
        capacity = -(-(longest + 1) // GROWTH) * GROWTH
        return DecoderState(
            self.self_keys[:, :, :, :capacity].index_select(1, rows),
            self.self_values[:, :, :, :capacity].index_select(1, rows),
            self.cross_keys if every else self.cross_keys.index_select(1, kept),
            self.cross_values if every else self.cross_values.index_select(1, kept),
            self.cross_mask if every else self.cross_mask.index_select(0, kept),
            source_of if every else renumbered,
            lengths,
            longest,
        )

    def merge(self, other: "DecoderState") -> "DecoderState":
        """The rows of both, this one's first; source numbers of `other` move up."""
        return DecoderState(
            _join(self.self_keys, other.self_keys, 1),
            _join(self.self_values, other.self_values, 1),
            _join(self.cross_keys, other.cross_keys, 1),
            _join(self.cross_values, other.cross_values, 1),
            _join_masks(self.cross_mask, other.cross_mask),
            torch.cat([self.source_of, other.source_of + len(self.cross_mask)]),
            torch.cat([self.lengths, other.lengths]),
            max(self.max_length, other.max_length),
        )

    def narrow(self, longest: int) -> "DecoderState":
        """The same rows, whose sources all have at most `longest` tokens."""
        return replace(
            self,
            cross_keys=self.cross_keys[:, :, :, :longest],
            cross_values=self.cross_values[:, :, :, :longest],
            cross_mask=self.cross_mask[:, :longest],
        )

    def make_room(self) -> None:
        """Capacity for one more token in every row."""
        missing = self.max_length + 1 - self.self_keys.shape[3]
        if missing > 0:
            self.self_keys = F.pad(self.self_keys, (0, 0, 0, max(missing, GROWTH)))
            self.self_values = F.pad(self.self_values, (0, 0, 0, max(missing, GROWTH)))

    @property
    def beams(self) -> int:
        """Rows of each source where they stand in order and in equal number; 0 otherwise."""
        sources = len(self.cross_mask)
        if not sources or self.rows % sources:
            return 0
        each = self.rows // sources
        order = torch.arange(self.rows, device=self.source_of.device) // each
        return each if torch.equal(order, self.source_of) else 0


def _join(first: Tensor, second: Tensor, dim: int) -> Tensor:
    """Concatenate (layers, n, heads, length, width) tensors whose lengths may differ."""
    length = max(first.shape[3], second.shape[3])
    padded = [F.pad(one, (0, 0, 0, length - one.shape[3])) for one in (first, second)]
    return torch.cat(padded, dim)


def _join_masks(first: Tensor, second: Tensor) -> Tensor:
    length = max(first.shape[1], second.shape[1])
    return torch.cat([F.pad(one, (0, length - one.shape[1])) for one in (first, second)])
