"""`nmt score --worst` and `--scores-from`: the worst lines, and names of other tools' scores."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from nmt_cli.cli.text_io import STDIN
from nmt_cli.errors import UsageError
from nmt_cli.plurals import counted

if TYPE_CHECKING:
    from nmt_cli.cli.commands.scoring.texts import Texts
    from nmt_cli.scoring.worst import WordRun
    from nmt_cli.terminal.console import Console

SCHEMA = 1
# Of a longer line, or a longer run of words in it, only the beginning is shown.
LONGEST_LINE, LONGEST_RUN = 2_000, 500
MARKS = {"-": ("[-", "-]", "31"), "+": ("{+", "+}", "32")}


class WorstLine(NamedTuple):
    """A line, counted from 1. metric, value: what it is ranked by; groups: its labels."""

    line: int
    metric: str
    value: float
    source: str | None
    hypothesis: str
    reference: str | None
    groups: Mapping[str, str]
    differences: Sequence["WordRun"]


def given_files(names: Sequence[str]) -> dict[str, str]:
    """The files of `--scores-from` by the names of their scores; raises UsageError."""
    from nmt_cli.scoring import METRICS

    files: dict[str, str] = {}
    for text in names:
        name, equals, file = text.partition("=")
        if not equals or "/" in name or Path(text).exists():
            name, file = ("" if text == STDIN else Path(text).name.split(".")[0]), text
        if not name or not file:
            raise UsageError(f"--scores-from {text}: these scores need a name", "NAME=FILE")
        if name in METRICS or name in files:
            raise UsageError(
                f"--scores-from {text}: there is another metric `{name}`",
                f"give it a name of its own: --scores-from NAME={file}",
            )
        files[name] = file
    return files


def worst_of(texts: "Texts", count: int) -> Iterator[WorstLine]:
    """The worst lines by the first scores of another tool, or else by sentence chrF."""
    from nmt_cli.scoring import worst

    if texts.given:
        metric, values = texts.given[0].name, texts.given[0].values
        lower_is_better = texts.given[0].lower_is_better
    else:
        metric, lower_is_better = "chrf", False
        values = worst.sentence_chrf(texts.hypotheses, texts.references)
    for index in worst.worst_lines(values, count, lower_is_better=lower_is_better):
        hypothesis, reference = texts.hypotheses[index], None
        if texts.references:
            reference = worst.nearest_reference(
                hypothesis, [lines[index] for lines in texts.references]
            )
        yield WorstLine(
            index + 1,
            metric,
            values[index],
            texts.source[index] if texts.source else None,
            hypothesis,
            reference,
            {by: labels[index] for by, labels in texts.labelings.items()},
            [] if reference is None else worst.word_differences(hypothesis, reference),
        )


def show_worst(lines: Sequence[WorstLine], total: int, console: "Console") -> None:
    """Write the worst lines to stdout: words only in the reference as [-...-], added as {+...+}.

    Of very long lines the beginning is written, and how many characters are left out.
    """
    name = {"chrf": "chrF of the sentence"}.get(lines[0].metric, lines[0].metric)
    digits = 2 if lines[0].metric == "chrf" else 4
    typer.echo(f"\nworst {len(lines):,} of {total:,} lines by {name}")
    for each_line in lines:
        groups = "".join(f", {_shown(label)}" for label in each_line.groups.values())
        typer.echo(f"\nline {each_line.line:,}: {each_line.value:.{digits}f}{groups}")
        if each_line.source is not None:
            typer.echo(f"  source      {_shown(each_line.source)}")
        typer.echo(f"  hypothesis  {_shown(each_line.hypothesis)}")
        if each_line.reference is not None:
            shown = _differences(each_line.differences, color=console.color)
            typer.echo(f"  difference  {shown}")


def worst_as_json(worst_line: WorstLine, rank: int) -> str:
    """A line as JSON; rank: 1 for the worst."""
    document = worst_line._asdict()
    differences = [list(run) for run in worst_line.differences]
    return json.dumps(
        {"schema": SCHEMA, "worst": rank, **document, "differences": differences},
        ensure_ascii=False,
    )


def _differences(runs: Sequence["WordRun"], *, color: bool) -> str:
    shown: list[str] = []
    room = LONGEST_LINE
    for index, run in enumerate(runs):
        if room <= 0:
            shown.append(_left_out(sum(len(other.text) for other in runs[index:])))
            break
        shown.append(_marked(run, color=color))
        room -= min(len(run.text), LONGEST_RUN)
    return " ".join(shown)


def _marked(run: "WordRun", *, color: bool) -> str:
    text = _shown(run.text, LONGEST_RUN)
    if run.kind not in MARKS:
        return text
    start, end, code = MARKS[run.kind]
    return f"\x1b[{code}m{start}{text}{end}\x1b[0m" if color else f"{start}{text}{end}"


def _shown(text: str, longest: int = LONGEST_LINE) -> str:
    from nmt_cli.terminal.console import escaped

    if len(text) <= longest:
        return escaped(text)
    return f"{escaped(text[:longest])} {_left_out(len(text) - longest)}"


def _left_out(characters: int) -> str:
    return f"[... {counted(characters, 'more character')}]"
