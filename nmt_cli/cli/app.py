"""The subcommands, each imported only when it is called, and the layout of their help."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from nmt_cli.cli.options.click_adapter import ClickUsageError
from nmt_cli.config import synonyms
from nmt_cli.errors import UsageError, did_you_mean
from nmt_cli.installation import without_torch

if TYPE_CHECKING:
    from nmt_cli.cli.options.click_adapter import Command, Context, HelpFormatter

STUDY = 'Study "Attention Is All You Need": plots, tables'
BEFORE_TRAINING = "Convert files; prepare parallel text for training"
TRAINING = "Train a model, run again to resume; compare runs"
AFTER_TRAINING = "Average checkpoints; learn word translations"
TRANSLATION = "Translate text line by line, or over HTTP"
EXCHANGE = "Models for and from other toolkits; facts about one"
# In the order in which they are used.
COMMANDS = {
    "init": "Write the project file nmt.toml",
    "convert": BEFORE_TRAINING,
    "prepare": BEFORE_TRAINING,
    "train": TRAINING,
    "runs": TRAINING,
    "average": AFTER_TRAINING,
    "shortlist": AFTER_TRAINING,
    "export": EXCHANGE,
    "import": EXCHANGE,
    "info": EXCHANGE,
    "translate": TRANSLATION,
    "serve": TRANSLATION,
    "score": "Score translations: BLEU, chrF, TER",
    "demo": "Train and test a small model on generated sentences",
    "parse": "Parse sentences into trees; score trees like EVALB",
    "attention": STUDY,
    "plot": STUDY,
    "bench": STUDY,
    "config": "Show all settings and their origins; presets",
    "doctor": "Check this machine and suggest fixes",
}
# Commands for the experiments of the paper, whose modules are in cli/experiments.
EXPERIMENTS = {"attention", "bench", "parse", "plot"}
# The modules of commands whose names Python reserves.
MODULES = {"import": "import_model"}

EXAMPLES = """
nmt demo    train and test a small model in 1 to 3 minutes
nmt init --src-lang en --tgt-lang de && nmt prepare && nmt train
"""

COMPLETION_VARIABLE = "_NMT_COMPLETE"
# The gap between an example and its description; and the words of a command, where quoted text and
# an option with its value count as one word.
_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
_COMMAND_WORD = re.compile(r"""(?:-\S+ (?=[^\s-]))?(?:[^\s"']|"[^"]*"|'[^']*'|["'])+""")
# What Typer adds to the help of a number, such as `[x>=1]`, and the second space before the rest.
_RANGE = r"(?:[\d.]+<=)?x[<>]=[\d.]+"
_BOUNDS = re.compile(rf" +\[{_RANGE}\]|; {_RANGE}(?=\])| (?= \[)")
_FULL_STOP = re.compile(r"(?<!\.)\.$")
HELP_OPTIONS = ["--help", "-h"]
# Help is not wider than this, even on a wider terminal.
WIDTH = 100


def _write_examples(formatter: HelpFormatter, examples: str | None) -> None:
    lines = [
        # Shown as a comment of the shell, so that the whole line can be copied.
        _GAP.sub(lambda gap: f"{gap[0]}# ", line, count=1)
        for line in (examples or "").strip("\n").splitlines()
    ]
    if lines:
        broken = [part for line in lines for part in broken_example(line, formatter.width - 2)]
        formatter.write("\nExamples:\n" + "".join(f"  {line}\n" for line in broken))


def broken_example(line: str, width: int) -> list[str]:
    r"""Wrap an example to `width` columns, if possible; its command can still be copied.

    Two or more spaces separate a command from its description, which gets its own lines.

    >>> broken_example("nmt train --preset small --out run", 26)
    ['nmt train --preset small \\', '    --out run']
    >>> broken_example("nmt train --preset small    as the file says", 26)
    ['nmt train --preset small', '    as the file says']
    """
    if len(line) <= width:
        return [line]
    command, *about = _GAP.split(line, maxsplit=1)
    return [
        *_broken(_COMMAND_WORD.findall(command), width, " \\"),
        *(part for text in about for part in _broken(["   ", *text.split()], width, "")),
    ]


def _broken(words: Sequence[str], width: int, end: str) -> list[str]:
    """Wrap words to lines, indented after the first; `end` marks lines that are continued."""
    lines = [""]
    for word in words:
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1].strip() and len(longer) + len(end) > width:
            lines[-1] += end
            longer = f"    {word}"
        else:
            lines.pop()
        lines.append(longer)
    return lines


@contextlib.contextmanager
def _naming_what_needs_torch(context: Context) -> Iterator[None]:
    """Name the command in the error that torch is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        raise without_torch(f"`{context.command_path}`") from error


