"""`nmt train`: train a model on a prepared corpus; run again to resume."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from nmt_cli.api.training_setup import (
    prepare_process,
    require_cpu_memory,
    resolve_training,
    train_settings,
)
from nmt_cli.cli.options import AsJson, ConfigFile, Preset, Quiet, Sets, no_validation
from nmt_cli.cli.panels import with_panels
from nmt_cli.cli.signals import StopSignals

if TYPE_CHECKING:
    from nmt_cli.config.schema import Config
    from nmt_cli.errors import NmtError

EXAMPLES = """
nmt train                                    as nmt.toml says, on every GPU of this machine
nmt train --gpus 8 --preset big
nmt train --preset small --max-steps 5000 --set model.dropout=0.3 --out runs/dropout-0.3
torchrun --nnodes 2 --nproc-per-node 8 --rdzv-endpoint HOST:29500 -m nmt_cli train
"""

CorpusDirectory = Annotated[
    str | None, typer.Option("--corpus", metavar="CORPUS", help="Prepared corpus [default: corpus]")
]
Gpus = Annotated[
    int | None,
    typer.Option(
        "--gpus",
        min=1,
        metavar="N",
        help="Number of GPUs, or of CPU processes without a GPU [default: all GPUs]",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, metavar="N", help="CPU threads per process [default: all cores]"
    ),
]
MaxSteps = Annotated[
    int | None,
    typer.Option(
        "--max-steps", metavar="N", help="Stop after N steps [default: set by the preset]"
    ),
]
MaxEpochs = Annotated[
    int | None,
    typer.Option("--max-epochs", metavar="N", help="Stop after N epochs [default: no limit]"),
]
MaxHours = Annotated[
    float | None,
    typer.Option("--max-hours", metavar="H", help="Stop after H hours [default: no limit]"),
]
Patience = Annotated[
    int | None,
    typer.Option(
        "--patience",
        metavar="N",
        help="Stop after N validations without improvement [default: set by the preset]",
    ),
]
Deterministic = Annotated[
    bool | None,
    typer.Option(
        "--deterministic",
        help="Bit-identical results with any number of ranks (1, 2, 4, ...); slower",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="N", help="Random seed for weights, dropout and data order [default: 1]"
    ),
]
Out = Annotated[
    str | None,
    typer.Option("--out", metavar="MODEL", help="Model directory to write [default: model]"),
]


@with_panels(
    {
        "Stopping": ("max_steps", "max_epochs", "max_hours", "patience"),
        "Reproducibility": ("seed", "deterministic"),
        "Output": ("out", "as_json", "quiet"),
        "Hardware": ("gpus", "threads"),
    }
)
def command(
    corpus: CorpusDirectory = None,
    preset: Preset = None,
    gpus: Gpus = None,
    threads: Threads = None,
    max_steps: MaxSteps = None,
    max_epochs: MaxEpochs = None,
    max_hours: MaxHours = None,
    patience: Patience = None,
    seed: Seed = None,
    out: Out = None,
    deterministic: Deterministic = None,
    sets: Sets = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a model on a prepared corpus; run the same command again to resume.

    Validates and saves at intervals, keeps the latest and the best checkpoints, and writes the best
    of them or their average to MODEL. Ctrl-C, SIGTERM and SIGUSR1 save and stop; SIGUSR1 exits with
    code 75, for schedulers that requeue the command. Before the first step is complete there is
    nothing to save, so they stop training at once.
    """
    # Before torch is loaded, which takes seconds.
    stop = StopSignals(at_once=True)
    from nmt_cli.cli.environment import make_console, use_threads
    from nmt_cli.cli.settings import resolve_settings, tell_defaults

    if threads is not None:
        use_threads(threads)
    flags = train_settings(
        corpus=corpus, out=out, preset=preset, max_steps=max_steps, max_epochs=max_epochs,
        max_hours=max_hours, patience=patience, seed=seed, deterministic=deterministic,
    )  # fmt: skip
    resolved = resolve_training(flags, lambda given: resolve_settings(given, sets, config_file))
    config = resolved.config

    # The same test as `is_launched`, which would load torch.
    if not {"RANK", "WORLD_SIZE"} <= os.environ.keys():
        tell_defaults(resolved, config_file, make_console(quiet=quiet))
        start_ranks(config, gpus, quiet=quiet)
    with stop.guarded():
        be_rank(config, stop, as_json=as_json, quiet=quiet)
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


def be_rank(config: "Config", stop: StopSignals, *, as_json: bool, quiet: bool) -> None:
    """Train as one rank, which may be the only one; the first rank shows the progress."""
    from nmt_cli.cli.display.training import TrainDisplay
    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.settings import model_option
    from nmt_cli.config.automatic import max_steps
    from nmt_cli.data.corpus.corpus import Corpus
    from nmt_cli.training.loop import train
    from nmt_cli.training.parallel.ranks import joined_ranks
    from nmt_cli.training.setup import complete

    prepare_process(config)
    with joined_ranks(config.train.rank_timeout, end_process) as ranks:
        stop.tells = ranks.is_first and not quiet
        console = make_console(quiet=quiet or not ranks.is_first)
        opened = Corpus.open(Path(config.paths.corpus), verify=ranks.is_first)
        config = complete(config, opened)
        if opened.valid is None and ranks.is_first:
            console.warning(no_validation(len(opened.train), "nmt prepare --force"))
        steps = max_steps(config.train)
        with console.progress("training", steps, estimate_after=None) as progress:
            display = TrainDisplay(console, progress, as_json=as_json)
            for report in train(
                config, opened, Path(config.paths.model), ranks, stop, display.event
            ):
                display.report(report)
        if not stop() and ranks.is_first:
            console.next(f'echo "..." | nmt translate{model_option(config.paths.model)}')


def newest_step(checkpoints: Path) -> int:
    """The step of the newest checkpoint in a directory; 0 if there is none."""
    from nmt_cli.training.saving.checkpoints import Checkpoints

    return max((checkpoint.step for checkpoint in Checkpoints(checkpoints, 1, 0).all()), default=0)


def end_process(error: "NmtError") -> NoReturn:
    """Show `error` and end at once: the main thread waits for another rank and does not answer."""
    from nmt_cli.cli.environment import make_console

    make_console().error(error)
    os._exit(error.exit_code)
