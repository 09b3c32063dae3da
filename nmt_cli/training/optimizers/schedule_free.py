"""Schedule-Free AdamW (Defazio and others 2024): a mean of the steps in place of a decaying rate.

Three points are kept for each weight: z takes Adam's steps without momentum; x is the mean of all z
and is what is validated and saved; y, between them, is where gradients are taken. The model's own
weights are y while it is trained.
"""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from nmt_cli.training.optimizers.adam import Decays, Optimizer

# Keys of a weight's state; the paper's letters.
X, Z, V = "x", "z", "v"
PROGRESS = "progress"


class ScheduleFree(Optimizer):
    """Algorithm 1 of the paper; each group's `lr` is the rate after warm-up's factor."""

    def __init__(self, groups: Iterable[dict[str, Any]], decays: Decays) -> None:
        """`groups` may set `weight_decay`, which pulls at y.

        beta1: share of x in y, in place of momentum.
        """
        super().__init__(groups)
        self.decays = decays

    @torch.no_grad()
    def step(self) -> None:
        """One step from the gradients at y; weights without a gradient stay."""
        rate, newest = self._advance(self.param_groups[0]["lr"])
        for group in self.param_groups:
            weights = [one for one in group["params"] if one.grad is not None]
            if weights:
                self._step_group(weights, rate, newest, group["weight_decay"])

    def _advance(self, rate: float) -> tuple[float, float]:
        """Count a step: its corrected rate, and the share c of its z in the mean x."""
        # One pair of numbers for all weights, in the first one's state, so that it is saved.
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
        torch._foreach_mul_(v, self.decays.beta2)
        torch._foreach_addcmul_(v, gradients, gradients, 1.0 - self.decays.beta2)
        scale = torch._foreach_sqrt(v)
        torch._foreach_add_(scale, self.decays.epsilon)
        torch._foreach_addcdiv_(z, gradients, scale, -rate)
        if weight_decay:
            torch._foreach_add_(z, weights, alpha=-rate * weight_decay)
        torch._foreach_lerp_(x, z, newest)
        self._place(weights, x, z)

    def _place(self, weights: list[Tensor], x: list[Tensor], z: list[Tensor]) -> None:
        """Put y into the weights."""
        torch._foreach_copy_(weights, z)
        torch._foreach_lerp_(weights, x, self.decays.beta1)

    @torch.no_grad()
    def place_weights(self) -> None:
        """Put y into the weights, whatever they hold."""
        for group in self.param_groups:
            weights = [one for one in group["params"] if self.state.get(one)]
            states = [self.state[one] for one in weights]
            if weights:
                self._place(weights, [one[X] for one in states], [one[Z] for one in states])


def place_training_weights(optimizer: Optimizer) -> None:
    """After saved weights were loaded: those that training goes on with, where they are others."""
    if isinstance(optimizer, ScheduleFree):
        optimizer.place_weights()


def saved_weight(optimizer: Optimizer, weight: Tensor) -> Tensor:
    """The value of a weight that is validated and saved: x where there is one, else itself."""
    if not isinstance(optimizer, ScheduleFree):
        return weight
    found: Tensor = optimizer.state.get(weight, {}).get(X, weight)
    return found
