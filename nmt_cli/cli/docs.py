"""Generates docs/cli.md, man pages, the list of all options: `python -m nmt_cli.cli.docs`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from nmt_cli.cli.app import HELP_OPTIONS, WIDTH, make_command
from nmt_cli.cli.exit_codes import STABLE, exit_codes
from nmt_cli.cli.man_pages import man_page, page_name
from nmt_cli.config.presets import PRESETS
from nmt_cli.config.schema import SETTINGS
from nmt_cli.config.values import type_name
from nmt_cli.extras.project import toml_value
from nmt_cli.storage.files import make_directory, remove, write_text

if TYPE_CHECKING:
    from nmt_cli.cli.options.click_adapter import Command, Context

GUIDE = Path("docs/cli.md")
SURFACE = Path("tests/contracts/cli_surface.txt")
MAN_PAGES = Path("docs/man")

_HEAD = """\
# The command line

This page is generated from the commands by `make docs`; a test checks that it is current.

Data goes to stdout, everything else to stderr. Settings come from these sources, each of which
overrides the ones before: defaults, preset, `nmt.toml` (or `--config FILE`), `NMT_*` variables,
options, `--set key=value`. Relative paths in a project file start from its directory.

`nmt CMD --help`, `nmt CMD -h` and `nmt help CMD` are the same. Each command also takes `--debug`
(or `NMT_DEBUG=1`), which shows tracebacks. Colour and progress bars appear only on a terminal;
`NO_COLOR`, `TERM=dumb` and `CI` turn them off.
"""


def walk_commands() -> Iterator[tuple[str, Command, Context]]:
    """Yield each command with its full name, in the order of the help."""
    group = make_command()
    top = typer.Context(
        group, info_name="nmt", terminal_width=WIDTH, help_option_names=HELP_OPTIONS
    )
    yield from _walk("nmt", group, top)


def _walk(path: str, command: Command, context: Context) -> Iterator[tuple[str, Command, Context]]:
    context.max_content_width = WIDTH
    yield path, command, context
    if isinstance(command, TyperGroup):
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None
            below = typer.Context(subcommand, context, info_name=name, terminal_width=WIDTH)
            yield from _walk(f"{path} {name}", subcommand, below)


def guide() -> str:
    """The text of docs/cli.md."""
    parts = [_HEAD]
    for path, command, context in walk_commands():
        parts.append(f"## {path}\n\n```text\n{command.get_help(context)}\n```\n")
    rows = "".join(f"| {code} | {meaning} |\n" for code, meaning in exit_codes().items())
    parts.append(f"## Exit codes\n\n{STABLE}\n\n| code | meaning |\n|---|---|\n{rows}")
    parts.append(
        "## Settings\n\nEach setting can be given with `--set` of a command that uses it, in "
        "`nmt.toml`, or as an environment variable: `model.heads` is `NMT_MODEL_HEADS`. Sections "
        "and equations are those of the paper (see [paper.md](paper.md)).\n\n"
        "| setting | default | value | meaning |\n|---|---|---|---|\n" + "".join(_setting_rows())
    )
    parts.append(
        "## Presets\n\nA preset sets these values; all other settings keep their defaults.\n\n"
        + "".join(_preset_rows())
    )
    return "\n".join(parts)


def _setting_rows() -> Iterator[str]:
    for key, setting in SETTINGS.items():
        about = setting.about.replace("|", "\\|")
        value = re.sub("^an? ", "", type_name(setting.type_hint))
        yield f"| `{key}` | `{toml_value(setting.default)}` | {value} | {about} |\n"


def _preset_rows() -> Iterator[str]:
    for name, values in PRESETS.items():
        listed = ", ".join(f"{key} = {toml_value(value)}" for key, value in values.items())
        yield f"- `{name}`: {listed}\n"


def surface() -> str:
    """Return a list of all commands and parameters, one per line; its changes affect users."""
    lines = []
    for path, command, _ in walk_commands():
        lines.append(path)
        lines += sorted(
            f"{path} {_parameter(parameter)}"
            for parameter in command.params
            # Every command has it: once is enough.
            if path == "nmt" or parameter.name != "debug"
        )
    return "\n".join(lines) + "\n"


def _parameter(parameter: Any) -> str:
    names = "/".join([*parameter.opts, *parameter.secondary_opts])
    value = parameter.metavar or parameter.type.name
    if getattr(parameter, "is_flag", False):
        value = "flag"
    choices = getattr(parameter.type, "choices", None)
    if choices:
        value = "|".join(str(choice) for choice in choices)
    marks = [
        "repeatable" if parameter.multiple or parameter.nargs == -1 else "",
        "required" if parameter.required else "",
    ]
    default = parameter.default
    if default not in (None, False, (), []):
        marks.append(f"default {default}")
    shown = ", ".join(mark for mark in marks if mark)
    return re.sub(r"\s+", " ", f"{names} {value} {f'({shown})' if shown else ''}").strip()


def man_pages() -> dict[Path, str]:
    """The texts of all man pages, by their paths in the repository."""
    return {
        MAN_PAGES / page_name(path): man_page(path, command, context)
        for path, command, context in walk_commands()
    }


def main(root: Path) -> None:
    """Write all these files below `root`, the checkout, and remove pages of former commands."""
    pages = man_pages()
    for old in (root / MAN_PAGES).glob("*.1"):
        if MAN_PAGES / old.name not in pages:
            remove(old)
    for path, text in ((GUIDE, guide()), (SURFACE, surface()), *pages.items()):
        make_directory((root / path).parent)
        write_text(root / path, text)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
