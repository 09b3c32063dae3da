"""One training run on one rank: model, optimiser, plan, state, and what is done to them."""

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
from nmt_cli.machine import usable_cores
from nmt_cli.model.attention import head_widths, rectangle_backend
from nmt_cli.model.backends.dispatch import choose_backend, use_backend
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.kinds import make_model
from nmt_cli.plurals import agreeing, counted
from nmt_cli.training.compiled import compile_hidden
from nmt_cli.training.ema import MovingAverage
from nmt_cli.training.model_selection import MODEL, ModelSelector
from nmt_cli.training.optimizers.factory import make_optimizer
from nmt_cli.training.parallel.deterministic import check_ranks, next_power_of_two
from nmt_cli.training.parallel.gradient_sync import BucketedGradientSync
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.parallel.threads import ThreadReplicas, thread_count
from nmt_cli.training.prefetch import Prefetcher
from nmt_cli.training.reporting.report import Validation
from nmt_cli.training.reporting.train_log import TrainLog
from nmt_cli.training.saving.checkpoints import Checkpoint, Checkpoints, TrainState
from nmt_cli.training.saving.tensor_files import copy_weights, load_optimizer
from nmt_cli.training.step import StepResult, start_id, take_step
from nmt_cli.training.validation import AbandonedError

# Attention that works as well on sentences of mixed lengths.
FREE_OF_LENGTHS = ("tiles", "varlen")
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
        self.setbacks = self.checkpoints.setbacks
        self.log = TrainLog(out, self.setbacks)
        self.model = make_model(config.model)
        self.judge = ModelSelector(config, corpus, out, self.model, self.checkpoints, ranks.device)
        self.state = TrainState(digest=corpus.digest)
        self.notes: list[str] = []
        self._resume_or_start()
        self.saved = self.state.step
        self.stopped = False
        self.pairs = corpus.train
        kind = PackedPlan if self.state.packed else BatchPlan
        self.plan = kind(
            self.pairs.src_lengths, self.pairs.tgt_lengths, train.batch_tokens, self.state.shards,
            train.seed,
        )  # fmt: skip
        if train.subword_dropout:
            workers = max(1, usable_cores() // ranks.world_size)
            sampled = SampledPairs(corpus, train.subword_dropout, train.seed, workers)
            self.pairs, self.plan.lengths_of = sampled, sampled.segment
        self.ahead: Prefetcher | None = None
        if self._prefetches():
            self.ahead = Prefetcher(self.pairs, self.plan, ranks, start_id(config.model))
        self.compiles = isinstance(self.plan, PackedPlan) and self._compiles()
        if self.compiles:
            compile_hidden(self.model, self.plan.shape, apart=ranks.world_size > 1)
        self.crew = ThreadReplicas(self.model, self._crew_size())
        # The tree of --deterministic has no use for it.
        self.reducer = None if train.deterministic else BucketedGradientSync(ranks, self.model)
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
            self.state.shards = self._count_shards()
            self.state.packed = self._packs()
        self.begin(latest)
        if self.config.train.deterministic:
            check_ranks(self.ranks.world_size, self.state.shards)
        if latest is not None:
            # A finished run goes on when its limits were raised.
            self.state.finished = self.end_reason() and self.state.finished
            if not self.state.finished:
                self.notes.append(f"continues after step {self.state.step:,}")

    def begin(self, checkpoint: Checkpoint | None) -> None:
        """State, weights, optimiser and average of `checkpoint`, or of a run's beginning."""
        if checkpoint is None:
            fixed = self.state
            self.state = TrainState(digest=fixed.digest, shards=fixed.shards, packed=fixed.packed)
            # On the CPU, where the same seed always gives the same numbers.
            initialise(self.model.to("cpu"), self.config.train.seed)
        else:
            self.state = checkpoint.state()
        self.model.to(self.ranks.device)
        use_backend(self.model, self._backend())
        self.optimizer = make_optimizer(self.model, self.config)
        decay = self.config.train.ema
        # Only the first rank validates and saves.
        kept = decay and self.ranks.is_first
        self.ema = MovingAverage(self.model, decay) if kept else None
        if checkpoint is not None:
            self._load(checkpoint)

    def _load(self, checkpoint: Checkpoint) -> None:
        """Weights, optimiser and moving average as they were saved."""
        copy_weights(self.model, checkpoint.weights())
        load_optimizer(self.model, self.optimizer, checkpoint.optimizer_directory)
        if self.ema is not None:
            self.ema.load(checkpoint.moving_average())

    def _count_shards(self) -> int:
        train = self.config.train
        crew = self._crew_size()
        micro = train.micro_batch_tokens
        if micro == "auto":
            # What a crew does at a time needs the memory of one pass.
            micro = MICRO_BATCH_TOKENS.get(self.ranks.device.type, 4_096) // crew
        shards = count_shards(train.batch_tokens, micro, self.ranks.world_size * crew)
        return next_power_of_two(shards) if train.deterministic else shards

    def _crew_size(self) -> int:
        train = self.config.train
        # A compiled graph belongs to one model.
        if self.ranks.device.type != "cpu" or train.deterministic or train.compile == "on":
            return 1
        return thread_count(train.parallel_shards, train.batch_tokens // self.ranks.world_size)

    @property
    def threads(self) -> int:
        """Threads that compute in this process, of a CPU."""
        return torch.get_num_threads()

    def _backend(self) -> str:
        if self.config.model.kind != "transformer":
            return rectangle_backend(self.ranks.device)
        return choose_backend(self.ranks.device, *head_widths(self.config.model))

    def _packs(self) -> bool:
        """Whether batches are packed: where attention needs no sentences of one length."""
        wanted = self.config.train.packing
        return wanted == "packed" or (wanted == "auto" and self._backend() in FREE_OF_LENGTHS)

    def _compiles(self) -> bool:
        wanted = self.config.train.compile
        return wanted == "on" or (wanted == "auto" and self._backend() == "tiles")

    def _prefetches(self) -> bool:
        """Whether a thread makes batches; a CPU has better things to do."""
        return self.ranks.device.type == "cuda" and not self.config.train.deterministic

    def close(self) -> None:
        """End the thread that makes batches, and see that all that was saved is written.

        Raises WriteError where it is not.
        """
        if self.ahead is not None:
            self.ahead.close()
        self.checkpoints.settle()
        self.log.sync()
        self.setbacks.require_none()

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
        return Position(self.state.epoch, self.state.batch)

    def step(self, position: Position) -> StepResult:
        """Take the next optimiser step; raises UnavailableError when memory is full."""
        self.checkpoints.look()
        if self.ahead is not None:
            self.ahead.begin(position)
        pairs = self.ahead or self.pairs
        try:
            result = take_step(
                self.model, self.optimizer, self.config, self.ranks, pairs, self.plan, position,
                self.state.step + 1, 0.5**self.state.rollbacks, self.crew,
                self.reducer,
            )  # fmt: skip
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            raise UnavailableError(
                f"step {self.state.step + 1:,}: memory is full, whatever the batch: {error}",
                "train a smaller model; is another process using this memory?",
            ) from error
        self.state.step += 1
        self.state.epoch, self.state.batch = position.epoch, position.batch + 1
        if self.state.batch >= self.plan.epoch(position.epoch).batches:
            self.state.epoch, self.state.batch = position.epoch + 1, 0
        self.state.skipped = self.state.skipped + 1 if result.skipped else 0
        if self.ema is not None and not result.skipped:
            self.ema.update(self.state.step)
        return result

    def save(self) -> None:
        """Save a checkpoint (first rank) unless this step has one.

        Those of the interval are averaged, whatever made this one necessary.
        """
        if not self.ranks.is_first:
            return
        if self.state.step != self.saved or self.checkpoints.has_failed:
            self.saved = self.state.step
            self.log.sync()
            interval = Intervals.of(self.config.train).checkpoint
            member = self.is_due(interval) and self.state.skipped < 2
            self.checkpoints.save(
                self.model, self.optimizer, self.state, member=member, ema=self.ema
            )

    def validate(self, stop: Callable[[], bool] = lambda: False) -> Validation | None:
        """Judge the current weights and their averages; publish the best.

        Only the first rank works here; the others wait. Given up, with `stopped` set, when `stop()`
        says so on any rank; a later run of the command then validates.
        """
        found: list[Validation | None] = []

        def work(poll: Callable[[], bool]) -> None:
            if self.corpus.valid is None:
                *_, last = self.judge.candidates(self.optimizer, self.ema)
                self.judge.publish(self.state, last)
                found.append(None)
            else:
                with suppress(AbandonedError):
                    found.append(self.judge.judge(self.state, self.optimizer, self.ema, poll))

        self.stopped = self.ranks.first_works(work, stop)
        # What could not be published is judged again.
        if (found or not self.stopped) and not self.setbacks.count(MODEL):
            self.state.validated = self.state.step
        validation = found[0] if found else None
        self.state.validation = asdict(validation) if validation else {}
        if self.ranks.is_first:
            self._update_state()
        return validation

    def _update_state(self) -> None:
        """Let the checkpoint of this step say what is known since."""
        # It does not tell again what the log has.
        self.log.sync()
        with self.setbacks.forgiving(STATE):
            self.checkpoints.update(self.state)

    def validated(self, stop: Callable[[], bool]) -> Validation | None:
        """The validation of this step, unless it is told already; done now if need be."""
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
        if train.patience and state.stale >= train.patience:
            return f"{counted(state.stale, 'validation')} without a better one"
        return ""

    def is_over(self, stop: bool) -> bool:
        """Whether all ranks end after this step: asked to stop (any rank), or done (the first)."""
        done = self.ranks.is_first and bool(self.end_reason())
        signal = self.ranks.agree(2 if stop else int(done))
        self.stopped = signal == 2
        return signal > 0

    def finish(self) -> str:
        """Mark the run as ended and save it; the reason. Raises WriteError where that fails."""
        self.save()
        self.checkpoints.settle()
        self.log.sync()
        self.setbacks.require_none(but=STATE)
        self.state.finished = self.end_reason()
        if self.ranks.is_first:
            self._update_state()
        self.setbacks.require_none()
        return self.state.finished

    def is_due(self, every: int) -> bool:
        """Whether something done every so many steps is due now."""
        return self.state.step % every == 0


def _done(count: int, noun: str) -> str:
    return f"{counted(count, noun)} {agreeing(count, 'is', 'are')} done"
