"""Several models as one: a Decoder that averages their probabilities at every step."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.search.decoder import Decoder, Source
from nmt_cli.search.top_k import FullDistributionStep

# Numbers that torch works on at a time: a little fewer than it divides among threads (32,768).
PIECE = 32_000


def add_probabilities(
    one: Float[Tensor, "rows vocabulary"], other: Float[Tensor, "rows vocabulary"]
) -> Float[Tensor, "rows vocabulary"]:
    """log(exp(one) + exp(other)); each row has the same bits whatever rows stand beside it.

    On a CPU, torch computes most of a tensor in vectors and what is left at its end one number at a
    time, with another exponential: results may differ in the last bit. So each row is a tensor of
    its own here, in pieces that are not divided among threads (docs/decisions/011).
    """
    if one.device.type != "cpu":
        return torch.logaddexp(one, other)
    sums = torch.empty_like(one)
    columns = [torch.split(tensor, PIECE, dim=1) for tensor in (one, other, sums)]
    for pieces in zip(*columns, strict=True):
        for first, second, total in zip(*(piece.unbind() for piece in pieces), strict=True):
            torch.logaddexp(first, second, out=total)
    return sums


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
    def step(
        self, parents: Int[Tensor, " rows"], ids: Int[Tensor, " rows"]
    ) -> FullDistributionStep:
        """The logarithm of the mean of their probabilities."""
        total: Tensor | None = None
        for decoder in self._decoders:
            log_probs = decoder.step(parents, ids).full()
            total = log_probs if total is None else add_probabilities(total, log_probs)
        assert total is not None
        return FullDistributionStep(total - math.log(len(self._decoders)))
