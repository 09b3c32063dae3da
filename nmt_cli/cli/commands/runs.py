"""`nmt runs`: a table of training runs, and their learning curves."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.options.declarations import AsJson, ForcePicture, Quiet

if TYPE_CHECKING:
    from nmt_cli.extras.tracking.records import RunSummary

EXAMPLES = """
nmt runs    all runs below the current directory
nmt runs runs/a runs/b --out curves.svg
nmt runs --json | jq .bleu
"""

Folders = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[DIR...]", show_default=False,
        help="Model directories, or folders with some [default: the current directory]",
    ),
]  # fmt: skip
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Draw learning curves to a file (.svg or .png)"),
]
HEADER = (
    "run",
    "preset",
    "step",
    "best",
    "BLEU",
    "perplexity",
    "tokens/s",
    "time",
    "FLOPs",
    "state",
)


def command(
    folders: Folders = None,
    out: Out = None,
    force: ForcePicture = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare training runs by their logs: a table, and learning curves with --out.

    The scores of a run are those of its published weights, which may be an average. The time
    includes validations, as that of `nmt train --max-hours` does; the speed is that of steps alone.
    `--json` has the time of both, as `hours` and `step_hours`. Notes below the table say which runs
    were validated on other text or on another number of sentences, which have other subwords, in
    which settings runs of the same preset differ, which began with the weights of a model, and the
    means over finished runs that differ in their seeds alone.
    """
    from nmt_cli.cli.environment import make_console
    from nmt_cli.extras.tracking.records import (
        differences,
        find_runs,
        read_log,
        summarise,
        unreported_note,
    )
    from nmt_cli.extras.tracking.seeds import seed_notes
    from nmt_cli.extras.tracking.validation_samples import (
        best_step_note,
        chance_note,
        sample_notes,
    )
    from nmt_cli.storage.output_directory import LOG

    if out is not None:
        _check_picture(out, force=force)
    runs = {
        str(path): read_log(path) if (path / LOG).exists() else []
        for path in find_runs(folders or [Path()])
    }
    summaries = [summarise(Path(name), records) for name, records in runs.items()]
    for summary in summaries if as_json else ():
        typer.echo(json.dumps({"schema": 1, **asdict(summary)}, ensure_ascii=False))
    if not as_json:
        make_console(sys.stdout).table([_row(summary) for summary in summaries], header=HEADER)
        unreported = [unreported_note(Path(name)) for name, records in runs.items() if not records]
        notes = [*differences(summaries), *sample_notes(runs), *seed_notes(summaries)]
        notes += [chance_note(summaries), best_step_note(summaries)]
        for note in filter(None, [*unreported, *notes]):
            make_console(quiet=quiet).note(note)
    if out is not None:
        from nmt_cli.drawing.output import write_picture
        from nmt_cli.extras.tracking.curves import picture, same_looks_note, unvalidated_note

        console = make_console(quiet=quiet)
        console.note(write_picture(out, picture(runs)))
        for note in (unvalidated_note(runs), same_looks_note(runs)):
            if note:
                console.note(note)


def _row(summary: "RunSummary") -> tuple[str, ...]:
    from nmt_cli.terminal.progress import duration
    from nmt_cli.training.reporting.report import short_perplexity

    def shown(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    return (
        summary.run, summary.preset, f"{summary.step:,}", shown(summary.best_step, ","),
        shown(summary.bleu, ".2f"),
        "" if summary.perplexity is None else short_perplexity(summary.perplexity),
        shown(summary.tokens_per_second, ",.0f"),
        "" if summary.hours is None else duration(3_600 * summary.hours),
        shown(summary.flops, ".1e"), summary.state,
    )  # fmt: skip


def _check_picture(out: Path, *, force: bool) -> None:
    """Raise an error, before any work, if the picture cannot be written."""
    from nmt_cli.cli.outputs import check_outputs
    from nmt_cli.drawing.output import check_picture, is_own_picture

    check_picture(out)
    check_outputs([out], force=force or is_own_picture(out))
