"""The state that a search keeps of every slot from one step to the next."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.search.decoder import Decoder
from nmt_cli.search.strategy import FinishedHypotheses


class BeamState(NamedTuple):
    """The live hypotheses of every slot, and the finished ones.

    log_probs: of the live hypotheses, -inf where there is none; ids: the last id of each; parents:
    the beam index that each continues; lengths: the number of their ids; busy: 1 while a slot has
    work to do, 0 when it is done or free, and then nothing of it changes.
    """

    log_probs: Float[Tensor, "slots beam"]
    ids: Int[Tensor, "slots beam"]
    parents: Int[Tensor, "slots beam"]
    lengths: Int[Tensor, " slots"]
    busy: Int[Tensor, " slots"]
    finished: FinishedHypotheses

    @classmethod
    def empty(cls, decoder: Decoder, finished: int) -> "BeamState":
        """All slots are free; `finished` hypotheses of each source will be kept."""
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
        """Copy the values of `other` into the same tensors, as CUDA graphs need it."""
        own, others = (*self[:-1], *self.finished), (*other[:-1], *other.finished)
        for old, new in zip(own, others, strict=True):
            old.copy_(new)

    def admit(self, slots: Int[Tensor, " new"], start_id: int, hypotheses: int) -> None:
        """Begin in these slots with this many live hypotheses, which have no ids yet."""
        self.lengths.index_fill_(0, slots, 0)
        self.busy.index_fill_(0, slots, 1)
        self.log_probs.index_fill_(0, slots, -torch.inf)
        self.log_probs[:, :hypotheses].index_fill_(0, slots, 0.0)
        self.ids.index_fill_(0, slots, start_id)
        self.parents.index_fill_(0, slots, 0)
        self.finished.scores.index_fill_(0, slots, -torch.inf)

    def retire(self, slots: Int[Tensor, " done"]) -> None:
        """Free these slots."""
        self.busy.index_fill_(0, slots, 0)
        self.lengths.index_fill_(0, slots, 0)
        self.log_probs.index_fill_(0, slots, -torch.inf)
