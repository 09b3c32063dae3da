"""`nmt train`: one rank's loop, a generator of Reports; only the first rank reports."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from nmt_cli import files
from nmt_cli.automatic import Intervals, max_steps
from nmt_cli.config import Config
from nmt_cli.data.corpus import Corpus
from nmt_cli.errors import TryAgainError, UnavailableError
from nmt_cli.model.precision import check_precision, use_fast_float32
from nmt_cli.plurals import agreeing, counted
from nmt_cli.training.cost import add_cost, devices, peak_share, summary
from nmt_cli.training.determinism import compute_deterministically
from nmt_cli.training.distributed import Ranks
from nmt_cli.training.recovery import divergence, news, recover
from nmt_cli.training.report import Report, Validation
from nmt_cli.training.run import Run
from nmt_cli.training.setup import (
    check_digest,
    complete,
    prepare_directory,
    refuse_foreign,
    require_space,
)
from nmt_cli.training.step import StepResult
from nmt_cli.training.watch import LostRankError


@dataclass
class Meter:
    """Sums since the last report; learning_rate, gradient_norm: of the last step."""

    loss: float = 0.0
    nll: float = 0.0
    tokens: int = 0
    steps: int = 0
    learning_rate: float = 0.0
    gradient_norm: float = 0.0

    def __post_init__(self) -> None:
        self.started = time.monotonic()
        # An earlier process took these: they say nothing about the speed of this one.
        self.tokens_before, self.steps_before = self.tokens, self.steps

    def add(self, result: StepResult) -> None:
        """Count one step; of a skipped one nothing but that it took its time."""
        self.steps += 1
        self.learning_rate = result.learning_rate
        self.gradient_norm = 0.0 if result.skipped else result.gradient_norm
        if not result.skipped:
            self.loss += result.loss
            self.nll += result.nll
            self.tokens += result.tokens


def train(
    config: Config,
    corpus: Corpus,
    out: Path,
    ranks: Ranks | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Report]:
    """Train a model of `config` on `corpus` into the model directory `out`, or go on with it.

    Yields Reports on the first rank only. Ends when the configured steps, epochs, hours or patience
    are reached, or after the step in which `stop()` says so on any rank (the state is saved then);
    it is asked from the time on when there is something to save. Closing the generator also saves,
    and so does a rank that loses another one (LostRankError). Raises ConfigError where `out` holds
    another run, DivergedError when returning to a checkpoint with a lower learning rate does not
    help against numbers that are not finite.
    """
    ranks = ranks or Ranks()
    config = complete(config, corpus)
    check_precision(config.train.precision, ranks.device)
    use_fast_float32(ranks.device)
    if config.train.deterministic:
        compute_deterministically(ranks.device)
    with ExitStack() as stack:

        def claim() -> None:
            refuse_foreign(out, corpus)
            require_space(config, out)
            files.make_directory(out)
            stack.enter_context(files.locked(out))
            prepare_directory(config, corpus, out)
            files.remove_leftovers(out)

        ranks.first_alone(claim)
        run = Run(config, corpus, out, ranks)
        stack.callback(run.close)
        check_digest(run.state, corpus)
        yield from _reports(run, stop)


def _reports(run: Run, stop: Callable[[], bool]) -> Iterator[Report]:
    _cut_log(run)
    if run.ranks.is_first:
        for note in run.notes:
            yield _news(run, note)
    if run.state.finished:
        if run.ranks.is_first:
            if run.state.validation:
                yield _log(run, _news(run, validation=run.validated(stop)))
            yield _news(run, f"already finished: {run.state.finished}")
        return
    run.ranks.wait()
    if run.ranks.is_first:
        # Of a future that comes again.
        run.checkpoints.remove_after(run.state.step)
    try:
        for report in _steps(run, stop, Intervals.of(run.config.train)):
            if report is not None and run.ranks.is_first:
                yield _log(run, report)
    except (GeneratorExit, LostRankError, TryAgainError, UnavailableError):
        # The last step was taken as a whole, on all ranks.
        run.save()
        raise
    if not run.stopped:
        yield from _finish(run, stop)
    if run.stopped:
        run.save()


def _steps(run: Run, stop: Callable[[], bool], every: Intervals) -> Iterator[Report | None]:
    """Step by step until the end or `stop`; yields after each, a Report where one is due."""
    meter = Meter(**run.state.unreported)  # type: ignore[arg-type]
    found = None
    if run.state.step and run.is_due(every.validate):
        # The process may have ended between saving and validating, or between that and telling.
        found = run.validated(stop)
    if found or (meter.steps and run.is_due(every.log)):
        yield _report(run, meter, found)
        meter = Meter()
    ended = run.is_over(run.stopped or stop())
    while not ended:
        position, begun = run.position, time.monotonic()
        result = run.step(position)
        add_cost(run, position, time.monotonic() - begun)
        meter.add(result)
        run.state.unreported = asdict(meter)
        for note in (*news(run, result, position), *run.setbacks.take_notes()):
            yield _news(run, note)
        if problem := divergence(run, result):
            taken = run.state.step
            note = recover(run, problem, position)
            if run.state.step < taken:
                _cut_log(run)
                run.state.unreported = {}
                yield _news(run, note)
                meter = Meter()
                continue
            yield _news(run, note)
        # Skipped steps change no weights: the checkpoints before them are worth more.
        if run.is_due(every.checkpoint) and run.state.skipped < 2:
            run.save()
        found = run.validate(stop) if run.is_due(every.validate) else None
        ended = run.is_over(run.stopped or stop())
        if run.is_due(every.log) or found or ended:
            yield _report(run, meter, found)
            meter = Meter()
        else:
            yield None


def _finish(run: Run, stop: Callable[[], bool]) -> Iterator[Report]:
    """Validate the last weights if that is not done yet, and remember that the run has ended."""
    found = run.validated(stop)
    if run.stopped:
        return
    note = f"finished: {run.finish()}; {summary(run.state)}"
    if run.state.splits:
        were = agreeing(run.state.splits, "was", "were")
        note += f"; {counted(run.state.splits, 'shard')} did not fit into memory and {were} split"
    if run.ranks.is_first:
        yield _log(run, _news(run, note, found))


def _news(run: Run, note: str = "", validation: Validation | None = None) -> Report:
    """A report between two intervals."""
    return _report(run, Meter(), validation, note)


def _report(run: Run, meter: Meter, validation: Validation | None = None, note: str = "") -> Report:
    if meter.steps:
        run.state.unreported = {}
    if validation is not None:
        run.state.validation = {}
    elapsed = max(1e-9, time.monotonic() - meter.started)
    steps, tokens = meter.steps - meter.steps_before, meter.tokens - meter.tokens_before
    per_step = elapsed / max(1, steps)
    remaining = max_steps(run.config.train) - run.state.step
    return Report(
        step=run.state.step,
        epoch=run.state.epoch,
        tokens=meter.tokens,
        loss=meter.loss / max(1, meter.tokens),
        nll=meter.nll / max(1, meter.tokens),
        learning_rate=meter.learning_rate,
        gradient_norm=meter.gradient_norm,
        tokens_per_second=tokens / elapsed,
        seconds=run.state.seconds,
        eta_seconds=per_step * remaining if steps else None,
        flops=run.state.flops,
        gpu_time_flops=run.state.peak_flops or None,
        peak_share=peak_share(run.state),
        devices=devices(run.ranks),
        validation=validation,
        note=note,
    )


def _log(run: Run, report: Report) -> Report:
    run.log.add(report.as_json())
    return report


def _cut_log(run: Run) -> None:
    if run.ranks.is_first:
        run.log.cut(run.state)
