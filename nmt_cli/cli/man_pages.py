"""Man pages of all commands, made from their help: `make docs` writes them to docs/man."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from typer.core import TyperGroup

from nmt_cli import __version__
from nmt_cli.cli.app import help_sections
from nmt_cli.cli.exit_codes import exit_codes

if TYPE_CHECKING:
    from nmt_cli.cli.options.click_adapter import Command, Context

# The parts of a usage or help that are placeholders, such as FILE.
_PLACEHOLDER = re.compile(r"(?<![\w-])[A-Z][A-Z_|]+(?![\w-])")
SETTINGS_NOTE = (
    "Settings come from defaults, a preset, nmt.toml (or --config FILE), NMT_* variables, options "
    "and --set, each of which overrides the ones before. `nmt config show --about` explains them."
)


def page_name(path: str) -> str:
    """The file of a command's page.

    >>> page_name("nmt bench layers")
    'nmt-bench-layers.1'
    """
    return f"{path.replace(' ', '-')}.1"


def man_page(path: str, command: Command, context: Context) -> str:
    """The page of a command in the macros of man(7)."""
    name = path.replace(" ", "-")
    about, *more = _paragraphs(command.help or "")
    lines = [
        f'.TH {_escaped(name.upper())} 1 "" "nmt {__version__}" "nmt"',
        ".SH NAME", f"{_escaped(name)} \\- {_escaped(about.rstrip('.'))}",
        ".SH SYNOPSIS", f".B {_escaped(path)}",
        _marked(" ".join(command.collect_usage_pieces(context))),
        ".SH DESCRIPTION", _escaped(about),
    ]  # fmt: skip
    for paragraph in more:
        lines += [".PP", _escaped(paragraph)]
    if command.epilog:
        lines += [".SH EXAMPLES", ".nf", *map(_escaped, command.epilog.strip("\n").splitlines()),
                  ".fi"]  # fmt: skip
    if isinstance(command, TyperGroup):
        lines += _subcommands(path, command, context)
    lines += _parameters(command, context)
    lines += _end(path)
    return "\n".join(lines) + "\n"


def _subcommands(path: str, group: TyperGroup, context: Context) -> Iterator[str]:
    yield ".SH COMMANDS"
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from (".TP", f".BR {_escaped(f'{path} {name}'.replace(' ', '-'))} (1)",
                    _escaped(_paragraphs(command.help or "")[0]))  # fmt: skip


def _parameters(command: Command, context: Context) -> Iterator[str]:
    """Arguments and options under the headings of the help."""
    for heading, rows in help_sections(command, context).items():
        is_main = heading in ("Arguments", "Options")
        yield f".SH {heading.upper()}" if is_main else f".SS {_escaped(heading)}"
        for names, about in rows:
            yield from (".TP", _names(names), _escaped(" ".join(about.split())))


def _names(names: str) -> str:
    """The names of an option in bold, and the placeholder of its value in italics."""
    shown = re.sub(r"(?<![\w-])-{1,2}[\w-]+", lambda name: f"\\fB{_escaped(name[0])}\\fR", names)
    return _protected(_PLACEHOLDER.sub(lambda word: f"\\fI{word[0]}\\fR", shown))


def _end(path: str) -> Iterator[str]:
    if path == "nmt":
        yield from (".SH SETTINGS", _escaped(SETTINGS_NOTE), ".SH EXIT STATUS")
        for code, meaning in exit_codes().items():
            yield from (".TP", f".B {code}", _escaped(meaning))
        return
    above = path.rpartition(" ")[0].replace(" ", "-")
    yield from (".SH SEE ALSO", f".BR {_escaped(above)} (1)")


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of a docstring, each in one line."""
    return [" ".join(part.split()) for part in text.strip().split("\n\n")]


def _marked(text: str) -> str:
    """A text whose placeholders are in italics."""
    return _protected(_PLACEHOLDER.sub(lambda word: f"\\fI{word[0]}\\fR", _plain(text)))


def _escaped(text: str) -> str:
    return _protected(_plain(text))


def _plain(text: str) -> str:
    """A text in which no character is a command: `-` can be copied, and `\\` is shown.

    >>> print(_plain("a\\\\b --x"))
    a\\eb \\-\\-x
    """
    return text.replace("\\", "\\e").replace("-", "\\-").replace("^", "\\(ha").replace("~", "\\(ti")


def _protected(line: str) -> str:
    """A line that does not begin as a request of roff does."""
    return f"\\&{line}" if line[:1] in (".", "'") else line
