"""One training run on one rank: its model, optimiser, plan and state."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import cast

from nmt_cli.config.automatic import Intervals, max_steps
from nmt_cli.config.schema import Config, TrainConfig
from nmt_cli.data.corpus.batch_plan import Position
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.corpus.packed_plan import PackedPlan
from nmt_cli.errors import DataError, UnavailableError, is_out_of_memory
from nmt_cli.machine import outside_heap
from nmt_cli.model.backends.dispatch import use_backend
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.kinds import make_model
from nmt_cli.model.transformer import Transformer
from nmt_cli.model.zero_start import set_zero_start
from nmt_cli.plurals import agreeing, counted
from nmt_cli.storage.output_directory import CHECKPOINTS
from nmt_cli.training.evaluation.model_selection import MODEL, ModelSelector, early_stopping_reason
from nmt_cli.training.evaluation.validation import AbandonedError
from nmt_cli.training.execution.compiled import compile_hidden
from nmt_cli.training.execution.plan import ExecutionPlan, long_pair_notes, plan_batches
from nmt_cli.training.execution.prefetch import Prefetcher
from nmt_cli.training.execution.product_kernels import ProductKernels
from nmt_cli.training.optimizers.ema import MovingAverage
from nmt_cli.training.optimizers.factory import make_optimizer
from nmt_cli.training.parallel.deterministic import check_ranks, own_batches_notes
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.parallel.thread_pool import ReplicaThreadPool
from nmt_cli.training.reporting.report import Validation
from nmt_cli.training.reporting.train_log import TrainLog
from nmt_cli.training.saving.checkpoints import Checkpoint, Checkpoints
from nmt_cli.training.saving.tensor_files import copy_weights, load_optimizer
from nmt_cli.training.starting_model import load_starting_weights
from nmt_cli.training.state import TrainState
from nmt_cli.training.step import StepResult, make_gradient_sync, start_id, take_step

STATE = "the state of the run"


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
        self.notes: list[str] = []
        latest = self._latest_checkpoint()
        resumed = latest.state() if latest is not None else None
        self.execution = ExecutionPlan.of(
            config, ranks.device, ranks.world_size, resumed,
            lambda value: -ranks.all_reduce_max(-value),
        )  # fmt: skip
        self.state = resumed or TrainState(
            digest=corpus.digest, shards=self.execution.shards, packed=self.execution.packed
        )
        self.load_or_initialise(latest)
        if train.deterministic:
            check_ranks(ranks.world_size, self.execution.shards)
            if resumed is None:
                plan = self.execution
                self.notes += own_batches_notes(
                    train, plan.micro_batch_tokens, plan.shards, ranks.world_size
                )
        if latest is not None:
            self._continue()
        self.saved_step = self.state.step
        self.stopped = False
        # Whether the validation of this step was abandoned.
        self.abandoned = False
        self.pairs, self.plan = plan_batches(config, corpus, self.execution)
        self.notes += long_pair_notes(self.plan)
        self.prefetcher: Prefetcher | None = None
        if self.execution.prefetched:
            self.prefetcher = Prefetcher(self.pairs, self.plan, ranks, start_id(config.model))
        if self.execution.compiled:
            assert isinstance(self.plan, PackedPlan)
            # A table that grew inside the graph would need another graph.
            cast(Transformer, self.model).positions.reserve(self.plan.shape.width)
            compile_hidden(
                self.model, self.plan.shape, separate_graphs=self.execution.separate_graphs
            )
        self.replicas = ReplicaThreadPool(self.model, self.execution.replicas)
        self.product_kernels = ProductKernels(self.model, config, self.replicas)
        self.has_stepped = False
        # The last epoch for whose batches kernels were made.
        self.kernels_epoch = -1
        self.gradient_sync = make_gradient_sync(config, ranks, self.model, self.replicas)

    def _latest_checkpoint(self) -> Checkpoint | None:
        """The checkpoint to continue from; None for a new run.

        Raises DataError where there are checkpoints, but none is complete.
        """
        latest, problems = self.checkpoints.latest()
        self.notes += [f"an older checkpoint is used: {problem}" for problem in problems]
        if latest is None and self.checkpoints.exist():
            reason = problems[0] if problems else "none is complete"
            raise DataError(
                f"`{self.checkpoints.directory}` has no checkpoint to resume from: {reason}",
                "copy it again, or start a new run with another --out",
            )
        return latest

    def _continue(self) -> None:
        """Continue a resumed run, also a finished one if its limits were raised."""
        self.state.mark_finished(self.end_reason() and self.state.finished)
        if not self.state.finished:
            self.notes.append(f"continues after step {self.state.step:,}")

    def load_or_initialise(self, checkpoint: Checkpoint | None) -> None:
        """Take state, weights, optimiser and average from `checkpoint`, or initialise them.

        Weights are initialised at random, or with those of `train.init_from`.
        """
        if checkpoint is None:
            self.state = self.state.as_new()
            # On the CPU, where the same seed always gives the same numbers.
            initialise(self.model.to("cpu"), self.config.train.seed)
            if self.config.train.init_from:
                load_starting_weights(self.model, self.config.train, self.ranks.all_reduce_max)
            set_zero_start(self.model)
        else:
            self.state = checkpoint.state()
        self.model.to(self.ranks.device)
        use_backend(self.model, self.execution.backend)
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

    def close(self) -> None:
        """End the thread that makes batches, and wait until all that was saved is written.

        Raises WriteError if that failed.
        """
        if self.prefetcher is not None:
            self.prefetcher.close()
        self.checkpoints.flush()
        self.log.sync()
        self.write_failures.require_none()

    @property
    def begins_with_model(self) -> bool:
        """Whether the next step is the first one, on the weights of a model, not yet validated."""
        is_new = not self.state.step and not self.state.scores
        return bool(self.config.train.init_from) and is_new and self.corpus.valid is not None

    @property
    def position(self) -> Position:
        """The batch of the next step."""
        return self.state.position

    def make_product_kernels(self) -> None:
        """Make the kernels of the matrix products that the next steps are the first to need.

        Before the first step of this process those of its batch, so that it comes soon; before the
        second one those of the whole epoch, so that memory does not grow later.
        """
        if not self.product_kernels.are_needed:
            return
        epoch = self.position.epoch
        if not self.has_stepped:
            self.product_kernels.make(self.plan.batch_stream_sizes(*self.position))
        elif self.kernels_epoch != epoch:
            self.product_kernels.make(self.plan.stream_sizes(epoch))
            self.kernels_epoch = epoch

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
                f"step {self.state.step + 1:,}: out of memory with a batch of any size: {error}",
                "train a smaller model, or end other programs that use this memory",
            ) from error
        self.has_stepped = True
        batches = self.plan.epoch(position.epoch).batches
        self.state.count_step(position, batches, skipped=result.skipped)
        if self.ema is not None and not result.skipped:
            self.ema.update(self.state.step)
        return result

    def save(self) -> None:
        """Save a checkpoint, on the first rank, unless this step has one.

        A checkpoint of the interval may be averaged, even if it is saved for another reason.
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
        self.abandoned = self.stopped and not results
        # A step whose model could not be published is validated again.
        complete = bool(results or not self.stopped) and not self.write_failures.count(MODEL)
        validation = results[0] if results else None
        self.state.mark_validated(asdict(validation) if validation else {}, complete=complete)
        if self.ranks.is_first:
            self.update_state()
        return validation

    def update_state(self) -> None:
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

    def compare_last(self, stop: Callable[[], bool]) -> None:
        """At the end, publish the last average if it is better on more validation pairs.

        If any rank was asked to stop, `stopped` is set, and the next run of the command compares.
        """

        def work(poll: Callable[[], bool]) -> None:
            if self.corpus.valid is not None:
                with suppress(AbandonedError), outside_heap():
                    self.selector.compare_last(self.state, self.optimizer, self.ema, poll)

        self.stopped = self.ranks.run_on_first(work, stop)

    def end_reason(self) -> str:
        """Why training is over, or an empty text."""
        return next(iter(reached_limits(self.config.train, self.state).values()), "")

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
            self.update_state()
        self.write_failures.require_none()
        return self.state.finished

    def is_due(self, every: int) -> bool:
        """Whether something that is done every `every` steps is due now."""
        return self.state.step % every == 0


def reached_limits(train: TrainConfig, state: TrainState) -> dict[str, str]:
    """The limits that a run has reached: for each option, why training is over."""
    reached: dict[str, str] = {}
    last = max_steps(train)
    if state.step >= last:
        more = f", more than the limit of {last:,}" if state.step > last else ""
        reached["--max-steps"] = _done(state.step, "step") + more
    if train.max_epochs and state.epoch >= train.max_epochs:
        reached["--max-epochs"] = _done(train.max_epochs, "epoch")
    if train.max_hours and state.elapsed >= train.max_hours * 3_600:
        are = "hour is" if train.max_hours == 1 else "hours are"
        reached["--max-hours"] = f"{train.max_hours:g} {are} over"
    if reason := early_stopping_reason(train.patience, state.stale):
        reached["--patience"] = reason
    return reached


def _done(count: int, noun: str) -> str:
    return f"{counted(count, noun)} {agreeing(count, 'is', 'are')} done"
