"""Dropout's share, scale and gradient, and that a seed decides which values go."""

import pytest
import torch

from nmt_cli.model.dropout import Dropout

SIZE = 400_001  # No multiple of the four values that one random number decides over.


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.95])
def test_dropout_has_its_rate_and_keeps_the_mean(rate: float) -> None:
    torch.manual_seed(1)
    out = Dropout(rate)(torch.ones(SIZE))
    share = float((out == 0).double().mean())
    # Five standard deviations of a share of so many values.
    assert share == pytest.approx(rate, abs=5 * (rate * (1 - rate) / SIZE) ** 0.5)
    assert sorted({*out.tolist()}) == pytest.approx([0.0, 1 / (1 - rate)], rel=1e-3)
    exact = round(rate * 65_536) / 65_536
    assert float(out.max()) == pytest.approx(1 / (1 - exact), rel=1e-6)


def test_dropout_of_neighbours_is_independent() -> None:
    torch.manual_seed(2)
    gone = (Dropout(0.5)(torch.ones(SIZE)) == 0).double() - 0.5
    for distance in (1, 2, 3, 4, 8):
        product = float((gone[distance:] * gone[:-distance]).mean()) * 4
        assert abs(product) < 5 / SIZE**0.5


def test_dropout_gradient_has_the_same_mask() -> None:
    torch.manual_seed(3)
    x = torch.rand(7, 5, dtype=torch.float64) + 1.0
    x.requires_grad_()
    out = Dropout(0.4)(x)
    (gradient,) = torch.autograd.grad(out.sum(), x)
    assert 0 < int((out == 0).sum()) < out.numel()
    torch.testing.assert_close(gradient, (out / x).detach())
    assert out.shape == x.shape
    assert out.dtype == torch.float64


def test_dropout_mask_depends_on_the_seed() -> None:
    outs = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        outs.append(Dropout(0.3)(torch.ones(1_000)))
    assert torch.equal(outs[0], outs[1])
    assert not torch.equal(outs[0], outs[2])


def test_dropout_is_identity_in_evaluation_and_at_rate_zero() -> None:
    x = torch.ones(10)
    assert Dropout(0.9).eval()(x) is x
    assert Dropout(0.0)(x) is x
