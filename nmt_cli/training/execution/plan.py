"""How a run is executed, which its settings, its device and the number of ranks decide."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from nmt_cli.config.schema import Config
from nmt_cli.config.train import TrainConfig
from nmt_cli.data.corpus.batch_plan import BatchPlan, count_shards
from nmt_cli.data.corpus.corpus import Corpus, Pairs
from nmt_cli.data.corpus.packed_plan import PackedPlan
from nmt_cli.errors import ConfigError
from nmt_cli.machine import usable_cores
from nmt_cli.model.attention import rectangle_backend
from nmt_cli.model.backends.dispatch import choose_backend
from nmt_cli.model.shapes import head_widths
from nmt_cli.plurals import agreeing, counted
from nmt_cli.training.parallel.deterministic import next_power_of_two
from nmt_cli.training.parallel.thread_pool import thread_count
from nmt_cli.training.state import TrainState

# Attention backends that are as fast on sentences of mixed lengths.
MIXED_LENGTH_BACKENDS = ("tiles", "varlen")
# Attention backends that torch.compile accepts.
COMPILED_BACKENDS = ("tiles",)
# The most tokens of one forward and backward pass, by the type of the device.
MICRO_BATCH_TOKENS = {"cpu": 4_096, "cuda": 8_192}
OTHER_MICRO_BATCH_TOKENS = 4_096
# On a GPU with this much free memory. Each pass launches hundreds of kernels, and adds gradients
# as large as the model: a batch of 25,000 tokens is one pass then, not four.
LARGE_GPU_BYTES = 40 << 30
LARGE_GPU_TOKENS = 32_768


@dataclass(frozen=True)
class ExecutionPlan:
    """The decisions about a run that are made once, before its first step.

    backend: computes attention over whole sentences; replicas: models of this process that compute
    shards at the same time, on a CPU; threads: what torch uses in this process, on a CPU;
    micro_batch_tokens: the most tokens of one forward and backward pass of a replica; shards: parts
    of a step's batch, over all ranks; packed: whether batches are packed, instead of sorted by
    length; compiled: whether training steps are compiled; separate_graphs: whether encoder and
    decoder are compiled as two graphs; prefetched: whether a thread makes batches ahead of time;
    subword_workers: processes of this rank that segment sentences for BPE-dropout.
    """

    backend: str
    replicas: int
    threads: int
    micro_batch_tokens: int
    shards: int
    packed: bool
    compiled: bool
    separate_graphs: bool
    prefetched: bool
    subword_workers: int

    @classmethod
    def of(
        cls,
        config: Config,
        device: torch.device,
        world_size: int,
        resumed: TrainState | None = None,
        smallest: Callable[[int], int] = int,
    ) -> "ExecutionPlan":
        """The plan of a rank; resumed: the state of a run that continues, with the same batches.

        smallest: the smallest of all ranks' values, so that all choose the same passes.
        """
        train = config.train
        backend = _backend(config, device)
        replicas = _replicas(train, device, world_size)
        micro_batch_tokens = _micro_batch_tokens(train, device, replicas, smallest)
        if resumed is None:
            shards = _shards(train, micro_batch_tokens, world_size * replicas)
            packed = _is_wanted(train.packing, "packed", automatic=backend in MIXED_LENGTH_BACKENDS)
        else:
            shards, packed = resumed.shards, resumed.packed
        return cls(
            backend=backend,
            replicas=replicas,
            threads=torch.get_num_threads(),
            micro_batch_tokens=micro_batch_tokens,
            shards=shards,
            packed=packed,
            # Only packed batches have the one shape that a graph is compiled for.
            compiled=packed and _is_wanted(train.compile, "on", automatic=backend == "tiles"),
            # With one graph, no gradient would be ready to be sent before the backward pass ends.
            separate_graphs=world_size > 1,
            # On a CPU all cores compute.
            prefetched=device.type == "cuda" and not train.deterministic,
            subword_workers=max(1, usable_cores() // world_size),
        )


def check_compile(config: Config, device: torch.device) -> None:
    """Raise ConfigError if training is to be compiled, and attention on `device` cannot be."""
    if config.train.compile == "on" and _backend(config, device) not in COMPILED_BACKENDS:
        raise ConfigError(
            "train.compile=on cannot be used here: attention on "
            f"{'a CPU' if device.type == 'cpu' else 'this GPU'} cannot be compiled",
            "leave train.compile at auto, which compiles on a GPU with Triton",
        )


def _is_wanted(setting: str, value: str, *, automatic: bool) -> bool:
    """Whether `setting` is `value`; automatic: the answer where it is auto."""
    return automatic if setting == "auto" else setting == value


def _backend(config: Config, device: torch.device) -> str:
    if config.model.kind != "transformer":
        return rectangle_backend(device)
    return choose_backend(device, *head_widths(config.model))


def _replicas(train: TrainConfig, device: torch.device, world_size: int) -> int:
    # A compiled graph belongs to one model.
    if device.type != "cpu" or train.deterministic or train.compile == "on":
        return 1
    return thread_count(train.parallel_shards, train.batch_tokens // world_size)


def _micro_batch_tokens(
    train: TrainConfig, device: torch.device, replicas: int, smallest: Callable[[int], int]
) -> int:
    if train.micro_batch_tokens != "auto":
        return train.micro_batch_tokens
    # More, smaller passes let more ranks give the same bits.
    is_sized = device.type == "cuda" and not train.deterministic
    if is_sized and smallest(torch.cuda.mem_get_info(device)[0]) >= LARGE_GPU_BYTES:
        return LARGE_GPU_TOKENS
    # All replicas together need the memory of one pass.
    return MICRO_BATCH_TOKENS.get(device.type, OTHER_MICRO_BATCH_TOKENS) // replicas


def _shards(train: TrainConfig, micro_batch_tokens: int, models: int) -> int:
    """models: all replicas of all ranks."""
    shards = count_shards(train.batch_tokens, micro_batch_tokens, models)
    return next_power_of_two(shards) if train.deterministic else shards


def plan_batches(
    config: Config, corpus: Corpus, execution: ExecutionPlan
) -> tuple[Pairs, BatchPlan]:
    """The training pairs, which BPE-dropout segments anew in each epoch, and their batches."""
    train, pairs = config.train, corpus.train
    plan = (PackedPlan if execution.packed else BatchPlan)(
        pairs.src_lengths, pairs.tgt_lengths, train.batch_tokens, execution.shards, train.seed
    )
    if train.subword_dropout:
        # Imported here, so that the first step of other runs does not wait for it.
        from nmt_cli.data.corpus.resegmentation import SampledPairs

        pairs = sampled = SampledPairs(
            corpus, train.subword_dropout, train.seed, execution.subword_workers
        )
        plan.lengths_of = sampled.segment
    return pairs, plan


def long_pair_notes(plan: BatchPlan) -> list[str]:
    """A message for the user if any pair is longer than a pass; otherwise none."""
    longest = np.maximum(plan.src_lengths, plan.tgt_lengths)
    count = int((longest > plan.capacity).sum())
    if not count:
        return []
    return [
        f"{counted(count, 'pair')} {agreeing(count, 'is', 'are')} longer than the "
        f"{plan.capacity:,} tokens of a micro-batch: each gets a micro-batch of its own"
    ]
