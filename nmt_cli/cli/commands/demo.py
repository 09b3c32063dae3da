"""`nmt demo`: train a small model on generated sentences and test it."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.options.declarations import AsJson, Quiet, Sets, Threads
from nmt_cli.plurals import counted

if TYPE_CHECKING:
    from nmt_cli.cli.display.training import TrainDisplay
    from nmt_cli.config.schema import Config
    from nmt_cli.extras.demo.files import DemoTexts
    from nmt_cli.extras.demo.run import Accuracy, Event, Outcome
    from nmt_cli.terminal.console import Console

EXAMPLES = """
nmt demo    in the directory nmt-demo
nmt demo my-demo --set train.max_steps=3000
cd nmt-demo && echo "The small dog sleeps." | nmt translate
"""

OWN_DATA = """
Your own data, the same way:
  nmt init --train mine.en mine.de --valid valid.en valid.de
  nmt prepare && nmt train
  echo "Hello." | nmt translate"""

# The whole table would push the rest off the screen.
MOST_PHENOMENA = 8

Folder = Annotated[Path, typer.Argument(metavar="[DIR]", help="Directory to work in")]


def command(
    folder: Folder = Path("nmt-demo"),
    threads: Threads = None,
    sets: Sets = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a small English-German model on generated sentences and test it.

    Takes one to three minutes on two CPU cores. Needs no data and no network. Generates
    60,000 sentence pairs with a built-in grammar, then prepares, trains, averages, translates and
    scores. Shows how some translations improve, and reports the accuracy for each phenomenon of
    German grammar. Run the same command again to resume. DIR must be new, empty, or the directory
    of an earlier demo; other files are never replaced.
    """
    from nmt_cli.cli.environment import apply_threads, make_console
    from nmt_cli.extras.demo.files import DemoTexts
    from nmt_cli.installation import require_torch

    require_torch("`nmt demo`")
    console = make_console(quiet=quiet)
    config = _settings(folder, sets)
    apply_threads(threads, console)
    console.note(_plan(config, threads))
    with DemoTexts() as texts:
        outcome, exit_code = _run(folder, config, console, texts)
    if outcome is not None:
        _show_outcome(outcome, console, as_json=as_json)
        console.note(OWN_DATA)
        directory = shlex.quote(str(folder))
        console.next(f'cd {directory} && echo "The small dog sleeps." | nmt translate')
    raise typer.Exit(exit_code)


def _run(
    folder: Path, config: "Config", console: "Console", texts: "DemoTexts"
) -> "tuple[Outcome | None, int]":
    """Run the demo and show its events; its outcome, None where it was stopped, and exit code."""
    from nmt_cli.cli.display.training import TrainDisplay
    from nmt_cli.cli.signals import StopSignals
    from nmt_cli.config.automatic import max_steps

    # Not before something is said, and sentences are being made: torch takes seconds to load.
    from nmt_cli.extras.demo.run import TRAIN, Outcome, run_demo
    from nmt_cli.machine import cache_folder, keep_freed_memory

    keep_freed_memory()
    stop: StopSignals | None = None
    outcome: Outcome | None = None

    def stopped() -> bool:
        return stop is not None and stop()

    with (
        console.stages() as stages,
        console.progress("training", max_steps(config.train), estimate_after=None) as bar,
    ):
        display = TrainDisplay(console, bar)
        events = run_demo(folder, config, stopped, stages, display.event, texts, cache_folder())
        for event in events:
            _show(event, console, display)
            outcome = event if isinstance(event, Outcome) else outcome
            if event == TRAIN:
                # Before, there is nothing to save, so that a signal ends the command at once.
                stop = StopSignals(at_once=True)
                stop.announces = not console.quiet
    return outcome, 0 if stop is None else stop.exit_code


def _settings(folder: Path, sets: list[str] | None) -> "Config":
    """The settings of the demo's nmt.toml, which is written if it does not exist."""
    from nmt_cli.cli.settings import resolve_settings
    from nmt_cli.extras.demo.files import make_project

    return resolve_settings({}, sets, make_project(folder)).config


def _plan(config: "Config", threads: int | None) -> str:
    from nmt_cli.config.automatic import max_steps
    from nmt_cli.extras.demo.files import TEST_PAIRS, TRAIN_PAIRS
    from nmt_cli.machine import usable_cores

    cores = min(threads or usable_cores(), usable_cores())
    return (
        f"{TRAIN_PAIRS:,} sentence pairs to learn from, {TEST_PAIRS:,} others to be tested on; "
        f"{counted(max_steps(config.train), 'step')} on {counted(cores, 'core')}"
    )


def _show(event: "Event", console: "Console", display: "TrainDisplay") -> None:
    from nmt_cli.cli.commands.prepare import show
    from nmt_cli.data.preparation.passes import PreparedCorpus
    from nmt_cli.extras.demo.run import Command
    from nmt_cli.training.reporting.report import Report

    match event:
        case Command(text):
            console.clear()
            console.note(f"$ {text}")
        case PreparedCorpus():
            console.clear()
            show(event, console)
        case Report():
            display.report(event)


def _show_outcome(outcome: "Outcome", console: "Console", *, as_json: bool) -> None:
    import json
    from dataclasses import asdict

    hardest, others = _hardest(outcome.phenomena)
    console.table(
        [_row(accuracy) for accuracy in hardest],
        header=("phenomenon", "", "exact %", "sentences"),
        title=f"The {len(hardest)} hardest phenomena of German:",
    )
    if others:
        console.note(
            f"{counted(len(others), 'other')}: {others[0].percent:.1f} to "
            f"{others[-1].percent:.1f} %; --json lists all"
        )
    for accuracy in (outcome.exact, outcome.held_out):
        console.note(f"{accuracy.about}: {accuracy.percent:.1f} % of {accuracy.total:,}")
    if as_json:
        typer.echo(json.dumps({"schema": 1, **asdict(outcome)}))
        return
    for score in outcome.scores:
        typer.echo(f"{score.name} {score.value:.2f}  {score.signature}")
    console.note(f"{outcome.seconds:.0f} s in all")


def _hardest(phenomena: Sequence["Accuracy"]) -> tuple[list["Accuracy"], list["Accuracy"]]:
    """The phenomena with the lowest accuracy, and the others, each in ascending order."""
    ordered = sorted(phenomena, key=lambda accuracy: accuracy.percent)
    return ordered[:MOST_PHENOMENA], ordered[MOST_PHENOMENA:]


def _row(accuracy: "Accuracy") -> tuple[str, str, float, int]:
    return accuracy.label, accuracy.about, accuracy.percent, accuracy.total
