"""Adam (section 5.3), and what all optimisers here have in common.

Not torch's classes: the first of those loads torch's compiler, which takes longer than the rest of
a start on a CPU (1.6 s) and 140 MB.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim.adamw import adamw

# Keys of a weight's state, as torch names them: steps taken, mean gradient, mean squared gradient.
STEP, MEAN, SQUARE = "step", "exp_avg", "exp_avg_sq"


class Decays(NamedTuple):
    """beta1: of the mean gradient, or what takes its place; beta2: of the mean squared gradient;
    epsilon: added to the root of the latter."""

    beta1: float
    beta2: float
    epsilon: float


class Optimizer(ABC):
    """Weights in groups, each with its settings, and what is remembered of every weight.

    param_groups: dicts of `params`, `lr`, `weight_decay`; state: tensors by name for each weight.
    """

    def __init__(self, groups: Iterable[dict[str, Any]]) -> None:
        """Each group has `params`; `lr` is 0 until a step's rate is set."""
        self.param_groups = [
            {"lr": 0.0, "weight_decay": 0.0, **group, "params": list(group["params"])}
            for group in groups
        ]
        self.state: defaultdict[Tensor, dict[str, Tensor]] = defaultdict(dict)

    @abstractmethod
    def step(self) -> None:
        """Take one step with the gradients; weights without one stay."""

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for group in self.param_groups:
            for weight in group["params"]:
                weight.grad = None


class Adam(Optimizer):
    """Adam with decoupled weight decay (AdamW), in one kernel a step."""

    def __init__(self, groups: Iterable[dict[str, Any]], decays: Decays) -> None:
        super().__init__(groups)
        self.decays = decays

    @torch.no_grad()
    def step(self) -> None:
        """One step; weights without a gradient stay."""
        for group in self.param_groups:
            weights = [one for one in group["params"] if one.grad is not None]
            states = [self._state(one) for one in weights]
            adamw(
                weights,
                [one.grad for one in weights],
                [one[MEAN] for one in states],
                [one[SQUARE] for one in states],
                [],
                [one[STEP] for one in states],
                fused=True,
                amsgrad=False,
                beta1=self.decays.beta1,
                beta2=self.decays.beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=self.decays.epsilon,
                maximize=False,
            )

    def _state(self, weight: Tensor) -> dict[str, Tensor]:
        state = self.state[weight]
        if not state:
            state[STEP] = torch.zeros((), device=weight.device)
            state[MEAN] = torch.zeros_like(weight)
            state[SQUARE] = torch.zeros_like(weight)
        return state
