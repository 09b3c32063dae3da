"""The state that a search keeps of every slot from one step to the next."""

import math
from typing import NamedTuple

from nmt_cli.array_types import Float, Int
from nmt_cli.search.arrays.choice import arrays_of
from nmt_cli.search.arrays.interface import Array
from nmt_cli.search.decoder import Decoder
from nmt_cli.search.strategy import FinishedHypotheses


class BeamState(NamedTuple):
    """The live hypotheses of every slot, and the finished ones.

    log_probs: of the live hypotheses, -inf where there is none; ids: the last id of each; parents:
    the beam index that each continues; lengths: the number of their ids; busy: 1 while a slot has
    work to do, 0 when it is done or free, and then nothing of it changes; ends: how many hypotheses
    have finished, where a number of them ends the search.
    """

    log_probs: Float[Array, "slots beam"]
    ids: Int[Array, "slots beam"]
    parents: Int[Array, "slots beam"]
    lengths: Int[Array, " slots"]
    busy: Int[Array, " slots"]
    ends: Int[Array, " slots"]
    finished: FinishedHypotheses

    @classmethod
    def empty(cls, decoder: Decoder, finished: int) -> "BeamState":
        """All slots are free; `finished` hypotheses of each source will be kept."""
        shape, arrays = (decoder.slots, decoder.beam), decoder.arrays
        return cls(
            arrays.filled_floats(shape, -math.inf),
            arrays.filled(shape, decoder.symbols.start_id),
            arrays.filled(shape, 0),
            arrays.filled(shape[:1], 0),
            arrays.filled(shape[:1], 0),
            arrays.filled(shape[:1], 0),
            FinishedHypotheses.empty(decoder.slots, finished, arrays),
        )

    def become(self, other: "BeamState") -> None:
        """Copy the values of `other` into the same arrays, as CUDA graphs need it."""
        own, others = (*self[:-1], *self.finished), (*other[:-1], *other.finished)
        for old, new in zip(own, others, strict=True):
            old[...] = new

    def admit(self, slots: Int[Array, " new"], start_id: int, hypotheses: int) -> None:
        """Begin in these slots with this many live hypotheses, which have no ids yet."""
        fill_rows = arrays_of(self.ids).fill_rows
        fill_rows(self.lengths, slots, 0)
        fill_rows(self.busy, slots, 1)
        fill_rows(self.ends, slots, 0)
        fill_rows(self.log_probs, slots, -math.inf)
        fill_rows(self.log_probs[:, :hypotheses], slots, 0.0)
        fill_rows(self.ids, slots, start_id)
        fill_rows(self.parents, slots, 0)
        fill_rows(self.finished.scores, slots, -math.inf)

    def retire(self, slots: Int[Array, " done"]) -> None:
        """Free these slots."""
        fill_rows = arrays_of(self.ids).fill_rows
        fill_rows(self.busy, slots, 0)
        fill_rows(self.lengths, slots, 0)
        fill_rows(self.log_probs, slots, -math.inf)
