"""Triton's kernels of a decoding step, interpreted on the CPU, against torch's operators."""

import pytest
import torch
from engine_cases import assert_same, random_sources, translations
from test_cuda_engine import CONFIGS, steps_of
from torch import Tensor
from variants import Settings, every_variant

pytest.importorskip("triton")

from nmt_cli.inference.cuda import decoder as cuda_decoder
from nmt_cli.inference.cuda import kernel_choice, step_kernels
from nmt_cli.inference.cuda.decoder import CudaDecoder
from nmt_cli.inference.cuda.kernel_choice import checked_kernels, find_step_kernels
from nmt_cli.inference.cuda.model import make_cuda_model
from nmt_cli.inference.cuda.step_kernels import attend_own, reduce_rows
from nmt_cli.inference.reference import ReferenceDecoder

CPU = torch.device("cpu")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The engine takes the kernels on the CPU, too; the kernels that were called."""
    called: list[str] = []

    def counted(name: str):
        function = getattr(step_kernels, name)
        return lambda *given: called.append(name) or function(*given)

    kernels = kernel_choice.StepKernels(*map(counted, kernel_choice.StepKernels._fields))
    monkeypatch.setattr(cuda_decoder, "find_step_kernels", lambda *_: kernels)
    return called


@every_variant
def test_log_probabilities_equal_those_of_the_reference(
    settings: Settings, late_model, calls
) -> None:
    model = late_model(settings)
    found = steps_of(CudaDecoder(make_cuda_model(model), 2, 2))
    for result, expected in zip(found, steps_of(ReferenceDecoder(model, 2, 2)), strict=True):
        torch.testing.assert_close(result, expected, atol=1e-4, rtol=1e-4)
    assert set(calls) == set(kernel_choice.StepKernels._fields)


@pytest.mark.parametrize("name", CONFIGS)
def test_translations_are_those_of_the_reference(name: str, late_model, calls) -> None:
    model, config = late_model({"model.positions": "rotary"}), CONFIGS[name]
    sources = random_sources(5, longest=12)
    expected = translations(ReferenceDecoder(model, 3, config.beam), sources, config)
    found = translations(CudaDecoder(make_cuda_model(model), 3, config.beam), sources, config)
    assert_same(found, expected)
    assert calls


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("beam", [1, 3, 4, 17])
@pytest.mark.parametrize("widths", [(64, 64), (24, 40)])
def test_the_kernels_pass_their_self_test(dtype, beam, widths) -> None:
    assert checked_kernels(CPU, dtype, beam, widths) is not None


@pytest.mark.parametrize(
    ("dtype", "beam", "widths"),
    [(torch.float64, 4, (64, 64)), (torch.float32, 65, (64, 64)), (torch.float32, 4, (64, 129))],
)
def test_other_sizes_are_left_to_torch(dtype, beam, widths) -> None:
    assert checked_kernels(CPU, dtype, beam, widths) is None


@pytest.mark.parametrize("name", ["attend_own", "attend_source", "reduce_rows"])
@pytest.mark.parametrize("fault", ["wrong", "error"])
def test_kernels_that_fail_are_not_used(monkeypatch, name: str, fault: str) -> None:
    right = getattr(step_kernels, name)

    def wrong(*given):
        if fault == "error":
            raise FileNotFoundError("no C compiler")
        found = right(*given)
        return 1.1 * found if isinstance(found, Tensor) else (found[0], found[1] + 0.01)

    monkeypatch.setattr(step_kernels, name, wrong)
    assert checked_kernels(CPU, torch.float32, 2, (64, 64)) is None


def test_a_cpu_has_no_kernels() -> None:
    assert find_step_kernels(CPU, torch.float32, 4, (64, 64)) is None


@pytest.mark.filterwarnings("ignore:divide by zero encountered in log:RuntimeWarning")
@pytest.mark.parametrize("columns", [64, 128, 64 * 64, 64 * 65, 64 * 579])
def test_reduced_rows(columns: int) -> None:
    """Maxima, log-sum-exps; rows of one number, of -inf, and of large numbers."""
    logits = 5.0 * torch.randn(6, columns, generator=torch.Generator().manual_seed(3))
    logits[1, 1:] = -torch.inf
    logits[2] = -torch.inf
    logits[3] += 1e4
    logits[4] = -1e30
    maxima, totals = reduce_rows(logits, 64)
    assert torch.equal(maxima, logits.view(6, -1, 64).amax(2))
    expected = logits.double().logsumexp(1, keepdim=True)
    torch.testing.assert_close(totals.double(), expected, rtol=1e-6, atol=1e-5)


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_nan_reaches_the_sum_of_its_row_only() -> None:
    logits = torch.zeros(2, 128)
    logits[1, 70] = torch.nan
    totals = reduce_rows(logits, 64)[1]
    assert totals.isnan().flatten().tolist() == [False, True]


def test_keys_behind_the_last_step_are_not_read() -> None:
    """The cache is larger than what is written; there may be anything."""
    cached = [torch.full((1, 1, 32, 2, 16), torch.nan) for _ in range(2)]
    for tensor in cached:
        tensor[:, :, :3] = torch.randn(3, 2, 16, generator=torch.Generator().manual_seed(1))
    ancestors = torch.zeros(1, 2, 32, dtype=torch.int16)
    found = attend_own(torch.ones(1, 1, 2, 16), cached, ancestors, torch.tensor([2]))
    assert found.isfinite().all()
