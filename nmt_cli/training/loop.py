"""`nmt train`: one rank's loop, a generator of Reports; only the first rank reports."""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path

import torch

from nmt_cli.config.automatic import Intervals, max_steps
from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.batch_plan import Position
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.corpus.text_statistics import TextStatistics
from nmt_cli.errors import DivergedError, TryAgainError, UnavailableError
from nmt_cli.model.precision import check_precision, use_fast_float32
from nmt_cli.plurals import agreeing, counted
from nmt_cli.storage import files, locks
from nmt_cli.training.changed_settings import (
    changed_intervals,
    changed_schedule,
    changed_search,
    changed_validation,
)
from nmt_cli.training.evaluation.divergence import (
    Divergence,
    detect_divergence,
    messages_for,
    recover,
)
from nmt_cli.training.execution.plan import check_compile
from nmt_cli.training.parallel.deterministic import compute_deterministically
from nmt_cli.training.parallel.heartbeat import LostRankError
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.reporting.cost import devices, peak_share
from nmt_cli.training.reporting.ends import already_finished, continuing, saved, within_warmup
from nmt_cli.training.reporting.events import Listener, ignore
from nmt_cli.training.reporting.meter import Meter
from nmt_cli.training.reporting.monitor import Monitor
from nmt_cli.training.reporting.report import Published, Report, Validation
from nmt_cli.training.reporting.unlearnt import unlearnt
from nmt_cli.training.run import Run
from nmt_cli.training.setup import (
    check_digest,
    complete,
    prepare_directory,
    refuse_foreign,
    require_space,
    require_start,
)
from nmt_cli.training.starting_model import sentences_note
from nmt_cli.training.state import TrainState


def train(
    config: Config,
    corpus: Corpus,
    out: Path,
    ranks: Ranks | None = None,
    stop: Callable[[], bool] = lambda: False,
    listener: Listener = ignore,
) -> Generator[Report, None, TrainState]:
    """Train a model of `config` on `corpus` into the model directory `out`, or resume its training.

    Yields Reports, on the first rank only; the generator returns the last state. Ends when the
    configured steps, epochs, hours or patience are reached, or after the step in which `stop()`
    returns True on any rank; the state is saved then. `stop` is called from the end of the first
    step on, when there is something to save. Closing the generator also saves, and so does a rank
    that loses another one (LostRankError). Raises ConfigError where `out` holds another run,
    DivergedError when rolling back with a lower learning rate does not help against divergence.

    listener: called on the first rank with the events between two reports: the outline of the run,
    each step, samples. It must be quick.
    """
    ranks = ranks or Ranks()
    config = complete(config, corpus)
    prepare_device(config, ranks.device)
    changes: list[tuple[str, str, str, str]] = []
    notes = [sentences_note(config, corpus)]
    with ExitStack() as stack:

        def claim() -> None:
            refuse_foreign(config, corpus, out)
            require_start(config, corpus, out)
            require_space(config, out)
            files.make_directory(out)
            stack.enter_context(locks.locked(out))
            changes.append((
                changed_search(config, out),
                changed_schedule(config, out),
                changed_validation(config, corpus, out),
                changed_intervals(config, out),
            ))  # fmt: skip
            prepare_directory(config, corpus, out)
            files.remove_leftovers(out)

        ranks.run_on_first_or_fail(claim)
        # Validations translate as the model will, which may begin with a model of other text.
        corpus = replace(corpus, text=TextStatistics.load(out) or corpus.text)
        run = Run(config, corpus, out, ranks)
        stack.callback(run.close)
        if not run.state.step:
            run.notes += filter(None, notes)
        goes_on = run.state.step and not run.state.finished
        for search, schedule, validation, intervals in changes:
            has_validated = goes_on and run.state.scores
            of_training = [schedule, intervals] if goes_on else []
            of_bleu = [validation] if has_validated else []
            run.notes += filter(None, [search, *of_training, *of_bleu])
        check_digest(run.state, corpus)
        yield from _reports(run, stop, listener)
        return run.state


def prepare_device(config: Config, device: torch.device) -> None:
    """Check that the device can do what the settings ask for, and set how it computes."""
    check_precision(config.train.precision, device)
    check_compile(config, device)
    use_fast_float32(device)
    if config.train.deterministic:
        compute_deterministically(device)


def _reports(run: Run, stop: Callable[[], bool], listener: Listener) -> Iterator[Report]:
    _truncate_log(run)
    every = Intervals.of(run.config.train)
    monitor = None if run.state.finished else Monitor(run, listener)
    if run.ranks.is_first:
        for note in run.notes:
            yield _note(run, note)
    if monitor is None:
        if run.ranks.is_first:
            if run.state.validation:
                yield _log(run, _note(run, validation=run.validated(stop)))
            yield _closing(run, already_finished(run))
        return
    run.ranks.wait()
    if run.ranks.is_first:
        # Later steps, which an interrupted or earlier process saved, are taken again.
        run.checkpoints.remove_after(run.state.step)
    try:
        for report in _steps(run, stop, every, monitor):
            if report is not None and run.ranks.is_first:
                yield _log(run, report)
        if not run.stopped:
            yield from _finish(run, stop, monitor)
    except (GeneratorExit, LostRankError, TryAgainError, UnavailableError):
        # The last step was taken as a whole, on all ranks.
        run.save()
        raise
    if run.stopped:
        run.save()
        if run.ranks.is_first:
            # If the step was saved before its validation, the time of this counts, too.
            run.update_state()
            yield _closing(run, saved(run))


