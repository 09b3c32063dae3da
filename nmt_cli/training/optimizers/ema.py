"""An exponential moving average of the weights, kept beside them while they are trained."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from nmt_cli.errors import DataError
from nmt_cli.model.torch_adapter import foreach_lerp_
from nmt_cli.training.optimizers.torch_threads import suitable_threads


class MovingAverage:
    """mean <- d mean + (1 - d) weights after every step, d = min(decay, (1 + t) / (10 + t)).

    The smaller d of the first steps t removes the influence of the initial weights.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        """Start with the current weights of `model`, on their device."""
        self.decay = decay
        self._weights = dict(model.named_parameters())
        self._mean = {name: weight.detach().clone() for name, weight in self._weights.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Update the mean with the model's weights after step `step`, from 1."""
        decay = min(self.decay, (1.0 + step) / (10.0 + step))
        means = list(self._mean.values())
        with suitable_threads(means):
            foreach_lerp_(means, list(self._weights.values()), 1.0 - decay)

    def weights(self) -> dict[str, Tensor]:
        """A copy of the mean of each weight by name, float32, on the CPU."""
        return {name: mean.to("cpu", torch.float32, copy=True) for name, mean in self._mean.items()}

    def load(self, mean: Mapping[str, Tensor]) -> None:
        """Restore the result of `weights`; raises DataError when a name or a shape differs."""
        shapes = {name: tensor.shape for name, tensor in mean.items()}
        if shapes != {name: tensor.shape for name, tensor in self._mean.items()}:
            raise DataError("the saved moving average does not fit the model")
        for name, tensor in self._mean.items():
            tensor.copy_(mean[name])
