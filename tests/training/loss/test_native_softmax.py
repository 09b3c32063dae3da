"""The softmax of training in C, against torch's, on each instruction set."""

import pytest
import torch
from native_kernels import require_kernels

from nmt_cli.kernels.training import MissingInstructionsError, TrainingKernels
from nmt_cli.machine import cache_folder
from nmt_cli.training.loss import native_softmax
from nmt_cli.training.loss.cross_entropy import linear_cross_entropy
from nmt_cli.training.loss.native_softmax import native_softmax_gradient, softmax_kernels
from nmt_cli.training.loss.softmax_gradient import choose_softmax, softmax_gradient

EPSILON = 0.1


@pytest.fixture
def kernels() -> TrainingKernels:
    return require_kernels(softmax_kernels(cache_folder()))


@pytest.fixture(params=[16, 8])
def forced(request, kernels, monkeypatch) -> TrainingKernels:
    """Kernels of each instruction set; skips those that this CPU lacks."""
    made = TrainingKernels(kernels.library, request.param)
    if made.lanes > kernels.lanes:
        with pytest.raises(MissingInstructionsError, match="no kernels of 16 lanes"):
            native_softmax._are_right(made)
        pytest.skip("this CPU lacks AVX-512")
    monkeypatch.setattr(native_softmax, "softmax_kernels", lambda _: made)
    return made


def inputs(tokens: int, size: int, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    """Logits, bias, targets of which some are padding, and the means of the logits."""
    generator = torch.Generator().manual_seed(size)
    logits = (4 * torch.randn(tokens, size, generator=generator)).to(dtype)
    bias = torch.randn(size, generator=generator)
    targets = torch.randint(0, size, (tokens,), generator=generator)
    targets[1::3] = -1
    return logits, bias, targets, (logits.float() + bias).mean(1)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 1_500])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("has_bias", [False, True])
def test_softmax_gradient_equals_the_reference(forced, size, dtype, has_bias) -> None:
    logits, bias, targets, means = inputs(7, size, dtype)
    given = bias if has_bias else None
    expected = softmax_gradient(
        logits.double(), None if given is None else given.double(), targets, means.double(),
        EPSILON, needs_gradient=True,
    )  # fmt: skip
    sums, gradient = native_softmax_gradient(
        logits, given, targets, means, EPSILON, needs_gradient=True
    )
    assert gradient is logits
    torch.testing.assert_close(sums.double(), expected[0], rtol=1e-5, atol=1e-5)
    rtol = 2**-8 if dtype == torch.bfloat16 else 1e-5
    torch.testing.assert_close(gradient.double(), expected[1], rtol=rtol, atol=1e-6)
    assert (gradient[targets < 0] == 0).all()


def test_without_a_gradient_the_logits_stay(forced) -> None:
    logits, bias, targets, means = inputs(5, 33, torch.float32)
    kept = logits.clone()
    sums, gradient = native_softmax_gradient(
        logits, bias, targets, means, EPSILON, needs_gradient=False
    )
    assert gradient is None
    assert torch.equal(logits, kept)
    expected, _ = softmax_gradient(logits, bias, targets, means, EPSILON, needs_gradient=False)
    torch.testing.assert_close(sums, expected, rtol=1e-6, atol=1e-5)


def test_bf16_gradients_are_rounded_to_the_nearest(forced) -> None:
    logits, _, targets, means = inputs(4, 1_500, torch.bfloat16)
    exact, wide = logits.float(), logits.clone().float()
    _, rounded = native_softmax_gradient(logits, None, targets, means, EPSILON, needs_gradient=True)
    _, full = native_softmax_gradient(wide, None, targets, means, EPSILON, needs_gradient=True)
    assert torch.equal(rounded, full.bfloat16())
    assert not torch.equal(exact, full)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_numbers_that_are_not_finite_show_in_the_loss(forced, value, dtype) -> None:
    logits, bias, targets, means = inputs(3, 40, dtype)
    logits[0, 21] = value
    sums, gradient = native_softmax_gradient(
        logits, bias, targets, means, EPSILON, needs_gradient=True
    )
    assert not sums.isfinite().any()
    assert gradient[0].isnan().any()
    assert gradient[2].isfinite().all()


