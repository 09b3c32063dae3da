"""Ensembles: a decoder that averages the probabilities of several models at every step."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nmt_cli.search.decoder import Decoder, Source
from nmt_cli.search.top_k import FullDistributionStep

# Numbers that torch computes at a time: a few less than it divides among threads (32,768).
PIECE = 32_000


def add_probabilities(
    left: Float[Tensor, "rows vocabulary"], right: Float[Tensor, "rows vocabulary"]
) -> Float[Tensor, "rows vocabulary"]:
    """log(exp(left) + exp(right)); a row is bitwise equal whatever the other rows are.

    On a CPU, torch computes most of a tensor in SIMD vectors and the rest one number at a time with
    another exponential, so that results may differ in the last bit. Therefore each row is computed
    by itself, in pieces that are not divided among threads (docs/decisions/011).
    """
    if left.device.type != "cpu":
        return torch.logaddexp(left, right)
    sums = torch.empty_like(left)
    columns = [torch.split(tensor, PIECE, dim=1) for tensor in (left, right, sums)]
    for pieces in zip(*columns, strict=True):
        for first, second, total in zip(*(piece.unbind() for piece in pieces), strict=True):
            torch.logaddexp(first, second, out=total)
    return sums


class Ensemble:
    """A `search.decoder.Decoder` over others, which have the same slots, beam and symbols."""

    def __init__(self, decoders: Sequence[Decoder]) -> None:
        first = decoders[0]
        self.slots, self.beam = first.slots, first.beam
        self.symbols, self.device = first.symbols, first.device
        self.check_every = max(decoder.check_every for decoder in decoders)
        self._decoders = list(decoders)

    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        """Admit the sources in every member."""
        for decoder in self._decoders:
            decoder.admit(slots, sources)

    def retire(self, slots: Sequence[int]) -> None:
        """Free the slots in every member."""
        for decoder in self._decoders:
            decoder.retire(slots)

    @torch.inference_mode()
    def step(
        self, parents: Int[Tensor, " rows"], ids: Int[Tensor, " rows"]
    ) -> FullDistributionStep:
        """The logarithm of the mean of the members' probabilities."""
        total: Tensor | None = None
        for decoder in self._decoders:
            log_probs = decoder.step(parents, ids).full()
            total = log_probs if total is None else add_probabilities(total, log_probs)
        assert total is not None
        return FullDistributionStep(total - math.log(len(self._decoders)))
