"""Updates of small weights have one of torch's threads, those of large ones all of them."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from nmt_cli.config.schema import Config, with_values
from nmt_cli.training.optimizers import torch_threads
from nmt_cli.training.optimizers.ema import MovingAverage
from nmt_cli.training.optimizers.factory import OPTIMIZERS, make_optimizer
from nmt_cli.training.optimizers.torch_threads import suitable_threads


class ThreadsOfUpdates(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records how many threads torch had in each operation that changes tensors in place."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: list[int] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Note the threads and call `func`."""
        if func.overloadpacket.__name__.endswith("_"):
            self.found.append(torch.get_num_threads())
        return func(*args, **(kwargs or {}))


@pytest.fixture(autouse=True)
def _three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=[True, False], ids=["small", "large"])
def expected(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The threads that a model of two small layers is updated with."""
    if not request.param:
        monkeypatch.setattr(torch_threads, "LEAST_NUMBERS_PER_TENSOR", 4)
    return 1 if request.param else 3


def model_with_gradients() -> nn.Module:
    model = nn.Sequential(nn.Linear(8, 8), nn.Embedding(8, 8))
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight)
    return model


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimisers_use_the_threads_that_suit_the_weights(name: str, expected: int) -> None:
    model = model_with_gradients()
    values = {"train.optimizer": name, "train.schedule": "constant", "train.weight_decay": 0.1}
    optimizer = make_optimizer(model, with_values(Config(), values))
    with ThreadsOfUpdates() as threads:
        optimizer.step()
    assert threads.found
    assert set(threads.found) == {expected}
    assert torch.get_num_threads() == 3


def test_the_moving_average_uses_the_threads_that_suit_the_weights(expected: int) -> None:
    average = MovingAverage(model_with_gradients(), 0.9)
    with ThreadsOfUpdates() as threads:
        average.update(1)
    assert set(threads.found) == {expected}


def test_the_average_size_decides() -> None:
    large, small = torch.zeros(1 << 20), torch.zeros(8)
    for tensors, expected in (
        ([large], 3), ([large, small], 3), ([large, *[small] * 4], 1), ([small], 1), ([], 3),
    ):  # fmt: skip
        with suitable_threads(tensors):
            assert torch.get_num_threads() == expected, len(tensors)
        assert torch.get_num_threads() == 3


def test_threads_are_restored_after_an_error() -> None:
    def fail(weights: list[Tensor]) -> None:
        with suitable_threads(weights):
            raise MemoryError

    with pytest.raises(MemoryError):
        fail([torch.zeros(8)])
    assert torch.get_num_threads() == 3
