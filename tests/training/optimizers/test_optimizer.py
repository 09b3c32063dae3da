"""The schedules beside equation 3, and what Adam is given; the paper's own are in paper/."""

import dataclasses

import pytest
import torch

from nmt_cli.config.schema import Config, TrainConfig
from nmt_cli.training.optimizers.factory import learning_rate, make_optimizer, set_learning_rate


@pytest.mark.parametrize(
    ("schedule", "shares"),
    [
        # Of the peak at 100 (end of warm-up), 325, 550, 775, 1000 and 1100 of 1000 steps.
        ("linear", [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]),
        ("cosine", [1.0, 0.853553, 0.5, 0.146447, 0.0, 0.0]),
        ("inverse_sqrt", [1.0, 0.554700, 0.426401, 0.359211, 0.316228, 0.301511]),
        ("wsd", [1.0, 1.0, 1.0, 0.5, 0.0, 0.0]),
        ("constant", [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
    ],
)
def test_schedules_as_shares_of_the_peak_rate(schedule, shares) -> None:
    train = TrainConfig(
        schedule=schedule, warmup_steps=100, max_steps=1_000, learning_rate=2.0, decay_fraction=0.45
    )
    steps = (100, 325, 550, 775, 1_000, 1_100)
    found = [learning_rate(step, train, 512) / 2.0 for step in steps]
    assert found == pytest.approx(shares, abs=1e-6)
    assert learning_rate(25, train, 512) == pytest.approx(0.5)


def test_wsd_begins_its_decay_after_warm_up_at_the_earliest() -> None:
    """No jump at the end of warm-up, and no decay at all where none is wanted."""
    train = TrainConfig(
        schedule="wsd", warmup_steps=100, max_steps=200, learning_rate=1.0, decay_fraction=0.9
    )
    rates = [learning_rate(step, train, 512) for step in (99, 100, 150, 200)]
    assert rates == pytest.approx([0.99, 1.0, 0.5, 0.0])
    stable = dataclasses.replace(train, decay_fraction=0.0)
    rates = [learning_rate(step, stable, 512) for step in (100, 199, 200)]
    assert rates == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("schedule", ["linear", "cosine", "wsd"])
def test_schedule_that_ends_within_its_warm_up(schedule) -> None:
    train = TrainConfig(schedule=schedule, warmup_steps=100, max_steps=50, learning_rate=1.0)
    assert learning_rate(50, train, 512) == pytest.approx(0.5)
    assert learning_rate(100, train, 512) == 0.0


def test_weight_decay_is_decoupled_and_spares_vectors() -> None:
    model = torch.nn.Linear(1, 1)
    torch.nn.init.ones_(model.weight)
    torch.nn.init.ones_(model.bias)
    optimizer = make_optimizer(model, Config(train=TrainConfig(weight_decay=0.5)))
    set_learning_rate(optimizer, 0.1)
    model.weight.grad, model.bias.grad = torch.zeros(1, 1), torch.zeros(1)
    optimizer.step()
    assert model.weight.item() == pytest.approx(0.95)
    assert model.bias.item() == 1.0
