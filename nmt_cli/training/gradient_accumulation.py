"""Gradient accumulation over one rank's shards; a shard that runs out of memory is split in two."""

import gc
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from nmt_cli.errors import is_out_of_memory
from nmt_cli.training.parallel.thread_pool import ReplicaThreadPool


@dataclass(frozen=True)
class MicroBatch:
    """Pairs of one shard, by id.

    seed: of dropout; None: continue with the generator of the micro-batch before; depth: how often
    it was halved.
    """

    ids: np.ndarray
    seed: int | None
    depth: int = 0

    def halves(self) -> tuple["MicroBatch", "MicroBatch"]:
        """The same pairs in two micro-batches."""
        middle = (len(self.ids) + 1) // 2
        first, second = self.ids[:middle], self.ids[middle:]
        return MicroBatch(first, self.seed, self.depth + 1), MicroBatch(
            second, None, self.depth + 1
        )


# Adds the gradients of a micro-batch to those of a model; returns (2,): loss and nll.
Backward = Callable[[nn.Module, MicroBatch], Tensor]


class AccumulatedGradients(NamedTuple):
    """What one rank has accumulated in a step.

    sums: (2,), loss and nll over all micro-batches; splits: how often one was split; too_large: a
    pair that does not fit into memory even alone (no gradients are kept then), or None.
    """

    sums: Tensor
    splits: int
    too_large: int | None


def accumulate_gradients(
    replicas: ReplicaThreadPool,
    micro_batches: Iterable[MicroBatch],
    backward: Backward,
    device: torch.device,
    last: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> AccumulatedGradients:
    """Call `backward` for each micro-batch; the gradients add up in the model.

    When memory runs out, all gradients are dropped and the micro-batches are done again, one at a
    time. The one that failed and those after it, which are as large, are halved. Losses are sums,
    so the gradient is the same except for other dropout masks. A single replica does its last
    micro-batch within `last()`, in every attempt.
    """
    pending = list(micro_batches)
    splits = 0

    def work(model: nn.Module, micro_batch: MicroBatch) -> Tensor:
        is_last = micro_batch is pending[-1] and len(replicas.models) == 1
        with last() if is_last else nullcontext():
            return backward(model, micro_batch)

    while True:
        results = replicas.map(partial(_attempt, work), pending, parallel=not splits)
        sums = sum(
            (result for result in results if result is not None),
            start=torch.zeros(2, device=device),
        )
        if None not in results:
            replicas.reduce_gradients()
            return AccumulatedGradients(sums, splits, None)
        failed = results.index(None)
        # The failed attempt may have added to some gradients and not to others.
        replicas.zero_gradients()
        _free_memory(device)
        if len(pending[failed].ids) == 1:
            return AccumulatedGradients(torch.zeros_like(sums), splits, int(pending[failed].ids[0]))
        rest = _halved(pending[failed:])
        splits += len(rest) - len(pending[failed:])
        pending[failed:] = rest


def _halved(micro_batches: list[MicroBatch]) -> list[MicroBatch]:
    """Halves of those that were not halved more often than the first one and have several pairs.

    The others stay as they are.
    """
    depth = micro_batches[0].depth
    halved: list[MicroBatch] = []
    for micro_batch in micro_batches:
        if micro_batch.depth <= depth and len(micro_batch.ids) > 1:
            halved += micro_batch.halves()
        else:
            halved.append(micro_batch)
    return halved


def _attempt(backward: Backward, model: nn.Module, micro_batch: MicroBatch) -> Tensor | None:
    """The result of `backward`, or None when memory runs out."""
    try:
        return backward(model, micro_batch)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        return None


def _free_memory(device: torch.device) -> None:
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