def _steps(
    run: Run, stop: Callable[[], bool], every: Intervals, monitor: Monitor
) -> Iterator[Report | None]:
    """Step by step until the end or `stop`; yields after each, a Report where one is due."""
    if run.begins_with_model:
        # Nothing can be saved yet, so `stop` is not called.
        start = _timed(run.validate, lambda: False, monitor)
        if start is not None:
            yield _note(run, validation=start)
    meter = Meter(**run.state.unreported)  # type: ignore[arg-type]
    validation = None
    if run.state.step and run.is_due(every.validate):
        # The last process may have ended before it validated this step, or before it reported that.
        validation = run.validated(stop)
    if validation or (meter.steps and run.is_due(every.log)):
        yield _report(run, meter, validation)
        meter = Meter()
    # `stop` is not called before the first step: with nothing to save, a signal ends the process.
    ended = run.is_over(run.stopped or (run.state.step > 0 and stop()))
    while not ended:
        run.make_product_kernels()
        position, begun = run.position, time.monotonic()
        monitor.begin_step(position)
        result = run.step(position)
        seconds = time.monotonic() - begun
        if run.state.step == 1:
            stop()
        meter.add(result, seconds)
        monitor.end_step(result, position, seconds)
        run.state.keep_unreported(asdict(meter))
        for note in (*messages_for(run, result, position), *run.write_failures.take_notes()):
            yield _warning(run, note)
        if problem := detect_divergence(run, result):
            taken = run.state.step
            note = _recover(run, problem, position)
            if run.state.step < taken:
                _truncate_log(run)
                run.state.mark_steps_reported()
                yield _warning(run, note)
                meter = Meter()
                continue
            yield _warning(run, note)
        # A skipped step changes no weights: earlier checkpoints are kept instead.
        if run.is_due(every.checkpoint) and run.state.skipped < 2:
            run.save()
            monitor.checkpoint_saved()
        monitor.save_if_due()
        is_due = run.is_due(every.validate)
        validation = _timed(run.validate, stop, monitor) if is_due else None
        ended = run.is_over(run.stopped or stop())
        if run.is_due(every.log) or validation or ended:
            yield _report(run, meter, validation, seconds_left=monitor.seconds_left)
            meter = Meter()
        else:
            yield None
        if not ended:
            monitor.show_sample()


def _recover(run: Run, problem: Divergence, position: Position) -> str:
    """As `recover`; the log records why a run ends."""
    try:
        return recover(run, problem, position)
    except DivergedError as error:
        if run.ranks.is_first:
            _log(run, _note(run, f"diverged: {error.message}"))
        raise


def _timed(
    validate: Callable[[Callable[[], bool]], Validation | None],
    stop: Callable[[], bool],
    monitor: Monitor,
) -> Validation | None:
    """Validate, and pass the time it took to `monitor`."""
    begun = time.monotonic()
    validation = validate(stop)
    monitor.end_validation(time.monotonic() - begun, validation)
    return validation


def _finish(run: Run, stop: Callable[[], bool], monitor: Monitor) -> Iterator[Report]:
    """Validate the last weights if that is not done yet, and mark the run as finished."""
    validation = _timed(run.validated, stop, monitor)
    if validation is not None and run.ranks.is_first:
        yield _log(run, _note(run, validation=validation))
    if not run.stopped:
        _timed(run.compare_last, stop, monitor)
    if run.stopped:
        return
    note = f"finished: {run.finish()}"
    if run.state.step < max_steps(run.config.train):
        note += continuing(run) + within_warmup(run)
    if run.state.splits:
        were = agreeing(run.state.splits, "was", "were")
        note += f"; {counted(run.state.splits, 'shard')} did not fit into memory and {were} split"
    if run.ranks.is_first:
        if found := unlearnt(run):
            yield _log(run, replace(_note(run, found.note), is_warning=found.is_warning))
        yield _log(run, _closing(run, note))


def _closing(run: Run, note: str) -> Report:
    """The last report of a run, which says what its model directory holds."""
    saved = run.state.published
    published = Published.from_json(saved) if saved else None
    return replace(_note(run, note), published=published)


def _note(run: Run, note: str = "", validation: Validation | None = None) -> Report:
    """A report between two intervals."""
    return _report(run, Meter(), validation, note)


def _warning(run: Run, note: str) -> Report:
    return replace(_note(run, note), is_warning=True)


def _report(
    run: Run,
    meter: Meter,
    validation: Validation | None = None,
    note: str = "",
    seconds_left: float | None = None,
) -> Report:
    if meter.steps:
        run.state.mark_steps_reported()
    if validation is not None:
        run.state.mark_validation_reported()
    return Report(
        step=run.state.step,
        epoch=run.state.epoch,
        steps=meter.steps,
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
        threads=(
            run.execution.threads * run.ranks.world_size if run.ranks.device.type == "cpu" else None
        ),
        validation=validation,
        note=note,
    )


def _log(run: Run, report: Report) -> Report:
    run.log.add(report.as_json())
    return report


def _truncate_log(run: Run) -> None:
    if run.ranks.is_first:
        run.log.drop_after(run.state)
