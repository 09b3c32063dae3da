"""`nmt config`: all settings with their meanings and origins; all presets; those of a model."""

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.app import CommandWithExamples, GroupWithExamples, make_app
from nmt_cli.cli.commands.translation.options import LAYOUT
from nmt_cli.cli.options.declarations import AsJson, ConfigFile, Quiet, SearchSets, Sets
from nmt_cli.cli.options.from_settings import with_options

if TYPE_CHECKING:
    from nmt_cli.extras.preset_table import PresetRow

GROUP_EXAMPLES = """
nmt config show --origin
nmt config presets
nmt config save model --alpha 1
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
    """Show all settings with their origins, compare the presets, or change a model's search."""
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


SAVE_EXAMPLES = """
nmt config save model --beam 8 --alpha 1
nmt config save model --set search.markup=off
nmt config save    the search settings of nmt.toml, in the model that it names
"""
_SEARCH_OPTIONS = {
    heading: keys
    for heading, entries in LAYOUT.items()
    if (keys := [entry for entry in entries if entry.startswith("search.")])
}


@app.command("save", cls=CommandWithExamples, epilog=SAVE_EXAMPLES)
@with_options({"": ("model", "sets", "config_file", "quiet"), **_SEARCH_OPTIONS})
def save(
    *,
    flags: Mapping[str, object],
    model: Annotated[
        Path | None,
        typer.Argument(metavar="[MODEL]", help="Model directory [default: model]"),
    ] = None,
    sets: SearchSets = None,
    config_file: ConfigFile = None,
    quiet: Quiet = False,
) -> None:
    """Save search settings in a model directory, without training.

    The model then translates with the settings that `nmt translate` would use here: those of the
    options, of NMT_* variables and of nmt.toml, else its own. Its other files stay as they are.
    """
    from dataclasses import replace

    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.loading import require_models
    from nmt_cli.cli.settings import chosen_search, resolve_settings
    from nmt_cli.cli.used_settings import SERVING
    from nmt_cli.config.held_out_text import is_of_project
    from nmt_cli.config.schema import flatten
    from nmt_cli.data.lexical.shortlist import Shortlist
    from nmt_cli.model_dir import load_config, load_subwords, save_search
    from nmt_cli.storage.output_directory import DirectoryKind, kind_of

    resolved = resolve_settings(flags, sets, config_file, used=SERVING)
    directory = model or Path(resolved.config.paths.model)
    require_models([directory], "name another one: `nmt config save MODEL`")
    config = load_config(directory)
    search = chosen_search(resolved, config)
    before, now = flatten(config), flatten(replace(config, search=search))
    changed = [key for key in now if now[key] != before[key]]
    console = make_console(quiet=quiet)
    if not changed:
        console.note(
            f"`{directory}` is unchanged: no option or setting here differs from its search "
            "settings, which `nmt config show --config "
            f"{shlex.quote(str(directory / 'config.toml'))}` shows"
        )
        return
    if "search.shortlist" in changed and search.shortlist:
        Shortlist.load(directory, load_subwords(directory))
    save_search(directory, search)
    changes = (f"{key} was {json.dumps(before[key])}, is {json.dumps(now[key])}" for key in changed)
    console.note(f"`{directory}` now translates with other settings: {'; '.join(changes)}")
    typed = [key for key in changed if not is_of_project(resolved.origins[key])]
    if typed and kind_of(directory) is DirectoryKind.RUN:
        lines = ", ".join(f"`{key} = {json.dumps(now[key])}`" for key in typed)
        console.note(
            "`nmt train`, where it resumes this run, saves the search settings of nmt.toml in it "
            f"again; to keep these, write {lines} in nmt.toml, too"
        )
