"""How many of torch's threads compute an update on a CPU."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

# Tensors of fewer numbers on average have one thread: to wake others takes longer than they save,
# and much longer where other programs use the cores too.
LEAST_NUMBERS_PER_TENSOR = 1 << 18


@contextmanager
def suitable_threads(tensors: Sequence[Tensor]) -> Iterator[None]:
    """A context in which torch uses one thread if `tensors` are small, and on a CPU."""
    count = torch.get_num_threads()
    if count == 1 or not tensors or not _are_small(tensors):
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(count)


def _are_small(tensors: Sequence[Tensor]) -> bool:
    if tensors[0].is_cuda:
        return False
    return sum(tensor.numel() for tensor in tensors) < LEAST_NUMBERS_PER_TENSOR * len(tensors)
