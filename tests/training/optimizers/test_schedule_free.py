"""Schedule-Free AdamW against Algorithm 1 of Defazio and others (2024), number by number."""

import math

import pytest
import torch

from nmt_cli.config.schema import Config, TrainConfig
from nmt_cli.training.optimizers.factory import make_optimizer, set_learning_rate
from nmt_cli.training.optimizers.schedule_free import place_training_weights, saved_weight
from nmt_cli.training.saving.tensor_files import model_weights

TRAIN = TrainConfig(
    optimizer="schedule_free", schedule="constant", beta1=0.8, beta2=0.9, epsilon=1e-3,
    weight_decay=0.1,
)  # fmt: skip


class Algorithm1:
    """The paper's lines, for one weight and a rate that is given for each step."""

    def __init__(self, start: torch.Tensor, weight_decay: float) -> None:
        self.z = start.clone()
        self.x = start.clone()
        self.v = torch.zeros_like(start)
        self.weight_decay = weight_decay
        self.squares = 0.0

    def y(self) -> torch.Tensor:
        return (1 - TRAIN.beta1) * self.z + TRAIN.beta1 * self.x

    def step(self, number: int, rate: float, gradient: torch.Tensor) -> None:
        y = self.y()
        self.v = TRAIN.beta2 * self.v + (1 - TRAIN.beta2) * gradient**2
        rate *= math.sqrt(1 - TRAIN.beta2**number)
        self.z = self.z - rate * gradient / (self.v.sqrt() + TRAIN.epsilon)
        self.z = self.z - rate * self.weight_decay * y
        self.squares += rate**2
        c = rate**2 / self.squares
        self.x = (1 - c) * self.x + c * self.z


def make_model() -> torch.nn.Module:
    torch.manual_seed(3)
    return torch.nn.Linear(3, 2).double()


def rate_of(step: int) -> float:
    return 0.3 * min(1.0, step / 4)


def test_schedule_free_steps_equal_algorithm_1() -> None:
    """With warm-up and weight decay, which spares the bias; gradients are taken at y."""
    model = make_model()
    optimizer = make_optimizer(model, Config(train=TRAIN))
    references = {
        name: Algorithm1(weight.detach(), 0.1 if name == "weight" else 0.0)
        for name, weight in model.named_parameters()
    }
    generator = torch.Generator().manual_seed(1)
    for step in range(1, 13):
        for name, weight in model.named_parameters():
            torch.testing.assert_close(weight.detach(), references[name].y(), rtol=1e-12, atol=0)
            # A gradient that depends on where it is taken.
            noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
            weight.grad = weight.detach() + noise
            references[name].step(step, rate_of(step), references[name].y() + noise)
        set_learning_rate(optimizer, rate_of(step))
        optimizer.step()
    for name, weight in model.named_parameters():
        mean = saved_weight(optimizer, weight)
        torch.testing.assert_close(mean, references[name].x, rtol=1e-12, atol=0)
        assert not torch.allclose(mean, weight)


def test_x_is_the_plain_mean_of_z_at_a_constant_rate() -> None:
    """Where nothing corrects the rate (beta2 0), every z weighs the same."""
    train = TrainConfig(optimizer="schedule_free", schedule="constant", beta2=0.0, epsilon=1e-12)
    weight = torch.nn.Parameter(torch.tensor([[1.0]], dtype=torch.float64))
    holder = torch.nn.Module()
    holder.weight = weight
    optimizer = make_optimizer(holder, Config(train=train))
    set_learning_rate(optimizer, 0.5)
    for sign in (1.0, 1.0, -1.0):
        weight.grad = torch.full_like(weight, sign)
        optimizer.step()
    # z goes 1.0, then 0.5, 0.0, 0.5.
    assert saved_weight(optimizer, weight).item() == pytest.approx((0.5 + 0.0 + 0.5) / 3)
    assert weight.item() == pytest.approx(0.1 * 0.5 + 0.9 * 1 / 3)


def test_schedule_free_step_at_rate_zero_changes_nothing() -> None:
    model = make_model()
    before = model_weights(model)
    optimizer = make_optimizer(model, Config(train=TRAIN))
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight)
    optimizer.step()
    for name, weight in model_weights(model, optimizer).items():
        assert torch.equal(weight, before[name])


def test_schedule_free_restores_training_weights_exactly() -> None:
    model = make_model().float()
    optimizer = make_optimizer(model, Config(train=TRAIN))
    set_learning_rate(optimizer, 0.1)
    for _ in range(3):
        for weight in model.parameters():
            weight.grad = torch.randn_like(weight)
        optimizer.step()
    before = model_weights(model)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(saved_weight(optimizer, weight))
    assert not torch.equal(model.weight, before["weight"])
    place_training_weights(optimizer)
    for name, weight in model_weights(model).items():
        assert torch.equal(weight, before[name])


def test_schedule_free_mean_before_the_first_step() -> None:
    model = make_model()
    optimizer = make_optimizer(model, Config(train=TRAIN))
    before = model_weights(model)
    place_training_weights(optimizer)
    for name, weight in model_weights(model, optimizer).items():
        assert torch.equal(weight, before[name])
