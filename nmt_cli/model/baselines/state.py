"""What the decoders from before the Transformer remember: numbers of each row, and its source."""

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nmt_cli.batch import Segments


@dataclass
class RowState:
    """Rows (hypotheses) of any lengths, each bound to a source.

    own: (rows, ...), what the row has seen of its own; its size does not grow.
    seen: (sources, src length, width): what attention looks at, shared by the rows of a source.
    inside: (sources, src length), True where the source has a token.
    source_of: (rows,) int64; lengths: (rows,) int64, tokens already seen; max_length: their bound.
    """

    own: Float[Tensor, "rows ..."]
    seen: Float[Tensor, "sources src width"]
    inside: Bool[Tensor, "sources src"]
    source_of: Int[Tensor, " rows"]
    lengths: Int[Tensor, " rows"]
    max_length: int

    @classmethod
    def begin(
        cls,
        own: Float[Tensor, "sources ..."],
        seen: Float[Tensor, "tokens width"],
        segments: Segments,
    ) -> "RowState":
        """One row for each source, no token seen."""
        numbers = torch.arange(segments.sentences, device=seen.device)
        rectangle = segments.to_rectangle(seen)
        return cls(own, rectangle, segments.inside, numbers, torch.zeros_like(numbers), 0)

    @property
    def rows(self) -> int:
        """How many hypotheses there are."""
        return len(self.lengths)

    def select(self, rows: Int[Tensor, " chosen"]) -> "RowState":
        """The given rows in the given order; rows may repeat, and sources without a row go."""
        kept, renumbered = torch.unique(self.source_of[rows], return_inverse=True)
        lengths = self.lengths[rows]
        longest = int(lengths.max()) if len(lengths) else 0
        return RowState(
            self.own[rows], self.seen[kept], self.inside[kept], renumbered, lengths, longest
        )

    def merge(self, other: "RowState") -> "RowState":
        """The rows of both, this one's first; source numbers of `other` move up."""
        width = max(self.inside.shape[1], other.inside.shape[1])
        seen = [F.pad(one.seen, (0, 0, 0, width - one.seen.shape[1])) for one in (self, other)]
        inside = [F.pad(one.inside, (0, width - one.inside.shape[1])) for one in (self, other)]
        return RowState(
            torch.cat([self.own, other.own]),
            torch.cat(seen),
            torch.cat(inside),
            torch.cat([self.source_of, other.source_of + len(self.inside)]),
            torch.cat([self.lengths, other.lengths]),
            max(self.max_length, other.max_length),
        )

    def narrow(self, longest: int) -> "RowState":
        """The same rows, whose sources all have at most `longest` tokens."""
        return replace(self, seen=self.seen[:, :longest], inside=self.inside[:, :longest])

    def after(self, own: Float[Tensor, "rows ..."]) -> "RowState":
        """The same rows with one more token seen."""
        return replace(self, own=own, lengths=self.lengths + 1, max_length=self.max_length + 1)
