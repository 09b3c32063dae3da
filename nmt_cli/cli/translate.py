"""`nmt translate`: one line in, one line out, always."""

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from nmt_cli.cli.options import AsJson, ConfigFile, Quiet, Sets

if TYPE_CHECKING:
    from nmt_cli.config import Search
    from nmt_cli.console import Console
    from nmt_cli.data.lines import Lines
    from nmt_cli.translator import Translation, Translator

SCHEMA = 1
STDIN = "-"
# A line is translated when nothing more has come for so long.
PATIENCE_SECONDS = 0.2
_ENDS = re.compile("[\x7f-\x9f\u2028\u2029]")

EXAMPLES = """
echo "Hello world." | nmt translate
nmt translate test.en -o test.de           a file; .gz, .xz and .zst are read too
nmt translate --n-best 4 test.en           several for each line
nmt translate --beam 1 --json test.en      fast; scores and flags for machines
"""


class Precision(StrEnum):
    """Kinds of arithmetic."""

    float32 = "float32"
    bf16 = "bf16"
    int8 = "int8"


File = Annotated[str, typer.Argument(metavar="[FILE]", help="Text; `-` is stdin.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there; else stdout.")
]
Model = Annotated[
    str | None, typer.Option("--model", metavar="MODEL", help="Model directory; else model/.")
]
Beam = Annotated[
    int | None, typer.Option("--beam", metavar="N", help="Hypotheses kept: 4; 1 is greedy.")
]
Alpha = Annotated[
    float | None, typer.Option("--alpha", metavar="X", help="Length penalty ((5+n)/6)^X: 0.6.")
]
NBest = Annotated[
    int | None,
    typer.Option(
        "--n-best", metavar="N", help="N lines for each: line ||| translation ||| score; from 0."
    ),
]
MaxExtraLength = Annotated[
    int | None,
    typer.Option("--max-extra-length", metavar="N", help="Longest output: source + 50 subwords."),
]
BatchTokens = Annotated[
    int | None,
    typer.Option("--batch-tokens", metavar="N", help="Source tokens times beam at a time."),
]
Device = Annotated[
    str, typer.Option("--device", help="cpu, cuda, cuda:1 ...; auto: a GPU where there is one.")
]
PrecisionOption = Annotated[
    Precision, typer.Option("--precision", help="Of the arithmetic; int8: faster on a CPU.")
]


def command(
    file: File = STDIN,
    output: Output = None,
    model: Model = None,
    beam: Beam = None,
    alpha: Alpha = None,
    n_best: NBest = None,
    max_extra_length: MaxExtraLength = None,
    batch_tokens: BatchTokens = None,
    device: Device = "auto",
    precision: PrecisionOption = Precision.float32,
    sets: Sets = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Translate lines of text.

    One line in, one line out: an empty line stays empty, a very long one is translated in pieces.
    Reads and writes UTF-8 and gives each line out as soon as it is ready.
    """
    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.settings import chosen_search, resolve_settings
    from nmt_cli.data.lines import read_lines

    flags = {
        "paths.model": model,
        "search.beam": beam,
        "search.alpha": alpha,
        "search.n_best": n_best,
        "search.max_extra_length": max_extra_length,
        "search.batch_tokens": batch_tokens,
    }
    resolved = resolve_settings(flags, sets, config_file)
    console = make_console(quiet=quiet)
    with read_lines(file) as lines:
        translator = _load(resolved.config.paths.model, device, precision)
        if translator.engine.notice:
            console.note(translator.engine.notice)
        search = chosen_search(resolved, translator.config)
        if file == STDIN and sys.stdin.isatty():
            console.note("reading from the terminal, one line each; Ctrl-D ends")
        plain = as_line if search.n_best == 1 else as_n_best_lines
        with _opened(output) as out:
            _translate(translator, lines, search, out, as_json_line if as_json else plain, console)


def _load(model: str, device: str, precision: Precision) -> "Translator":
    import torch

    from nmt_cli.cli.environment import cache_folder
    from nmt_cli.translator import Translator

    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return Translator.load(model, device, precision=precision.value, cache=cache_folder())


@contextlib.contextmanager
def _opened(output: Path | None) -> Iterator[BinaryIO]:
    from nmt_cli.files import writing

    if output is None:
        yield sys.stdout.buffer
    else:
        with writing(output) as file:
            yield file


def _translate(
    translator: "Translator",
    lines: "Lines",
    search: "Search",
    out: BinaryIO,
    show: Callable[[int, "Translation"], str],
    console: "Console",
) -> None:
    from nmt_cli.translator import windows

    count, failed = 0, 0
    with _progress(console, out) as update:
        for window in windows(lines, lambda: lines.must_wait(PATIENCE_SECONDS)):
            for translation in translator.translate_window(window, search=search):
                out.write(show(count, translation).encode("utf-8", errors="replace"))
                count += 1
                failed += "failed" in translation.flags
            out.flush()
            update(count)
    if lines.invalid:
        console.warning(
            f"`{lines.name}`: {lines.invalid:,} lines are not UTF-8, "
            f"first at line:byte {lines.first_invalid}"
        )
    if failed:
        console.warning(f"{failed:,} lines have no translation: the model gives no finite numbers")


@contextlib.contextmanager
def _progress(console: "Console", out: BinaryIO) -> Iterator[Callable[[int], None]]:
    """Progress where a person looks at stderr and does not see the lines themselves."""
    if console.interactive and not out.isatty():
        with console.progress("translating", unit="line") as progress:
            yield progress.update
    else:
        yield lambda _: None


def as_line(number: int, translation: "Translation") -> str:
    """The translation and nothing else."""
    del number
    return translation.text + "\n"


def as_n_best_lines(number: int, translation: "Translation") -> str:
    """A line for each hypothesis: number of the source line from 0, text, score."""
    return "".join(
        f"{number} ||| {one.text} ||| {one.score:.6f}\n" for one in translation.hypotheses
    )


def as_json_line(number: int, translation: "Translation") -> str:
    """All that is known of a translation, as one line of JSON."""
    document = {
        "schema": SCHEMA,
        "line": number,
        "source": translation.source,
        "text": translation.text,
        "score": translation.score,
        "flags": translation.flags,
        "hypotheses": [
            {"text": one.text, "score": one.score, "log_prob": one.log_prob}
            for one in translation.hypotheses
        ],
    }
    # What other programs take for the end of a line is spelt out.
    return (
        _ENDS.sub(lambda one: f"\\u{ord(one[0]):04x}", json.dumps(document, ensure_ascii=False))
        + "\n"
    )
