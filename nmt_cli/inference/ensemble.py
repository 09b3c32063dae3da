"""Ensembles: a decoder that averages the probabilities of several models at every step."""

import math
from collections.abc import Sequence

import numpy as np

from nmt_cli.array_types import Float, Int
from nmt_cli.search.arrays.interface import Array, Arrays
from nmt_cli.search.decoder import Decoder, Source
from nmt_cli.search.full_distribution import FullDistributionStep

# Numbers that torch computes at a time: a few less than it divides among threads (32,768).
PIECE = 32_000


def add_probabilities(
    left: Float[Array, "rows vocabulary"], right: Float[Array, "rows vocabulary"]
) -> Float[Array, "rows vocabulary"]:
    """log(exp(left) + exp(right)); a row is bitwise equal whatever the other rows are.

    torch does this several times as fast as NumPy. Where it is not installed, NumPy does it, with
    other last bits.
    """
    if not isinstance(left, np.ndarray):
        return _add_in_torch(left, right)
    try:
        import torch
    except ImportError:
        return np.logaddexp(left, right)
    return _add_in_torch(torch.from_numpy(left), torch.from_numpy(right)).numpy()


def _add_in_torch(left: Array, right: Array) -> Array:
    """`add_probabilities` of tensors.

    On a CPU, torch computes most of a tensor in SIMD vectors and the rest one number at a time
    with another exponential, so that results may differ in the last bit. Therefore each row is
    computed by itself, in pieces that are not divided among threads (docs/decisions/011).
    """
    import torch

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
        self.symbols, self.arrays = first.symbols, first.arrays
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

    def step(self, parents: Int[Array, " rows"], ids: Int[Array, " rows"]) -> FullDistributionStep:
        """The logarithm of the mean of the members' probabilities."""
        total: Array = None
        with self.arrays.inference():
            for decoder in self._decoders:
                rows = (moved_to(decoder.arrays, self.arrays, array) for array in (parents, ids))
                log_probs = moved_to(self.arrays, decoder.arrays, decoder.step(*rows).full())
                total = log_probs if total is None else add_probabilities(total, log_probs)
            return FullDistributionStep(total - math.log(len(self._decoders)))


def moved_to(target: Arrays, origin: Arrays, array: Array) -> Array:
    """An array of the library of `origin` as one of the library of `target`."""
    return array if type(target) is type(origin) else target.from_numpy(origin.to_numpy(array))
