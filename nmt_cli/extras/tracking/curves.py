"""Learning curves of several runs: training loss, and BLEU or loss in validation."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from nmt_cli.drawing.charts import MOST_LOOKS, Axis, Box, Curve, curves
from nmt_cli.drawing.svg import document, label
from nmt_cli.errors import DataError
from nmt_cli.plurals import agreeing

WIDTH = 760.0
# More points than pixels cannot be seen.
MOST_POINTS = 600
# The loss of a report is of few batches: of more reports, means of successive ones are drawn.
MOST_REPORTS = 120

Records = Sequence[Mapping[str, Any]]
Points = list[tuple[float, float]]


def picture(runs: Mapping[str, Records]) -> str:
    """An SVG of the records of runs by name; raises DataError if none has two points."""
    reports = [sum("nll" in record for record in records) for records in runs.values()]
    means = " (means of successive reports)" if max(reports, default=0) > MOST_REPORTS else ""
    charts = {
        f"Training loss, without label smoothing{means}": _curves(
            runs, lambda record: record.get("nll"), _means
        ),
        "Validation: loss, without label smoothing": _curves(runs, _validation_loss),
    }
    bleu = _curves(runs, lambda record: _validation(record, "bleu"), _thinned, _sentences)
    interrupted = " (a line is interrupted where the number of sentences changes)"
    charts[f"Validation: BLEU{interrupted if any(curve.begins for curve in bleu) else ''}"] = bleu
    charts = {title: shown for title, shown in charts.items() if shown}
    if not charts:
        raise DataError(
            "there is no curve to draw yet: no run has reported its loss twice",
            "wait for more reports of `nmt train`, which come every `train.log_every` steps",
        )
    inside = [label(20, 28, "Learning curves", kind="title")]
    top = 60.0
    for title, shown in charts.items():
        inside += _chart(title, shown, top)
        top += 340 + 18 * math.ceil(len(shown) / 2)
    about = "Loss and BLEU of training runs by step."
    return document(WIDTH, top, "Learning curves", about, inside)


def unvalidated_note(runs: Mapping[str, Records]) -> str:
    """Which runs the picture shows without their validations, or "" if there is none."""
    drawn = {curve.name for curve in _curves(runs, _validation_loss)}
    if not drawn:
        return "it shows the training loss alone: no run has two validations yet"
    missing = [f"`{name}`" for name in runs if name not in drawn]
    if not missing:
        return ""
    verb = agreeing(len(missing), "has", "have")
    return (
        f"it shows no validation of {', '.join(missing)}, which {verb} fewer than the two "
        "validations of a curve"
    )


def same_looks_note(runs: Mapping[str, Records]) -> str:
    """That some curves look like others, or "" if all differ."""
    if len(runs) <= MOST_LOOKS:
        return ""
    return (
        f"curves look alike from the {MOST_LOOKS + 1}th run on: name fewer runs to tell them apart"
    )


def _chart(title: str, shown: Sequence[Curve], top: float) -> list[str]:
    values = [value for curve in shown for _, value in curve.points]
    last = max(step for curve in shown for step, _ in curve.points)
    low, high = min(values), max(values)
    margin = 0.05 * (high - low) or 1.0
    y = Axis(low - margin, high + margin, "")
    return [
        label(20, top, title),
        *curves(Box(84, top + 14, 640, 240), Axis(0, last, "step"), y, shown),
    ]


def _thinned(points: Points) -> Points:
    """About MOST_POINTS points at equal intervals, and the last one."""
    step = math.ceil(len(points) / MOST_POINTS)
    return [*points[::step], *points[-1:]] if step > 1 else points


def _means(points: Points) -> Points:
    """At most `MOST_REPORTS` points, each the mean of successive ones at the last of them.

    The last mean includes points that are too few for one of their own, which would be noise.

    >>> MOST_REPORTS, _means([(float(step), step % 2) for step in range(1, 242)])[::79]
    (120, [(3.0, 0.6666666666666666), (241.0, 0.5)])
    """
    size = max(1, math.ceil(len(points) / MOST_REPORTS))
    bounds = [*range(0, len(points) - size + 1, size), len(points)]
    blocks = [points[begin:end] for begin, end in pairwise(bounds)]
    return [(block[-1][0], sum(value for _, value in block) / len(block)) for block in blocks]


def _curves(
    runs: Mapping[str, Records],
    value_of: Callable[[Mapping[str, Any]], float | None],
    reduced: Callable[[Points], Points] = _thinned,
    sample_of: Callable[[Mapping[str, Any]], float | None] = lambda _record: None,
) -> list[Curve]:
    """A curve for each run with at least two finite values; reduced: makes many points few.

    sample_of: what the value of a record is of; values of different samples are not joined.
    """
    shown = []
    for index, (name, records) in enumerate(runs.items()):
        measured = [
            (sample_of(record), (float(record["step"]), float(value)))
            for record in records
            if (value := value_of(record)) is not None and math.isfinite(value)
        ]
        points: Points = []
        begins = []
        for _, part in groupby(measured, lambda pair: pair[0]):
            begins.append(len(points))
            points += reduced([point for _, point in part])
        if len({step for step, _ in points}) > 1:
            # The same in every chart, also where other runs are not drawn.
            shown.append(Curve(name, points, look=index, begins=begins[1:]))
    return shown


def _sentences(record: Mapping[str, Any]) -> float | None:
    """How many sentences BLEU is of; None in older logs."""
    return _validation(record, "sentences")


def _validation_loss(record: Mapping[str, Any]) -> float | None:
    return _validation(record, "nll")


def _validation(record: Mapping[str, Any], key: str) -> float | None:
    validation = record.get("validation")
    return validation.get(key) if isinstance(validation, Mapping) else None
