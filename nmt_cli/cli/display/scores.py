"""Scores as lines of text, as JSON and as messages of a workflow."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from nmt_cli.scoring import Gate, Score
    from nmt_cli.terminal.console import Console

SCHEMA = 1


def show_score(
    metric: str, score: "Score", level: float, console: "Console", *, score_only: bool
) -> None:
    """Write a score and its comparisons to stdout, and its details to stderr."""
    if score_only:
        typer.echo(f"{score.value:.{score.digits}f}")
        return
    typer.echo(_as_text(metric, score, level))
    _tell_details(score, console)


def score_as_json(
    metric: str,
    score: "Score",
    lines: int,
    gates: Sequence["Gate"] = (),
    level: float = 0.05,
    limit: float | None = None,
) -> str:
    """A score of so many lines as one line of JSON.

    gates: the thresholds of all metrics; level: the significance level of comparisons;
    limit: the level at which a significantly better baseline is a failed check, or None.
    """
    from nmt_cli.scoring import verdict

    checks = _checks(metric, score, gates, limit)
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
            "comparisons": [
                {**comparison.__dict__, "verdict": verdict(metric, comparison, level)}
                for comparison in score.comparisons
            ],
            "checks": checks,
            "passed": all(check["passed"] for check in checks) if checks else None,
            **({"groups": [group._asdict() for group in score.groups]} if score.groups else {}),
        }
    )


def _checks(
    metric: str, score: "Score", gates: Sequence["Gate"], level: float | None
) -> list[dict[str, object]]:
    """The checks that decide about the exit code, each with `passed`.

    level: the significance level at which a baseline must not be better; None: no such check.
    """
    from nmt_cli.scoring import missed, verdict

    checks: list[dict[str, object]] = [
        {"option": gate.option, "bound": gate.bound, "passed": not missed({metric: score}, [gate])}
        for gate in gates
        if gate.metric == metric
    ]
    if level is None:
        return checks
    return checks + [
        {
            "option": "--fail-if-worse",
            "baseline": comparison.baseline,
            "passed": verdict(metric, comparison, level) != "worse",
        }
        for comparison in score.comparisons
    ]


def show_groups(results: "Mapping[str, Score]", console: "Console") -> None:
    """Write the scores of groups as tables, one for each labelling, with a column per metric."""
    groups = next(iter(results.values())).groups
    names = [score.name for score in results.values()]
    for by in dict.fromkeys(group.by for group in groups):
        rows = [
            (
                group.label,
                group.lines,
                *(f"{score.groups[index].value:.{score.digits}f}" for score in results.values()),
            )
            for index, group in enumerate(groups)
            if group.by == by
        ]
        console.plain("")
        console.table(rows, header=(f"by {by}", "lines", *names))


def _as_text(metric: str, score: "Score", level: float) -> str:
    from nmt_cli.scoring import verdict

    digits = f".{score.digits}f"
    shown = [f"{value:{digits}}" for value in score.interval or ()]
    bounds = f" [{', '.join(shown)}]" if shown else ""
    return "\n".join(
        [
            f"{score.name} {score.value:{digits}}{bounds}  {score.signature}",
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
