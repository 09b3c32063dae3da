"""Dropout in C: the masks, numbers and gradients of dropout in torch, bit by bit in float32."""

import pytest
import torch
from native_kernels import require_kernels
from torch import Tensor

from nmt_cli.kernels.training import (
    LANES,
    MissingInstructionsError,
    TrainingKernels,
)
from nmt_cli.machine import cache_folder
from nmt_cli.model.dropout import Dropout, seed_masks
from nmt_cli.model.native import dropout as native
from nmt_cli.model.native.dropout import dropout_kernels

SIZES = [1, 63, 64, 1_247, 1_249, 70_001]


def passes(rate: float, native: bool, with_residual: bool, dtype: torch.dtype) -> list[Tensor]:
    """Outputs and gradients of two rounds for every size, after one seed."""
    layer = Dropout(rate)
    layer.native = native
    results = []
    for seed in (11, (1 << 62) + 3):
        seed_masks(seed)
        for size in SIZES:
            generator = torch.Generator().manual_seed(size)
            x, residual, gradient = torch.randn(3, size, generator=generator)
            x = x.to(dtype).requires_grad_()
            residual.requires_grad_()
            out = layer.add(residual, x) if with_residual else layer(x)
            asked = [x, residual] if with_residual else [x]
            results += [out, *torch.autograd.grad(out, asked, gradient.to(out.dtype))]
    return results


@pytest.fixture
def kernels() -> TrainingKernels:
    return require_kernels(dropout_kernels(cache_folder()))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.97])
@pytest.mark.parametrize("with_residual", [False, True])
def test_native_dropout_has_the_bits_of_torch(rate, with_residual) -> None:
    expected = passes(rate, False, with_residual, torch.float32)
    for ours, theirs in zip(
        passes(rate, True, with_residual, torch.float32), expected, strict=True
    ):
        assert torch.equal(ours, theirs)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("with_residual", [False, True])
def test_native_dropout_of_bf16_rounds_once(with_residual) -> None:
    exact = passes(0.3, False, with_residual, torch.bfloat16)
    ours = passes(0.3, True, with_residual, torch.bfloat16)
    for own, other in zip(ours, exact, strict=True):
        assert own.dtype == other.dtype
        # The reference rounds to 8 bits before it adds; one part in 256 of numbers up to 6.
        torch.testing.assert_close(own, other, rtol=1 / 128, atol=1 / 64)
    if not with_residual:
        assert all(torch.equal(own, other) for own, other in zip(ours, exact, strict=True))


def test_all_instruction_sets_draw_the_same_masks(kernels: TrainingKernels) -> None:
    for lanes in LANES:
        made = TrainingKernels(kernels.library, lanes)
        try:
            assert native._are_right(made)
        except MissingInstructionsError:
            assert lanes > kernels.lanes


def test_self_test_of_dropout_finds_wrong_masks(kernels: TrainingKernels, monkeypatch) -> None:
    draw = native.draw_bits
    monkeypatch.setattr(native, "draw_bits", lambda *given: draw(*given) ^ 1)
    assert not native._are_right(kernels)


@pytest.mark.usefixtures("kernels")
def test_threads_do_not_change_native_dropout(monkeypatch) -> None:
    x = torch.randn(1_000_003)
    results = []
    for threads in (1, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda count=threads: count)
        seed_masks(4)
        results.append(native.native_dropout(x, x, 9_000))
    assert torch.equal(*results)
