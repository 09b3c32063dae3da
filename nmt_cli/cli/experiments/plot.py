"""`nmt plot`: draw position encodings, learning rate schedules or label smoothing."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from nmt_cli.cli.options.declarations import AsJson, ConfigFile, ForcePicture, Quiet, Sets
from nmt_cli.cli.options.from_settings import with_options
from nmt_cli.errors import UsageError

SCHEMA = 1

EXAMPLES = """
nmt plot positions    write positions.svg
nmt plot schedule --preset big --out big.svg
nmt plot schedule --set train.warmup_steps=8000 --set train.max_steps=50000
nmt plot schedule --json | jq '.learning_rates.linear'
nmt plot smoothing --set train.label_smoothing=0.2
"""

What = Annotated[str, typer.Argument(metavar="WHAT", help="positions, schedule or smoothing")]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="File to write: .svg or .png [default: WHAT.svg]"),
]
Model = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Model directory whose settings and positions are drawn, instead of those of nmt.toml",
    ),
]


@with_options(
    {"": ("out", "force", "model", "train.preset", "as_json", "sets", "config_file", "quiet")}
)
def command(
    *,
    flags: Mapping[str, object],
    what: What,
    out: Out = None,
    force: ForcePicture = False,
    model: Model = None,
    as_json: AsJson = False,
    sets: Sets = None,
    config_file: ConfigFile = None,
    quiet: Quiet = False,
) -> None:
    """Draw the position encoding, the learning rate schedule or the label smoothing of training.

    `positions` draws the position encodings (section 3.5 of "Attention Is All You Need"),
    `schedule` the learning rate over the steps, with the other schedules for comparison (section
    5.3), and `smoothing` the smoothed target distribution and the loss (section 5.4). With --json,
    writes the numbers to stdout instead. `nmt runs --out` draws the loss and BLEU of training runs.
    """
    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.loading import require_models
    from nmt_cli.cli.outputs import check_outputs
    from nmt_cli.cli.settings import overridden_preset_warning, resolve_settings
    from nmt_cli.cli.used_settings import DRAWING
    from nmt_cli.config.schema import load, with_values
    from nmt_cli.drawing.output import (
        check_picture,
        is_own_picture,
        write_picture,
    )
    from nmt_cli.extras.plots import plot
    from nmt_cli.storage.model_check import CONFIG

    if as_json and out is not None:
        raise UsageError("--json writes to stdout, and --out names a file", "leave out one of them")
    if model is not None and not (model / CONFIG).is_file():
        require_models([model])
    output = Path(f"{what}.svg") if out is None else out
    resolved = resolve_settings(flags, sets, config_file, used=DRAWING)
    if model is not None:
        _refuse_other_settings(flags, sets or [], config_file, what)
    if not as_json:
        check_picture(output)
        check_outputs(
            [output], resolved=resolved, config_file=config_file,
            models=[] if model is None else [model], force=force or is_own_picture(output),
        )  # fmt: skip
    config = resolved.config
    if model is not None and what != "positions":
        # The settings of this model, not those of the project.
        config = with_values(load(model / CONFIG), dict(text.split("=", 1) for text in sets or []))
    elif warning := overridden_preset_warning(resolved):
        make_console(quiet=quiet).warning(warning)
    drawn = plot(what, config, model)
    if as_json:
        typer.echo(json.dumps({"schema": SCHEMA, **drawn.numbers}))
        return
    make_console(quiet=quiet).note(write_picture(output, drawn.picture))


def _refuse_other_settings(
    flags: Mapping[str, object], sets: list[str], config_file: Path | None, what: str
) -> None:
    """Raise UsageError for settings beside --model, which has its own."""
    given = {"--preset": flags.get("train.preset"), "--config": config_file}
    for option, value in given.items():
        if value is not None:
            raise UsageError(
                f"{option} beside --model: a trained model has its own settings",
                "leave out one of them; --set changes a single setting",
            )
    for text in sets:
        if what == "positions" and text.strip().startswith("model."):
            raise UsageError(
                f"--set {text}: a trained model has its own positions", "leave out --model"
            )
