"""The configured optimiser and learning rate; by default Adam and equation 3 (section 5.3)."""

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from nmt_cli.config.automatic import max_steps
from nmt_cli.config.schema import Config, TrainConfig
from nmt_cli.training.optimizers.adam import Adam, Decays, Optimizer
from nmt_cli.training.optimizers.muon import Muon
from nmt_cli.training.optimizers.schedule_free import ScheduleFree


def learning_rate(step: int, train: TrainConfig, d_model: int) -> float:
    """The learning rate of optimiser step `step` (from 1).

    With the defaults this is equation 3: d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5).

    >>> f"{learning_rate(4_000, TrainConfig(), 512):.4e}"
    '6.9877e-04'
    """
    peak = peak_rate(train, d_model)
    if step < train.warmup_steps:
        return peak * step / train.warmup_steps
    return peak * DECAYS[train.schedule](step, train)


def peak_rate(train: TrainConfig, d_model: int) -> float:
    """The learning rate at the end of warm-up; if it is `auto`, that of equation 3."""
    if isinstance(train.learning_rate, str):
        return float((d_model * train.warmup_steps) ** -0.5)
    return train.learning_rate


def _inverse_sqrt(step: int, train: TrainConfig) -> float:
    return math.sqrt(train.warmup_steps / step)


def _remaining(step: int, train: TrainConfig) -> float:
    """1 at the end of warm-up, 0 at max_steps."""
    last = max_steps(train)
    return min(1.0, max(0.0, (last - step) / max(1, last - train.warmup_steps)))


def _cosine(step: int, train: TrainConfig) -> float:
    return 0.5 - 0.5 * math.cos(math.pi * _remaining(step, train))


def _stable_then_decay(step: int, train: TrainConfig) -> float:
    """1, then linearly down to 0 in the last steps; at most 1, also where warm-up is long."""
    last = max_steps(train)
    length = min(train.decay_fraction * last, last - train.warmup_steps)
    return min(1.0, max(0.0, (last - step) / max(1.0, length)))


DECAYS: dict[str, Callable[[int, TrainConfig], float]] = {
    "inverse_sqrt": _inverse_sqrt,
    "linear": _remaining,
    "cosine": _cosine,
    "wsd": _stable_then_decay,
    "constant": lambda *_: 1.0,
}


def make_optimizer(model: nn.Module, config: Config) -> Optimizer:
    """The configured optimiser; its learning rate is 0 until it is set.

    Weight decay is decoupled, and not applied to vectors (norms, biases).
    """
    return OPTIMIZERS[config.train.optimizer](model, config.train)


def _groups(weights: list[nn.Parameter], train: TrainConfig) -> list[dict[str, Any]]:
    matrices: list[Tensor] = [weight for weight in weights if weight.dim() >= 2]
    vectors: list[Tensor] = [weight for weight in weights if weight.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": train.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def _decays(train: TrainConfig) -> Decays:
    return Decays(train.beta1, train.beta2, train.epsilon)


def _adam_for(weights: list[nn.Parameter], train: TrainConfig) -> Adam:
    """Adam with the configured betas and epsilon; the defaults are the paper's."""
    return Adam(_groups(weights, train), _decays(train))


def _adam(model: nn.Module, train: TrainConfig) -> Optimizer:
    return _adam_for(list(model.parameters()), train)


def _schedule_free(model: nn.Module, train: TrainConfig) -> Optimizer:
    groups = _groups(list(model.parameters()), train)
    return ScheduleFree(groups, _decays(train))


def _muon(model: nn.Module, train: TrainConfig) -> Optimizer:
    """Muon for the matrices of linear layers; Adam for all else, such as embeddings."""
    matrices = [module.weight for module in model.modules() if isinstance(module, nn.Linear)]
    mapped = {id(matrix) for matrix in matrices}
    rest = [weight for weight in model.parameters() if id(weight) not in mapped]
    return Muon(matrices, _adam_for(rest, train), train.momentum, train.weight_decay)


OPTIMIZERS: dict[str, Callable[[nn.Module, TrainConfig], Optimizer]] = {
    "adam": _adam, "schedule_free": _schedule_free, "muon": _muon,
}  # fmt: skip


def set_learning_rate(optimizer: Optimizer, rate: float) -> None:
    """Set the learning rate of the next step."""
    for group in optimizer.param_groups:
        group["lr"] = rate
