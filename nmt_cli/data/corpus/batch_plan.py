"""The batch plan (section 5.1): which pairs make up each step, a pure function of (seed, epoch).

The global batch of a step consists of V shards; V is fixed when a run starts and does not depend on
the number of ranks. A shard holds pairs of similar lengths, up to batch_tokens / V tokens on each
side, so that attention needs little padding. Shards of different lengths are mixed into a batch at
random. Any (epoch, batch) can be computed without those before it, which makes a resume exact.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nmt_cli.batch import Shape

# The sizes of token streams, in sixteenths of the capacity. Kernels are compiled and kept for each
# size, so rare sizes are far apart.
SIZES = (4, 8, 11, 13, 14, 15, 16)


class Position(NamedTuple):
    """The position of training: the next batch to be used."""

    epoch: int
    batch: int


@dataclass(frozen=True)
class Epoch:
    """One pass over the corpus.

    order: (pairs,) pair ids; bounds: (all shards + 1,) index in `order` where each shard begins;
    shuffled: (all shards,) the shards in the order of their use; shards: V, shards per batch.
    """

    order: np.ndarray
    bounds: np.ndarray
    shuffled: np.ndarray
    shards: int

    @property
    def batches(self) -> int:
        """The number of steps of this pass."""
        return -(-len(self.shuffled) // self.shards)

    def shard(self, batch: int, shard: int) -> np.ndarray:
        """Return the pair ids of one shard, (pairs,); empty if the last batch has no such shard."""
        slot = batch * self.shards + shard
        if shard >= self.shards or slot >= len(self.shuffled):
            return self.order[:0]
        index = self.shuffled[slot]
        return self.order[self.bounds[index] : self.bounds[index + 1]]

    def pairs(self, batch: int) -> np.ndarray:
        """Return the pair ids of a global batch, (pairs,)."""
        return np.concatenate([self.shard(batch, shard) for shard in range(self.shards)])


class BatchPlan:
    """The steps for pairs of the given lengths; the same arguments always give the same plan."""

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
        # Returns the lengths (src, tgt) of an epoch, if they differ between epochs.
        self.lengths_of: Callable[[int], tuple[np.ndarray, np.ndarray]] | None = None
        self._latest: tuple[int, Epoch] | None = None
        # The most tokens and pairs that a shard may hold.
        self.shape = self._make_shape()

    def _make_shape(self) -> Shape:
        return Shape(self.capacity, self.capacity, len(self.src_lengths))

    def epoch(self, index: int) -> Epoch:
        """Return the plan of one pass; the latest one is cached."""
        if self._latest is None or self._latest[0] != index:
            if self.lengths_of is not None:
                self.src_lengths, self.tgt_lengths = self.lengths_of(index)
            self._latest = (index, self._make_epoch(index))
        return self._latest[1]

    def _make_epoch(self, index: int) -> Epoch:
        random = np.random.Generator(np.random.PCG64([self.seed, index]))
        order = random.permutation(len(self.src_lengths))
        # Pairs of equal lengths become neighbours, in random order.
        sides = (
            _to_smallest_type(lengths)[order] for lengths in (self.src_lengths, self.tgt_lengths)
        )
        order = order[np.lexsort(tuple(sides))]
        bounds = cut(self.src_lengths[order], self.tgt_lengths[order], self.shape)
        return Epoch(order, bounds, random.permutation(len(bounds) - 1), self.shards)

    def tokens(self, epoch: int, batch: int) -> int:
        """Return the target tokens of a global batch, by which its summed loss is divided."""
        pairs = self.epoch(epoch).pairs(batch)
        return int(self.tgt_lengths[pairs].sum())

    def shape_of(self, pairs: np.ndarray) -> Shape:
        """Return the shape that the shard of these pairs is padded to.

        Its fuller side nearly reaches the capacity, so padding is a few per cent.
        """
        src, tgt = int(self.src_lengths[pairs].sum()), int(self.tgt_lengths[pairs].sum())
        return Shape(self._padded(src), self._padded(tgt), len(pairs))

    def stream_sizes(self, index: int) -> set[int]:
        """Return the padded sizes of the streams of an epoch, but for single long pairs."""
        epoch = self.epoch(index)
        sizes: set[int] = set()
        for lengths in (self.src_lengths, self.tgt_lengths):
            tokens = np.unique(np.add.reduceat(lengths[epoch.order], epoch.bounds[:-1]))
            sizes.update(map(self._padded, tokens[tokens <= self.capacity].tolist()))
        return sizes

    def batch_stream_sizes(self, epoch: int, batch: int) -> set[int]:
        """Return those of one batch."""
        plan = self.epoch(epoch)
        shards = (plan.shard(batch, shard) for shard in range(self.shards))
        shapes = [self.shape_of(pairs) for pairs in shards if len(pairs)]
        sizes = {size for shape in shapes for size in (shape.src, shape.tgt)}
        return {size for size in sizes if size <= self.capacity}

    def _padded(self, tokens: int) -> int:
        """Return the padded size of a stream of `tokens`; one long pair may exceed the capacity."""
        sizes = (-(-self.capacity * size // SIZES[-1]) for size in SIZES)
        step = -(-self.capacity // SIZES[-1])
        return next((size for size in sizes if size >= tokens), tokens + -tokens % step)

    def positions(self, start: Position) -> Iterator[Position]:
        """Yield the positions of all batches from `start` on, without end."""
        epoch, batch = start
        while True:
            for index in range(batch, self.epoch(epoch).batches):
                yield Position(epoch, index)
            epoch, batch = epoch + 1, 0


def _to_smallest_type(lengths: np.ndarray) -> np.ndarray:
    """Return the lengths in the smallest integer type that holds them.

    NumPy sorts small integers by their bytes, in a sixth of the time.
    """
    return lengths.astype(np.min_scalar_type(lengths.max(initial=0)))


def cut(src_lengths: np.ndarray, tgt_lengths: np.ndarray, room: Shape) -> np.ndarray:
    """Return the bounds of shards, each of which fits into `room` or is a single pair."""
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
    """Return V, the fewest shards within micro_batch_tokens, as a multiple of the ranks.

    >>> [count_shards(25_000, 4_096, ranks) for ranks in (1, 8)]
    [7, 8]
    """
    needed = -(-batch_tokens // micro_batch_tokens)
    return -(-max(needed, 1) // world_size) * world_size
