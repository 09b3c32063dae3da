"""`nmt config`: all settings with their meanings and origins; all presets."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.app import CommandWithExamples, GroupWithExamples, make_app
from nmt_cli.cli.options.declarations import AsJson, ConfigFile, Sets
from nmt_cli.cli.options.from_settings import with_options

if TYPE_CHECKING:
    from nmt_cli.extras.preset_table import PresetRow

GROUP_EXAMPLES = """
nmt config show --origin
nmt config presets
"""
EXAMPLES = """
nmt config show --origin       where each value comes from
nmt config show --about        what each setting means
nmt config show --preset big --set model.layers=12 > big.toml
nmt train --config big.toml    the output is itself a project file
"""

app = make_app()


@app.callback(cls=GroupWithExamples, epilog=GROUP_EXAMPLES, invoke_without_command=True)
def config(context: typer.Context) -> None:
    """Show all settings with their origins, or compare the presets."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


@app.command("show", cls=CommandWithExamples, epilog=EXAMPLES)
@with_options({"": ("origin", "about", "as_json", "train.preset", "sets", "config_file")})
def show(
    *,
    flags: Mapping[str, object],
    origin: Annotated[
        bool, typer.Option("--origin", help="Add the source of each value as a comment")
    ] = False,
    about: Annotated[
        bool, typer.Option("--about", help="Add the meaning of each setting as a comment")
    ] = False,
    as_json: AsJson = False,
    sets: Sets = None,
    config_file: ConfigFile = None,
) -> None:
    """Print all settings as TOML.

    A value comes from the first of these sources that sets it: command line, NMT_* environment
    variables, nmt.toml, preset, default. The variable of `model.heads` is NMT_MODEL_HEADS.
    """
    from nmt_cli.cli.settings import resolve_settings
    from nmt_cli.config.schema import SETTINGS, flatten

    resolved = resolve_settings(flags, sets, config_file)
    values = flatten(resolved.config)
    if as_json:
        import json

        listed = {
            key: {"value": value, "origin": resolved.origins[key], "about": SETTINGS[key].about}
            for key, value in values.items()
        }
        sys.stdout.write(json.dumps({"schema": 1, "settings": listed}, ensure_ascii=False) + "\n")
        return
    from nmt_cli.extras.project import config_text

    comments = {
        key: [resolved.origins[key] if origin else "", SETTINGS[key].about if about else ""]
        for key in values
    }
    sys.stdout.write(config_text(values, comments))


PRESETS_EXAMPLES = """
nmt config presets
nmt config show --preset small    all settings with one preset
"""


@app.command("presets", cls=CommandWithExamples, epilog=PRESETS_EXAMPLES)
def presets(as_json: AsJson = False) -> None:
    """Compare the presets: size of the model, batch size and number of steps.

    The number of parameters is that for the vocabulary size of the preset; with --json it is exact.
    """
    from dataclasses import asdict

    from nmt_cli.cli.environment import make_console
    from nmt_cli.extras.preset_table import AUTO_NOTE, preset_rows

    rows = preset_rows()
    if as_json:
        import json

        listed = [asdict(row) for row in rows]
        sys.stdout.write(json.dumps({"schema": 1, "presets": listed}) + "\n")
        return
    console = make_console(sys.stdout)
    header = ("preset", "parameters", "vocabulary", "layers", "d_model", "batch tokens", "steps")
    console.table([_shown(row) for row in rows], header=header)
    console.note(f"\n{AUTO_NOTE}")


def _shown(row: "PresetRow") -> list[object]:
    """The cells of a row; the numbers of columns that also have `auto` are texts."""
    from nmt_cli.cli.display.training_outline import parameters

    return [
        row.preset,
        parameters(row.parameters),
        _number_or_auto(row.vocabulary),
        row.layers,
        row.d_model,
        row.batch_tokens,
        _number_or_auto(row.steps),
    ]


def _number_or_auto(value: int | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"
