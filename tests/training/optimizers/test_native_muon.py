"""Muon's iterations in C, against the same in double precision, on each instruction set."""

import pytest
import torch

from nmt_cli.kernels.training import MissingInstructionsError, TrainingKernels
from nmt_cli.machine import cache_folder
from nmt_cli.training.optimizers import muon, native_muon
from nmt_cli.training.optimizers.muon import QUINTIC, orthogonalise
from nmt_cli.training.optimizers.native_muon import muon_kernels, native_orthogonalise


@pytest.fixture
def kernels() -> TrainingKernels:
    found = muon_kernels(cache_folder())
    if found is None:
        pytest.skip("no C compiler, or neither AVX2 nor AVX-512")
    return found


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
    kept = matrices.clone()
    found = native_orthogonalise(forced, matrices, QUINTIC)
    torch.testing.assert_close(found.double(), orthogonalise(matrices.double()), rtol=0, atol=1e-5)
    assert torch.equal(matrices, kept)


def test_threads_and_neighbours_do_not_change_a_matrix(forced, monkeypatch) -> None:
    monkeypatch.setattr(native_muon, "LEAST_WORK_PER_THREAD", 1)
    matrices = gradients(5, 48, 80)
    found = {}
    for threads in (1, 2, 3, 8):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        found[threads] = native_orthogonalise(forced, matrices, QUINTIC)
        assert torch.equal(found[threads], found[1])
    for index in range(5):
        alone = native_orthogonalise(forced, matrices[index : index + 1], QUINTIC)
        assert torch.equal(alone[0], found[1][index])


def test_matrices_that_are_not_contiguous_are_read_in_their_order(forced) -> None:
    matrices = gradients(2, 40, 24).mT
    expected = native_orthogonalise(forced, matrices.contiguous(), QUINTIC)
    assert torch.equal(native_orthogonalise(forced, matrices, QUINTIC), expected)


def test_muon_uses_the_kernels_for_float32_on_a_cpu(kernels, monkeypatch) -> None:
    matrices = gradients(2, 40, 24)
    assert torch.equal(orthogonalise(matrices), native_orthogonalise(kernels, matrices, QUINTIC))
    monkeypatch.setattr(muon, "native_orthogonalise", None)
    assert orthogonalise(matrices.double()).dtype == torch.float64
    monkeypatch.setattr(muon, "muon_kernels", lambda _: None)
    plain = orthogonalise(matrices)
    torch.testing.assert_close(plain.double(), orthogonalise(matrices.double()), rtol=0, atol=1e-5)


@pytest.mark.parametrize("shape", [(40, 40), (37, 90), (48, 16)])
def test_wrong_kernels_fail_the_self_test(kernels, monkeypatch, shape) -> None:
    assert native_muon._are_right(kernels)
    right = native_orthogonalise

    def wrong(*arguments) -> torch.Tensor:
        found = right(*arguments)
        return found * 1.001 if found.shape[1:] == shape else found

    monkeypatch.setattr(native_muon, "native_orthogonalise", wrong)
    assert not native_muon._are_right(kernels)
