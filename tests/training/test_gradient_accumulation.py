"""What memory has no room for is done in parts: the same gradient, nothing lost, nobody waits."""

import numpy as np
import pytest
import torch
from torch import nn

from nmt_cli.training.gradient_accumulation import MicroBatch, accumulate_gradients
from nmt_cli.training.parallel.thread_pool import ReplicaThreadPool


def test_halved_micro_batches_keep_order_and_seed():
    """Only the first part of a shard sets the seed: its halves go on with the same stream."""
    model = nn.Linear(1, 1)
    done: list[tuple[list[int], int | None]] = []

    def backward(model: nn.Module, part: MicroBatch) -> torch.Tensor:
        if len(part.ids) > 2:
            raise MemoryError
        done.append((part.ids.tolist(), part.seed))
        return torch.tensor([1.0, float(part.ids.sum())])

    parts = [MicroBatch(np.arange(2), 7), MicroBatch(np.arange(2, 7), 8)]
    found = accumulate_gradients(ReplicaThreadPool(model), parts, backward, torch.device("cpu"))
    assert done[-5:] == [([0, 1], 7), ([2, 3], 8), ([4], None), ([5], None), ([6], None)]
    assert found.sums.tolist() == [5.0, 21.0]
    assert found.splits == 3


def test_other_errors_do_not_count_as_running_out_of_memory():
    def backward(model: nn.Module, part: MicroBatch) -> torch.Tensor:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1"):
        accumulate_gradients(
            ReplicaThreadPool(nn.Linear(1, 1)),
            [MicroBatch(np.arange(4), 1)],
            backward,
            torch.device("cpu"),
        )
