"""What accompanies the steps of one process: its speed, what it says, samples, timed checkpoints.

None of it changes the state that training depends on.
"""

import math
import time

from nmt_cli.config.automatic import max_steps
from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.data.corpus.batch_plan import Position
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
    """The step at which `run` ends if neither time nor patience ends it before."""
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
        threads=run.threads,
        precision=precision_name(config.train.precision, run.ranks.device),
        compiles=run.compiles,
        step=state.step,
        steps=steps,
        epochs=state.epoch + (state.batch + steps - state.step) / batches,
        max_hours=config.train.max_hours,
        patience=config.train.patience,
        seconds=state.elapsed,
    )


def preset_vocabulary(preset: str) -> int | str:
    """Entries of the vocabulary that a preset asks for; a number, or auto."""
    return resolve([SettingsLayer("preset", {"train.preset": preset})]).config.data.vocab_size


class Monitor:
    """Of one process; only the first rank says something, translates samples and saves."""

    def __init__(self, run: Run, validate_every: int, tell: Listener) -> None:
        """validate_every: steps."""
        self._run = run
        self._every = validate_every
        self._tell = tell
        self._pace = Pace()
        self._began, self._before = time.monotonic(), run.state.elapsed
        self._last = planned_steps(run)
        self._timer = SaveTimer(run.config.train.save_minutes)
        self._samples = Samples(run.corpus)
        self._first_step = FirstStepEstimate(run, self._tell_first_step)
        self._validation_began: float | None = None
        self._validation_told = -math.inf
        if run.ranks.is_first:
            run.judge.watch = self._validating
            tell(outline(run))

    def begins(self, position: Position) -> None:
        """The step at `position` begins."""
        if not self._pace.fresh:
            self._first_step.begin(position)

    def _tell_first_step(self, seconds: float) -> None:
        run = self._run
        left = self._within_hours((self._last - run.state.step) * seconds)
        self._tell(FirstStep(run.state.step, seconds, left))

    def stepped(self, result: StepResult, position: Position, seconds: float) -> None:
        """The step at `position` was taken, in so many seconds."""
        run = self._run
        self._first_step.end()
        add_cost(run, position, seconds)
        self._pace.add_step(seconds, result.tokens)
        self._look_at_the_clock()
        if run.ranks.is_first:
            self._tell(
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

    def _look_at_the_clock(self) -> None:
        self._run.state.elapsed = self._before + time.monotonic() - self._began

    def _validating(self, done: int, total: int) -> None:
        """A validation has translated so many sentences; told of from time to time."""
        now = time.monotonic()
        if now - self._validation_told < SECONDS_BETWEEN_VALIDATION_EVENTS:
            return
        if self._validation_began is None:
            self._validation_began = now
        self._validation_told = now
        run = self._run
        spent = now - self._validation_began
        left = self._pace.seconds_left_validating(run.state.step, self._last, self._every, spent)
        left = None if left is None else self._within_hours(left)
        elapsed = self._before + now - self._began
        self._tell(Validating(run.state.step, done, total, elapsed, left))

    def validated(self, seconds: float, found: Validation | None) -> None:
        """A validation took so many seconds, unless it was given up."""
        self._look_at_the_clock()
        self._validation_began, self._validation_told = None, -math.inf
        if found is not None:
            self._pace.add_validation(seconds)

    @property
    def seconds_left(self) -> float:
        """To the end of the run, as far as that is known."""
        run = self._run
        return self._within_hours(self._pace.seconds_left(run.state.step, self._last, self._every))

    def _within_hours(self, seconds: float) -> float:
        """`seconds`, or what train.max_hours leaves of them."""
        hours, elapsed = self._run.config.train.max_hours, self._run.state.elapsed
        return min(seconds, max(0.0, hours * 3_600 - elapsed)) if hours else seconds

    def save_in_time(self) -> None:
        """Save a checkpoint if the last one is too old; it serves resuming only."""
        if self._run.ranks.is_first and self._timer.is_due and not self._run.state.skipped:
            self._run.save()
            self._timer.saved()

    def saved(self) -> None:
        """A checkpoint of the interval was saved."""
        self._timer.saved()

    def show_sample(self) -> None:
        """Translate a sentence if it is time for that; validations have samples of their own."""
        run = self._run
        if run.state.validated or not (run.ranks.is_first and self._samples.is_due):
            return
        sample = self._samples.take(run.model, run.config, run.state.step)
        if sample is not None:
            self._tell(sample)
