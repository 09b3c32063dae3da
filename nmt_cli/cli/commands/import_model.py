"""`nmt import`: turn a model of another toolkit into a model directory, and compare the two."""

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.options.declarations import AsJson, Force, Quiet
from nmt_cli.errors import UsageError
from nmt_cli.exchange.importers import MODULES
from nmt_cli.plurals import counted

if TYPE_CHECKING:
    from nmt_cli.exchange.import_model import Import

EXAMPLES = """
nmt import opus-mt-en-de --out model    a directory of Hugging Face
nmt import opus-mt-en-de --out model --check test.en
nmt import marian.npz --vocab vocab.spm --src-lang en --tgt-lang de --out model
nmt import checkpoint_best.pt --vocab sentencepiece.bpe.model --out model     fairseq
nmt import step_9000.pt --vocab en.model --vocab de.model --src-lang en --tgt-lang de --out model
"""

# The value of --from for a format that is recognised by its files.
AUTO = "auto"

if TYPE_CHECKING:

    class ImportFormat(Enum):
        """The values of --from."""
else:
    ImportFormat = Enum("ImportFormat", {name: name for name in (AUTO, *MODULES)})

BY_FILES = ImportFormat(AUTO)

ForeignPath = Annotated[
    Path, typer.Argument(metavar="PATH", help="Model of another toolkit: a directory or a file")
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Model directory to write")]
From = Annotated[
    ImportFormat,
    typer.Option("--from", help="Format of the model; auto = recognised by its files"),
]
Vocabularies = Annotated[
    list[Path] | None,
    typer.Option(
        "--vocab", metavar="FILE",
        help="Vocabulary of a Marian model, sentencepiece or YAML; sentencepiece model of a model "
        "of fairseq or OpenNMT-py; dictionary (.txt) of fairseq. Give it twice for two languages "
        "[default: the files beside the model]",
    ),
]  # fmt: skip
SourceLanguage = Annotated[
    str | None,
    typer.Option("--src-lang", metavar="CODE", help="Source language [default: that of the files]"),
]
TargetLanguage = Annotated[
    str | None,
    typer.Option("--tgt-lang", metavar="CODE", help="Target language [default: that of the files]"),
]
Check = Annotated[
    Path | None,
    typer.Option(
        "--check", metavar="FILE",
        help="Text file in the source language whose lines are translated by both, to compare "
        "them [default: lines made of the model's subwords]",
    ),
]  # fmt: skip
NoCheck = Annotated[
    bool, typer.Option("--no-check", help="Do not compare the imported model with the original")
]


def command(
    path: ForeignPath,
    out: Out,
    source_format: From = BY_FILES,
    vocabularies: Vocabularies = None,
    src_lang: SourceLanguage = None,
    tgt_lang: TargetLanguage = None,
    check: Check = None,
    no_check: NoCheck = False,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Import a model of another toolkit, and compare the imported model with the original.

    Both translate the same lines. If they differ, nothing is written and the exit code is 3: the
    subwords must be equal, the log-probability of a sentence may differ by 0.001, and greedy
    translations must be equal. fairseq and OpenNMT-py cannot run here: the imported model alone
    translates the lines. Checkpoints that are pickles are read without running code of them.
    """
    import json

    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.text_io import require_text_file

    if no_check and check is not None:
        raise UsageError("--no-check cannot be combined with --check", "leave out one of them")
    console = make_console(quiet=quiet)
    if check is not None:
        require_text_file(str(check))

    from nmt_cli.exchange.import_model import import_model
    from nmt_cli.exchange.importer import ImportOptions

    imported = import_model(
        path, out,
        format_name=None if source_format.value == AUTO else source_format.value,
        options=ImportOptions(src_lang, tgt_lang, tuple(vocabularies or ())),
        check=not no_check, check_file=check, force=force,
    )  # fmt: skip
    if as_json:
        sys.stdout.write(json.dumps(_as_document(imported, out), ensure_ascii=False) + "\n")
    console.note(_summary(imported, out))
    for note in imported.notes:
        console.note(note)


def _as_document(imported: "Import", out: Path) -> dict[str, object]:
    return {
        "schema": 1,
        "from": imported.format,
        "out": str(out),
        "check": imported.check
        and {**imported.check.as_document(), "lines_from": imported.checked_on},
        "notes": list(imported.notes),
    }


def _summary(imported: "Import", out: Path) -> str:
    """What was written, and the result of the comparison, as one sentence each."""
    from nmt_cli.exchange.checks.alone import AloneResult

    written = f"wrote {out}, imported from {imported.title}"
    if imported.check is None:
        return f"{written}; it was not compared with the original (--no-check)"
    check = imported.check
    if isinstance(check, AloneResult):
        return (
            f"{written}\n"
            f"not compared with the original, because {imported.title} cannot run here; nmt "
            f"translated {imported.checked_on}: {check.unknown_share:.1%} unknown subwords, "
            f"{check.ended_translations} of {counted(check.lines, 'translation')} end by "
            f"themselves, mean log-probability of a subword {check.log_prob:.2f}"
        )
    return f"{written}\ncompared on {imported.checked_on}: {check.in_words()}"
