"""Schedule-Free AdamW (Defazio and others 2024): averaging instead of a decaying learning rate.

There are three values of each weight. z takes Adam's steps without momentum; x, the mean of all z,
is validated and saved; y, between them, is where gradients are computed. During training the
model's own weights are y.
"""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from nmt_cli.model.torch_adapter import (
    foreach_add_,
    foreach_addcdiv_,
    foreach_addcmul_,
    foreach_copy_,
    foreach_lerp_,
    foreach_mul_,
    foreach_sqrt,
)
from nmt_cli.training.optimizers.adam import Decays, Optimizer
from nmt_cli.training.optimizers.torch_threads import suitable_threads

# Keys of a weight's state; the paper's letters.
X, Z, V = "x", "z", "v"
PROGRESS = "progress"


class ScheduleFree(Optimizer):
    """Algorithm 1 of the paper; each group's `lr` includes the factor of the warm-up."""

    def __init__(self, groups: Iterable[dict[str, Any]], decays: Decays) -> None:
        """groups: may set `weight_decay`, applied to y; decays: beta1 is the share of x in y."""
        super().__init__(groups)
        self.decays = decays

    @torch.no_grad()
    def step(self) -> None:
        """Take one step from the gradients at y; weights without a gradient do not change."""
        rate, newest = self._advance(self.param_groups[0]["lr"])
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            if weights:
                with suitable_threads(weights):
                    self._step_group(weights, rate, newest, group["weight_decay"])

    def _advance(self, rate: float) -> tuple[float, float]:
        """Count a step; its bias-corrected rate, and the share c of its z in the mean x."""
        # The same for all weights; kept in the state of the first one, so that it is saved.
        state = self._state(self.param_groups[0]["params"][0])
        steps, squares = state[PROGRESS].tolist()
        rate *= math.sqrt(1.0 - self.decays.beta2 ** (steps + 1.0))
        squares += rate**2
        state[PROGRESS] = torch.tensor([steps + 1.0, squares], dtype=torch.float64)
        return rate, rate**2 / squares if squares else 0.0

    def _state(self, weight: Tensor) -> dict[str, Tensor]:
        state: dict[str, Tensor] = self.state[weight]
        if not state:
            state.update({X: weight.detach().clone(), Z: weight.detach().clone()})
            state[V] = torch.zeros_like(weight)
            if weight is self.param_groups[0]["params"][0]:
                state[PROGRESS] = torch.zeros(2, dtype=torch.float64)
        return state

    def _step_group(
        self, weights: list[Tensor], rate: float, newest: float, weight_decay: float
    ) -> None:
        states = [self._state(weight) for weight in weights]
        x, z, v = ([state[key] for state in states] for key in (X, Z, V))
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        foreach_mul_(v, self.decays.beta2)
        foreach_addcmul_(v, gradients, gradients, 1.0 - self.decays.beta2)
        scale = foreach_sqrt(v)
        foreach_add_(scale, self.decays.epsilon)
        foreach_addcdiv_(z, gradients, scale, -rate)
        if weight_decay:
            foreach_add_(z, weights, alpha=-rate * weight_decay)
        foreach_lerp_(x, z, newest)
        self._place(weights, x, z)

    def _place(self, weights: list[Tensor], x: list[Tensor], z: list[Tensor]) -> None:
        """Set the weights to y."""
        foreach_copy_(weights, z)
        foreach_lerp_(weights, x, self.decays.beta1)

    @torch.no_grad()
    def place_weights(self) -> None:
        """Set the weights to y, whatever they hold."""
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if self.state.get(weight)]
            states = [self.state[weight] for weight in weights]
            if weights:
                self._place(weights, [state[X] for state in states], [state[Z] for state in states])


def place_training_weights(optimizer: Optimizer) -> None:
    """Set the weights that training continues with, after saved weights were loaded."""
    if isinstance(optimizer, ScheduleFree):
        optimizer.place_weights()


def saved_weight(optimizer: Optimizer, weight: Tensor) -> Tensor:
    """The value of a weight that is validated and saved: with Schedule-Free x, else itself."""
    if not isinstance(optimizer, ScheduleFree):
        return weight
    saved: Tensor = optimizer.state.get(weight, {}).get(X, weight)
    return saved
