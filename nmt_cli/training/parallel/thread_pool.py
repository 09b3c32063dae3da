"""Several shards at a time on a CPU: threads, each with a replica of the model for its gradients.

Threads inside one product synchronise after each of thousands of small operations; these
synchronise once a step.
"""

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import torch
from torch import nn

from nmt_cli.model.dropout import use_own_generator
from nmt_cli.model.torch_adapter import foreach_add_

Item = TypeVar("Item")
Result = TypeVar("Result")
# Replicas cost memory; with more cores than this, each thread gets several of torch's threads.
MAX_THREADS = 8
# In smaller shards, the fixed cost of each operation outweighs the gain.
MIN_TOKENS_PER_THREAD = 256


class ReplicaThreadPool:
    """A pool of `count` threads, each with a replica of one model.

    With a count of one, the work is done with the model itself in the thread that calls.
    """

    def __init__(self, model: nn.Module, count: int = 1) -> None:
        """Replicas share the model's weights, and have gradients of their own."""
        self.models = [model, *(_replica(model) for _ in range(count - 1))]
        self._weights = [list(model.parameters()) for model in self.models]
        threads = max(1, torch.get_num_threads() // count)
        # Called with each item that is done, on the thread that did it.
        self.on_item_done: Callable[[Any], None] | None = None
        self._pool = (
            ThreadPoolExecutor(count, "replica", _start_thread, (threads,)) if count > 1 else None
        )

    def map(
        self,
        work: Callable[[nn.Module, Item], Result | None],
        items: Sequence[Item],
        *,
        parallel: bool = True,
    ) -> list[Result | None]:
        """The result of `work` for each item; thread i of n does the items i, i + n, ...

        A thread stops at its first result that is None, and its remaining results are None, too.
        parallel=False: one item after the other, in the thread that calls.
        """
        if self._pool is None or not parallel:
            return self._map_until_none(partial(work, self.models[0]), items)
        count = len(self.models)

        def work_on_share(index: int) -> list[Result | None]:
            return self._map_until_none(partial(work, self.models[index]), items[index::count])

        futures = [self._pool.submit(work_on_share, index) for index in range(count)]
        # Wait for all threads before the error of one is raised; the others would continue working.
        wait(futures)
        results: list[Result | None] = [None] * len(items)
        for index, future in enumerate(futures):
            results[index::count] = future.result()
        return results

    def _map_until_none(
        self, work: Callable[[Item], Result | None], items: Sequence[Item]
    ) -> list[Result | None]:
        results: list[Result | None] = [None] * len(items)
        for index, item in enumerate(items):
            results[index] = work(item)
            if results[index] is None:
                break
            if self.on_item_done is not None:
                self.on_item_done(item)
        return results

    def reduce_gradients(self) -> None:
        """Add the gradients of all replicas to the model's, always in the same order.

        Each thread adds up those of some weights: torch's own threads, which sleep while the pool's
        work, would have to be woken for each weight.
        """
        if self._pool is None:
            return
        count = len(self.models)

        def reduce_share(index: int) -> None:
            own, *replicas = (weights[index::count] for weights in self._weights)
            for others in replicas:
                _add_gradients(own, others)

        futures = [self._pool.submit(reduce_share, index) for index in range(count)]
        wait(futures)
        for future in futures:
            future.result()

    def zero_gradients(self) -> None:
        """Drop the gradients of the model and of all replicas."""
        for weight in chain.from_iterable(self._weights):
            weight.grad = None


def _add_gradients(own: Sequence[nn.Parameter], others: Sequence[nn.Parameter]) -> None:
    """Add the gradients of `others` to those of `own`, and drop them."""
    sums, shares = [], []
    for weight, other in zip(own, others, strict=True):
        if weight.grad is None:
            weight.grad = other.grad
        elif other.grad is not None:
            sums.append(weight.grad)
            shares.append(other.grad)
        other.grad = None
    if sums:
        foreach_add_(sums, shares)


def thread_count(wanted: int | str, batch_tokens: int) -> int:
    """Threads of a rank whose share of a step is `batch_tokens`; at most torch's own.

    wanted: a number, or "auto".

    >>> thread_count("auto", 100), thread_count(1, 25_000)
    (1, 1)
    """
    if isinstance(wanted, str):
        wanted = min(MAX_THREADS, max(1, batch_tokens // MIN_TOKENS_PER_THREAD))
    return min(wanted, torch.get_num_threads())


def _replica(model: nn.Module) -> nn.Module:
    replica = copy.deepcopy(model)
    for own, shared in zip(replica.parameters(), model.parameters(), strict=True):
        own.data = shared.data
    return replica.train()


def _start_thread(threads: int) -> None:
    torch.set_num_threads(threads)
    use_own_generator()
