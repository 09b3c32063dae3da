"""`nmt convert`: write the pairs of a file of another format as tab-separated values."""

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from nmt_cli.cli.options.declarations import ForceFile, Quiet
from nmt_cli.cli.text_io import STDIN, STDOUT
from nmt_cli.errors import DataError, NmtError, NoInputError, UsageError
from nmt_cli.plurals import agreeing

if TYPE_CHECKING:
    from nmt_cli.data.text.formats.conversion import Conversion

EXAMPLES = """
nmt convert pairs.csv -o pairs.tsv
nmt convert memory.tmx --columns en,fr -o memory.en-fr.tsv
nmt convert wide.tsv --columns 4,2 -o pairs.tsv
nmt convert train.en train.de -o train.tsv     two parallel files
nmt convert test.de --repair nfc -o test.nfc.de
"""

# The most files: a source and its translation.
MOST_FILES = 2


class RepairName(StrEnum):
    """What may be repaired; all but `merged-verses` are those of `file_repairs`."""

    curly_apostrophes = "curly-apostrophes"
    divided_words = "divided-words"
    entities = "entities"
    invalid_bytes = "invalid-bytes"
    invisible = "invisible"
    joiners = "joiners"
    label_cells = "label-cells"
    labels = "labels"
    line_numbers = "line-numbers"
    marks = "marks"
    merged_verses = "merged-verses"
    nfc = "nfc"
    straight_apostrophes = "straight-apostrophes"
    torn_words = "torn-words"
    turned_apostrophes = "turned-apostrophes"
    wrong_encoding = "wrong-encoding"


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="CSV, JSON lines, TMX, HTML, .docx, subtitles, ... (also compressed); - is stdin; or "
        "two parallel files",
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
Repairs = Annotated[
    list[RepairName] | None,
    typer.Option(
        "--repair",
        metavar="WHAT",
        help="Write the same text, or with --columns or --unquote these cells of it, but repaired: "
        "curly-apostrophes, divided-words, entities, invalid-bytes, invisible, joiners, "
        "label-cells, labels, line-numbers, marks, nfc, straight-apostrophes, torn-words, "
        "turned-apostrophes or wrong-encoding; of two files: merged-verses. Can be given several "
        "times",
    ),
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
    files: Files,
    output: Output = None,
    force: ForceFile = False,
    columns: ColumnNames = "",
    unquote: Unquote = False,
    repair: Repairs = None,
    src_lang: SourceLanguage = None,
    tgt_lang: TargetLanguage = None,
    quiet: Quiet = False,
) -> None:
    """Write the pairs of a file of another format as tab-separated values: source, tab, target.

    The format is recognised by the text. Line breaks and tabs in cells become spaces. What other
    commands say about a file that they cannot read, or that has faults, names this command with
    its options.
    """
    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.outputs import check_outputs
    from nmt_cli.cli.text_io import note_waiting, require_output, require_text_file
    from nmt_cli.config.protected_files import needed_files
    from nmt_cli.data.cleaning.file_repairs import effects_of
    from nmt_cli.data.text.convert import write_converted
    from nmt_cli.data.text.formats.conversion import SourceFile
    from nmt_cli.plurals import counted

    repairs = repair or []
    _check(files, repairs)
    languages = _languages(src_lang, tgt_lang)
    for file in files:
        if Path(file).is_dir():
            raise NoInputError(
                f"`{file}` is a folder, and a file of text is needed here",
                "nmt export writes a model for another toolkit, and nmt import reads one of theirs",
            )
        require_text_file(file)
    require_output(output)
    check_outputs([output], needed_files("is read", *files), force=force)
    console = make_console(quiet=quiet)
    note_waiting(console, *files)
    with _readable(files[0]) as path:
        conversion = _conversion([path, *files[1:]], languages, columns, repairs, unquote=unquote)
        console.note(f"{_named(files)} {conversion.kind}{_taken(conversion)}")
        if len(files) < MOST_FILES and repairs:
            console.note(f"repaired: {effects_of(repairs)}")
        source = SourceFile(path, files[0])
        with _written(output, force=force) as out, console.stages() as progress:
            size = source.size
            written = write_converted(
                conversion, source, out, lambda done: progress("converting", done, size)
            )
            if not written.rows and not repairs:
                raise DataError(f"no pairs were found in `{files[0]}`", "look at --columns")
    for note in written.notes:
        console.warning(note)
    where = "" if output is None or str(output) == STDOUT else f" to {output}"
    changed = "" if source.changed is None else f", {source.changed:,} of them repaired"
    console.note(f"wrote {counted(written.rows, 'line')}{where}{changed}")


def _languages(src: str | None, tgt: str | None) -> tuple[str, str] | None:
    """The codes of both languages; raises UsageError if only one is given."""
    if (src is None) != (tgt is None):
        raise UsageError("one language is given", "give both --src-lang and --tgt-lang")
    return (src, tgt) if src and tgt else None


def _check(files: Sequence[str], repairs: Sequence[RepairName]) -> None:
    """Raise UsageError for a wrong number of files."""
    if len(files) > MOST_FILES:
        raise UsageError(
            f"{len(files)} files are given", "name one file, or a source and its translation"
        )
    if len(files) == MOST_FILES and STDIN in files:
        raise UsageError("stdin cannot be one of two files", "name two files")
    if RepairName.merged_verses in repairs and len(files) != MOST_FILES:
        raise UsageError(
            f"--repair {RepairName.merged_verses} needs two files",
            "name the source and its translation",
        )
    others = [repair for repair in repairs if repair is not RepairName.merged_verses]
    if others and len(files) == MOST_FILES:
        raise UsageError(f"--repair {others[0]} takes one file", "repair each file by itself")


def _conversion(
    paths: Sequence[str],
    languages: tuple[str, str] | None,
    columns: str,
    repairs: Sequence[RepairName],
    *,
    unquote: bool,
) -> "Conversion":
    """How the files are converted; raises DataError if there is no way to do so."""
    from nmt_cli.data.cleaning.file_repairs import TEXT, repaired
    from nmt_cli.data.text.convert import conversion_of, parallel_files
    from nmt_cli.data.text.formats.conversion import SourceFile

    if len(paths) == MOST_FILES:
        other = SourceFile(paths[1], paths[1])
        conversion = parallel_files(other, join_verses=RepairName.merged_verses in repairs)
        return conversion.with_columns(columns) if columns else conversion
    conversion = TEXT
    if columns or unquote or not repairs:
        conversion = conversion_of(paths[0], languages, columns=columns, unquote=unquote)
    return repaired(conversion, repairs) if repairs else conversion


def _named(files: Sequence[str]) -> str:
    names = " and ".join(f"`{file}`" for file in files)
    return f"{names} {agreeing(len(files), 'is', 'are')}"


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
        try:
            yield copy.name
        except NmtError as error:
            error.message = error.message.replace(copy.name, "stdin")
            error.hint = error.hint.replace(copy.name, "-")
            raise


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