@contextlib.contextmanager
def _of_command(context: Context) -> Iterator[None]:
    """Name the command in errors of the parser that do not name it."""
    try:
        yield
    except ClickUsageError as error:
        error.ctx = error.ctx or context
        raise


def help_sections(command: Command, context: Context) -> dict[str, list[tuple[str, str]]]:
    """The arguments, the options without a heading, and the others, by their headings.

    Typer itself groups options by `rich_help_panel` only where rich writes the help.
    """
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for parameter in command.get_params(context):
        row = parameter.get_help_record(context)
        if row is not None:
            default = "Arguments" if parameter.param_type_name == "argument" else "Options"
            heading = getattr(parameter, "rich_help_panel", None) or default
            sections.setdefault(heading, []).append((row[0], _tidy(row[1])))
    return {heading: rows for heading, rows in sections.items() if rows}


def _write_parameters(command: Command, context: Context, formatter: HelpFormatter) -> None:
    for heading, rows in help_sections(command, context).items():
        with formatter.section(heading):
            formatter.write_dl(rows)


def _tidy(text: str) -> str:
    """The help of an option or command without its bounds, as a phrase without a full stop.

    >>> _tidy("Threads [default: 1]  [x>=1]"), _tidy("Level  [default: 0.05; 0.0<=x<=1.0]")
    ('Threads [default: 1]', 'Level [default: 0.05]')
    >>> _tidy("Show the version and exit.")
    'Show the version and exit'
    """
    return _FULL_STOP.sub("", _BOUNDS.sub("", text))


class CommandWithExamples(TyperCommand):
    """A command whose help shows examples before the options."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse like every command, and let errors name the command."""
        with _of_command(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Context) -> Any:
        """Run the command."""
        with _naming_what_needs_torch(ctx):
            return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Context) -> list[str]:
        """The parts of the usage; Typer writes a required argument as `{NAME}`."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_help(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write usage, description, examples and options."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        _write_examples(formatter, self.epilog)
        self.format_options(ctx, formatter)

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Arguments and options, grouped by their headings."""
        _write_parameters(self, ctx, formatter)


class GroupWithExamples(TyperGroup):
    """A command with subcommands, whose help shows examples before them."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse like every command, and let errors name the command."""
        with _of_command(ctx):
            return super().parse_args(ctx, args)

    def format_help(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write usage, description, examples, commands and options."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        _write_examples(formatter, self.epilog)
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, _tidy(command.get_short_help_str(limit=100)))
                    for name, command in self.commands.items()
                ]
            )
        _write_parameters(self, ctx, formatter)


def _debug_option() -> TyperOption:
    """The option `--debug`, which every command accepts and `nmt_cli.cli.main` reads earlier."""
    return TyperOption(
        param_decls=["--debug"], is_flag=True, default=False, expose_value=False, hidden=True,
        help="Show tracebacks",
    )  # fmt: skip


