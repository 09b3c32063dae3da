"""The decoding state of the baselines: a hidden state for each row, and its source."""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_cli.batch import Segments


@dataclass
class RowState:
    """Rows (hypotheses) of any lengths, each bound to a source.

    hidden: (rows, ...), the hidden state of each row, of constant size.
    memory: (sources, src length, width): what attention attends to, shared by a source's rows.
    memory_mask: (sources, src length), True where the source has a token.
    source_of: (rows,) int64; lengths: (rows,) int64, tokens decoded so far; max_length: their
    maximum.
    """

    hidden: Float[Tensor, "rows ..."]
    memory: Float[Tensor, "sources src width"]
    memory_mask: Bool[Tensor, "sources src"]
    source_of: Int[Tensor, " rows"]
    lengths: Int[Tensor, " rows"]
    max_length: int

    @classmethod
    def begin(
        cls,
        hidden: Float[Tensor, "sources ..."],
        memory: Float[Tensor, "tokens width"],
        segments: Segments,
    ) -> "RowState":
        """One row for each source, with no tokens decoded."""
        sources = torch.arange(segments.sentences, device=memory.device)
        rectangle = segments.to_rectangle(memory)
        return cls(hidden, rectangle, segments.inside, sources, torch.zeros_like(sources), 0)

    @property
    def rows(self) -> int:
        """The number of hypotheses."""
        return len(self.lengths)

    def select(self, rows: Int[Tensor, " chosen"]) -> "RowState":
        """The given rows in the given order; rows may repeat, sources without a row are dropped."""
        kept, renumbered = torch.unique(self.source_of[rows], return_inverse=True)
        lengths = self.lengths[rows]
        longest = int(lengths.max()) if len(lengths) else 0
        return RowState(
            self.hidden[rows],
            self.memory[kept],
            self.memory_mask[kept],
            renumbered,
            lengths,
            longest,
        )

    def merge(self, other: "RowState") -> "RowState":
        """The rows of both, this state's first; the source indices of `other` are shifted."""
        width = max(self.memory_mask.shape[1], other.memory_mask.shape[1])
        states = self, other
        memory = [F.pad(s.memory, (0, 0, 0, width - s.memory.shape[1])) for s in states]
        mask = [F.pad(s.memory_mask, (0, width - s.memory_mask.shape[1])) for s in states]
        return RowState(
            torch.cat([self.hidden, other.hidden]),
            torch.cat(memory),
            torch.cat(mask),
            torch.cat([self.source_of, other.source_of + len(self.memory_mask)]),
            torch.cat([self.lengths, other.lengths]),
            max(self.max_length, other.max_length),
        )

    def narrow(self, longest: int) -> "RowState":
        """The same rows with sources cut to `longest` tokens, which none of them exceeds."""
        return replace(
            self, memory=self.memory[:, :longest], memory_mask=self.memory_mask[:, :longest]
        )

    def after(self, hidden: Float[Tensor, "rows ..."]) -> "RowState":
        """The same rows after one more token, with these hidden states."""
        return replace(
            self, hidden=hidden, lengths=self.lengths + 1, max_length=self.max_length + 1
        )
