"""`nmt export`: write a model for another toolkit, and compare the two."""

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.options.declarations import AsJson, ConfigFile, Force, PathSets, Quiet
from nmt_cli.errors import UsageError
from nmt_cli.exchange.targets import MODULES

if TYPE_CHECKING:
    from nmt_cli.exchange.export import Export

EXAMPLES = """
nmt export --to ctranslate2 --out model-ct2    the model of nmt.toml
nmt export model --to ctranslate2 --precision int8 --out model-ct2-int8
nmt export model --to ctranslate2 --out model-ct2 --check test.en
"""

if TYPE_CHECKING:

    class Format(Enum):
        """The values of --to."""
else:
    Format = Enum("Format", {name: name for name in MODULES})


class ExportPrecision(Enum):
    """The values of --precision."""

    float32 = "float32"
    float16 = "float16"
    int8 = "int8"


Model = Annotated[
    Path | None,
    typer.Argument(metavar="[MODEL]", help="Model directory to export [default: model]"),
]
To = Annotated[Format, typer.Option("--to", help="Format to export to")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Directory to write")]
PrecisionOption = Annotated[
    ExportPrecision | None,
    typer.Option(
        "--precision", help="Precision of the exported weights [default: float32; bergamot: int8]"
    ),
]
Check = Annotated[
    Path | None,
    typer.Option(
        "--check", metavar="FILE",
        help="Text file in the source language whose lines both models translate "
        "[default: test text of the model's project]",
    ),
]  # fmt: skip
NoCheck = Annotated[
    bool, typer.Option("--no-check", help="Do not compare the exported model with the original")
]


def command(
    to: To,
    out: Out,
    model: Model = None,
    precision: PrecisionOption = None,
    check: Check = None,
    no_check: NoCheck = False,
    sets: PathSets = None,
    config_file: ConfigFile = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Export a model to another toolkit, and compare the exported model with the original.

    Both translate the same lines. If they differ, nothing is written and the exit code is 3: the
    subwords must be equal, the log-probability of a sentence may differ by 0.001, and greedy
    translations must be equal, with float16 and int8 for 80 % of the lines. A model that the
    format cannot hold is refused, with every reason.
    """
    import json

    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.loading import require_models
    from nmt_cli.cli.settings import named_model
    from nmt_cli.cli.text_io import require_text_file

    if no_check and check is not None:
        raise UsageError("--no-check cannot be combined with --check", "leave out one of them")
    console = make_console(quiet=quiet)
    model = named_model(model, sets, config_file)
    require_models([model], "name another one: nmt export MODEL")
    if check is not None:
        require_text_file(str(check))

    from nmt_cli.exchange.export import export_model

    export = export_model(
        model, to.value, out,
        precision=precision.value if precision else None,
        check=not no_check, check_file=check, force=force,
    )  # fmt: skip
    if as_json:
        sys.stdout.write(json.dumps(_as_document(export, out), ensure_ascii=False) + "\n")
    console.note(_summary(export, out))
    for note in export.notes:
        console.note(note)


def _as_document(export: "Export", out: Path) -> dict[str, object]:
    return {
        "schema": 1,
        "to": export.target,
        "precision": export.precision,
        "out": str(out),
        "files": list(export.files),
        "check": export.check and {**export.check.as_document(), "lines_from": export.checked_on},
        "search": export.search.options,
        "notes": list(export.notes),
    }


def _summary(export: "Export", out: Path) -> str:
    """What was written, and the result of the comparison, as one sentence each."""
    written = f"wrote {out} for {export.title} ({export.precision})"
    if export.check is None:
        return f"{written}; it was not compared with the original (--no-check)"
    check = export.check
    return f"{written}\ncompared on {export.checked_on}: {check.in_words()}"
