"""Layer normalisation, bias and ReLU in C: outputs and gradients are torch's, in models too."""

import pytest
import torch
import torch.nn.functional as F
from native_kernels import require_kernels
from torch import Tensor

from nmt_cli.kernels.training import (
    LANES,
    MissingInstructionsError,
    TrainingKernels,
)
from nmt_cli.machine import cache_folder
from nmt_cli.model.backends.dispatch import choose_backend, use_backend
from nmt_cli.model.dropout import seed_masks
from nmt_cli.model.layers import FeedForward
from nmt_cli.model.native import rows
from nmt_cli.model.native.norm import LayerNorm, TwoWidths
from nmt_cli.model.native.part import NativePart
from nmt_cli.model.native.rows import row_kernels
from nmt_cli.model.precision import autocast
from nmt_cli.training.loss.cross_entropy import linear_cross_entropy

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def kernels() -> TrainingKernels:
    torch.manual_seed(1)
    return require_kernels(row_kernels(cache_folder()))


def gradients(out: Tensor, leaves: list[Tensor]) -> list[Tensor]:
    """The output, and the gradients of a sum of it with random weights."""
    generator = torch.Generator().manual_seed(out.numel())
    weight = torch.randn(out.shape, dtype=torch.float64, generator=generator)
    return [out, *torch.autograd.grad((out.double() * weight).sum(), leaves)]


@pytest.mark.parametrize(("tokens", "width"), [(1, 1), (3, 16), (64, 40), (200, 33)])
def test_native_layer_norm_equals_torch_in_double_precision(tokens, width) -> None:
    norm = LayerNorm(width, eps=1e-6)
    with torch.no_grad():
        norm.weight.uniform_(0.5, 2.0)
        norm.bias.uniform_(-1.0, 1.0)
    x = (torch.randn(tokens, width) * 3.0 + 2.0).requires_grad_()
    double = [tensor.detach().double().requires_grad_() for tensor in (x, norm.weight, norm.bias)]
    expected = gradients(F.layer_norm(double[0], (width,), *double[1:], 1e-6), double)
    norm.native = True
    ours = gradients(norm(x), [x, norm.weight, norm.bias])
    for own, exact in zip(ours, expected, strict=True):
        torch.testing.assert_close(own.double(), exact, rtol=1e-4, atol=2e-5)


def test_native_layer_norm_narrows_only_under_autocast() -> None:
    norm = LayerNorm(24)
    norm.native = norm.narrows = True
    x = torch.randn(5, 24, requires_grad=True)
    assert norm(x).dtype == torch.float32
    with autocast("bf16", CPU):
        narrow = norm(x)
    assert narrow.dtype == torch.bfloat16
    assert torch.equal(narrow, norm(x).bfloat16())
    (gradient,) = torch.autograd.grad(narrow.sum(), x)
    assert gradient.dtype == torch.float32


@pytest.mark.parametrize(
    ("reads_wide", "reads_narrow"), [(True, True), (True, False), (False, True)]
)
def test_native_layer_norm_in_two_widths_adds_up_their_gradients(reads_wide, reads_narrow) -> None:
    """The numbers are those of a norm in float32 whose output is rounded for products."""
    norm = LayerNorm(33)
    norm.native = norm.doubles = True
    with torch.no_grad():
        norm.weight.uniform_(0.5, 2.0)
    x = torch.randn(50, 33, requires_grad=True)
    leaves = [x, norm.weight, norm.bias]
    weights = torch.randn(2, 50, 33).bfloat16()

    def read(wide: Tensor, narrow: Tensor) -> list[Tensor]:
        total = torch.zeros(())
        if reads_wide:
            total = total + (wide * weights[0]).sum()
        if reads_narrow:
            total = total + (narrow * weights[1]).float().sum()
        return list(torch.autograd.grad(total, leaves))

    with autocast("bf16", CPU):
        doubled = norm.in_widths(x)
    assert isinstance(doubled, TwoWidths)
    one = norm(x)
    assert torch.equal(doubled.wide, one)
    assert torch.equal(doubled.narrow, one.bfloat16())
    ours, expected = read(*doubled), read(one, one.bfloat16())
    assert all(map(torch.equal, ours, expected))


