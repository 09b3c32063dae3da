"""`nmt parse score`: compare the labelled brackets of parsed and gold trees, as EVALB does."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.options.declarations import AsJson, Quiet
from nmt_cli.cli.text_io import STDIN, note_waiting, warn_of_invalid
from nmt_cli.errors import UsageError
from nmt_cli.plurals import agreeing, counted

if TYPE_CHECKING:
    from nmt_cli.extras.parsing.brackets import SentenceScore
    from nmt_cli.extras.parsing.parameters import Parameters
    from nmt_cli.terminal.console import Console

SCHEMA = 1
NAMED_ERRORS = 10

EXAMPLES = """
nmt parse score test.parsed test.trees
nmt parse score test.parsed test.trees --params new.prm --by-length
nmt parse test.words | nmt parse score - test.trees --json
"""

Parsed = Annotated[
    str, typer.Argument(metavar="PARSED", help="Parsed trees, one per line; - is stdin")
]
Gold = Annotated[str, typer.Argument(metavar="GOLD", help="Gold trees, one per line")]
Params = Annotated[
    Path | None,
    typer.Option("--params", metavar="FILE", help="EVALB parameter file [default: COLLINS.prm]"),
]
Each = Annotated[bool, typer.Option("--each", help="Print a row for each sentence, as EVALB does")]
ByLength = Annotated[
    bool,
    typer.Option("--by-length", help="Print F1 by sentence length: 1 to 10 words, 11 to 20, ..."),
]


def command(
    parsed: Parsed,
    gold: Gold,
    params: Params = None,
    each: Each = False,
    by_length: ByLength = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Score trees by their labelled brackets, with the same results as EVALB.

    Sentences whose words differ from those of the gold tree are reported as errors, and empty lines
    are skipped; the scores are those of the other sentences.
    """
    from nmt_cli.cli.environment import make_console
    from nmt_cli.extras.parsing.parameters import COLLINS, read_parameters
    from nmt_cli.extras.parsing.summary import score_lines

    if (parsed, gold) == (STDIN, STDIN):
        raise UsageError("only one of the files can come from stdin (`-`)")
    parameters = read_parameters(params) if params else COLLINS
    console = make_console(quiet=quiet)
    note_waiting(console, parsed, gold)
    texts = _lines(parsed, console), _lines(gold, console)
    scores = score_lines(*texts, parameters, (parsed, gold))
    _warn(*texts, scores, console)
    if as_json:
        typer.echo(_as_json(scores, parameters, each=each))
        return
    typer.echo("\n".join(_as_text(scores, parameters, each=each, lengths=by_length)))


def _lines(name: str, console: "Console") -> list[str]:
    from nmt_cli.data.text.lines import read_lines

    reading = read_lines(name)
    lines = list(reading)
    warn_of_invalid(console, reading)
    return lines


def _warn(
    parsed: Sequence[str],
    gold: Sequence[str],
    scores: Sequence["SentenceScore"],
    console: "Console",
) -> None:
    """Warn of lines and brackets that affect the scores without being visible in them."""
    from nmt_cli.extras.parsing.summary import unlabelled

    left_out = [(line, score) for line, score in enumerate(scores, 1) if score.status == "error"]
    for line, score in left_out[:NAMED_ERRORS]:
        console.warning(f"line {line:,} is left out: {score.reason}")
    if more := len(left_out[NAMED_ERRORS:]):
        console.warning(
            f"{counted(more, 'more line', 'more lines')} {agreeing(more, 'is', 'are')} left out"
        )
    counts = unlabelled(parsed), unlabelled(gold)
    if counts[0] != counts[1]:
        console.warning(
            f"{counted(counts[0], 'parsed tree')} and {counted(counts[1], 'gold tree')} "
            f"have an outer bracket without a label, which counts: `nmt parse prepare` removes it"
        )


def _as_text(
    scores: Sequence["SentenceScore"], parameters: "Parameters", *, each: bool, lengths: bool
) -> list[str]:
    from nmt_cli.extras.parsing.summary import (
        BUCKET,
        by_length,
        sentence_table,
        summarize,
        summary_lines,
    )

    shown = [*sentence_table(scores), "=== Summary ===", ""] if each else []
    shown += summary_lines("All", summarize(scores))
    short = [score for score in scores if score.length <= parameters.cutoff]
    shown += ["", *summary_lines(f"len<={parameters.cutoff}", summarize(short))]
    if lengths:
        shown += ["", "-- by length --", "  words  sentences  recall  precision      F1"]
        shown += [
            f"{f'{longest - BUCKET + 1}-{longest}':>7}  {summary.valid:9d}"
            f"  {summary.recall:6.2f}  {summary.precision:9.2f}  {summary.f1:6.2f}"
            for longest, summary in by_length(scores)
        ]
    return shown


def _as_json(scores: Sequence["SentenceScore"], parameters: "Parameters", *, each: bool) -> str:
    from dataclasses import asdict

    from nmt_cli.extras.parsing.summary import by_length, summarize

    short = [score for score in scores if score.length <= parameters.cutoff]
    shown: dict[str, object] = {
        "schema": SCHEMA,
        "all": summarize(scores).figures(),
        "cutoff": parameters.cutoff,
        "up_to_cutoff": summarize(short).figures(),
        "by_length": [
            {"longest": longest, **summary.figures()} for longest, summary in by_length(scores)
        ],
        "errors": [
            {"line": line, "reason": score.reason}
            for line, score in enumerate(scores, 1)
            if score.status == "error"
        ],
    }
    if each:
        shown["each"] = [asdict(score) for score in scores]
    return json.dumps(shown, ensure_ascii=False)
