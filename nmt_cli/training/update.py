"""The end of a step: gradients are clipped, the optimiser updates the weights, numbers are read.

A step whose loss or gradient is not finite changes nothing. On a CPU the numbers are read first, as
that costs nothing. A GPU would then have nothing to do until the CPU has read them, so there the
optimiser's kernels are launched first and look themselves whether the numbers are finite. While the
GPU computes the update, the CPU does all else up to the next forward pass.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.model.torch_adapter import foreach_mul_
from nmt_cli.training.optimizers.adam import Optimizer


class StepNumbers(NamedTuple):
    """The numbers of a step, read from its device.

    norm: joint norm of all gradients; loss, nll: sums over target tokens; splits: how many shards
    were split; failures: ranks on which a pair did not fit into memory.
    """

    norm: float
    loss: float
    nll: float
    splits: float
    failures: float

    @property
    def is_finite(self) -> bool:
        """Whether the weights may be changed."""
        return math.isfinite(self.norm) and math.isfinite(self.loss)


def update_weights(
    optimizer: Optimizer, gradients: list[Tensor], totals: Tensor, max_norm: float
) -> StepNumbers:
    """Clip `gradients` and take a step of `optimizer`, unless norm or loss is not finite.

    totals: (4,), as in StepSums; max_norm: of all gradients together, 0: they are not clipped.
    Gradients are dropped. On a GPU, the CPU waits for the numbers alone, not for the update.
    """
    device = gradients[0].device
    # With several ranks they were read already. Copied before the norm is computed: should the copy
    # wait for the GPU, it would wait for nothing.
    totals = totals.to(device, non_blocking=True)
    norm = torch.nn.utils.get_total_norm(gradients)
    numbers = torch.cat([norm.reshape(1), totals])
    if updates_before_reading(device):
        read = start_reading(numbers)
        # (), 1.0 where torch's kernels must change nothing.
        found_inf = 1.0 - torch.isfinite(numbers[:2]).all().to(torch.float32)
        clip_on_device(gradients, norm, max_norm)
        optimizer.step_unless(found_inf)
        optimizer.zero_grad()
        return StepNumbers(*read())
    step_numbers = StepNumbers(*numbers.tolist())
    if step_numbers.is_finite:
        clip(gradients, step_numbers.norm, max_norm)
        optimizer.step()
    optimizer.zero_grad()
    return step_numbers


def updates_before_reading(device: torch.device) -> bool:
    """Whether the update is launched before the CPU knows the numbers of the step."""
    return device.type == "cuda"


def start_reading(numbers: Tensor) -> Callable[[], list[float]]:
    """Start to copy `numbers`; the result is called to wait for this copy and return them.

    It does not wait for what the GPU is given to do after this call.
    """
    # Into pinned memory, which torch takes for such a copy from a GPU.
    copy = numbers.to("cpu", non_blocking=True)
    copied = torch.cuda.current_stream(numbers.device).record_event() if numbers.is_cuda else None

    def read() -> list[float]:
        if copied is not None:
            copied.synchronize()
        return [float(number) for number in copy.tolist()]

    return read


def clip(gradients: list[Tensor], norm: float, max_norm: float) -> None:
    """Scale gradients of the joint norm `norm` down to `max_norm`, unless that is 0."""
    if 0.0 < max_norm < norm:
        foreach_mul_(gradients, max_norm / norm)


def clip_on_device(gradients: list[Tensor], norm: Tensor, max_norm: float) -> None:
    """As `clip`, to the same bits, without reading the norm."""
    if max_norm > 0.0:
        # In float64, as Python divides; `max_norm / norm` would multiply by a reciprocal.
        largest = torch.full_like(norm, max_norm, dtype=torch.float64)
        factor = largest.div(norm.double()).clamp(max=1.0)
        foreach_mul_(gradients, factor.to(gradients[0].dtype))
