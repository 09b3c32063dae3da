"""`--deterministic`: the same bits on any number of ranks (a power of two up to the shards').

Floating-point sums depend on their order. So the gradients of a step's V shards are added up along
one fixed binary tree: shard i and shard i + V/2 first, then V/4 apart, and so on. Rank r of W holds
shards r, r + W, ..., which is a whole subtree; ranks then add up the rest of the tree between them.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from nmt_cli.config.train import TrainConfig
from nmt_cli.data.corpus.batch_plan import count_shards
from nmt_cli.errors import ConfigError
from nmt_cli.plurals import counted
from nmt_cli.training.gradient_accumulation import Backward, MicroBatch
from nmt_cli.training.parallel.gradient_sync import StepSums, gradients_of
from nmt_cli.training.parallel.ranks import Ranks


class TreeGradientSync:
    """Adds up the gradients of all shards in an order that no number of ranks changes.

    A shard that does not fit into memory is an error: halves would have other dropout masks.
    """

    def __init__(self, ranks: Ranks, model: nn.Module) -> None:
        self._ranks = ranks
        self._model = model

    def sum_gradients(self, shards: Sequence[MicroBatch], backward: Backward) -> StepSums:
        """As GradientSync; the shards of each rank are a power of two in number."""

        def leaf(index: int) -> Tensor:
            """Gradients, loss and nll of a shard, as one vector."""
            sums = torch.zeros(2, device=self._ranks.device)
            if len(shards[index].ids):
                sums = backward(self._model, shards[index])
            gradients = gradients_of(self._model)
            flat = torch.cat([*(gradient.reshape(-1) for gradient in gradients), sums])
            self._model.zero_grad()
            return flat

        flat = subtree_sum(0, 1, len(shards), leaf)
        self._ranks.tree_all_reduce(flat)
        start = 0
        for gradient in gradients_of(self._model):
            gradient.copy_(flat[start : start + gradient.numel()].view_as(gradient))
            start += gradient.numel()
        return StepSums(torch.cat([flat[start:], flat.new_zeros(2)]))


def subtree_sum(index: int, stride: int, shards: int, leaf: Callable[[int], Tensor]) -> Tensor:
    """leaf(index) + leaf(index + stride) + ... below `shards`, added up along the tree.

    stride, shards: powers of two. `leaf` returns a tensor that may be changed; about log2(shards /
    stride) + 1 of them exist at a time.
    """
    if stride == shards:
        return leaf(index)
    total = subtree_sum(index, 2 * stride, shards, leaf)
    total += subtree_sum(index + stride, 2 * stride, shards, leaf)
    return total


def next_power_of_two(number: int) -> int:
    """The smallest power of two that is not below `number`.

    >>> [next_power_of_two(number) for number in (1, 2, 3, 7, 8)]
    [1, 2, 4, 8, 8]
    """
    return 1 << (number - 1).bit_length()


def check_ranks(world_size: int, shards: int) -> None:
    """Raises ConfigError where the tree over `shards` does not split among this many ranks."""
    if world_size != next_power_of_two(world_size) or shards % world_size:
        raise ConfigError(
            f"--deterministic: {counted(world_size, 'rank')} cannot share the "
            f"{counted(shards, 'micro-batch', 'micro-batches')} of a step",
            f"use {_listed(shards)}; a smaller train.micro_batch_tokens gives a new run more "
            "micro-batches",
        )


def _listed(shards: int) -> str:
    """The numbers of ranks that can share so many micro-batches; shards: a power of two."""
    numbers = [1 << power for power in range(shards.bit_length())]
    return f"{', '.join(map(str, numbers[:-1]))} or {shards} ranks" if shards > 1 else "1 rank"


def own_batches_notes(
    config: TrainConfig, micro_batch_tokens: int, shards: int, ranks: int
) -> list[str]:
    """The note of a new deterministic run that has more micro-batches than with one rank.

    shards: micro-batches of a step; ranks: their number now.
    """
    alone = next_power_of_two(count_shards(config.batch_tokens, micro_batch_tokens, 1))
    if shards <= alone:
        return []
    return [
        f"--deterministic: a step has {shards} micro-batches with {ranks} ranks, and {alone} with "
        "one rank, so runs with fewer ranks have other batches; to compare them, begin each with "
        f"`--set train.micro_batch_tokens={max(1, config.batch_tokens // ranks)}`"
    ]


def compute_deterministically(device: torch.device) -> None:
    """Have torch use one order of addition everywhere: on a CPU, a single thread."""
    torch.use_deterministic_algorithms(True)
    if device.type == "cpu":
        # How a sum is split among threads depends on their number.
        torch.set_num_threads(1)
