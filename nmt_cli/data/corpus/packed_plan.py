"""Batches of one fixed shape, for a GPU: random pairs are packed until a buffer is full.

Every shard is padded to the same number of tokens and sentences, so that kernels are compiled once
and a CUDA graph can be replayed. Attention on a GPU does not need equal lengths. The sizes of the
source and target buffers have the same ratio as the two sides of the corpus, so that both are full.
"""

import numpy as np

from nmt_cli.batch import Shape
from nmt_cli.data.corpus.batch_plan import BatchPlan, Epoch, cut

# Large buffers are cut to whole tiles of the matrix units, in tokens; the loss is small.
ALIGNMENT = 64
# Spare room for shards of many short pairs, in standard deviations of the number of pairs.
SPARE = 5.0


class PackedPlan(BatchPlan):
    """A `BatchPlan` whose shards have one shape; pairs too long for it have their own shape."""

    def _make_shape(self) -> Shape:
        totals = np.maximum(1, [self.src_lengths.sum(), self.tgt_lengths.sum()])
        src, tgt = (_aligned(int(self.capacity * side / totals.max())) for side in totals)
        pairs = max(1.0, max(src, tgt) * len(self.src_lengths) / int(totals.max()))
        width = int(max(self.src_lengths.max(initial=1), self.tgt_lengths.max(initial=1)))
        return Shape(src, tgt, int(np.ceil(pairs + SPARE * pairs**0.5)), width)

    def _make_epoch(self, index: int) -> Epoch:
        random = np.random.Generator(np.random.PCG64([self.seed, index]))
        order = random.permutation(len(self.src_lengths))
        bounds = cut(self.src_lengths[order], self.tgt_lengths[order], self.shape)
        return Epoch(order, bounds, np.arange(len(bounds) - 1), self.shards)

    def stream_sizes(self, index: int) -> set[int]:
        """Return the sizes of the two buffers."""
        return {self.shape.src, self.shape.tgt}

    def shape_of(self, pairs: np.ndarray) -> Shape:
        """Return the common shape, or the shape of a pair that is too long for it."""
        src, tgt = int(self.src_lengths[pairs].sum()), int(self.tgt_lengths[pairs].sum())
        fits = src <= self.shape.src and tgt <= self.shape.tgt and len(pairs) <= self.shape.pairs
        return self.shape if fits else Shape(src, tgt, len(pairs))


def _aligned(tokens: int) -> int:
    return max(1, tokens - tokens % ALIGNMENT if tokens >= 10 * ALIGNMENT else tokens)
