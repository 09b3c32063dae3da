"""`nmt train`: one rank's loop, a generator of Reports; only the first rank reports."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path

from nmt_cli.config.automatic import Intervals
from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.errors import TryAgainError, UnavailableError
from nmt_cli.model.precision import check_precision, use_fast_float32
from nmt_cli.plurals import agreeing, counted
from nmt_cli.storage import files
from nmt_cli.training.divergence import divergence, news, recover
from nmt_cli.training.parallel.deterministic import compute_deterministically
from nmt_cli.training.parallel.heartbeat import LostRankError
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.reporting.cost import devices, peak_share
from nmt_cli.training.reporting.events import Listener, ignore
from nmt_cli.training.reporting.meter import Meter
from nmt_cli.training.reporting.monitor import Monitor
from nmt_cli.training.reporting.report import Published, Report, Validation
from nmt_cli.training.run import Run
from nmt_cli.training.setup import (
    changed_schedule,
    check_digest,
    complete,
    prepare_directory,
    refuse_foreign,
    require_space,
)


def train(
    config: Config,
    corpus: Corpus,
    out: Path,
    ranks: Ranks | None = None,
    stop: Callable[[], bool] = lambda: False,
    tell: Listener = ignore,
) -> Iterator[Report]:
    """Train a model of `config` on `corpus` into the model directory `out`, or go on with it.

    Yields Reports on the first rank only. Ends when the configured steps, epochs, hours or patience
    are reached, or after the step in which `stop()` says so on any rank (the state is saved then);
    it is asked from the end of the first step on, when there is something to save. Closing the
    generator also saves, and so does a rank that loses another one (LostRankError). Raises
    ConfigError where `out` holds another run, DivergedError when returning to a checkpoint with a
    lower learning rate does not help against numbers that are not finite.

    tell: is given what happens between two reports, on the first rank: what is about to be done,
    each step, samples. It must be quick.
    """
    ranks = ranks or Ranks()
    config = complete(config, corpus)
    check_precision(config.train.precision, ranks.device)
    use_fast_float32(ranks.device)
    if config.train.deterministic:
        compute_deterministically(ranks.device)
    notes: list[str] = []
    with ExitStack() as stack:

        def claim() -> None:
            refuse_foreign(out, corpus)
            require_space(config, out)
            files.make_directory(out)
            stack.enter_context(files.locked(out))
            notes.append(changed_schedule(config, out))
            prepare_directory(config, corpus, out)
            files.remove_leftovers(out)

        ranks.first_alone(claim)
        run = Run(config, corpus, out, ranks)
        stack.callback(run.close)
        if run.state.step and not run.state.finished:
            run.notes += filter(None, notes)
        check_digest(run.state, corpus)
        yield from _reports(run, stop, tell)


def _reports(run: Run, stop: Callable[[], bool], tell: Listener) -> Iterator[Report]:
    _cut_log(run)
    every = Intervals.of(run.config.train)
    monitor = None if run.state.finished else Monitor(run, every.validate, tell)
    if run.ranks.is_first:
        for note in run.notes:
            yield _news(run, note)
    if monitor is None:
        if run.ranks.is_first:
            if run.state.validation:
                yield _log(run, _news(run, validation=run.validated(stop)))
            yield _closing(run, f"already finished: {run.state.finished}")
        return
    run.ranks.wait()
    if run.ranks.is_first:
        # Of a future that comes again.
        run.checkpoints.remove_after(run.state.step)
    try:
        for report in _steps(run, stop, every, monitor):
            if report is not None and run.ranks.is_first:
                yield _log(run, report)
    except (GeneratorExit, LostRankError, TryAgainError, UnavailableError):
        # The last step was taken as a whole, on all ranks.
        run.save()
        raise
    if not run.stopped:
        yield from _finish(run, stop, monitor)
    if run.stopped:
        run.save()
        if run.ranks.is_first:
            yield _news(run, _saved(run))


def _saved(run: Run) -> str:
    """What a run says that was asked to stop."""
    if not run.state.step:
        return "stopped before the first step"
    if run.checkpoints.has_failed:
        return f"stopped after step {run.state.step:,}, which could not be saved"
    return f"saved at step {run.state.step:,}; run the same command to go on"


def _steps(
    run: Run, stop: Callable[[], bool], every: Intervals, monitor: Monitor
) -> Iterator[Report | None]:
    """Step by step until the end or `stop`; yields after each, a Report where one is due."""
    meter = Meter(**run.state.unreported)  # type: ignore[arg-type]
    found = None
    if run.state.step and run.is_due(every.validate):
        # The process may have ended between saving and validating, or between that and telling.
        found = run.validated(stop)
    if found or (meter.steps and run.is_due(every.log)):
        yield _report(run, meter, found)
        meter = Meter()
    # Not asked before there is something to save: until then a signal may end the process at once.
    ended = run.is_over(run.stopped or (run.state.step > 0 and stop()))
    while not ended:
        position, begun = run.position, time.monotonic()
        monitor.begins(position)
        result = run.step(position)
        seconds = time.monotonic() - begun
        if run.state.step == 1:
            stop()
        meter.add(result, seconds)
        monitor.stepped(result, position, seconds)
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
            monitor.saved()
        monitor.save_in_time()
        found = _timed(run.validate, stop, monitor) if run.is_due(every.validate) else None
        ended = run.is_over(run.stopped or stop())
        if run.is_due(every.log) or found or ended:
            yield _report(run, meter, found, seconds_left=monitor.seconds_left)
            meter = Meter()
        else:
            yield None
        if not ended:
            monitor.show_sample()


def _timed(
    validate: Callable[[Callable[[], bool]], Validation | None],
    stop: Callable[[], bool],
    monitor: Monitor,
) -> Validation | None:
    """A validation, whose time `monitor` is told."""
    begun = time.monotonic()
    found = validate(stop)
    monitor.validated(time.monotonic() - begun, found)
    return found


def _finish(run: Run, stop: Callable[[], bool], monitor: Monitor) -> Iterator[Report]:
    """Validate the last weights if that is not done yet, and remember that the run has ended."""
    found = _timed(run.validated, stop, monitor)
    if run.stopped:
        return
    note = f"finished: {run.finish()}"
    if run.state.splits:
        were = agreeing(run.state.splits, "was", "were")
        note += f"; {counted(run.state.splits, 'shard')} did not fit into memory and {were} split"
    if run.ranks.is_first:
        yield _log(run, _closing(run, note, found))


def _closing(run: Run, note: str, validation: Validation | None = None) -> Report:
    """The last report of a run, which says what its model is."""
    saved = run.state.published
    published = Published(**{**saved, "steps": tuple(saved["steps"])}) if saved else None
    return replace(_news(run, note, validation), published=published)


def _news(run: Run, note: str = "", validation: Validation | None = None) -> Report:
    """A report between two intervals."""
    return _report(run, Meter(), validation, note)


def _report(
    run: Run,
    meter: Meter,
    validation: Validation | None = None,
    note: str = "",
    seconds_left: float | None = None,
) -> Report:
    if meter.steps:
        run.state.unreported = {}
    if validation is not None:
        run.state.validation = {}
    return Report(
        step=run.state.step,
        epoch=run.state.epoch,
        tokens=meter.tokens,
        loss=meter.loss / max(1, meter.tokens),
        nll=meter.nll / max(1, meter.tokens),
        learning_rate=meter.learning_rate,
        gradient_norm=meter.gradient_norm,
        tokens_per_second=meter.tokens_per_second,
        seconds=run.state.seconds,
        elapsed_seconds=run.state.elapsed,
        eta_seconds=seconds_left,
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
