"""Several models as one: a Decoder that averages their probabilities at every step."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from nmt_cli.search.decoder import Decoder, Source
from nmt_cli.search.whole import WholeStep


class Ensemble:
    """A `search.decoder.Decoder` over others, which have equal slots, beams and symbols."""

    def __init__(self, decoders: Sequence[Decoder]) -> None:
        first = decoders[0]
        self.slots, self.beam = first.slots, first.beam
        self.symbols, self.device = first.symbols, first.device
        self.check_every = max(one.check_every for one in decoders)
        self._decoders = list(decoders)

    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        """To each of them."""
        for decoder in self._decoders:
            decoder.admit(slots, sources)

    def retire(self, slots: Sequence[int]) -> None:
        """From each of them."""
        for decoder in self._decoders:
            decoder.retire(slots)

    @torch.inference_mode()
    def step(self, parents: Int[Tensor, " rows"], ids: Int[Tensor, " rows"]) -> WholeStep:
        """The logarithm of the mean of their probabilities."""
        total: Tensor | None = None
        for decoder in self._decoders:
            log_probs = decoder.step(parents, ids).full()
            total = log_probs if total is None else torch.logaddexp(total, log_probs)
        assert total is not None
        return WholeStep(total - math.log(len(self._decoders)))
