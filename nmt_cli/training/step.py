"""One optimiser step: this rank's shards forward and backward, sums over all ranks, Adam."""

import hashlib
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from nmt_cli.batch import Batch
from nmt_cli.config import Config, Model
from nmt_cli.data.corpus import Pairs
from nmt_cli.data.plan import BatchPlan, Position
from nmt_cli.model.precision import autocast
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.distributed import Ranks
from nmt_cli.training.loss import Loss, linear_cross_entropy
from nmt_cli.training.optimizer import learning_rate, set_learning_rate


class StepResult(NamedTuple):
    """loss, nll: sums over all target tokens of the step; skipped: numbers were not finite."""

    loss: float
    nll: float
    tokens: int
    learning_rate: float
    gradient_norm: float
    skipped: bool


def take_step(
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    config: Config,
    ranks: Ranks,
    pairs: Pairs,
    plan: BatchPlan,
    position: Position,
    step: int,
) -> StepResult:
    """Optimiser step number `step` (from 1), on the global batch at `position`.

    The summed loss of every shard is divided by the token count of the whole step, which the plan
    knows beforehand: any number of ranks, and any split, is the same mathematics.
    """
    model.train()
    tokens = plan.tokens(*position)
    sums = torch.zeros(2, device=ranks.device)
    for shard in range(ranks.rank, plan.shards, ranks.world_size):
        ids = plan.epoch(position.epoch).shard(position.batch, shard)
        if len(ids):
            torch.manual_seed(dropout_seed(config.train.seed, step, shard))
            loss = shard_loss(model, config, pairs.batch(ids, start_id(config.model)), ranks.device)
            torch.autograd.backward(loss.total / tokens)
            sums += torch.stack([loss.total.detach(), loss.nll])
    gradients = gradients_of(model)
    ranks.add_up([*gradients, sums])
    norm = clip(gradients, config.train.max_gradient_norm)
    rate = learning_rate(step, config.train, config.model.d_model)
    finite = bool(np.isfinite(norm))
    if finite:
        set_learning_rate(optimizer, rate)
        optimizer.step()
    optimizer.zero_grad()
    total, nll = sums.tolist()
    return StepResult(total, nll, tokens, rate, norm, not finite)


def shard_loss(model: Transformer, config: Config, batch: Batch, device: torch.device) -> Loss:
    """Forward over one shard, in the precision the configuration asks for."""
    here = batch.to(device)
    with autocast(config.train.precision, device):
        hidden = model.hidden(here)
        return linear_cross_entropy(
            hidden,
            model.output_weight,
            model.output_bias,
            here.tgt_out,
            config.train.label_smoothing,
        )


def gradients_of(model: nn.Module) -> list[Tensor]:
    """Every gradient; zeros for a rank without a shard in this step."""
    gradients = []
    for weight in model.parameters():
        if weight.grad is None:
            weight.grad = torch.zeros_like(weight)
        gradients.append(weight.grad)
    return gradients


def clip(gradients: list[Tensor], max_norm: float) -> float:
    """The norm of all gradients together; they are scaled down to `max_norm` unless it is 0."""
    norm = float(torch.nn.utils.get_total_norm(gradients))
    if 0.0 < max_norm < norm:
        torch._foreach_mul_(gradients, max_norm / norm)
    return norm


def start_id(model: Model) -> int:
    """The decoder's first input."""
    return model.bos_id if model.start_id == "auto" else model.start_id


def dropout_seed(seed: int, step: int, shard: int) -> int:
    """A seed of its own for each shard of each step: a resumed run needs no generator's state."""
    digest = hashlib.blake2b(f"{seed}/{step}/{shard}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