def test_extreme_logits_give_no_infinity(forced) -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]])
    targets = torch.tensor([1, 0])
    sums, gradient = native_softmax_gradient(
        logits, None, targets, logits.mean(1), 0.0, needs_gradient=True
    )
    torch.testing.assert_close(sums, torch.full((2,), 2e4 + torch.tensor(3.0).log().item()))
    torch.testing.assert_close(gradient[0], torch.tensor([1.0, -1.0, 0.0]))
    torch.testing.assert_close(gradient[1], torch.tensor([-2 / 3, 1 / 3, 1 / 3]))


def test_threads_change_no_bit(kernels, monkeypatch) -> None:
    monkeypatch.setattr(native_softmax, "LEAST_WORK_PER_THREAD", 1)
    found = []
    for threads in (1, 3, 8):
        monkeypatch.setattr("torch.get_num_threads", lambda threads=threads: threads)
        logits, bias, targets, means = inputs(7, 50, torch.float32)
        found.append(
            native_softmax_gradient(logits, bias, targets, means, EPSILON, needs_gradient=True)
        )
    for sums, gradient in found[1:]:
        assert torch.equal(sums, found[0][0])
        assert torch.equal(gradient, found[0][1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_loss_in_c_has_the_gradients_of_the_loss_in_torch(kernels, monkeypatch, dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(300, 16, generator=generator)
    weight, bias = torch.randn(70, 16, generator=generator), torch.randn(70, generator=generator)
    targets = torch.arange(300) % 71 - 1

    def gradients() -> list[torch.Tensor]:
        leaves = [value.clone().requires_grad_() for value in (hidden, weight, bias)]
        with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
            loss = linear_cross_entropy(*leaves, targets, EPSILON)
        return [loss.total.detach(), loss.nll, *torch.autograd.grad(loss.total, leaves)]

    own = gradients()
    monkeypatch.setattr(
        "nmt_cli.training.loss.cross_entropy.choose_softmax", lambda *_: softmax_gradient
    )
    rtol, atol = (1e-2, 0.05) if dtype == torch.bfloat16 else (1e-4, 1e-4)
    for value, expected in zip(own, gradients(), strict=True):
        torch.testing.assert_close(value, expected, rtol=rtol, atol=atol)


def test_softmax_in_c_is_chosen_for_float32_sums_on_a_cpu(kernels, monkeypatch) -> None:
    weight = torch.empty(3, 2)
    assert choose_softmax(weight, torch.float32) is native_softmax_gradient
    assert choose_softmax(weight, torch.bfloat16) is native_softmax_gradient
    assert choose_softmax(weight, torch.float16) is softmax_gradient
    assert choose_softmax(weight.double(), torch.float64) is softmax_gradient
    monkeypatch.setattr(native_softmax, "softmax_kernels", lambda _: None)
    assert choose_softmax(weight, torch.float32) is softmax_gradient
    with pytest.raises(RuntimeError, match="no kernels for this CPU"):
        native_softmax_gradient(weight, None, torch.zeros(3), weight, 0.0, needs_gradient=False)


def test_a_softmax_that_gives_wrong_numbers_is_not_used(kernels, monkeypatch) -> None:
    real = native_softmax._softmax_gradient

    def wrong(own: TrainingKernels, *arguments: object, **options: bool) -> object:
        sums, gradient = real(own, *arguments, **options)
        return sums * (1.001 if own.lanes == 16 else 1.0), gradient

    monkeypatch.setattr(native_softmax, "_softmax_gradient", wrong)
    softmax_kernels.cache_clear()
    found = softmax_kernels(cache_folder())
    softmax_kernels.cache_clear()
    assert found is not None
    assert found.lanes == 8
