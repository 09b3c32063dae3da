"""Section 5.3: Adam, and the learning rate of equation 3; other schedules beside it."""

import math

import torch
from torch import nn

from nmt_cli.config import Config, Train


def learning_rate(step: int, train: Train, d_model: int) -> float:
    """The learning rate of optimiser step `step` (from 1).

    With the defaults this is equation 3: d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5).

    >>> f"{learning_rate(4_000, Train(), 512):.4e}"
    '6.9877e-04'
    """
    peak = train.learning_rate
    if peak == "auto":
        peak = (d_model * train.warmup_steps) ** -0.5
    if step < train.warmup_steps:
        return peak * step / train.warmup_steps
    return peak * DECAYS[train.schedule](step, train)


def _inverse_sqrt(step: int, train: Train) -> float:
    return math.sqrt(train.warmup_steps / step)


def _remaining(step: int, train: Train) -> float:
    """1 at the end of warm-up, 0 at max_steps."""
    length = max(1, train.max_steps - train.warmup_steps)
    return min(1.0, max(0.0, (train.max_steps - step) / length))


def _cosine(step: int, train: Train) -> float:
    return 0.5 - 0.5 * math.cos(math.pi * _remaining(step, train))


DECAYS = {"inverse_sqrt": _inverse_sqrt, "linear": _remaining, "cosine": _cosine}


def make_optimizer(model: nn.Module, config: Config) -> torch.optim.Optimizer:
    """Adam with the paper's betas and epsilon; decoupled weight decay where one is set.

    Vectors (norms, biases) are not decayed.
    """
    train = config.train
    matrices = [weight for weight in model.parameters() if weight.dim() >= 2]
    vectors = [weight for weight in model.parameters() if weight.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": train.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=0.0,
        betas=(train.beta1, train.beta2),
        eps=train.epsilon,
        fused=True,
    )


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Use `rate` for the next step."""
    for group in optimizer.param_groups:
        group["lr"] = rate
