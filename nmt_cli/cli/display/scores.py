"""Scores as lines of text, as JSON and as messages of a workflow."""

import json
import os
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from nmt_cli.scoring import Score
    from nmt_cli.terminal.console import Console

SCHEMA = 1


def show_score(
    metric: str, score: "Score", level: float, console: "Console", *, score_only: bool
) -> None:
    """Write a score and its comparisons to stdout, and its details to stderr."""
    if score_only:
        typer.echo(f"{score.value:.2f}")
        return
    typer.echo(_as_text(metric, score, level))
    _tell_details(score, console)


def score_as_json(metric: str, score: "Score", lines: int) -> str:
    """A score of so many lines as one line of JSON."""
    return json.dumps(
        {
            "schema": SCHEMA,
            "metric": metric,
            "name": score.name,
            "value": score.value,
            "signature": score.signature,
            "lines": lines,
            "interval": score.interval,
            "details": score.details,
            "comparisons": [comparison.__dict__ for comparison in score.comparisons],
        }
    )


def _as_text(metric: str, score: "Score", level: float) -> str:
    from nmt_cli.scoring import verdict

    bounds = f" [{score.interval[0]:.2f}, {score.interval[1]:.2f}]" if score.interval else ""
    return "\n".join(
        [
            f"{score.name} {score.value:.2f}{bounds}  {score.signature}",
            *(
                f"{score.name} {other.difference:+.2f} vs {_shown(other.baseline)} "
                f"({other.value:.2f}), p = {other.p_value:.4f}: {verdict(metric, other, level)}"
                for other in score.comparisons
            ),
        ]
    )


def _tell_details(score: "Score", console: "Console") -> None:
    """Write the precisions and lengths of BLEU to stderr, in sacreBLEU's words."""
    if score.details:
        console.detail(score.details)


def _shown(name: str) -> str:
    from nmt_cli.terminal.console import escaped

    return escaped(os.fsencode(name).decode("utf-8", "replace"))


def escaped_for_github(text: str) -> str:
    """Escape a message for a workflow command of GitHub Actions, which ends with its line."""
    for character, spelling in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
        text = text.replace(character, spelling)
    return _shown(text)