def test_native_layer_norm_has_one_width_without_bf16_products() -> None:
    norm = LayerNorm(24)
    norm.native = norm.doubles = True
    x = torch.randn(5, 24, requires_grad=True)
    assert torch.is_tensor(norm.in_widths(x))
    with autocast("bf16", CPU), torch.no_grad():
        assert torch.is_tensor(norm.in_widths(x))


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_native_feed_forward_is_as_exact_as_torch(precision, make_model) -> None:
    """Over many streams: which values ReLU drops that are nearly zero is a matter of rounding."""
    config = make_model({"model.d_model": 18, "model.d_ff": 50}).config
    own_error, their_error = torch.zeros(2, 6)
    for _ in range(20):
        layer = FeedForward(config)
        with torch.no_grad():
            layer.inner.bias.uniform_(-1.0, 1.0)
            layer.outer.bias.uniform_(-1.0, 1.0)
        x = torch.randn(600, 18, requires_grad=True)
        leaves = [x, *layer.parameters()]
        with autocast(precision, CPU):
            theirs = gradients(layer(x), leaves)
            layer.native = True
            ours = gradients(layer(x), leaves)
        layer.native = False
        exact = layer.double()
        double = x.detach().double().requires_grad_()
        rights = gradients(exact(double), [double, *exact.parameters()])
        for index, (own, other, right) in enumerate(zip(ours, theirs, rights, strict=True)):
            assert own.dtype == other.dtype
            own_error[index] += ((own - right).norm() / right.norm()).detach() ** 2
            their_error[index] += ((other - right).norm() / right.norm()).detach() ** 2
    # Sums of float32 are added in another order; both errors are near 1e-7 then.
    assert torch.all(own_error.sqrt() < 1.3 * their_error.sqrt() + 2e-6)


def assert_as_exact(ours: list[Tensor], theirs: list[Tensor], exact: list[Tensor]) -> None:
    """Assert that the error of `ours` is about as small as that of `theirs`.

    The error of a single number is a matter of luck.
    """
    for own, other, right in zip(ours, theirs, exact, strict=True):
        assert own.dtype == other.dtype
        if not right.dim():
            assert abs(own - right) < 2e-3 * right
            continue
        assert (own - right).norm() <= 1.5 * (other - right).norm() + 5e-6 * right.norm()


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_change_only_the_order_of_sums(threads, monkeypatch) -> None:
    x, gradient = torch.randn(2, 4_000, 64)
    weight, bias = torch.randn(2, 64)
    results = []
    for count in (1, threads):
        monkeypatch.setattr(torch, "get_num_threads", lambda count=count: count)
        made = row_kernels(cache_folder())
        assert made is not None
        out, _, statistics = rows.normalise(made, x, weight, bias, 1e-5, "wide")
        assert out is not None
        results.append((out, *rows.normalise_backward(made, gradient, None, x, weight, statistics)))
    for one, several in zip(results[0][:2], results[1][:2], strict=True):
        assert torch.equal(one, several)
    for one, several in zip(results[0][2:], results[1][2:], strict=True):
        torch.testing.assert_close(one, several, rtol=1e-5, atol=1e-4)


def test_every_instruction_set_passes_the_self_test(kernels: TrainingKernels) -> None:
    for lanes in LANES:
        try:
            assert rows._are_right(TrainingKernels(kernels.library, lanes))
        except MissingInstructionsError:
            assert lanes > kernels.lanes


@pytest.mark.parametrize("wrong", ["normalise_backward", "bias_gradient_", "add_bias_"])
def test_self_test_of_rows_finds_wrong_numbers(wrong, kernels, monkeypatch) -> None:
    right = getattr(rows, wrong)

    def damaged(*given: object, **named: object) -> object:
        result = right(*given, **named)
        (result[-1] if isinstance(result, tuple) else result)[1] += 0.01
        return result

    monkeypatch.setattr(rows, wrong, damaged)
    assert not rows._are_right(kernels)


@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_model_in_c_has_the_loss_and_gradients_of_one_in_torch(
    order, precision, make_model, random_batch
) -> None:
    widths = {"model.d_model": 32, "model.heads": 2, "model.d_ff": 48, "model.max_positions": 32}
    settings = {"model.norm_order": order, "model.dropout": 0.2, **widths}
    model = make_model(settings).float().train()
    batch = random_batch(model.config, [3, 7, 20], [4, 9, 17])

    def computed(precision: str) -> list[Tensor]:
        seed_masks(3)
        with autocast(precision, CPU):
            loss = linear_cross_entropy(
                model.hidden(batch), model.output_weight, model.output_bias, batch.tgt_out, 0.1
            )
        return [loss.total.detach(), *torch.autograd.grad(loss.total, model.parameters())]

    use_backend(model, "plain")
    assert not any(part.native for part in model.modules() if isinstance(part, NativePart))
    theirs = computed(precision)
    use_backend(model, choose_backend(CPU, 16, 16))
    assert all(part.native for part in model.modules() if isinstance(part, NativePart))
    ours = computed(precision)
    use_backend(model.double(), "plain")
    assert_as_exact(ours, theirs, computed("float32"))
