"""R-Drop against the formula of Liang and others (2021), written out in float64."""

import pytest
import torch
import torch.nn.functional as F

from nmt_cli.training.loss import r_drop
from nmt_cli.training.loss.cross_entropy import smoothed_target
from nmt_cli.training.loss.r_drop import linear_r_drop_loss, r_drop_loss

TARGETS = torch.tensor([1, 4, 0, -1, 2, 2, 3, -1])
EPSILON, ALPHA = 0.1, 5.0


def expected_loss(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Token by token, as torch's own cross-entropy and KL divergence say; filler left out."""
    total = first.new_zeros(())
    for row, other, target in zip(first, second, TARGETS.tolist(), strict=True):
        if target < 0:
            continue
        smoothed = smoothed_target(len(row), target, EPSILON).to(row.dtype)
        entropies = F.cross_entropy(row, smoothed) + F.cross_entropy(other, smoothed)
        p, q = row.log_softmax(0), other.log_softmax(0)
        there = F.kl_div(q, p, reduction="sum", log_target=True)
        back = F.kl_div(p, q, reduction="sum", log_target=True)
        total = total + (entropies + ALPHA * (there + back) / 2) / 2
    return total


def make_inputs(bias: bool) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = [(8, 3), (8, 3), (5, 3), *([(5,)] if bias else [])]
    return [
        torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
        for shape in shapes
    ]


def test_r_drop_loss_equals_the_formula() -> None:
    first, second, weight = make_inputs(bias=False)
    logits = first @ weight.T, second @ weight.T
    loss = r_drop_loss(*logits, TARGETS, EPSILON, ALPHA)
    torch.testing.assert_close(loss.total, expected_loss(*logits), rtol=1e-12, atol=0)
    kept = TARGETS >= 0
    nll = sum(F.cross_entropy(rows[kept], TARGETS[kept], reduction="sum") for rows in logits) / 2
    torch.testing.assert_close(loss.nll, nll, rtol=1e-12, atol=0)
    assert int(loss.tokens) == 6


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_r_drop_chunk_gradients_equal_the_formula(bias, chunk, monkeypatch) -> None:
    monkeypatch.setattr(r_drop, "CHUNK_ROWS", chunk)
    monkeypatch.setitem(r_drop.CHUNK_ELEMENTS, "cpu", 1)
    inputs = make_inputs(bias)
    first, second, weight, *rest = inputs
    loss = linear_r_drop_loss(
        first, second, weight, rest[0] if rest else None, TARGETS, EPSILON, ALPHA
    )
    found = torch.autograd.grad(loss.total * 7.0, inputs)
    plain = expected_loss(F.linear(first, weight, *rest), F.linear(second, weight, *rest))
    torch.testing.assert_close(loss.total, plain, rtol=1e-12, atol=0)
    expected = torch.autograd.grad(plain * 7.0, inputs)
    for gradient, other in zip(found, expected, strict=True):
        torch.testing.assert_close(gradient, other, rtol=1e-10, atol=1e-12)


def test_r_drop_of_equal_passes_is_the_loss_of_one() -> None:
    first, _, weight = make_inputs(bias=False)
    alike = linear_r_drop_loss(first, first, weight, None, TARGETS, EPSILON, ALPHA)
    none = linear_r_drop_loss(first, first, weight, None, TARGETS, EPSILON, 0.0)
    torch.testing.assert_close(alike.total, none.total, rtol=1e-12, atol=0)


def test_r_drop_autocast_applies_to_products_only() -> None:
    first, second, weight = (
        tensor.detach().float().requires_grad_() for tensor in make_inputs(False)
    )
    exact = linear_r_drop_loss(first, second, weight, None, TARGETS, EPSILON, ALPHA)
    with torch.autocast("cpu", torch.bfloat16):
        narrow = linear_r_drop_loss(first, second, weight, None, TARGETS, EPSILON, ALPHA)
    assert narrow.total.dtype == torch.float32
    assert narrow.total != exact.total
    torch.testing.assert_close(narrow.total, exact.total, rtol=2e-2, atol=0)
    for gradient in torch.autograd.grad(narrow.total, [first, second, weight]):
        assert gradient.dtype == torch.float32