class CommandTable(TyperGroup):
    """The subcommands of `nmt`: listed without importing them."""

    def list_commands(self, ctx: Context) -> list[str]:
        """The names, in the order in which they are used."""
        return list(COMMANDS)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """Import the module of a subcommand and make its command; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name not in self.commands:
            self.commands[cmd_name] = _load(cmd_name)
        return self.commands[cmd_name]

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """The command that `args` begin with; raises UsageError naming the nearest one."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            meant = synonyms.COMMANDS.get(args[0])
            hint = f"did you mean `{meant}`?" if meant else did_you_mean(args[0], list(COMMANDS))
            raise UsageError(f"there is no command `{args[0]}`", hint)
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write usage, examples, commands and options, in as many lines as a terminal has."""
        self.format_usage(ctx, formatter)
        _write_examples(formatter, EXAMPLES)
        with formatter.section("Commands"):
            formatter.write_dl(_rows())
        _write_parameters(self, ctx, formatter)


def _rows() -> list[tuple[str, str]]:
    """Names and descriptions; commands with the same description share a line."""
    rows: dict[str, list[str]] = {}
    for name, about in COMMANDS.items():
        rows.setdefault(about, []).append(name)
    return [(", ".join(names), about) for about, names in rows.items()]


def _load(name: str) -> Command:
    """The command `name`, made from its module."""
    command = typer.main.get_command(_app_of(name))
    below = command.commands.values() if isinstance(command, TyperGroup) else ()
    for each_command in (command, *below):
        each_command.params.append(_debug_option())
        if COMPLETION_VARIABLE in os.environ:
            from nmt_cli.cli.options.completion import add_completion

            add_completion(each_command)
    return command


def _app_of(name: str) -> typer.Typer:
    app = make_app()
    folder = "experiments" if name in EXPERIMENTS else "commands"
    module = importlib.import_module(f"nmt_cli.cli.{folder}.{MODULES.get(name, name)}")
    if isinstance(getattr(module, "app", None), typer.Typer):
        own: typer.Typer = module.app
        return own
    app.command(name, cls=CommandWithExamples, epilog=module.EXAMPLES)(module.command)
    return app


def make_app() -> typer.Typer:
    """A Typer app without rich, which starts faster."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def _top(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Show the version and exit")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", hidden=True, help="With --version: show all versions as JSON")
    ] = False,
) -> None:
    """Train Transformer translation models, translate with them and score translations."""
    if version:
        _show_version(as_json=as_json)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


def _show_version(*, as_json: bool) -> None:
    from nmt_cli import __version__

    if as_json:
        import json

        from nmt_cli.extras.doctor import versions

        typer.echo(json.dumps({"schema": 1, **versions()}))
    else:
        typer.echo(f"nmt {__version__}")


def make_command() -> TyperGroup:
    """The whole `nmt` command."""
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback(cls=CommandTable, invoke_without_command=True)(_top)
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    for parameter in group.params:
        if isinstance(parameter, TyperOption) and parameter.name == "show_completion":
            parameter.hidden = True
    group.params.append(_debug_option())
    return group


def _without_help_command(arguments: Sequence[str]) -> list[str]:
    """`nmt help CMD` as `nmt CMD --help`, and `nmt version` as `nmt --version`.

    >>> _without_help_command(["help", "bench", "layers"]), _without_help_command(["-q", "help"])
    (['bench', 'layers', '--help'], ['-q', '--help'])
    """
    position = next(
        (i for i, argument in enumerate(arguments) if not argument.startswith("-")), None
    )
    if position is not None and arguments[position] == "version":
        return [*arguments[:position], "--version", *arguments[position + 1 :]]
    if position is None or arguments[position] != "help":
        return list(arguments)
    return [*arguments[:position], *arguments[position + 1 :], "--help"]


def invoke(arguments: Sequence[str]) -> int:
    """Parse `arguments` and run the command; errors pass through."""
    group = make_command()
    if COMPLETION_VARIABLE in os.environ:
        group.main([], "nmt", complete_var=COMPLETION_VARIABLE)
    try:
        with group.make_context(
            "nmt", _without_help_command(arguments),
            help_option_names=HELP_OPTIONS, max_content_width=WIDTH,
        ) as context:  # fmt: skip
            group.invoke(context)
    except typer.Exit as exit_:
        return exit_.exit_code
    return 0
