"""A GPU never waits for its data: a thread makes the next batches while it computes."""

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

# Batches made, or being made, before they are asked for.
AHEAD = 2


class _Promise(NamedTuple):
    position: Position
    ids: np.ndarray
    batch: Future[Batch]


class Prefetcher:
    """Stands for `pairs` in training: `batch` gives the same ones, on the device already.

    It knows from the plan what will be asked for; anything else is made when it is asked for. It
    never works beyond the end of an epoch, where pairs and lengths may become others.
    """

    def __init__(self, pairs: Pairs, plan: BatchPlan, ranks: Ranks, start_id: int) -> None:
        """The batches of this rank, whose decoder input begins with `start_id`."""
        self.pairs = pairs
        self.plan = plan
        self.ranks = ranks
        self.start_id = start_id
        self._thread = ThreadPoolExecutor(1, "prefetch", self._enter)
        self._ready: deque[_Promise] = deque()
        self._rest: Iterator[tuple[Position, np.ndarray]] = iter(())

    def begin(self, position: Position) -> None:
        """The step on `position` comes next."""
        while self._ready and self._ready[0].position != position:
            self._ready.popleft().batch.cancel()
        if not self._ready:
            self._rest = self._shards(position)
            self._work_ahead()

    def batch(self, pairs: np.ndarray, start_id: int, shape: Shape | None = None) -> Batch:
        """As `Pairs.batch`; what went wrong in the thread is raised here."""
        if not self._ready or not np.array_equal(self._ready[0].ids, pairs):
            return self.pairs.batch(pairs, start_id, shape)
        batch = self._ready.popleft().batch
        self._work_ahead()
        return batch.result()

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(cancel_futures=True)

    def _shards(self, position: Position) -> Iterator[tuple[Position, np.ndarray]]:
        epoch = self.plan.epoch(position.epoch)
        for number in range(position.batch, epoch.batches):
            for shard in range(self.ranks.rank, self.plan.shards, self.ranks.world_size):
                if len(ids := epoch.shard(number, shard)):
                    yield Position(position.epoch, number), ids

    def _work_ahead(self) -> None:
        while len(self._ready) < AHEAD and (coming := next(self._rest, None)):
            self._ready.append(_Promise(*coming, self._thread.submit(self._make, coming[1])))

    def _make(self, ids: np.ndarray) -> Batch:
        batch = self.pairs.batch(ids, self.start_id, self.plan.shape_of(ids))
        return batch.to(self.ranks.device)

    def _enter(self) -> None:
        if self.ranks.device.type == "cuda":
            # Each thread has a device of its own; pinned memory belongs to it.
            torch.cuda.set_device(self.ranks.device)
