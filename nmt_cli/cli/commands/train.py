"""`nmt train`: train a model on a prepared corpus; run again to resume."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from nmt_cli.api.training_setup import (
    has_checkpoints,
    prepare_process,
    rate_notes,
    require_cpu_memory,
    resolve_training,
)
from nmt_cli.cli.options.declarations import AsJson, ConfigFile, Quiet, Sets, no_validation
from nmt_cli.cli.options.from_settings import SettingOption, with_options
from nmt_cli.cli.signals import StopSignals
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.config.schema import Config
    from nmt_cli.data.corpus.corpus import Corpus
    from nmt_cli.errors import NmtError
    from nmt_cli.terminal.console import Console
    from nmt_cli.training.parallel.ranks import Ranks
    from nmt_cli.training.reporting.report import Report

PREPARED_WITH = "the command that prepared this corpus with"

EXAMPLES = """
nmt train    with the settings of nmt.toml, on all GPUs
nmt train --dry-run    how long it takes and what memory it needs, without training
nmt train --gpus 8 --preset big
nmt train --preset small --max-steps 5000 --set model.dropout=0.3 --out runs/dropout-0.3
nmt train --init-from general --corpus legal-corpus --out legal    fine-tune the model `general`
torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint HOST:29500 \\
    -m nmt_cli train
"""

Gpus = Annotated[
    int | None,
    typer.Option(
        "--gpus",
        min=1,
        metavar="N",
        help="Number of GPUs; on a machine without a GPU, number of CPU processes [default: all "
        "GPUs, or one process]",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, metavar="N", help="CPU threads per process [default: all cores]"
    ),
]

DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Show the size, steps, expected time and memory of the run by taking its next three "
        "steps, or one if it is expected to take days; write nothing",
    ),
]
Track = Annotated[
    list[str] | None,
    typer.Option(
        "--track", metavar="NAME[=TARGET]",
        help="Also send the log to tensorboard, wandb, mlflow or trackio; TARGET is a directory "
        "(tensorboard) or project; repeatable",
    ),
]  # fmt: skip


@with_options(
    {
        "": (
            SettingOption("paths.corpus", "--corpus"),
            SettingOption("train.preset", default="that of nmt.toml, of the run in MODEL, or base"),
            SettingOption("train.init_from", default="random weights"), "sets", "config_file",
        ),
        "Stopping": ("train.max_steps", "train.max_epochs", "train.max_hours", "train.patience"),
        "Reproducibility": ("train.seed", "train.deterministic"),
        "Output": (
            SettingOption("paths.model", "--out"), "dry_run", "track", "as_json", "quiet",
        ),
        "Hardware": ("gpus", "threads"),
    }
)  # fmt: skip
def command(
    *,
    flags: Mapping[str, object],
    gpus: Gpus = None,
    threads: Threads = None,
    sets: Sets = None,
    config_file: ConfigFile = None,
    dry_run: DryRun = False,
    track: Track = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a model on a prepared corpus; run the same command again to resume.

    Validates the model and saves checkpoints at regular intervals, and writes the best checkpoint,
    or the average of several if that is better, to the model directory. Ctrl-C, SIGTERM, SIGHUP and
    SIGUSR1 save a checkpoint and stop; before the first step is complete, they stop at once. The
    exit code after SIGUSR1 is 75, for schedulers that requeue the job.
    """
    # Before torch is loaded, which takes seconds.
    stop = StopSignals(at_once=True)
    from nmt_cli.cli.environment import apply_threads, make_console
    from nmt_cli.cli.settings import check_corpus, note_defaults, resolve_settings
    from nmt_cli.installation import require_torch

    require_torch("`nmt train`")
    if dry_run and (as_json or track):
        raise UsageError(
            "--dry-run reports nothing to --json or --track", "leave out one of the options"
        )
    trackers = _trackers(track)
    apply_threads(threads, make_console(quiet=quiet or "RANK" in os.environ))
    resolved = resolve_training(flags, lambda given: resolve_settings(given, sets, config_file))
    config = resolved.config

    # The same test as `is_launched`, which would load torch.
    if not {"RANK", "WORLD_SIZE"} <= os.environ.keys():
        console = make_console(quiet=quiet)
        note_defaults(resolved, config_file, console)
        is_new_run = not has_checkpoints(Path(config.paths.model))
        check_corpus(resolved, console, is_new_run=is_new_run, config_file=config_file)
        for note in rate_notes(resolved):
            console.warning(note)
        start_ranks(config, gpus, quiet=quiet)
    with stop.guarded():
        be_rank(config, stop, trackers, config_file, dry_run=dry_run, as_json=as_json, quiet=quiet)
    raise typer.Exit(stop.exit_code)


def start_ranks(config: "Config", gpus: int | None, *, quiet: bool) -> None:
    """Announce training; if it needs several processes, start them and exit with their code."""
    from nmt_cli.cli.environment import make_console

    console = make_console(quiet=quiet)
    # Shown at once, as loading torch takes seconds.
    console.note(f"training `{config.paths.model}` on `{config.paths.corpus}`: loading torch")
    from nmt_cli.training.parallel.ranks import launch, processes_for

    processes = processes_for(gpus, console.warning)
    require_cpu_memory(config, processes)
    if processes > 1:
        checkpoints = Path(config.paths.model) / "checkpoints"
        code = launch(
            processes, sys.argv[1:], config.train.max_restarts, lambda: newest_step(checkpoints),
            console.warning,
        )  # fmt: skip
        raise typer.Exit(code)


