"""One training run on one rank: its model, optimiser, plan and state."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from nmt_cli.config.automatic import Intervals, max_steps
from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.batch_plan import BatchPlan, Position, count_shards
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.corpus.packed_plan import PackedPlan
from nmt_cli.data.corpus.resegmentation import SampledPairs
from nmt_cli.errors import DataError, UnavailableError, is_out_of_memory
from nmt_cli.machine import outside_heap, usable_cores
from nmt_cli.model.attention import head_widths, rectangle_backend
from nmt_cli.model.backends.dispatch import choose_backend, use_backend
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.kinds import make_model
from nmt_cli.plurals import agreeing, counted
from nmt_cli.training.compiled import compile_hidden
from nmt_cli.training.ema import MovingAverage
from nmt_cli.training.model_selection import MODEL, ModelSelector, early_stopping_reason
from nmt_cli.training.optimizers.factory import make_optimizer
from nmt_cli.training.parallel.deterministic import check_ranks, next_power_of_two
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.parallel.thread_pool import ReplicaThreadPool, thread_count
from nmt_cli.training.prefetch import Prefetcher
from nmt_cli.training.product_kernels import make_product_kernels
from nmt_cli.training.reporting.report import Validation
from nmt_cli.training.reporting.train_log import TrainLog
from nmt_cli.training.saving.checkpoints import Checkpoint, Checkpoints
from nmt_cli.training.saving.tensor_files import copy_weights, load_optimizer
from nmt_cli.training.state import TrainState
from nmt_cli.training.step import StepResult, make_gradient_sync, start_id, take_step
from nmt_cli.training.validation import AbandonedError

# Attention backends that are as fast on sentences of mixed lengths.
MIXED_LENGTH_BACKENDS = ("tiles", "varlen")
CHECKPOINTS = "checkpoints"
STATE = "the state of the run"
MICRO_BATCH_TOKENS = {"cpu": 4_096, "cuda": 8_192}


class Run:
    """One training run: model, optimiser, plan and state, on one rank."""

    def __init__(self, config: Config, corpus: Corpus, out: Path, ranks: Ranks) -> None:
        self.config = config
        self.corpus = corpus
        self.out = out
        self.ranks = ranks
        train = config.train
        self.checkpoints = Checkpoints(out / CHECKPOINTS, train.keep_last, train.keep_best)
        self.write_failures = self.checkpoints.write_failures
        self.log = TrainLog(out, self.write_failures)
        self.model = make_model(config.model)
        self.selector = ModelSelector(
            config, corpus, out, self.model, self.checkpoints, ranks.device
        )
        self.state = TrainState(digest=corpus.digest)
        self.notes: list[str] = []
        self._resume_or_start()
        self.saved_step = self.state.step
        self.stopped = False
        self.pairs = corpus.train
        plan_class = PackedPlan if self.state.packed else BatchPlan
        self.plan = plan_class(
            self.pairs.src_lengths, self.pairs.tgt_lengths, train.batch_tokens, self.state.shards,
            train.seed,
        )  # fmt: skip
        if train.subword_dropout:
            workers = max(1, usable_cores() // ranks.world_size)
            sampled = SampledPairs(corpus, train.subword_dropout, train.seed, workers)
            self.pairs, self.plan.lengths_of = sampled, sampled.segment
        self.prefetcher: Prefetcher | None = None
        if self._prefetches():
            self.prefetcher = Prefetcher(self.pairs, self.plan, ranks, start_id(config.model))
        self.compiles = isinstance(self.plan, PackedPlan) and self._compiles()
        if self.compiles:
            compile_hidden(self.model, self.plan.shape, apart=ranks.world_size > 1)
        self.replicas = ReplicaThreadPool(self.model, self._replica_count())
        self.gradient_sync = make_gradient_sync(config, ranks, self.model, self.replicas)
        self._count_long_pairs()

    def _resume_or_start(self) -> None:
        latest, problems = self.checkpoints.latest()
        self.notes += [f"an older checkpoint is used: {problem}" for problem in problems]
        if latest is None and self.checkpoints.exist():
            reason = problems[0] if problems else "none is complete"
            raise DataError(
                f"`{self.checkpoints.directory}` has no checkpoint to go on from: {reason}",
                "copy it again, or begin anew with another --out",
            )
        if latest is None:
            self.state = TrainState(
                digest=self.corpus.digest, shards=self._count_shards(), packed=self._packs()
            )
        self.load_or_initialise(latest)
        if self.config.train.deterministic:
            check_ranks(self.ranks.world_size, self.state.shards)
        if latest is not None:
            # A finished run continues when its limits were raised.
            self.state.mark_finished(self.end_reason() and self.state.finished)
            if not self.state.finished:
                self.notes.append(f"continues after step {self.state.step:,}")

    def load_or_initialise(self, checkpoint: Checkpoint | None) -> None:
        """Take state, weights, optimiser and average from `checkpoint`, or initialise them."""
        if checkpoint is None:
            self.state = self.state.as_new()
            # On the CPU, where the same seed always gives the same numbers.
            initialise(self.model.to("cpu"), self.config.train.seed)
        else:
            self.state = checkpoint.state()
        self.model.to(self.ranks.device)
        use_backend(self.model, self._backend())
        self.optimizer = make_optimizer(self.model, self.config)
        decay = self.config.train.ema
        # Only the first rank validates and saves.
        has_average = decay and self.ranks.is_first
        self.ema = MovingAverage(self.model, decay) if has_average else None
        if checkpoint is not None:
            self._load(checkpoint)

    def _load(self, checkpoint: Checkpoint) -> None:
        """Load weights, optimiser and moving average."""
        copy_weights(self.model, checkpoint.weights())
        load_optimizer(self.model, self.optimizer, checkpoint.optimizer_directory)
        if self.ema is not None:
            self.ema.load(checkpoint.moving_average())

    def _count_shards(self) -> int:
        train = self.config.train
        replicas = self._replica_count()
        micro_batch_tokens = train.micro_batch_tokens
        if micro_batch_tokens == "auto":
            # All replicas together need the memory of one pass.
            micro_batch_tokens = MICRO_BATCH_TOKENS.get(self.ranks.device.type, 4_096) // replicas
        shards = count_shards(
            train.batch_tokens, micro_batch_tokens, self.ranks.world_size * replicas
        )
        return next_power_of_two(shards) if train.deterministic else shards

    def _replica_count(self) -> int:
        train = self.config.train
        # A compiled graph belongs to one model.
        if self.ranks.device.type != "cpu" or train.deterministic or train.compile == "on":
            return 1
        return thread_count(train.parallel_shards, train.batch_tokens // self.ranks.world_size)

    @property
    def threads(self) -> int:
        """Threads that compute in this process, on a CPU."""
        return torch.get_num_threads()

    def _backend(self) -> str:
        if self.config.model.kind != "transformer":
            return rectangle_backend(self.ranks.device)
        return choose_backend(self.ranks.device, *head_widths(self.config.model))

    def _packs(self) -> bool:
        """Whether batches are packed: where attention needs no sentences of one length."""
        wanted = self.config.train.packing
        return wanted == "packed" or (wanted == "auto" and self._backend() in MIXED_LENGTH_BACKENDS)

    def _compiles(self) -> bool:
        wanted = self.config.train.compile
        return wanted == "on" or (wanted == "auto" and self._backend() == "tiles")

    def _prefetches(self) -> bool:
        """Whether a thread makes batches ahead of time; on a CPU, all cores compute."""
        return self.ranks.device.type == "cuda" and not self.config.train.deterministic

    def close(self) -> None:
        """End the thread that makes batches, and wait until all that was saved is written.

        Raises WriteError if that failed.
        """
        if self.prefetcher is not None:
            self.prefetcher.close()
        self.checkpoints.flush()
        self.log.sync()
        self.write_failures.require_none()

    def _count_long_pairs(self) -> None:
        longest = np.maximum(self.plan.src_lengths, self.plan.tgt_lengths)
        count = int((longest > self.plan.capacity).sum())
        if count:
            self.notes.append(
                f"{counted(count, 'pair')} {agreeing(count, 'is', 'are')} longer than the "
                f"{self.plan.capacity:,} tokens of one pass: each has a pass of its own"
            )

    @property
    def position(self) -> Position:
        """The batch of the next step."""
        return self.state.position

    def make_product_kernels(self) -> None:
        """Make the kernels of the matrix products, before the first step of this process."""
        sizes = self.plan.stream_sizes(self.position.epoch)
        make_product_kernels(self.model, self.config, sizes, self.replicas)

    def step(self, position: Position) -> StepResult:
        """Take the next optimiser step; raises UnavailableError when memory is full."""
        self.checkpoints.poll()
        if self.prefetcher is not None:
            self.prefetcher.begin(position)
        pairs = self.prefetcher or self.pairs
        try:
            result = take_step(
                self.model, self.optimizer, self.config, self.ranks, pairs, self.plan, position,
                self.state.step + 1, self.state.rate_scale, self.gradient_sync,
            )  # fmt: skip
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            raise UnavailableError(
                f"step {self.state.step + 1:,}: memory is full, whatever the batch: {error}",
                "train a smaller model; is another process using this memory?",
            ) from error
        batches = self.plan.epoch(position.epoch).batches
        self.state.count_step(position, batches, skipped=result.skipped)
        if self.ema is not None and not result.skipped:
            self.ema.update(self.state.step)
        return result

    def save(self) -> None:
        """Save a checkpoint, on the first rank, unless this step has one.

        Checkpoints of the interval may be averaged, whatever the reason for this one.
        """
        if not self.ranks.is_first:
            return
        if self.state.step != self.saved_step or self.checkpoints.has_failed:
            self.saved_step = self.state.step
            self.log.sync()
            interval = Intervals.of(self.config.train).checkpoint
            member = self.is_due(interval) and self.state.skipped < 2
            self.checkpoints.save(
                self.model, self.optimizer, self.state, member=member, ema=self.ema
            )

    def validate(self, stop: Callable[[], bool] = lambda: False) -> Validation | None:
        """Validate the current weights and their averages; publish the best.

        Only the first rank works here; the others wait. When `stop()` returns True on any rank, the
        validation is abandoned and `stopped` is set; a later run of the command then validates.
        """
        results: list[Validation | None] = []

        def work(poll: Callable[[], bool]) -> None:
            if self.corpus.valid is None:
                *_, last = self.selector.candidates(self.optimizer, self.ema)
                self.selector.publish(self.state, last)
                results.append(None)
            else:
                with suppress(AbandonedError), outside_heap():
                    results.append(self.selector.select(self.state, self.optimizer, self.ema, poll))

        self.stopped = self.ranks.run_on_first(work, stop)
        # A step whose model could not be published is validated again.
        complete = bool(results or not self.stopped) and not self.write_failures.count(MODEL)
        validation = results[0] if results else None
        self.state.mark_validated(asdict(validation) if validation else {}, complete=complete)
        if self.ranks.is_first:
            self._update_state()
        return validation

    def _update_state(self) -> None:
        """Update the state in the checkpoint of this step."""
        # Before the state, which then counts the lines of the log as reported.
        self.log.sync()
        with self.write_failures.tolerate(STATE):
            self.checkpoints.update(self.state)

    def validated(self, stop: Callable[[], bool]) -> Validation | None:
        """The validation of this step unless it is reported already; done now if necessary."""
        if self.state.validated != self.state.step:
            return self.validate(stop)
        return Validation(**self.state.validation) if self.state.validation else None

    def end_reason(self) -> str:
        """Why training is over, or an empty text."""
        train, state = self.config.train, self.state
        if state.step >= max_steps(train):
            return _done(max_steps(train), "step")
        if train.max_epochs and state.epoch >= train.max_epochs:
            return _done(train.max_epochs, "epoch")
        if train.max_hours and state.elapsed >= train.max_hours * 3_600:
            return f"{train.max_hours:g} {'hour is' if train.max_hours == 1 else 'hours are'} over"
        return early_stopping_reason(train.patience, state.stale)

    def is_over(self, stop: bool) -> bool:
        """Whether all ranks end after this step: any was asked to stop, or the first is done."""
        done = self.ranks.is_first and bool(self.end_reason())
        signal = self.ranks.all_reduce_max(2 if stop else int(done))
        self.stopped = signal == 2
        return signal > 0

    def finish(self) -> str:
        """Mark the run as finished, save it and return the reason.

        Raises WriteError if that fails.
        """
        self.save()
        self.checkpoints.flush()
        self.log.sync()
        self.write_failures.require_none(but=STATE)
        self.state.mark_finished(self.end_reason())
        if self.ranks.is_first:
            self._update_state()
        self.write_failures.require_none()
        return self.state.finished

    def is_due(self, every: int) -> bool:
        """Whether something that is done every `every` steps is due now."""
        return self.state.step % every == 0


def _done(count: int, noun: str) -> str:
    return f"{counted(count, noun)} {agreeing(count, 'is', 'are')} done"
