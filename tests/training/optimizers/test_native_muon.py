"""Muon's iterations in C, against the same in double precision, on each instruction set."""

import threading
import time
from collections.abc import Callable

import pytest
import torch
from native_kernels import require_kernels
from torch import nn

from nmt_cli.config.schema import Config, TrainConfig
from nmt_cli.kernels.training import (
    MissingInstructionsError,
    TrainingKernels,
    compute_each,
)
from nmt_cli.machine import cache_folder
from nmt_cli.training.optimizers import muon, native_muon
from nmt_cli.training.optimizers.factory import make_optimizer, set_learning_rate
from nmt_cli.training.optimizers.muon import QUINTIC, orthogonalise
from nmt_cli.training.optimizers.native_muon import muon_kernels, orthogonalise_


@pytest.fixture
def kernels() -> TrainingKernels:
    return require_kernels(muon_kernels(cache_folder()))


@pytest.fixture(params=[16, 8])
def forced(request, kernels) -> TrainingKernels:
    """Kernels of each instruction set; skips those that this CPU lacks."""
    made = TrainingKernels(kernels.library, request.param)
    if made.lanes > kernels.lanes:
        with pytest.raises(MissingInstructionsError, match="no kernels of 16 lanes"):
            native_muon._are_right(made)
        pytest.skip("this CPU lacks AVX-512")
    return made


def gradients(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def native(kernels: TrainingKernels, matrices: torch.Tensor) -> torch.Tensor:
    found = matrices.clone()
    orthogonalise_(kernels, [found], QUINTIC)
    return found


@pytest.mark.parametrize(
    "shape",
    [
        # Squares: of one vector, of whole and broken vectors, of several blocks of a product.
        (3, 3), (16, 16), (33, 40), (128, 128), (300, 300),
        # Long and tall ones, up to the ratio from which their products are iterated.
        (1, 4), (4, 1), (17, 33), (33, 17), (17, 34), (34, 17), (128, 512), (512, 128),
        (48, 600), (600, 33),
    ],
)  # fmt: skip
def test_matrices_become_those_of_double_precision(forced, shape) -> None:
    matrices = gradients(3, *shape)
    expected = orthogonalise(matrices.double())
    torch.testing.assert_close(native(forced, matrices).double(), expected, rtol=0, atol=1e-5)


def test_threads_and_neighbours_do_not_change_a_matrix(forced, monkeypatch) -> None:
    monkeypatch.setattr(native_muon, "LEAST_WORK_PER_THREAD", 1)
    shapes = (5, 48, 80), (2, 96, 32), (1, 7, 7)
    expected = [native(forced, gradients(*shape)) for shape in shapes]
    for threads in (1, 2, 3, 8):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        stacks = [gradients(*shape) for shape in shapes]
        orthogonalise_(forced, stacks, QUINTIC)
        assert all(map(torch.equal, stacks, expected))
    for index, matrix in enumerate(gradients(*shapes[0])):
        assert torch.equal(native(forced, matrix[None])[0], expected[0][index])


def updated(*, double: bool = False) -> list[torch.Tensor]:
    """Weights of several shapes after two steps of Muon."""
    layers = nn.ModuleList(nn.Linear(*size, bias=False) for size in ((40, 24), (24, 40), (40, 24)))
    optimizer = make_optimizer(layers, Config(train=TrainConfig(optimizer="muon")))
    if double:
        layers.double()
    generator = torch.Generator().manual_seed(3)
    for layer in layers:
        layer.weight.data = torch.randn(layer.weight.shape, generator=generator).to(layer.weight)
    set_learning_rate(optimizer, 0.1)
    for _ in range(2):
        for layer in layers:
            gradient = torch.randn(layer.weight.shape, generator=generator)
            layer.weight.grad = gradient.to(layer.weight)
        optimizer.step()
    return [layer.weight.detach() for layer in layers]


def test_muon_uses_the_kernels_for_float32_on_a_cpu(kernels, monkeypatch) -> None:
    calls = []

    def counted(*arguments) -> None:
        calls.append(len(arguments[1]))
        orthogonalise_(*arguments)

    monkeypatch.setattr(muon, "orthogonalise_", counted)
    ours, exact = updated(), updated(double=True)
    # Both shapes at once, in each of the two steps.
    assert calls == [2, 2]
    monkeypatch.setattr(muon, "muon_kernels", lambda _: None)
    plain = updated()
    assert calls == [2, 2]
    for own, other, expected in zip(ours, plain, exact, strict=True):
        torch.testing.assert_close(own.double(), expected, rtol=0, atol=1e-5)
        torch.testing.assert_close(other.double(), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("shape", [(40, 40), (37, 90), (48, 16)])
def test_wrong_kernels_fail_the_self_test(kernels, monkeypatch, shape) -> None:
    assert native_muon._are_right(kernels)

    def wrong(given, stacks, quintic) -> None:
        orthogonalise_(given, stacks, quintic)
        if stacks[0].shape[1:] == shape:
            stacks[0] *= 1.001

    monkeypatch.setattr(native_muon, "orthogonalise_", wrong)
    assert not native_muon._are_right(kernels)


@pytest.mark.parametrize("is_in_main", [False, True])
def test_an_error_of_a_thread_is_raised_when_all_have_ended(is_in_main: bool) -> None:
    ended: list[int] = []

    def start() -> Callable[[int], None]:
        def compute(item: int) -> None:
            if (threading.current_thread() is threading.main_thread()) == is_in_main:
                raise MissingInstructionsError
            time.sleep(0.01)
            ended.append(item)

        return compute

    with pytest.raises(MissingInstructionsError):
        compute_each(range(4), 2, start)
    assert len(ended) == 3
