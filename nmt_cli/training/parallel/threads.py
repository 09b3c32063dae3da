"""Several shards at a time on a CPU: threads, each with a twin of the model for its gradients.

Threads inside one product meet after each of thousands of small operations; these meet once a step.
"""

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any, TypeVar

import torch
from torch import nn

from nmt_cli.model.dropout import use_own_generator

Part = TypeVar("Part")
Found = TypeVar("Found")
# Twins cost memory; from so many threads on, each gets several of torch's.
MOST = 8
# Smaller shards would not repay what each operation costs by itself.
FEWEST_TOKENS = 256


class ThreadReplicas:
    """`count` threads for one model; a crew of one works in the thread that calls it."""

    def __init__(self, model: nn.Module, count: int = 1) -> None:
        """Twins have the model's weights, wherever they are changed, and their own gradients."""
        self.models = [model, *(_twin(model) for _ in range(count - 1))]
        threads = max(1, torch.get_num_threads() // count)
        # Told of each part that is done, on the thread that did it.
        self.part_done: Callable[[Any], None] | None = None
        self._pool = ThreadPoolExecutor(count, "crew", _begin, (threads,)) if count > 1 else None

    def do(
        self,
        parts: Sequence[Part],
        work: Callable[[nn.Module, Part], Found | None],
        *,
        together: bool = True,
    ) -> list[Found | None]:
        """What `work` makes of each part; thread i of n does parts i, i + n, ... until one is None.

        The rest are None then. together=False: one after the other, in this thread.
        """
        if self._pool is None or not together:
            return self._until_none(parts, partial(work, self.models[0]))
        count = len(self.models)

        def share(number: int) -> list[Found | None]:
            return self._until_none(parts[number::count], partial(work, self.models[number]))

        futures = [self._pool.submit(share, number) for number in range(count)]
        # All of them, before an error of one is raised: a thread left behind would go on working.
        wait(futures)
        found: list[Found | None] = [None] * len(parts)
        for number, future in enumerate(futures):
            found[number::count] = future.result()
        return found

    def _until_none(
        self, parts: Sequence[Part], work: Callable[[Part], Found | None]
    ) -> list[Found | None]:
        found: list[Found | None] = [None] * len(parts)
        for number, part in enumerate(parts):
            found[number] = work(part)
            if found[number] is None:
                break
            if self.part_done is not None:
                self.part_done(part)
        return found

    def gather(self) -> None:
        """Add the gradients of all twins to the model's, always in the same order."""
        for twin in self.models[1:]:
            sums, shares = [], []
            for weight, other in zip(self.models[0].parameters(), twin.parameters(), strict=True):
                if weight.grad is None:
                    weight.grad = other.grad
                elif other.grad is not None:
                    sums.append(weight.grad)
                    shares.append(other.grad)
            if sums:
                torch._foreach_add_(sums, shares)
            twin.zero_grad()

    def drop(self) -> None:
        """Forget all gradients."""
        for model in self.models:
            model.zero_grad()


def thread_count(wanted: int | str, batch_tokens: int) -> int:
    """Threads of a rank whose share of a step is `batch_tokens`; at most torch's own.

    >>> thread_count("auto", 100), thread_count(1, 25_000)
    (1, 1)
    """
    if isinstance(wanted, str):
        wanted = min(MOST, max(1, batch_tokens // FEWEST_TOKENS))
    return min(wanted, torch.get_num_threads())


def _twin(model: nn.Module) -> nn.Module:
    twin = copy.deepcopy(model)
    for own, shared in zip(twin.parameters(), model.parameters(), strict=True):
        own.data = shared.data
    return twin.train()


def _begin(threads: int) -> None:
    torch.set_num_threads(threads)
    use_own_generator()
