"""Adam (section 5.3), and the base class of all optimisers here.

torch's classes are not used: creating the first one loads torch's compiler, which takes 140 MB and
longer than the rest of a start on a CPU (1.6 s).
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from nmt_cli.training.optimizers.torch_threads import suitable_threads

# Keys of a weight's state, as torch names them: steps taken, mean gradient, mean squared gradient.
STEP, MEAN, SQUARE = "step", "exp_avg", "exp_avg_sq"


class Decays(NamedTuple):
    """How fast an optimiser forgets earlier gradients.

    beta1: decay of the mean gradient, or of what replaces it; beta2: decay of the mean squared
    gradient; epsilon: added to the root of the latter.
    """

    beta1: float
    beta2: float
    epsilon: float


class Optimizer(ABC):
    """Weights in groups, each with its settings, and a state for every weight.

    param_groups: dicts of `params`, `lr`, `weight_decay`; state: tensors by name for each weight.
    """

    def __init__(self, groups: Iterable[dict[str, Any]]) -> None:
        """groups: dicts with `params`; `lr` is 0 until it is set."""
        self.param_groups = [
            {"lr": 0.0, "weight_decay": 0.0, **group, "params": list(group["params"])}
            for group in groups
        ]
        self.state: defaultdict[Tensor, dict[str, Tensor]] = defaultdict(dict)

    @abstractmethod
    def step(self) -> None:
        """Take one step; weights without a gradient do not change."""

    def step_unless(self, found_inf: Tensor) -> None:
        """`step`, unless `found_inf`, () and float32 on the weights' device, is 1.0.

        The CPU reads it here, for which it waits for a GPU, unless a subclass has kernels that look
        at it themselves. A state of zeros, with which a first step begins, may be made either way.
        """
        if not found_inf.item():
            self.step()

    def zero_grad(self) -> None:
        """Drop all gradients."""
        for group in self.param_groups:
            for weight in group["params"]:
                weight.grad = None


class Adam(Optimizer):
    """Adam with decoupled weight decay (AdamW), with one fused kernel per step."""

    def __init__(self, groups: Iterable[dict[str, Any]], decays: Decays) -> None:
        super().__init__(groups)
        self.decays = decays

    def step(self) -> None:
        """Take one step; weights without a gradient do not change."""
        self._step(None)

    def step_unless(self, found_inf: Tensor) -> None:
        """As Optimizer, without a wait: the kernel reads `found_inf`, and counts are taken back."""
        self._step(found_inf)

    @torch.no_grad()
    def _step(self, found_inf: Tensor | None) -> None:
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            states = [self._state(weight) for weight in weights]
            with suitable_threads(weights):
                adamw(
                    weights,
                    [weight.grad for weight in weights],
                    [state[MEAN] for state in states],
                    [state[SQUARE] for state in states],
                    [],
                    [state[STEP] for state in states],
                    fused=True,
                    found_inf=found_inf,
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
