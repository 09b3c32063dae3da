"""Monitors the steps of one process: speed, events, sample translations, checkpoints by the clock.

Nothing here changes the state that training depends on.
"""

import math
import time

from nmt_cli.config.automatic import max_steps
from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.data.corpus.batch_plan import Position
from nmt_cli.machine import outside_heap
from nmt_cli.model.precision import precision_name
from nmt_cli.training.reporting.cost import add_cost, devices
from nmt_cli.training.reporting.events import FirstStep, Listener, Outline, StepDone, Validating
from nmt_cli.training.reporting.first_step import FirstStepEstimate
from nmt_cli.training.reporting.pace import Pace
from nmt_cli.training.reporting.report import Validation
from nmt_cli.training.reporting.samples import Samples
from nmt_cli.training.run import Run
from nmt_cli.training.saving.save_timer import SaveTimer
from nmt_cli.training.step import StepResult

SECONDS_BETWEEN_VALIDATION_EVENTS = 1.0


def planned_steps(run: Run) -> int:
    """The step at which `run` ends unless time or patience ends it before."""
    train, state = run.config.train, run.state
    if not train.max_epochs:
        return max_steps(train)
    batches = run.plan.epoch(state.epoch).batches
    left = (train.max_epochs - state.epoch) * batches - state.batch
    return min(max_steps(train), state.step + max(0, left))


def outline(run: Run) -> Outline:
    """What `run` is about to do."""
    config, state = run.config, run.state
    steps = planned_steps(run)
    batches = run.plan.epoch(state.epoch).batches
    return Outline(
        src=config.languages.src,
        tgt=config.languages.tgt,
        pairs=len(run.corpus.train),
        preset=config.train.preset,
        vocabularies=(run.corpus.subwords.src_size, run.corpus.subwords.tgt_size),
        preset_vocabulary=preset_vocabulary(config.train.preset),
        parameters=sum(weight.numel() for weight in run.model.parameters()),
        devices=devices(run.ranks),
        processes=run.ranks.world_size,
        threads=run.execution.threads,
        precision=precision_name(config.train.precision, run.ranks.device),
        compiles=run.execution.compiled,
        step=state.step,
        steps=steps,
        epochs=state.epoch + (state.batch + steps - state.step) / batches,
        max_hours=config.train.max_hours,
        patience=config.train.patience,
        seconds=state.elapsed,
    )


def preset_vocabulary(preset: str) -> int | str:
    """The vocabulary size that a preset asks for: a number, or auto."""
    return resolve([SettingsLayer("preset", {"train.preset": preset})]).config.data.vocab_size


class Monitor:
    """Monitors one process; only the first rank sends events, translates samples and saves."""

    def __init__(self, run: Run, validate_every: int, listener: Listener) -> None:
        """validate_every: steps between validations; listener: called with each event."""
        self._run = run
        self._every = validate_every
        self._listener = listener
        self._pace = Pace()
        self._began, self._before = time.monotonic(), run.state.elapsed
        self._last = planned_steps(run)
        self._timer = SaveTimer(run.config.train.save_minutes)
        self._samples = Samples(run.corpus)
        self._first_step = FirstStepEstimate(run, self._send_first_step)
        self._validation_began: float | None = None
        self._validation_sent = -math.inf
        if run.ranks.is_first:
            run.selector.on_progress = self._on_validation_progress
            listener(outline(run))

    def begin_step(self, position: Position) -> None:
        """The step at `position` begins."""
        if not self._pace.fresh:
            self._first_step.begin(position)

    def _send_first_step(self, seconds: float) -> None:
        run = self._run
        left = self._within_hours((self._last - run.state.step) * seconds)
        self._listener(FirstStep(run.state.step, seconds, left))

    def end_step(self, result: StepResult, position: Position, seconds: float) -> None:
        """The step at `position` was taken and took so many seconds."""
        run = self._run
        self._first_step.end()
        add_cost(run, position, seconds)
        self._pace.add_step(seconds, result.tokens)
        self._update_elapsed()
        if run.ranks.is_first:
            self._listener(
                StepDone(
                    step=run.state.step,
                    fresh=self._pace.fresh,
                    loss=None if result.skipped else result.loss / result.tokens,
                    learning_rate=result.learning_rate,
                    tokens_per_second=self._pace.tokens_per_second,
                    seconds=run.state.elapsed,
                    seconds_left=self.seconds_left,
                    seconds_per_step=self._pace.seconds_per_step,
                )
            )

    def _update_elapsed(self) -> None:
        self._run.state.set_elapsed(self._before + time.monotonic() - self._began)

    def _on_validation_progress(self, done: int, total: int) -> None:
        """A validation has translated so many sentences; sends an event about once a second."""
        now = time.monotonic()
        if now - self._validation_sent < SECONDS_BETWEEN_VALIDATION_EVENTS:
            return
        if self._validation_began is None:
            self._validation_began = now
        self._validation_sent = now
        run = self._run
        spent = now - self._validation_began
        left = self._pace.seconds_left_validating(run.state.step, self._last, self._every, spent)
        left = None if left is None else self._within_hours(left)
        elapsed = self._before + now - self._began
        self._listener(Validating(run.state.step, done, total, elapsed, left))

    def end_validation(self, seconds: float, validation: Validation | None) -> None:
        """A validation took so many seconds; None: it was abandoned."""
        self._update_elapsed()
        self._validation_began, self._validation_sent = None, -math.inf
        if validation is not None:
            self._pace.add_validation(seconds)

    @property
    def seconds_left(self) -> float:
        """The expected seconds to the end of the run."""
        run = self._run
        return self._within_hours(self._pace.seconds_left(run.state.step, self._last, self._every))

    def _within_hours(self, seconds: float) -> float:
        """`seconds`, limited to what is left of train.max_hours."""
        hours, elapsed = self._run.config.train.max_hours, self._run.state.elapsed
        return min(seconds, max(0.0, hours * 3_600 - elapsed)) if hours else seconds

    def save_if_due(self) -> None:
        """Save a checkpoint if the last one is too old; it only serves to resume the run."""
        if self._run.ranks.is_first and self._timer.is_due and not self._run.state.skipped:
            self._run.save()
            self._timer.restart()

    def checkpoint_saved(self) -> None:
        """A checkpoint of the interval was saved."""
        self._timer.restart()

    def show_sample(self) -> None:
        """Translate a sentence if one is due; validations have samples of their own."""
        run = self._run
        if run.state.validated or not (run.ranks.is_first and self._samples.is_due):
            return
        with outside_heap():
            sample = self._samples.take(run.model, run.config, run.state.step)
        if sample is not None:
            self._listener(sample)
