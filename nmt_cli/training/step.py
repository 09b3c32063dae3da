"""One optimiser step: this rank's shards forward and backward, sums over all ranks, Adam."""

import hashlib
from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from nmt_cli.batch import Batch
from nmt_cli.config.schema import Config, ModelConfig
from nmt_cli.data.corpus.batch_plan import BatchPlan, Position
from nmt_cli.data.corpus.corpus import Pairs
from nmt_cli.errors import NmtError, UnavailableError
from nmt_cli.model.dropout import seed_masks
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model.precision import autocast
from nmt_cli.training.gradient_accumulation import MicroBatch, accumulate_gradients
from nmt_cli.training.loss.cross_entropy import Loss, linear_cross_entropy
from nmt_cli.training.loss.r_drop import linear_r_drop_loss
from nmt_cli.training.optimizers.adam import Optimizer
from nmt_cli.training.optimizers.factory import learning_rate, set_learning_rate
from nmt_cli.training.parallel.deterministic import subtree_sum
from nmt_cli.training.parallel.gradient_sync import BucketedGradientSync
from nmt_cli.training.parallel.heartbeat import LostRankError, named_pairs
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.parallel.threads import ThreadReplicas
from nmt_cli.training.prefetch import Prefetcher


class StepResult(NamedTuple):
    """loss, nll: sums over all target tokens of the step; skipped: numbers were not finite.

    splits: shards that did not fit into memory and were split in two, on all ranks.
    """

    loss: float
    nll: float
    tokens: int
    learning_rate: float
    gradient_norm: float
    skipped: bool
    splits: int = 0


def take_step(
    model: EncoderDecoder,
    optimizer: Optimizer,
    config: Config,
    ranks: Ranks,
    pairs: Pairs | Prefetcher,
    plan: BatchPlan,
    position: Position,
    step: int,
    rate_scale: float = 1.0,
    crew: ThreadReplicas | None = None,
    reducer: BucketedGradientSync | None = None,
) -> StepResult:
    """Optimiser step number `step` (from 1), on the global batch at `position`.

    The summed loss of every shard is divided by the token count of the whole step, which the plan
    knows beforehand: any number of ranks, and any split, is the same mathematics. The schedule's
    learning rate is multiplied by `rate_scale`; `crew`: this rank's threads; `reducer` adds
    gradients up. Raises UnavailableError on all ranks, and changes nothing, when one pair is too
    large for memory.
    """
    model.train()
    tokens = plan.tokens(*position)

    def backward(here: nn.Module, part: MicroBatch) -> Tensor:
        if part.seed is not None:
            seed_masks(part.seed)
        # Filler would bring a half back to the size that did not fit.
        shape = None if part.depth else plan.shape_of(part.ids)
        batch = pairs.batch(part.ids, start_id(config.model), shape)
        loss = shard_loss(cast(EncoderDecoder, here), config, batch, ranks.device)
        torch.autograd.backward(loss.total / tokens)
        return torch.stack([loss.total.detach(), loss.nll])

    seed = config.train.seed
    if config.train.deterministic:
        tree = add_up_along_tree(model, ranks, plan, position, (seed, step), backward)
        sums, too_large = tree.tolist(), None
    else:
        parts = shares(plan, position, ranks, seed, step)
        ranks.begins(step, parts[0].ids if parts else ())
        reducer = reducer or BucketedGradientSync(ranks, model)
        found = accumulate_gradients(
            crew or ThreadReplicas(model), parts, backward, ranks.device, reducer.last_shard
        )
        too_large = found.too_large
        flags = found.sums.new_tensor([found.splits, too_large is not None])
        sums = reducer.finish(torch.cat([found.sums, flags]))
    total, nll, splits, failures = sums
    if failures:
        optimizer.zero_grad()
        raise out_of_memory(step, too_large)
    norm = clip(gradients_of(model), config.train.max_gradient_norm)
    rate = learning_rate(step, config.train, config.model.d_model) * rate_scale
    finite = bool(np.isfinite([norm, total]).all())
    if finite:
        set_learning_rate(optimizer, rate)
        optimizer.step()
    optimizer.zero_grad()
    return StepResult(total, nll, tokens, rate, norm, not finite, int(splits))


def add_up_along_tree(
    model: EncoderDecoder,
    ranks: Ranks,
    plan: BatchPlan,
    position: Position,
    seeds: tuple[int, int],
    backward: Callable[[nn.Module, MicroBatch], Tensor],
) -> Tensor:
    """Gradients of all shards of all ranks, in an order that no number of ranks changes.

    seeds: of the run, and the step. Returns (4,): loss, nll, and zeros for what is not counted
    here. A shard that memory has no room for is an error: halves would have other dropout masks.
    """
    seed, step = seeds
    epoch = plan.epoch(position.epoch)
    ranks.begins(step, epoch.shard(position.batch, ranks.rank))

    def leaf(number: int) -> Tensor:
        ids = epoch.shard(position.batch, number)
        sums = torch.zeros(2, device=ranks.device)
        if len(ids):
            sums = backward(model, MicroBatch(ids, dropout_seed(seed, step, number)))
        flat = torch.cat([*(one.reshape(-1) for one in gradients_of(model)), sums])
        model.zero_grad()
        return flat

    flat = subtree_sum(ranks.rank, ranks.world_size, plan.shards, leaf)
    ranks.add_up_in_pairs(flat)
    start = 0
    for gradient in gradients_of(model):
        gradient.copy_(flat[start : start + gradient.numel()].view_as(gradient))
        start += gradient.numel()
    return torch.cat([flat[start:], flat.new_zeros(2)])


def shares(
    plan: BatchPlan, position: Position, ranks: Ranks, seed: int, step: int
) -> list[MicroBatch]:
    """The shards of this rank, each with the seed of its dropout."""
    epoch = plan.epoch(position.epoch)
    numbers = range(ranks.rank, plan.shards, ranks.world_size)
    parts = [
        MicroBatch(epoch.shard(position.batch, number), dropout_seed(seed, step, number))
        for number in numbers
    ]
    return [part for part in parts if len(part.ids)]


def out_of_memory(step: int, pair: int | None) -> NmtError:
    """What a rank raises whose memory has no room for `pair`; None: for another rank's pair."""
    if pair is None:
        return LostRankError(f"another rank ran out of memory in step {step:,}")
    return UnavailableError(
        f"step {step:,}: memory has no room for a single pair, {named_pairs([pair])}",
        "prepare with a smaller data.max_length, or train a smaller model",
    )


def shard_loss(model: EncoderDecoder, config: Config, batch: Batch, device: torch.device) -> Loss:
    """Forward over one shard, in the precision the configuration asks for.

    In training mode a second time where R-Drop is on, with other dropout masks.
    """
    here = batch.to(device)
    with autocast(config.train.precision, device):
        hidden = model.hidden(here)
        if config.train.r_drop and model.training:
            return linear_r_drop_loss(
                hidden,
                model.hidden(here),
                model.output_weight,
                model.output_bias,
                here.tgt_out,
                config.train.label_smoothing,
                config.train.r_drop,
            )
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


def start_id(model: ModelConfig) -> int:
    """The decoder's first input."""
    return model.bos_id if model.start_id == "auto" else model.start_id


def dropout_seed(seed: int, step: int, shard: int) -> int:
    """A seed of its own for each shard of each step: a resumed run needs no generator's state."""
    digest = hashlib.blake2b(f"{seed}/{step}/{shard}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
