"""Line charts, bar charts and heat maps as SVG that can be read without colour."""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from nmt_cli.drawing.svg import element, label

DASHES = ("", "7 3", "2 3", "10 3 2 3", "4 6", "12 3 2 3 2 3")
# Colours of curves are classes of the style: none is that of the text.
COLOURS = ("curve", *(f"curve curve{number}" for number in range(1, 6)))
# More curves have the looks of earlier ones.
MOST_LOOKS = len(DASHES) * len(COLOURS)
# Steps of shade of a heat map, from the paper to the ink.
SHADES = 16


class Box(NamedTuple):
    """The area of a chart, in pixels."""

    x: float
    y: float
    width: float
    height: float


class Curve(NamedTuple):
    """A named line through points.

    bold: the one to be emphasised; look: the number of its colour and dash, None for its place
    among the curves; begins: the indices of points that are not joined to those before them.
    """

    name: str
    points: Sequence[tuple[float, float]]
    bold: bool = False
    look: int | None = None
    begins: Sequence[int] = ()


class Axis(NamedTuple):
    """The range, the label and the scale of an axis."""

    start: float
    end: float
    name: str
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """The position of a value along the axis, from 0 to 1; 0 on an axis without a length."""
        if self.start == self.end:
            return 0.0
        start, end, value = (
            (math.log(number) for number in (self.start, self.end, value))
            if self.logarithmic
            else (self.start, self.end, value)
        )
        return (value - start) / (end - start)

    @property
    def ticks(self) -> list[float]:
        """The values of the labelled ticks."""
        if not self.logarithmic:
            return ticks(self.start, self.end)
        low, high = sorted((self.start, self.end))
        base = 10 if high / low >= 100 and low < 1 else 2
        powers = range(math.ceil(math.log(low, base) - 1e-9),
                       math.floor(math.log(high, base) + 1e-9) + 1)  # fmt: skip
        return [float(base) ** power for power in powers]


def curves(box: Box, x: Axis, y: Axis, shown: Sequence[Curve]) -> Iterator[str]:
    """A line chart with its legend below."""
    yield from _frame(box, x, y)
    for index, curve in enumerate(shown):
        # Of the first curves each has a dash of its own, so that colour is not needed.
        look = index if curve.look is None else curve.look
        dash = DASHES[(look + look // len(COLOURS)) % len(DASHES)]
        stroke: dict[str, float | str] = {
            "class_": COLOURS[look % len(COLOURS)],
            "stroke_width": 2.5 if curve.bold else 1.2,
            "stroke_dasharray": dash or "none",
        }
        places = [
            (_along(box.x, box.width, x, left), _up(box, y, value)) for left, value in curve.points
        ]
        for first, end in pairwise((0, *curve.begins, len(places))):
            part = places[first:end]
            if len(part) == 1:
                # A line of one point would not be seen.
                yield element("circle", cx=part[0][0], cy=part[0][1], r=2, class_=stroke["class_"])
                continue
            points = (f"{across:.1f},{up:.1f}" for across, up in part)
            yield element("polyline", points=" ".join(points), **stroke)
        below = box.y + box.height + 52 + 18 * (index // 2)
        start = box.x + (index % 2) * box.width / 2
        yield element("line", x1=start, x2=start + 34, y1=below - 4, y2=below - 4, **stroke)
        yield label(start + 42, below, curve.name)


def bars(box: Box, x: Axis, y: Axis, values: Sequence[float]) -> Iterator[str]:
    """A bar chart, with each value above its bar."""
    yield from _frame(box, x, y, numbered=False)
    step = box.width / len(values)
    for index, value in enumerate(values):
        top = _up(box, y, value)
        left = box.x + (index + 0.15) * step
        height = box.y + box.height - top
        yield element("rect", x=left, y=top, width=0.7 * step, height=height, class_="mark")
        middle = left + 0.35 * step
        yield label(middle, top - 4, f"{value:.4g}", anchor="middle", kind="small")
        yield label(middle, box.y + box.height + 16, str(index), anchor="middle", kind="small")


def field(box: Box, x: Axis, y: Axis, values: Sequence[Sequence[float]]) -> Iterator[str]:
    """A heat map of values from -1 (paper) to 1 (ink), rows downwards, its legend on the right."""
    wide, tall = box.width / len(values[0]), box.height / len(values)
    shades: dict[int, list[str]] = {}
    for index, row in enumerate(values):
        top, bottom = (box.y + tall * edge for edge in (index, index + 1))
        first = 0
        for shade, run in groupby(_shade(value) for value in row):
            last = first + len(list(run))
            left, right = (box.x + wide * edge for edge in (first, last))
            # By the edges, which neighbours share: if cells overlapped, a line would be seen there.
            cell = f"M{left:.2f} {top:.2f}H{right:.2f}V{bottom:.2f}H{left:.2f}z"
            shades.setdefault(shade, []).append(cell)
            first = last
    for shade, cells in sorted(shades.items()):
        yield element(
            "path", d="".join(cells), class_="mark", fill_opacity=shade / SHADES,
            shape_rendering="crispEdges",
        )  # fmt: skip
    downwards = Axis(y.end, y.start, y.name)
    yield from _frame(box, x, downwards)
    for shade in range(SHADES + 1):
        corner = {"x": box.x + box.width + 16, "y": box.y + (SHADES - shade) * 8}
        yield element(
            "rect", **corner, width=12, height=8, class_="mark", fill_opacity=shade / SHADES
        )
        if shade in (0, SHADES // 2, SHADES):
            value = 2 * shade / SHADES - 1
            yield label(corner["x"] + 17, corner["y"] + 8, f"{value:g}", kind="small")


def _shade(value: float) -> int:
    return round((max(-1.0, min(1.0, value)) + 1) / 2 * SHADES)


def ticks(start: float, end: float, count: int = 5) -> list[float]:
    """Round numbers between two others, about `count` of them; of two equal ones, that one.

    >>> ticks(0, 0.9), ticks(0.5, 0.5)
    ([0.0, 0.2, 0.4, 0.6, 0.8], [0.5])
    """
    low, high = min(start, end), max(start, end)
    if low == high:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(index * step, 12) for index in range(first, int(high / step + 1e-9) + 1)]


def _frame(box: Box, x: Axis, y: Axis, *, numbered: bool = True) -> Iterator[str]:
    yield element(
        "rect", x=box.x, y=box.y, width=box.width, height=box.height, class_="frame"
    )  # fmt: skip
    bottom = box.y + box.height
    if numbered:
        for tick in x.ticks:
            left = _along(box.x, box.width, x, tick)
            yield element("line", x1=left, x2=left, y1=bottom, y2=bottom + 4, class_="frame")
            yield label(left, bottom + 16, _number(tick), anchor="middle", kind="small")
    for tick in y.ticks:
        top = _up(box, y, tick)
        yield element("line", x1=box.x - 4, x2=box.x, y1=top, y2=top, class_="frame")
        yield label(box.x - 7, top + 4, _number(tick), anchor="end", kind="small")
    yield label(box.x + box.width / 2, bottom + 32, x.name, anchor="middle", kind="faint")
    yield label(box.x - 44, box.y - 8, y.name, kind="faint")


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _along(start: float, length: float, axis: Axis, value: float) -> float:
    return start + length * axis.share(value)


def _up(box: Box, axis: Axis, value: float) -> float:
    return _along(box.y + box.height, -box.height, axis, value)
