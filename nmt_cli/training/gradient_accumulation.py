"""Gradients of one rank's shards, added up; a shard that memory has no room for is split in two."""

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
from nmt_cli.training.parallel.threads import ThreadReplicas


@dataclass(frozen=True)
class MicroBatch:
    """Pairs of one shard, by id.

    seed: of dropout, None: it goes on from the part before; depth: how often it was halved.
    """

    ids: np.ndarray
    seed: int | None
    depth: int = 0

    def halves(self) -> tuple["MicroBatch", "MicroBatch"]:
        """The same pairs in two parts."""
        middle = (len(self.ids) + 1) // 2
        first, second = self.ids[:middle], self.ids[middle:]
        return MicroBatch(first, self.seed, self.depth + 1), MicroBatch(
            second, None, self.depth + 1
        )


class AccumulatedGradients(NamedTuple):
    """sums: (2,) of what the parts gave; splits: how often a part was split; too_large: the pair
    that does not fit even by itself (nothing is added up then), or None."""

    sums: Tensor
    splits: int
    too_large: int | None


def accumulate_gradients(
    crew: ThreadReplicas,
    parts: Iterable[MicroBatch],
    backward: Callable[[nn.Module, MicroBatch], Tensor],
    device: torch.device,
    last: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> AccumulatedGradients:
    """Call `backward` for each part; it adds to the gradients of a model and returns (2,) sums.

    Where memory ends, all gradients are dropped and the parts are done again, one at a time, with
    the one that failed in two halves, and those behind it, which are as large: losses are sums, so
    the gradient is the same but for other dropout masks. A crew of one does its last part within
    `last()`, in every attempt.
    """
    todo = list(parts)
    splits = 0

    def work(model: nn.Module, part: MicroBatch) -> Tensor:
        with last() if part is todo[-1] and len(crew.models) == 1 else nullcontext():
            return backward(model, part)

    while True:
        found = crew.do(todo, partial(_attempt, work), together=not splits)
        sums = sum((one for one in found if one is not None), start=torch.zeros(2, device=device))
        if None not in found:
            crew.gather()
            return AccumulatedGradients(sums, splits, None)
        done = found.index(None)
        # The failed attempt may have added to some gradients and not to others.
        crew.drop()
        _free_memory(device)
        if len(todo[done].ids) == 1:
            return AccumulatedGradients(torch.zeros_like(sums), splits, int(todo[done].ids[0]))
        rest = _halved(todo[done:])
        splits += len(rest) - len(todo[done:])
        todo[done:] = rest


def _halved(parts: list[MicroBatch]) -> list[MicroBatch]:
    """Each part that was not halved more often than the first one in two halves, if it can be."""
    depth = parts[0].depth
    found: list[MicroBatch] = []
    for part in parts:
        found += part.halves() if part.depth <= depth and len(part.ids) > 1 else (part,)
    return found


def _attempt(
    backward: Callable[[nn.Module, MicroBatch], Tensor], model: nn.Module, part: MicroBatch
) -> Tensor | None:
    """What `backward` gives; None where memory has no room."""
    try:
        return backward(model, part)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        return None


def _free_memory(device: torch.device) -> None:
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
