"""`nmt convert`: write the pairs of a file of another format as tab-separated values."""

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from nmt_cli.cli.options.declarations import ForceFile, Quiet
from nmt_cli.cli.text_io import STDIN, STDOUT
from nmt_cli.errors import DataError, NoInputError, UsageError

if TYPE_CHECKING:
    from nmt_cli.data.text.formats.conversion import Conversion

EXAMPLES = """
nmt convert pairs.csv -o pairs.tsv
nmt convert memory.tmx --columns en,fr -o memory.en-fr.tsv
nmt convert wide.tsv --columns 4,2 -o pairs.tsv
"""

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, JSON lines, TMX, HTML, .docx, subtitles, ... (also compressed); - is stdin",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="File to write to [default: stdout]"),
]
ColumnNames = Annotated[
    str,
    typer.Option(
        "--columns",
        metavar="SRC,TGT",
        help="What becomes source and target: numbers of columns, JSON fields, TMX languages, "
        "labels [default: chosen by the text]",
    ),
]
Unquote = Annotated[
    bool,
    typer.Option("--unquote", help="Remove the quotation marks around cells of a TSV file"),
]
SourceLanguage = Annotated[
    str | None,
    typer.Option("--src-lang", metavar="CODE", help="Language of the source, to choose columns by"),
]
TargetLanguage = Annotated[
    str | None,
    typer.Option("--tgt-lang", metavar="CODE", help="Language of the target, to choose columns by"),
]


def command(
    *,
    file: File,
    output: Output = None,
    force: ForceFile = False,
    columns: ColumnNames = "",
    unquote: Unquote = False,
    src_lang: SourceLanguage = None,
    tgt_lang: TargetLanguage = None,
    quiet: Quiet = False,
) -> None:
    """Write the pairs of a file of another format as tab-separated values: source, tab, target.

    The format is recognised by the text. Line breaks and tabs in cells become spaces. What other
    commands say about a file that they cannot read names this command with its options.
    """
    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.outputs import check_outputs
    from nmt_cli.cli.text_io import note_waiting, require_output, require_text_file
    from nmt_cli.config.protected_files import needed_files
    from nmt_cli.data.text.convert import conversion_of, write_converted
    from nmt_cli.data.text.formats.conversion import SourceFile
    from nmt_cli.plurals import counted

    if (src_lang is None) != (tgt_lang is None):
        raise UsageError("one language is given", "give both --src-lang and --tgt-lang")
    if Path(file).is_dir():
        raise NoInputError(
            f"`{file}` is a folder, and a file of text is needed here",
            "nmt export writes a model for another toolkit, and nmt import reads one of theirs",
        )
    require_text_file(file)
    require_output(output)
    check_outputs([output], needed_files("is read", file), force=force)
    console = make_console(quiet=quiet)
    note_waiting(console, file)
    languages = (src_lang, tgt_lang) if src_lang and tgt_lang else None
    with _readable(file) as path:
        conversion = conversion_of(path, languages, columns=columns, unquote=unquote)
        console.note(f"`{file}` is {conversion.kind}{_taken(conversion)}")
        with _written(output, force=force) as out:
            written = write_converted(conversion, SourceFile(path, file), out)
            if not written.rows:
                raise DataError(f"no pairs were found in `{file}`", "look at --columns")
    for note in written.notes:
        console.warning(note)
    where = "" if output is None or str(output) == STDOUT else f" to {output}"
    console.note(f"wrote {counted(written.rows, 'line')}{where}")


def _taken(conversion: "Conversion") -> str:
    """What becomes source and target, in words."""
    if conversion.columns is None:
        return ""
    names = [f"column {name}" if name.isdecimal() else f"`{name}`" for name in conversion.columns]
    if len(names) == 1:
        return f": {names[0]} is taken"
    return f": {names[0]} is the source, {names[1]} the target"


@contextlib.contextmanager
def _readable(file: str) -> Iterator[str]:
    """The path of the file, or of a temporary copy of stdin, which is read more than once."""
    if file != STDIN:
        yield file
        return
    with tempfile.NamedTemporaryFile(prefix="nmt-convert-") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        yield copy.name


@contextlib.contextmanager
def _written(output: Path | None, *, force: bool) -> Iterator[BinaryIO]:
    """The file `output`, which is complete or not there; stdout gets all or nothing, too."""
    from nmt_cli.cli.text_io import open_text_file

    if output is not None and str(output) != STDOUT:
        with open_text_file(output, force=force) as file:
            yield file
        return
    with tempfile.TemporaryFile() as whole:
        yield whole
        whole.seek(0)
        shutil.copyfileobj(whole, sys.stdout.buffer)
        sys.stdout.buffer.flush()
