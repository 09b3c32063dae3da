"""`nmt config`: show every setting, its meaning, and where its value comes from."""

import sys
from typing import Annotated

import typer

from nmt_cli.cli.commands import CommandWithExamples, make_app
from nmt_cli.cli.options import AsJson, ConfigFile, Preset, Sets

EXAMPLES = """
nmt config show --origin                   where each value comes from
nmt config show --about                    what each setting means
nmt config show --preset big --set model.layers=12 > big.toml
nmt train --config big.toml                the output is itself a project file
"""

app = make_app()


@app.callback()
def config() -> None:
    """Show every setting and where it comes from."""


@app.command("show", cls=CommandWithExamples, epilog=EXAMPLES)
def show(
    origin: Annotated[bool, typer.Option("--origin", help="Add each value's source.")] = False,
    about: Annotated[bool, typer.Option("--about", help="Add each setting's meaning.")] = False,
    as_json: AsJson = False,
    preset: Preset = None,
    sets: Sets = None,
    config_file: ConfigFile = None,
) -> None:
    """Show every setting as TOML on stdout.

    Precedence: command line, NMT_* variables, nmt.toml, preset, default. The variable of
    `model.heads` is NMT_MODEL_HEADS.
    """
    from nmt_cli.cli.settings import resolve_settings
    from nmt_cli.config import SETTINGS, flatten

    resolved = resolve_settings({"train.preset": preset}, sets, config_file)
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
