"""The loss that never holds all logits equals the one that does, gradients too."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from nmt_cli.batch import NO_TARGET
from nmt_cli.training.loss.cross_entropy import (
    CHUNK_ELEMENTS,
    CHUNK_ROWS,
    Loss,
    _chunks,
    label_smoothed_cross_entropy,
    linear_cross_entropy,
)

TARGETS = torch.tensor([0, 8, 3, 3, 5])


@pytest.fixture
def inputs() -> list[Tensor]:
    """hidden (5, 4), weight (9, 4), bias (9,)."""
    generator = torch.Generator().manual_seed(2)
    shapes = [(5, 4), (9, 4), (9,)]
    return [
        torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_()
        for shape in shapes
    ]


def reference(inputs: list[Tensor], *, biased: bool, epsilon: float) -> Loss:
    hidden, weight, bias = inputs
    logits = hidden @ weight.T + (bias if biased else 0.0)
    return label_smoothed_cross_entropy(logits, TARGETS, epsilon)


def gradients(total: Tensor, inputs: list[Tensor], *, biased: bool) -> tuple[Tensor, ...]:
    # Another factor than 1, as gradient accumulation has.
    return torch.autograd.grad(total * 3.0, inputs if biased else inputs[:2])


@pytest.mark.parametrize("rows", [1, 2, 5, 256])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_cross_entropy_does_not_depend_on_chunks(
    inputs, rows, biased, epsilon, monkeypatch
) -> None:
    monkeypatch.setattr("nmt_cli.training.loss.cross_entropy.CHUNK_ELEMENTS", {"cpu": 0, "cuda": 0})
    monkeypatch.setattr("nmt_cli.training.loss.cross_entropy.CHUNK_ROWS", rows)
    hidden, weight, bias = inputs
    found = linear_cross_entropy(hidden, weight, bias if biased else None, TARGETS, epsilon)
    expected = reference(inputs, biased=biased, epsilon=epsilon)
    torch.testing.assert_close(found.total, expected.total, rtol=0, atol=1e-12)
    torch.testing.assert_close(found.nll.detach(), expected.nll, rtol=0, atol=1e-12)
    assert found.tokens == expected.tokens == 5
    pairs = zip(
        gradients(found.total, inputs, biased=biased),
        gradients(expected.total, inputs, biased=biased),
        strict=True,
    )
    for gradient, other in pairs:
        torch.testing.assert_close(gradient, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rows", [2, 256])
@pytest.mark.parametrize("biased", [True, False])
def test_cross_entropy_ignores_padding(inputs, rows, biased, monkeypatch) -> None:
    monkeypatch.setattr("nmt_cli.training.loss.cross_entropy.CHUNK_ELEMENTS", {"cpu": 0, "cuda": 0})
    monkeypatch.setattr("nmt_cli.training.loss.cross_entropy.CHUNK_ROWS", rows)
    hidden, weight, bias = inputs
    longer = torch.cat([hidden.detach(), hidden.detach()[:3] * 2.0]).requires_grad_()
    targets = torch.cat([TARGETS, torch.full((3,), NO_TARGET)])
    found = linear_cross_entropy(longer, weight, bias if biased else None, targets, 0.1)
    expected = reference(inputs, biased=biased, epsilon=0.1)
    torch.testing.assert_close(found.total, expected.total, rtol=0, atol=1e-12)
    torch.testing.assert_close(found.nll.detach(), expected.nll, rtol=0, atol=1e-12)
    assert found.tokens == 5
    gradient = gradients(found.total, [longer, weight, bias], biased=biased)
    wanted = gradients(expected.total, inputs, biased=biased)
    assert not gradient[0][5:].any()
    for part, other in zip((gradient[0][:5], *gradient[1:]), wanted, strict=True):
        torch.testing.assert_close(part, other, rtol=0, atol=1e-12)


def test_cross_entropy_without_gradients_has_the_same_sums(inputs) -> None:
    with torch.no_grad():
        found = linear_cross_entropy(*inputs, TARGETS, 0.1)
    expected = reference(inputs, biased=True, epsilon=0.1)
    torch.testing.assert_close(found.total, expected.total.detach())
    assert not found.total.requires_grad


def test_autocast_applies_to_products_and_not_to_sums(inputs) -> None:
    single = [tensor.detach().float().requires_grad_() for tensor in inputs]
    with torch.autocast("cpu", torch.bfloat16):
        found = linear_cross_entropy(*single, TARGETS, 0.1)
    narrow = (single[0].bfloat16() @ single[1].bfloat16().T).float() + single[2]
    hits = label_smoothed_cross_entropy(narrow, TARGETS, 0.0)
    # The mean of the logits is that of their products before they are rounded.
    exact = single[0].bfloat16().float() @ single[1].bfloat16().float().T + single[2]
    means = narrow.logsumexp(dim=-1) - exact.mean(dim=-1)
    assert found.total.dtype == found.nll.dtype == torch.float32
    torch.testing.assert_close(found.nll, hits.nll, rtol=0, atol=1e-5)
    expected = 0.9 * hits.total + 0.1 * means.sum()
    torch.testing.assert_close(found.total, expected, rtol=0, atol=1e-5)
    wide = reference(inputs, biased=True, epsilon=0.1)
    found.total.backward()
    gradient = torch.autograd.grad(wide.total, inputs)
    for leaf, other in zip(single, gradient, strict=True):
        assert leaf.grad is not None
        assert leaf.grad.dtype == torch.float32
        torch.testing.assert_close(leaf.grad.double(), other, rtol=0.05, atol=0.05)


def test_label_smoothing_share_is_uniform_over_the_vocabulary() -> None:
    """All logits equal: every smoothing gives ln V a token."""
    zeros = torch.zeros(5, 4), torch.zeros(9, 4)
    for epsilon in (0.0, 0.1, 0.9):
        total = linear_cross_entropy(*zeros, None, TARGETS, epsilon).total
        assert float(total) == pytest.approx(5 * 2.1972246, rel=1e-6)


@given(tokens=st.integers(0, 60_000), vocabulary=st.integers(1, 70_000))
def test_loss_chunks_are_few_and_of_equal_size(tokens, vocabulary) -> None:
    for kind in ("cpu", "cuda"):
        limit = max(CHUNK_ELEMENTS[kind] // vocabulary, CHUNK_ROWS)
        parts = _chunks(tokens, vocabulary, kind)
        sizes = [part.stop - part.start for part in parts]
        assert [0, *(part.stop for part in parts)] == [*(part.start for part in parts), tokens]
        assert max(sizes, default=0) <= limit
        if kind == "cuda":
            assert len(parts) == -(-tokens // limit)
            assert max(sizes, default=0) <= min(sizes, default=0) + 1
        else:
            assert len({*sizes[:-1]}) <= 1
            assert all(size % CHUNK_ROWS == 0 and size > limit // 2 for size in sizes[:-1])
            assert 0 < min(sizes, default=1) <= max(sizes, default=1)


def test_cross_entropy_without_tokens_is_zero() -> None:
    hidden, weight = torch.zeros(0, 4, requires_grad=True), torch.zeros(9, 4, requires_grad=True)
    found = linear_cross_entropy(hidden, weight, None, torch.zeros(0, dtype=torch.long), 0.1)
    assert (found.total, found.nll, found.tokens) == (0.0, 0.0, 0)
    found.total.backward()
    assert weight.grad is not None
    assert not weight.grad.any()
