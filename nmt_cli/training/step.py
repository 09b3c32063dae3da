"""One optimiser step: forward and backward over this rank's shards, sums over all ranks, update."""

import hashlib
from functools import partial
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from nmt_cli.batch import Batch
from nmt_cli.config.schema import Config, ModelConfig
from nmt_cli.data.corpus.batch_plan import BatchPlan, Position
from nmt_cli.data.corpus.corpus import Pairs
from nmt_cli.errors import NmtError, UnavailableError
from nmt_cli.model.dropout import seed_masks
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model.precision import autocast, split_products
from nmt_cli.model.zero_start import clear_start_gradient
from nmt_cli.training.execution.prefetch import Prefetcher
from nmt_cli.training.gradient_accumulation import MicroBatch
from nmt_cli.training.loss.cross_entropy import Loss, linear_cross_entropy
from nmt_cli.training.loss.r_drop import linear_r_drop_loss
from nmt_cli.training.optimizers.adam import Optimizer
from nmt_cli.training.optimizers.factory import learning_rate, set_learning_rate
from nmt_cli.training.parallel.deterministic import TreeGradientSync
from nmt_cli.training.parallel.gradient_sync import (
    FAILURES,
    BucketedGradientSync,
    GradientSync,
    gradients_of,
)
from nmt_cli.training.parallel.heartbeat import LostRankError, named_pairs
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.parallel.thread_pool import ReplicaThreadPool
from nmt_cli.training.update import update_weights


class StepResult(NamedTuple):
    """What one step did.

    loss, nll: sums over all target tokens of the step, with and without label smoothing; tokens:
    their number; gradient_norm: before clipping; skipped: whether the weights were left as they
    were, since loss or gradient were not finite; splits: shards that did not fit into memory and
    were split in two, on all ranks.
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
    gradient_sync: GradientSync | None = None,
) -> StepResult:
    """Take the optimiser step `step` (from 1) on the global batch at `position`.

    The summed loss of every shard is divided by the token count of the whole step, which the plan
    knows beforehand: any number of ranks, and any split, is the same mathematics. The schedule's
    learning rate is multiplied by `rate_scale`. Raises UnavailableError on all ranks, and changes
    nothing, when one pair is too large for memory.
    """
    if not model.training:
        model.train()
    tokens = plan.tokens(*position)
    shards = shards_of_rank(plan, position, ranks, config.train.seed, step)
    ranks.begin_step(step, next((shard.ids for shard in shards if len(shard.ids)), ()))
    sync = gradient_sync or make_gradient_sync(config, ranks, model)
    sums = sync.sum_gradients(shards, partial(_backward, config, ranks.device, pairs, plan, tokens))
    if sums.too_large is not None or (ranks.world_size > 1 and sums.totals[FAILURES]):
        optimizer.zero_grad()
        raise out_of_memory(step, sums.too_large)
    clear_start_gradient(model)
    rate = learning_rate(step, config.train, config.model.d_model) * rate_scale
    set_learning_rate(optimizer, rate)
    numbers = update_weights(
        optimizer, gradients_of(model), sums.totals, config.train.max_gradient_norm
    )
    return StepResult(
        numbers.loss, numbers.nll, tokens, rate, numbers.norm, not numbers.is_finite,
        int(numbers.splits),
    )  # fmt: skip


def make_gradient_sync(
    config: Config, ranks: Ranks, model: nn.Module, replicas: ReplicaThreadPool | None = None
) -> GradientSync:
    """The gradient synchroniser that the settings ask for; replicas: this rank's threads."""
    if config.train.deterministic:
        return TreeGradientSync(ranks, model)
    return BucketedGradientSync(ranks, model, replicas)


def _backward(
    config: Config,
    device: torch.device,
    pairs: Pairs | Prefetcher,
    plan: BatchPlan,
    tokens: int,
    model: nn.Module,
    micro_batch: MicroBatch,
) -> Tensor:
    """Add the gradients of a micro-batch to those of `model`; returns (2,): loss and nll.

    tokens: of the whole step, by which the loss is divided.
    """
    if micro_batch.seed is not None:
        seed_masks(micro_batch.seed)
    # Padding to the shape of the plan would bring a half back to the size that did not fit.
    shape = None if micro_batch.depth else plan.shape_of(micro_batch.ids)
    batch = pairs.batch(micro_batch.ids, start_id(config.model), shape)
    with split_products(config.train.precision):
        loss = shard_loss(cast(EncoderDecoder, model), config, batch, device)
        torch.autograd.backward(loss.total / tokens)
    return torch.stack([loss.total.detach(), loss.nll])


def shards_of_rank(
    plan: BatchPlan, position: Position, ranks: Ranks, seed: int, step: int
) -> list[MicroBatch]:
    """This rank's shards, some of which may be empty, each with its seed for dropout."""
    epoch = plan.epoch(position.epoch)
    return [
        MicroBatch(epoch.shard(position.batch, index), dropout_seed(seed, step, index))
        for index in range(ranks.rank, plan.shards, ranks.world_size)
    ]


def out_of_memory(step: int, pair: int | None) -> NmtError:
    """The error of a rank on which `pair` does not fit into memory; None: it was another rank."""
    if pair is None:
        return LostRankError(f"another rank ran out of memory in step {step:,}")
    return UnavailableError(
        f"step {step:,}: not enough memory for a single pair, {named_pairs([pair])}",
        "prepare with a smaller data.max_length, or train a smaller model",
    )


def shard_loss(model: EncoderDecoder, config: Config, batch: Batch, device: torch.device) -> Loss:
    """The loss of one shard, in bf16 where the configuration asks for it.

    With R-Drop, a model in training mode does a second pass with other dropout masks.
    """
    batch = batch.to(device)
    with autocast(config.train.precision, device):
        hidden = model.hidden(batch)
        if config.train.r_drop and model.training:
            return linear_r_drop_loss(
                hidden,
                model.hidden(batch),
                model.output_weight,
                model.output_bias,
                batch.tgt_out,
                config.train.label_smoothing,
                config.train.r_drop,
            )
        return linear_cross_entropy(
            hidden,
            model.output_weight,
            model.output_bias,
            batch.tgt_out,
            config.train.label_smoothing,
        )


def start_id(model: ModelConfig) -> int:
    """The id that begins every decoder input."""
    return model.bos_id if model.start_id == "auto" else model.start_id


def dropout_seed(seed: int, step: int, shard: int) -> int:
    """The seed for one shard of one step: a resumed run needs no state of a random generator."""
    digest = hashlib.blake2b(f"{seed}/{step}/{shard}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
