"""The options that several commands share, each declared once."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from nmt_cli.cli.options.click_adapter import CompositeParamType
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.cli.options.click_adapter import Context, Parameter


class FilePair(NamedTuple):
    """The two values of an option such as `--train SRC TGT`."""

    src: str
    tgt: str


class _FilePairType(CompositeParamType):
    """Typer's own types do not let an option take two values and be repeated."""

    name = "pair"
    arity = 2

    def convert(self, value: Any, param: "Parameter | None", ctx: "Context | None") -> FilePair:
        for name in value:
            if name.startswith("-") and name != "-":
                option = param.opts[0] if param is not None else "the option"
                hint = f"such as {option} {value[0]} FILE (a file named {name} is written ./{name})"
                table = f"{option}-tsv"
                if ".tsv" in value[0] and ctx is not None and table in _options_of(ctx):
                    hint = f"a TSV file has both sides: {table} {value[0]}"
                raise UsageError(
                    f"{option} takes two files, the source and its translation, not {value[0]} "
                    f"and {value[1]}",
                    hint,
                )
        return FilePair(*value)


FILE_PAIR = _FilePairType()


def _options_of(ctx: "Context") -> set[str]:
    """The names of all options of a command."""
    return {name for parameter in ctx.command.params for name in parameter.opts}


def no_validation(pairs: int, command: str) -> str:
    """The warning that there is no validation text.

    pairs: the number of training pairs. command: the whole command that would set some of them
    apart, without the option --valid-split.
    """
    from nmt_cli.data.preparation.split_sizes import no_validation_note

    return no_validation_note(pairs, "--valid SRC TGT", f"{command} --valid-split ")


# Settings: every command that reads nmt.toml has these two.
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Project file with settings [default: nmt.toml, if present]",
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change any setting, such as model.heads=16 (see `nmt config show`); repeatable",
    ),
]

# For commands that run a trained model, which keeps its other settings.
SearchSets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting of the search, such as search.beam=8 (see `nmt config show`); "
        "repeatable",
    ),
]

# For commands that read hardly more of the settings than where things are.
PathSets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting that this command reads, such as paths.model=DIR; repeatable",
    ),
]

# Text files.
TrainPairs = Annotated[
    list[FilePair] | None,
    typer.Option(
        "--train", click_type=FILE_PAIR, metavar="SRC TGT",
        help="Source and target file of the training text; repeatable",
    ),
]  # fmt: skip
ValidPair = Annotated[
    FilePair | None,
    typer.Option(
        "--valid",
        click_type=FILE_PAIR,
        metavar="SRC TGT",
        help="Source and target file of the validation text",
    ),
]
TestPair = Annotated[
    FilePair | None,
    typer.Option(
        "--test",
        click_type=FILE_PAIR,
        metavar="SRC TGT",
        help="Source and target file of the test text",
    ),
]
TrainTsv = Annotated[
    list[str] | None,
    typer.Option(
        "--train-tsv", metavar="FILE",
        help="TSV file of the training text (source, tab, target); repeatable",
    ),
]  # fmt: skip
ValidTsv = Annotated[
    str | None,
    typer.Option("--valid-tsv", metavar="FILE", help="TSV file of the validation text"),
]
TestTsv = Annotated[
    str | None, typer.Option("--test-tsv", metavar="FILE", help="TSV file of the test text")
]
# Hardware.
Threads = Annotated[
    int | None,
    typer.Option("--threads", metavar="N", min=1, help="CPU threads [default: all cores]"),
]
# Output.
AsJson = Annotated[bool, typer.Option("--json", help="Write the results as JSON to stdout")]
AsJsonLines = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Write JSON, to --output or stdout: an object for each line of the text, whose field "
        "`line` counts from 0",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show only warnings and errors")]
Force = Annotated[
    bool, typer.Option("--force", help="Replace existing output, if this command wrote it")
]
ForceProject = Annotated[bool, typer.Option("--force", help="Replace an existing nmt.toml")]
ForceFile = Annotated[bool, typer.Option("--force", help="Replace an existing output file")]
ForcePicture = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace an existing output file; an SVG or HTML file that nmt has drawn is replaced "
        "without it",
    ),
]
