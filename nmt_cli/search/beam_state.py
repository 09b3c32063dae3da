"""What a search keeps of every slot from one step to the next."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.search.decoder import Decoder
from nmt_cli.search.strategy import FinishedHypotheses


class BeamState(NamedTuple):
    """The live hypotheses of every slot, and the finished ones.

    log_probs: of the live ones, -inf where there is none; ids: the last of each; parents: the
    places in the beam they were in before; lengths: ids they have; busy: 1 while a slot has work to
    do, 0 when it is done or free: it stays as it is then.
    """

    log_probs: Float[Tensor, "slots beam"]
    ids: Int[Tensor, "slots beam"]
    parents: Int[Tensor, "slots beam"]
    lengths: Int[Tensor, " slots"]
    busy: Int[Tensor, " slots"]
    pool: FinishedHypotheses

    @classmethod
    def empty(cls, decoder: Decoder, finished: int) -> "BeamState":
        """All slots are free; `finished` hypotheses of each will be kept."""
        shape, device = (decoder.slots, decoder.beam), decoder.device
        ids = torch.full(shape, decoder.symbols.start_id, device=device)
        return cls(
            torch.full(shape, -torch.inf, device=device),
            ids,
            torch.zeros_like(ids),
            ids.new_zeros(decoder.slots),
            ids.new_zeros(decoder.slots),
            FinishedHypotheses.empty(decoder.slots, finished, device),
        )

    def become(self, other: "BeamState") -> None:
        """Take over its numbers; the tensors stay where they are."""
        for old, new in zip((*self[:-1], *self.pool), (*other[:-1], *other.pool), strict=True):
            old.copy_(new)

    def admit(self, where: Int[Tensor, " new"], start_id: int, starts: int) -> None:
        """Slots `where` begin with `starts` hypotheses that live and are empty."""
        self.lengths.index_fill_(0, where, 0)
        self.busy.index_fill_(0, where, 1)
        self.log_probs.index_fill_(0, where, -torch.inf)
        self.log_probs[:, :starts].index_fill_(0, where, 0.0)
        self.ids.index_fill_(0, where, start_id)
        self.parents.index_fill_(0, where, 0)
        self.pool.scores.index_fill_(0, where, -torch.inf)

    def retire(self, where: Int[Tensor, " done"]) -> None:
        """Slots `where` are free."""
        self.busy.index_fill_(0, where, 0)
        self.lengths.index_fill_(0, where, 0)
        self.log_probs.index_fill_(0, where, -torch.inf)
