"""Prefetching: a thread makes the next batches while the GPU computes."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch

from nmt_cli.batch import Batch, Shape
from nmt_cli.data.corpus.batch_plan import BatchPlan, Position
from nmt_cli.data.corpus.corpus import Pairs
from nmt_cli.training.parallel.ranks import Ranks

# Batches that are made, or being made, before they are requested.
PREFETCHED = 2


class _Prefetched(NamedTuple):
    position: Position
    ids: np.ndarray
    batch: Future[Batch]


class Prefetcher:
    """Used instead of `pairs` in training: `batch` returns the same batches, on the device.

    The plan says which batches come next; any other batch is made when it is requested. No batch of
    the next epoch is made ahead, because pairs and lengths may change between epochs.
    """

    def __init__(self, pairs: Pairs, plan: BatchPlan, ranks: Ranks, start_id: int) -> None:
        """start_id: the first id of every decoder input."""
        self.pairs = pairs
        self.plan = plan
        self.ranks = ranks
        self.start_id = start_id
        self._thread = ThreadPoolExecutor(1, "prefetch", self._start_thread)
        self._ready: deque[_Prefetched] = deque()
        self._upcoming: Iterator[tuple[Position, np.ndarray]] = iter(())

    def begin(self, position: Position) -> None:
        """Prepare for the step on `position`, which comes next."""
        while self._ready and self._ready[0].position != position:
            self._ready.popleft().batch.cancel()
        if not self._ready:
            self._upcoming = self._shards(position)
            self._fill()

    def batch(self, pairs: np.ndarray, start_id: int, shape: Shape | None = None) -> Batch:
        """As `Pairs.batch`; errors of the thread are raised here."""
        if not self._ready or not np.array_equal(self._ready[0].ids, pairs):
            return self.pairs.batch(pairs, start_id, shape)
        batch = self._ready.popleft().batch
        self._fill()
        return batch.result()

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(cancel_futures=True)

    def _shards(self, position: Position) -> Iterator[tuple[Position, np.ndarray]]:
        epoch = self.plan.epoch(position.epoch)
        for index in range(position.batch, epoch.batches):
            for shard in range(self.ranks.rank, self.plan.shards, self.ranks.world_size):
                if len(ids := epoch.shard(index, shard)):
                    yield Position(position.epoch, index), ids

    def _fill(self) -> None:
        while len(self._ready) < PREFETCHED and (upcoming := next(self._upcoming, None)):
            self._ready.append(_Prefetched(*upcoming, self._thread.submit(self._make, upcoming[1])))

    def _make(self, ids: np.ndarray) -> Batch:
        batch = self.pairs.batch(ids, self.start_id, self.plan.shape_of(ids))
        return batch.to(self.ranks.device)

    def _start_thread(self) -> None:
        if self.ranks.device.type == "cuda":
            # The current device is a property of each thread; pinned memory belongs to it.
            torch.cuda.set_device(self.ranks.device)
