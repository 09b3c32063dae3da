"""`nmt average`: average checkpoints into one model."""

from pathlib import Path
from typing import Annotated

import typer

from nmt_cli.cli.options import ConfigFile, Force, Quiet, Sets

EXAMPLES = """
nmt average                                  the last checkpoints of nmt.toml's model
nmt average model --last 20 --out model-average
nmt average model --best 5 --out model-average
nmt average model/checkpoints/step-000001500 model/checkpoints/step-000003000 --out two
"""

Models = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[MODEL or CHECKPOINT]...",
        help="Model directories or checkpoints [default: the project's model]",
    ),
]
Last = Annotated[
    int | None,
    typer.Option(
        "--last",
        min=1,
        metavar="N",
        help="Average the last N checkpoints [default: train.keep_last]",
    ),
]
Best = Annotated[
    int | None,
    typer.Option(
        "--best", min=1, metavar="N", help="Average the N checkpoints with the best validation"
    ),
]
Out = Annotated[Path, typer.Option("--out", metavar="MODEL", help="Model directory to write")]


def command(
    models: Models = None,
    last: Last = None,
    best: Best = None,
    out: Out = Path("model-average"),
    sets: Sets = None,
    config_file: ConfigFile = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Average checkpoints into one model (section 6.1: the last 5 of base, the last 20 of big).

    Given one MODEL, averages its last checkpoints, or those chosen by --last or --best. Given
    several models, averages the models themselves.
    """
    from nmt_cli.api.average import missing_members_note, require_one_choice
    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.settings import model_option, resolve_settings

    require_one_choice(last, best)
    if not models:
        models = [Path(resolve_settings({}, sets, config_file).config.paths.model)]

    from nmt_cli.training.saving.average import average

    console = make_console(quiet=quiet)
    used = average(models, out, last=last, best=best, force=force)
    if note := missing_members_note(f"--last {last}", last, used):
        console.warning(note)
    console.note(f"averaged {len(used)}: {', '.join(str(path) for path in used)}")
    console.next(f'echo "..." | nmt translate{model_option(str(out))}')
