"""Monitors the steps of one process: speed, events, sample translations, timed checkpoints.

Nothing here changes the state that training depends on.
"""

import math
import time

from nmt_cli.config.automatic import max_steps
from nmt_cli.config.schema import Config, TrainConfig, of_preset
from nmt_cli.data.corpus.batch_plan import Position
from nmt_cli.machine import outside_heap
from nmt_cli.model.precision import could_be_bf16, precision_name
from nmt_cli.training.evaluation.passes import Pass, compared_sentences
from nmt_cli.training.optimizers.factory import DECAYS, peak_rate
from nmt_cli.training.reporting.cost import add_cost, devices
from nmt_cli.training.reporting.events import FirstStep, Listener, Outline, StepDone, Validating
from nmt_cli.training.reporting.first_step import FirstStepEstimate
from nmt_cli.training.reporting.forecast import Forecast
from nmt_cli.training.reporting.pace import Pace
from nmt_cli.training.reporting.report import Validation
from nmt_cli.training.reporting.samples import Samples
from nmt_cli.training.reporting.validation_clock import ValidationClock
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
        warmup=config.train.warmup_steps,
        rate_of_warmup=rate_of_warmup(config),
        schedule_ends=DECAYS[config.train.schedule](max_steps(config.train), config.train) == 0,
        epochs=state.epoch + (state.batch + steps - state.step) / batches,
        max_hours=config.train.max_hours,
        patience=config.train.patience if run.corpus.valid is not None else 0,
        compared=compared_sentences(config, run.corpus),
        seconds=state.elapsed,
        fine_tunes=bool(config.train.init_from),
        could_be_bf16=could_be_bf16(config.train.precision, run.ranks.device),
        average_span=average_span(config.train),
        batch_tokens=config.train.batch_tokens,
    )


def average_span(train: TrainConfig) -> int:
    """The steps that the checkpoints of an average span, if their interval is a number, else 0.

    >>> [average_span(TrainConfig(checkpoint_every=every, keep_last=5)) for every in (500, "auto")]
    [2500, 0]
    """
    every = train.checkpoint_every
    return 0 if isinstance(every, str) else every * train.keep_last


def preset_vocabulary(preset: str) -> int | str:
    """The vocabulary size that a preset asks for: a number, or auto."""
    return of_preset(preset).data.vocab_size


def rate_of_warmup(config: Config) -> float:
    """The peak of the learning rate if another warm-up would change it (equation 3), else 0.

    In fine-tuning, it is a share of that of the preset.
    """
    train = config.train
    usual = of_preset(train.preset).train.learning_rate if train.init_from else 0.0
    if "auto" in (train.learning_rate, usual):
        return peak_rate(train, config.model.d_model)
    return 0.0


class Monitor:
    """Monitors one process; only the first rank sends events, translates samples and saves."""

    def __init__(self, run: Run, listener: Listener) -> None:
        """listener: called with each event."""
        self._run = run
        self._listener = listener
        self._pace = Pace()
        self._began, self._before = time.monotonic(), run.state.elapsed
        self._last = planned_steps(run)
        self._timer = SaveTimer(run.config.train.save_minutes)
        self._samples = Samples(run.corpus)
        self._first_step = FirstStepEstimate(run, self._send_first_step)
        self._validation = ValidationClock()
        self._validation_sent = -math.inf
        self._forecast = Forecast(run.config, run.corpus, self._last, self._pace)
        if run.ranks.is_first:
            run.selector.on_progress = self._on_validation_progress
            listener(outline(run))

    def begin_step(self, position: Position) -> None:
        """The step at `position` begins."""
        if not self._pace.fresh:
            self._first_step.begin(position)

    def _send_first_step(self, seconds: float) -> None:
        run = self._run
        left = (self._last - run.state.step) * seconds
        left = min(left, max(0.0, self._forecast.seconds_allowed(run.state.elapsed)))
        self._listener(FirstStep(run.state.step, seconds, left))

    def end_step(self, result: StepResult, position: Position, seconds: float) -> None:
        """The step at `position` was taken and took this many seconds."""
        run = self._run
        self._first_step.end()
        add_cost(run, position, seconds)
        self._pace.add_step(seconds, result.tokens)
        self._update_elapsed()
        if run.ranks.is_first:
            step, elapsed = run.state.step, run.state.elapsed
            if early_end := self._forecast.early_end(step, elapsed):
                self._listener(early_end)
            self._listener(
                StepDone(
                    step=step,
                    fresh=self._pace.fresh,
                    loss=None if result.skipped else result.loss / result.tokens,
                    learning_rate=result.learning_rate,
                    tokens_per_second=self._pace.tokens_per_second,
                    seconds=elapsed,
                    seconds_left=self.seconds_left,
                    seconds_per_step=self._pace.seconds_per_step,
                    unmeasured=self._forecast.unmeasured(step, elapsed),
                )
            )

    def _update_elapsed(self) -> None:
        self._run.state.set_elapsed(self._before + time.monotonic() - self._began)

    def _on_validation_progress(self, pass_: Pass, done: int, total: int) -> None:
        """A pass has translated `done` of `total` sentences; sends an event about once a second."""
        now = time.monotonic()
        clock = self._validation
        clock.update(pass_.before + done, pass_.whole or total, now)
        if now - self._validation_sent < SECONDS_BETWEEN_VALIDATION_EVENTS:
            return
        assert clock.began is not None
        self._validation_sent = now
        run = self._run
        spent, expected = now - clock.began, clock.expected
        elapsed = self._before + now - self._began
        step, unmeasured = run.state.step, 0
        if pass_.whole:
            left = self._forecast.seconds_left_comparing(spent, expected)
        else:
            left = self._forecast.seconds_left_validating(step, elapsed, spent, expected)
            # With the progress of this one, the time of all is known.
            if not expected:
                unmeasured = self._forecast.unmeasured(step, elapsed, validating=True)
        self._listener(Validating(step, done, total, elapsed, left, unmeasured, pass_.activity))

    def end_validation(self, seconds: float, validation: Validation | None) -> None:
        """A validation took this many seconds; None: it was abandoned.

        The time of a run, which may be limited, begins after the validation before the first step.
        """
        if not self._run.state.step:
            self._began = time.monotonic()
        self._update_elapsed()
        translating = self._validation.translating(time.monotonic())
        self._validation, self._validation_sent = ValidationClock(), -math.inf
        if validation is not None:
            self._pace.add_validation(seconds, translating)
            average = "ema" if self._run.config.train.ema else "mean"
            if validation.best and validation.weights == average:
                self._forecast.average_published(self._run.state.step)

    @property
    def seconds_left(self) -> float:
        """The expected seconds to the end of the run."""
        state = self._run.state
        return self._forecast.seconds_left(state.step, state.elapsed)

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
        is_validated = run.state.validated or run.state.scores
        if is_validated or not (run.ranks.is_first and self._samples.is_due):
            return
        with outside_heap():
            sample = self._samples.take(run.model, run.config, run.state.step)
        if sample is not None:
            self._listener(sample)
