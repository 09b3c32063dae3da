"""`nmt average`: average checkpoints into one model."""

from pathlib import Path
from typing import Annotated

import typer

from nmt_cli.cli.options.declarations import ConfigFile, Force, PathSets, Quiet

EXAMPLES = """
nmt average    the last checkpoints of the model in nmt.toml
nmt average model --last 20 --out model-last-20
nmt average model --best 9 --out model-best-9    after nmt train --set train.keep_best=9
nmt average model/checkpoints/step-000001500 model/checkpoints/step-000003000
"""

Models = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[MODEL or CHECKPOINT]...",
        help="Model directories or checkpoints [default: model]",
    ),
]
Last = Annotated[
    int | None,
    typer.Option(
        "--last",
        min=1,
        metavar="N",
        help="Average the last N checkpoints [default: train.keep_last of the model, or as it is "
        "given with --set, --config or NMT_TRAIN_KEEP_LAST]",
    ),
]
Best = Annotated[
    int | None,
    typer.Option(
        "--best",
        min=1,
        metavar="N",
        help="Average the N checkpoints whose own weights have the lowest perplexity on the "
        "validation text (the log shows that of an average where it is better), of those that "
        "training keeps: the last train.keep_last and the best train.keep_best",
    ),
]
Out = Annotated[Path, typer.Option("--out", metavar="MODEL", help="Model directory to write")]


def command(
    models: Models = None,
    last: Last = None,
    best: Best = None,
    out: Out = Path("model-average"),
    sets: PathSets = None,
    config_file: ConfigFile = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Average the weights of checkpoints into one model.

    Given one model directory, averages its last checkpoints, or those chosen by --last or --best.
    Given several models or checkpoints, averages these. "Attention Is All You Need" (section 6.1)
    averages the last 5 checkpoints of the base model and the last 20 of the big one.
    """
    from nmt_cli.api.average import average_notes, require_one_choice
    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.settings import command_for, resolve_settings
    from nmt_cli.cli.used_settings import AVERAGING
    from nmt_cli.config.held_out_text import is_of_project

    require_one_choice(last, best)
    resolved = resolve_settings({}, sets, config_file, used=AVERAGING)
    origin = resolved.origins["train.keep_last"]
    if (
        best is None
        and last is None
        and (
            origin == "--set"
            or origin.startswith("NMT_")
            or (config_file and is_of_project(origin))
        )
    ):
        last = resolved.config.train.keep_last
    models = models or [Path(resolved.config.paths.model)]

    from nmt_cli.config.schema import load
    from nmt_cli.storage.model_check import CONFIG
    from nmt_cli.training.saving.average import average

    console = make_console(quiet=quiet)
    used = average(models, out, last=last, best=best, force=force)
    option = f"--best {best}" if best else f"--last {last}"
    for note in average_notes(option, models, used, last, best, out):
        console.warning(note)
    ranked = " with the lowest validation perplexity of their own weights" if best else ""
    console.note(f"averaged {len(used)}{ranked}: {', '.join(str(path) for path in used)}")
    command = command_for(load(out / CONFIG), str(out), config_file)
    console.next(f'echo "..." | {command}')
