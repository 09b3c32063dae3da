"""The moving average of the weights: its formula, its start, and the way to disk and back."""

import pytest
import torch
from torch import nn

from nmt_cli.errors import DataError
from nmt_cli.training.optimizers.ema import MovingAverage


def test_ema_update_equals_the_formula() -> None:
    model = nn.Linear(2, 1).double()
    average = MovingAverage(model, decay=0.7)
    expected = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    for step in range(1, 31):
        with torch.no_grad():
            for weight in model.parameters():
                weight += torch.randn_like(weight)
        # (1 + t) / (10 + t) passes 0.7 at t = 20.
        decay = (1 + step) / (10 + step) if step < 20 else 0.7
        for name, weight in model.named_parameters():
            expected[name] = decay * expected[name] + (1 - decay) * weight.detach()
        average.update(step)
    for name, mean in average.weights().items():
        assert mean.dtype == torch.float32
        torch.testing.assert_close(mean, expected[name].float())


def test_ema_weights_are_copies() -> None:
    model = nn.Linear(2, 1)
    before = model.weight.detach().clone()
    average = MovingAverage(model, decay=0.9)
    average.weights()["weight"].zero_()
    average.update(1)
    assert torch.equal(model.weight, before)
    assert torch.equal(average.weights()["weight"], before)


def test_ema_continues_exactly_after_loading() -> None:
    first, second = nn.Linear(2, 1), nn.Linear(2, 1)
    averages = [MovingAverage(model, decay=0.9) for model in (first, second)]
    averages[0].update(1)
    averages[1].load(averages[0].weights())
    with torch.no_grad():
        second.weight.copy_(first.weight)
        second.bias.copy_(first.bias)
    for average in averages:
        average.update(2)
    for name, mean in averages[0].weights().items():
        assert torch.equal(mean, averages[1].weights()[name])


def test_ema_of_another_model_is_refused() -> None:
    saved = MovingAverage(nn.Linear(3, 1), decay=0.9).weights()
    with pytest.raises(DataError, match="does not fit"):
        MovingAverage(nn.Linear(2, 1), decay=0.9).load(saved)
    with pytest.raises(DataError, match="does not fit"):
        MovingAverage(nn.Linear(3, 1, bias=False), decay=0.9).load(saved)
