"""Charts of curves, bars and fields of values as SVG, told apart without colour."""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from nmt_cli.drawing.svg import element, label

DASHES = ("", "7 3", "2 3", "10 3 2 3", "4 6")
# Shades of a field of values: so many between the paper and the ink.
SHADES = 16


class Box(NamedTuple):
    """Where a chart is drawn, in pixels."""

    x: float
    y: float
    width: float
    height: float


class Curve(NamedTuple):
    """A named line through points; bold: the one that the reader asked for."""

    name: str
    points: Sequence[tuple[float, float]]
    bold: bool = False


class Axis(NamedTuple):
    """From where to where an axis goes, what it says, and whether in equal ratios."""

    start: float
    end: float
    name: str
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """How far along the axis a value lies, from 0 to 1."""
        start, end, value = (
            (math.log(one) for one in (self.start, self.end, value))
            if self.logarithmic
            else (self.start, self.end, value)
        )
        return (value - start) / (end - start)

    @property
    def ticks(self) -> list[float]:
        """The numbers that are written beside it."""
        if not self.logarithmic:
            return ticks(self.start, self.end)
        low, high = sorted((self.start, self.end))
        base = 10 if high / low >= 100 and low < 1 else 2
        powers = range(math.ceil(math.log(low, base) - 1e-9),
                       math.floor(math.log(high, base) + 1e-9) + 1)  # fmt: skip
        return [float(base) ** power for power in powers]


def curves(box: Box, x: Axis, y: Axis, shown: Sequence[Curve]) -> Iterator[str]:
    """Curves with a key below the chart."""
    yield from _frame(box, x, y)
    for number, one in enumerate(shown):
        stroke: dict[str, float | str] = {
            "class_": "curve",
            "stroke_width": 2.5 if one.bold else 1.2,
            "stroke_dasharray": DASHES[number % len(DASHES)] or "none",
        }
        places = (
            f"{_along(box.x, box.width, x, left):.1f},{_up(box, y, value):.1f}"
            for left, value in one.points
        )
        yield element("polyline", points=" ".join(places), **stroke)
        below = box.y + box.height + 52 + 18 * (number // 2)
        start = box.x + (number % 2) * box.width / 2
        yield element("line", x1=start, x2=start + 34, y1=below - 4, y2=below - 4, **stroke)
        yield label(start + 42, below, one.name)


def bars(box: Box, x: Axis, y: Axis, values: Sequence[float]) -> Iterator[str]:
    """A bar for each value, with the value above it."""
    yield from _frame(box, x, y, numbered=False)
    step = box.width / len(values)
    for number, one in enumerate(values):
        top = _up(box, y, one)
        left = box.x + (number + 0.15) * step
        height = box.y + box.height - top
        yield element("rect", x=left, y=top, width=0.7 * step, height=height, class_="mark")
        middle = left + 0.35 * step
        yield label(middle, top - 4, f"{one:.4g}", anchor="middle", kind="small")
        yield label(middle, box.y + box.height + 16, str(number), anchor="middle", kind="small")


def field(box: Box, x: Axis, y: Axis, values: Sequence[Sequence[float]]) -> Iterator[str]:
    """A cell for each value of -1 (paper) to 1 (ink), rows downwards, with a key on the right."""
    wide, tall = box.width / len(values[0]), box.height / len(values)
    shades: dict[int, list[str]] = {}
    for row, some in enumerate(values):
        left = box.x
        for shade, run in groupby(_shade(one) for one in some):
            length = wide * len(list(run))
            cell = f"M{left:.1f} {box.y + row * tall:.1f}h{length:.1f}v{tall:.1f}h{-length:.1f}z"
            shades.setdefault(shade, []).append(cell)
            left += length
    for shade, cells in sorted(shades.items()):
        yield element(
            "path", d="".join(cells), class_="mark", fill_opacity=shade / SHADES,
            shape_rendering="crispEdges",
        )  # fmt: skip
    downwards = Axis(y.end, y.start, y.name)
    yield from _frame(box, x, downwards)
    for shade in range(SHADES + 1):
        place = {"x": box.x + box.width + 16, "y": box.y + (SHADES - shade) * 8}
        yield element(
            "rect", **place, width=12, height=8, class_="mark", fill_opacity=shade / SHADES
        )
        if shade in (0, SHADES // 2, SHADES):
            value = 2 * shade / SHADES - 1
            yield label(place["x"] + 17, place["y"] + 8, f"{value:g}", kind="small")


def _shade(value: float) -> int:
    return round((max(-1.0, min(1.0, value)) + 1) / 2 * SHADES)


def ticks(start: float, end: float, count: int = 5) -> list[float]:
    """Round numbers between two others, about `count` of them.

    >>> ticks(0, 0.9)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    low, high = min(start, end), max(start, end)
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * one for one in (1, 2, 5, 10) if power * one >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 12) for number in range(first, int(high / step + 1e-9) + 1)]


def _frame(box: Box, x: Axis, y: Axis, *, numbered: bool = True) -> Iterator[str]:
    yield element(
        "rect", x=box.x, y=box.y, width=box.width, height=box.height, class_="frame"
    )  # fmt: skip
    bottom = box.y + box.height
    if numbered:
        for one in x.ticks:
            place = _along(box.x, box.width, x, one)
            yield element("line", x1=place, x2=place, y1=bottom, y2=bottom + 4, class_="frame")
            yield label(place, bottom + 16, _number(one), anchor="middle", kind="small")
    for one in y.ticks:
        place = _up(box, y, one)
        yield element("line", x1=box.x - 4, x2=box.x, y1=place, y2=place, class_="frame")
        yield label(box.x - 7, place + 4, _number(one), anchor="end", kind="small")
    yield label(box.x + box.width / 2, bottom + 32, x.name, anchor="middle", kind="faint")
    yield label(box.x - 44, box.y - 8, y.name, kind="faint")


def _number(one: float) -> str:
    return f"{one:,.0f}" if abs(one) >= 1000 else f"{one:.4g}"


def _along(start: float, length: float, axis: Axis, value: float) -> float:
    return start + length * axis.share(value)


def _up(box: Box, axis: Axis, value: float) -> float:
    return _along(box.y + box.height, -box.height, axis, value)
