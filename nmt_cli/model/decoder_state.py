"""The KV cache of the decoder: keys and values of the prefixes and of the sources."""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

# The capacity of the cache grows by this many tokens at a time.
GROWTH = 32


@dataclass
class DecoderState:
    """Rows (hypotheses) of any lengths, each bound to a source; a decoding step consumes it.

    self_keys: (layers, rows, heads, capacity, d_k), self_values: (..., d_v): the prefixes.
    cross_keys: (layers, sources, heads, src length, d_k), cross_values: (..., d_v): computed once
    for each source and shared by its rows.
    cross_mask: (sources, src length), True where the source has a token.
    source_of: (rows,) int64; lengths: (rows,) int64, tokens decoded so far; max_length: their
    maximum.
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
        """The number of hypotheses."""
        return len(self.lengths)

    def select(self, rows: Int[Tensor, " chosen"]) -> "DecoderState":
        """The given rows in the given order; rows may repeat, sources without a row are dropped."""
        source_of = self.source_of[rows]
        kept, renumbered = torch.unique(source_of, return_inverse=True)
        keeps_all = len(kept) == len(self.cross_mask)
        lengths = self.lengths[rows]
        longest = int(lengths.max()) if len(lengths) else 0
        capacity = -(-(longest + 1) // GROWTH) * GROWTH
        return DecoderState(
            self.self_keys[:, :, :, :capacity].index_select(1, rows),
            self.self_values[:, :, :, :capacity].index_select(1, rows),
            self.cross_keys if keeps_all else self.cross_keys.index_select(1, kept),
            self.cross_values if keeps_all else self.cross_values.index_select(1, kept),
            self.cross_mask if keeps_all else self.cross_mask.index_select(0, kept),
            source_of if keeps_all else renumbered,
            lengths,
            longest,
        )

    def merge(self, other: "DecoderState") -> "DecoderState":
        """The rows of both, this state's first; the source indices of `other` are shifted."""
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
        """The same rows with sources cut to `longest` tokens, which none of them exceeds."""
        return replace(
            self,
            cross_keys=self.cross_keys[:, :, :, :longest],
            cross_values=self.cross_values[:, :, :, :longest],
            cross_mask=self.cross_mask[:, :longest],
        )

    def reserve_token(self) -> None:
        """Make sure of capacity for one more token in every row."""
        missing = self.max_length + 1 - self.self_keys.shape[3]
        if missing > 0:
            self.self_keys = F.pad(self.self_keys, (0, 0, 0, max(missing, GROWTH)))
            self.self_values = F.pad(self.self_values, (0, 0, 0, max(missing, GROWTH)))

    @property
    def rows_per_source(self) -> int:
        """Rows for each source, if rows are in the order of sources and equally many; else 0."""
        sources = len(self.cross_mask)
        if not sources or self.rows % sources:
            return 0
        count = self.rows // sources
        order = torch.arange(self.rows, device=self.source_of.device) // count
        return count if torch.equal(order, self.source_of) else 0


def _join(first: Tensor, second: Tensor, dim: int) -> Tensor:
    """Concatenate (layers, n, heads, length, width) tensors whose lengths may differ."""
    length = max(first.shape[3], second.shape[3])
    padded = [F.pad(cache, (0, 0, 0, length - cache.shape[3])) for cache in (first, second)]
    return torch.cat(padded, dim)


def _join_masks(first: Tensor, second: Tensor) -> Tensor:
    length = max(first.shape[1], second.shape[1])
    return torch.cat([F.pad(mask, (0, length - mask.shape[1])) for mask in (first, second)])
