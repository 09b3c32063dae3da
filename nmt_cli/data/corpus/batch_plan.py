"""The batch plan (section 5.1): which pairs make up each step, a pure function of (seed, epoch).

A step's global batch is V shards; V is fixed when a run starts, whatever the number of ranks. A
shard holds pairs of about one length, up to batch_tokens / V tokens on each side, so that little
padding is needed inside attention; shards of different lengths are mixed into a batch at random.
Any (epoch, batch) can be computed without the ones before: that is what makes a resume exact.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nmt_cli.batch import Shape

# Streams come in these sizes, in sixteenths of the capacity. Kernels are made, and kept, for each
# size, so rare ones are far apart.
SIZES = (4, 8, 11, 13, 14, 15, 16)


class Position(NamedTuple):
    """Where training stands: the next batch to be used."""

    epoch: int
    batch: int


@dataclass(frozen=True)
class Epoch:
    """One pass over the corpus.

    order: (pairs,) pair ids; bounds: (all shards + 1,) where each shard begins in it;
    shuffled: (all shards,) the shards in the order of their use, V to a batch.
    """

    order: np.ndarray
    bounds: np.ndarray
    shuffled: np.ndarray
    shards: int

    @property
    def batches(self) -> int:
        """How many steps this pass takes."""
        return -(-len(self.shuffled) // self.shards)

    def shard(self, batch: int, shard: int) -> np.ndarray:
        """(n,) pair ids of one shard; empty where the last batch is not full."""
        place = batch * self.shards + shard
        if shard >= self.shards or place >= len(self.shuffled):
            return self.order[:0]
        number = self.shuffled[place]
        return self.order[self.bounds[number] : self.bounds[number + 1]]

    def pairs(self, batch: int) -> np.ndarray:
        """(n,) pair ids of a whole global batch."""
        return np.concatenate([self.shard(batch, shard) for shard in range(self.shards)])


class BatchPlan:
    """Steps for pairs of the given lengths; the same arguments give the same plan for ever."""

    def __init__(
        self,
        src_lengths: np.ndarray,
        tgt_lengths: np.ndarray,
        batch_tokens: int,
        shards: int,
        seed: int,
    ) -> None:
        """Lengths are (pairs,) in tokens; batch_tokens bounds each side of a global batch."""
        self.src_lengths = np.asarray(src_lengths, dtype=np.int64)
        self.tgt_lengths = np.asarray(tgt_lengths, dtype=np.int64)
        self.capacity = max(1, batch_tokens // shards)
        self.shards = shards
        self.seed = seed
        # Where lengths differ between epochs: those (src, tgt) of the epoch that is asked for.
        self.lengths_of: Callable[[int], tuple[np.ndarray, np.ndarray]] | None = None
        self._latest: tuple[int, Epoch] | None = None
        # What a shard may hold.
        self.shape = self._make_shape()

    def _make_shape(self) -> Shape:
        return Shape(self.capacity, self.capacity, len(self.src_lengths))

    def epoch(self, number: int) -> Epoch:
        """The plan of one pass; the latest one is kept."""
        if self._latest is None or self._latest[0] != number:
            if self.lengths_of is not None:
                self.src_lengths, self.tgt_lengths = self.lengths_of(number)
            self._latest = (number, self._make_epoch(number))
        return self._latest[1]

    def _make_epoch(self, number: int) -> Epoch:
        random = np.random.Generator(np.random.PCG64([self.seed, number]))
        order = random.permutation(len(self.src_lengths))
        # Equal lengths side by side, pairs of one length in random order.
        sides = (_narrow(side)[order] for side in (self.src_lengths, self.tgt_lengths))
        order = order[np.lexsort(tuple(sides))]
        bounds = cut(self.src_lengths[order], self.tgt_lengths[order], self.shape)
        return Epoch(order, bounds, random.permutation(len(bounds) - 1), self.shards)

    def tokens(self, epoch: int, batch: int) -> int:
        """Target tokens of a global batch: what its summed loss is divided by."""
        pairs = self.epoch(epoch).pairs(batch)
        return int(self.tgt_lengths[pairs].sum())

    def shape_of(self, pairs: np.ndarray) -> Shape:
        """What the shard of these pairs is filled up to.

        Its fuller side nearly reaches the capacity, so filler is a few per cent.
        """
        src, tgt = int(self.src_lengths[pairs].sum()), int(self.tgt_lengths[pairs].sum())
        return Shape(self._filled(src), self._filled(tgt), len(pairs))

    def _filled(self, tokens: int) -> int:
        """The size of a stream with so many tokens; a single long pair may exceed the capacity."""
        sizes = (-(-self.capacity * size // SIZES[-1]) for size in SIZES)
        step = -(-self.capacity // SIZES[-1])
        return next((size for size in sizes if size >= tokens), tokens + -tokens % step)

    def positions(self, start: Position) -> Iterator[Position]:
        """All batches from `start` on, without end."""
        epoch, batch = start
        while True:
            for number in range(batch, self.epoch(epoch).batches):
                yield Position(epoch, number)
            epoch, batch = epoch + 1, 0


def _narrow(lengths: np.ndarray) -> np.ndarray:
    """The same lengths in as few bytes as they need: those are sorted by their bytes, in a sixth
    of the time."""
    return lengths.astype(np.min_scalar_type(lengths.max(initial=0)))


def cut(src_lengths: np.ndarray, tgt_lengths: np.ndarray, room: Shape) -> np.ndarray:
    """Where shards begin, so that each fits into `room` (or is one pair)."""
    src_ends, tgt_ends = np.cumsum(src_lengths), np.cumsum(tgt_lengths)
    bounds = [0]
    while bounds[-1] < len(src_ends):
        begin = bounds[-1]
        src_used = src_ends[begin] - src_lengths[begin]
        tgt_used = tgt_ends[begin] - tgt_lengths[begin]
        end = min(
            int(src_ends.searchsorted(src_used + room.src, side="right")),
            int(tgt_ends.searchsorted(tgt_used + room.tgt, side="right")),
            begin + room.pairs,
        )
        bounds.append(max(end, begin + 1))
    return np.asarray(bounds, dtype=np.int64)


def count_shards(batch_tokens: int, micro_batch_tokens: int, world_size: int) -> int:
    """V: as many shards as keep each within micro_batch_tokens, a multiple of the ranks.

    >>> [count_shards(25_000, 4_096, ranks) for ranks in (1, 8)]
    [7, 8]
    """
    needed = -(-batch_tokens // micro_batch_tokens)
    return -(-max(needed, 1) // world_size) * world_size
