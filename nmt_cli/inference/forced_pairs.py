"""What teacher forcing gives for pairs of ids, whichever library computes it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from nmt_cli.search.arrays.interface import Array

BATCH_TOKENS = 4_096

Pair = tuple[Sequence[int], Sequence[int]]


class ForcedPair(NamedTuple):
    """The result for one pair.

    token_scores: the log-probability of each target id; attention: (target ids, source ids), the
    mean of the heads' attention weights, on the CPU; None where it was not asked for.
    """

    token_scores: list[float]
    attention: Array | None


class Forcer(Protocol):
    """A model that forces pairs of source and target ids, all of which end with EOS."""

    def force(self, pairs: Sequence[Pair], *, attention: bool = False) -> list[ForcedPair]:
        """The results of the pairs, in their order."""
        ...

    def cross_attentions(self, pairs: Sequence[Pair], last_layers: int) -> list[Array]:
        """The attention (target ids, source ids) of pairs: the mean of this many last layers."""
        ...


def batches_of(pairs: Sequence[Pair]) -> Iterator[list[int]]:
    """Batches of indices of pairs of similar length, so that there is little padding.

    The padded size of a batch is at most BATCH_TOKENS.
    """
    order = sorted(
        range(len(pairs)), key=lambda index: (len(pairs[index][1]), len(pairs[index][0]))
    )
    batch: list[int] = []
    widest = 0
    for index in order:
        width = len(pairs[index][0]) + len(pairs[index][1])
        if batch and max(widest, width) * (len(batch) + 1) > BATCH_TOKENS:
            yield batch
            batch, widest = [], 0
        batch.append(index)
        widest = max(widest, width)
    if batch:
        yield batch