def _trackers(texts: list[str] | None) -> dict[str, str]:
    """The targets of the trackers by name; raises if one cannot be used."""
    if not texts:
        return {}
    from nmt_cli.extras.tracking.adapters import parse_trackers

    return parse_trackers(texts)


def be_rank(
    config: "Config",
    stop: StopSignals,
    trackers: Mapping[str, str],
    config_file: Path | None,
    *,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Train as one rank, possibly the only one; the first rank shows and tracks the progress."""
    from nmt_cli.machine import without_garbage_collection

    with without_garbage_collection():
        from nmt_cli.cli.display.training import TrainDisplay
        from nmt_cli.cli.environment import make_console
        from nmt_cli.cli.loading import announce_training_kernels
        from nmt_cli.cli.settings import command_for
        from nmt_cli.config.automatic import max_steps
        from nmt_cli.data.corpus.corpus import Corpus
        from nmt_cli.training.loop import train
        from nmt_cli.training.parallel.ranks import joined_ranks
        from nmt_cli.training.reporting.events import Event, Validating
        from nmt_cli.training.setup import complete

    prepare_process(config)
    with joined_ranks(config.train.rank_timeout, end_process) as ranks:
        stop.announces = ranks.is_first and not quiet
        console = make_console(quiet=quiet or not ranks.is_first)
        prepare = _prepare_command(config_file) if config.data.train else PREPARED_WITH
        opened = Corpus.open(Path(config.paths.corpus), verify=ranks.is_first)
        config = complete(config, opened)
        if ranks.is_first:
            _warn_of_validation(opened, prepare, console)
            announce_training_kernels(ranks.device, console)
        if dry_run:
            _measure(config, opened, ranks, console)
            return
        steps = max_steps(config.train)
        command = command_for(config, config.paths.model, config_file)
        with (
            console.progress("training", steps, estimate_after=None) as progress,
            _tracking(config, trackers if ranks.is_first else {}, console) as send,
        ):
            display = TrainDisplay(
                console, progress, as_json=as_json, command=command, model=config.paths.model
            )

            def listen(event: Event) -> None:
                stop.validating = isinstance(event, Validating)
                display.event(event)

            for report in train(config, opened, Path(config.paths.model), ranks, stop, listen):
                stop.validating = False
                display.report(report)
                send(report)
        if not stop() and ranks.is_first:
            console.next(f'echo "..." | {command}')


def _prepare_command(config_file: Path | None) -> str:
    from nmt_cli.cli.settings import config_option

    return f"nmt prepare{config_option(config_file)}"


def _warn_of_validation(corpus: "Corpus", prepare: str, console: "Console") -> None:
    """Warn of validation text that is missing, or whose BLEU says little.

    prepare: the command that prepared the corpus.
    """
    from nmt_cli.scoring import unspaced_validation_note

    if corpus.valid is None:
        console.warning(no_validation(len(corpus.train), f"{prepare} --force"))
    elif corpus.valid_text and (note := unspaced_validation_note(corpus.valid_text[1])):
        console.warning(note)


def _measure(config: "Config", corpus: "Corpus", ranks: "Ranks", console: "Console") -> None:
    """Show what `nmt train` would do, which a few steps measure."""
    from nmt_cli.cli.display.training import TrainDisplay
    from nmt_cli.config.automatic import max_steps
    from nmt_cli.training.dry_run import dry_run

    with console.progress("measuring", max_steps(config.train), estimate_after=None) as progress:
        display = TrainDisplay(console, progress)
        notes = dry_run(config, corpus, Path(config.paths.model), ranks, display.event)
    for note in notes:
        console.note(note)


@contextlib.contextmanager
def _tracking(
    config: "Config", targets: Mapping[str, str], console: "Console"
) -> Iterator[Callable[["Report"], None]]:
    """A function that sends a report to all trackers; they end with the block."""
    if not targets:
        yield lambda _: None
        return
    from nmt_cli.config.schema import flatten
    from nmt_cli.extras.tracking.adapters import TRACKERS, TrackedRun
    from nmt_cli.extras.tracking.tracker_thread import TrackerThread

    settings = flatten(config)
    threads = [
        TrackerThread(
            name,
            partial(TRACKERS[name].make, TrackedRun(config.paths.model, settings, target)),
            console.warning,
        )
        for name, target in targets.items()
    ]

    def send(report: "Report") -> None:
        record = report.as_json()
        for thread in threads:
            thread.send(record)

    try:
        yield send
    finally:
        for thread in threads:
            thread.close()


def newest_step(checkpoints: Path) -> int:
    """The step of the newest checkpoint in a directory; 0 if there is none."""
    from nmt_cli.training.saving.checkpoints import Checkpoints

    return max((checkpoint.step for checkpoint in Checkpoints(checkpoints, 1, 0).all()), default=0)


def end_process(error: "NmtError") -> NoReturn:
    """Show `error` and end the process at once, because the main thread waits for another rank."""
    from nmt_cli.cli.environment import make_console

    make_console().error(error)
    os._exit(error.exit_code)
