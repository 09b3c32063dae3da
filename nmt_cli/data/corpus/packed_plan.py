"""Batches of one fixed shape, for a GPU: random pairs packed until a buffer is full.

Every shard is filled up to the same number of tokens and sentences, so that kernels are compiled
once and a graph can be replayed. Attention needs no equal lengths there. Buffers are as unequal as
the corpus's two sides, so that both become full.
"""

import numpy as np

from nmt_cli.batch import Shape
from nmt_cli.data.corpus.batch_plan import BatchPlan, Epoch, cut

# Whole tiles for the matrix units, once a buffer is so large that the loss does not matter.
ALIGNMENT = 64
# Room for shards that hold many short pairs: so many standard deviations of a count.
SPARE = 5.0


class PackedPlan(BatchPlan):
    """A `BatchPlan` whose shards all have one shape; pairs too long for it have their own."""

    def _make_shape(self) -> Shape:
        totals = np.maximum(1, [self.src_lengths.sum(), self.tgt_lengths.sum()])
        src, tgt = (_aligned(int(self.capacity * side / totals.max())) for side in totals)
        pairs = max(1.0, max(src, tgt) * len(self.src_lengths) / int(totals.max()))
        width = int(max(self.src_lengths.max(initial=1), self.tgt_lengths.max(initial=1)))
        return Shape(src, tgt, int(np.ceil(pairs + SPARE * pairs**0.5)), width)

    def _make_epoch(self, number: int) -> Epoch:
        random = np.random.Generator(np.random.PCG64([self.seed, number]))
        order = random.permutation(len(self.src_lengths))
        bounds = cut(self.src_lengths[order], self.tgt_lengths[order], self.shape)
        return Epoch(order, bounds, np.arange(len(bounds) - 1), self.shards)

    def shape_of(self, pairs: np.ndarray) -> Shape:
        """The one shape, or that of a pair which is too long for it."""
        src, tgt = int(self.src_lengths[pairs].sum()), int(self.tgt_lengths[pairs].sum())
        fits = src <= self.shape.src and tgt <= self.shape.tgt and len(pairs) <= self.shape.pairs
        return self.shape if fits else Shape(src, tgt, len(pairs))


def _aligned(tokens: int) -> int:
    return max(1, tokens - tokens % ALIGNMENT if tokens >= 10 * ALIGNMENT else tokens)
