"""Attention as a picture: words and lines between them, whose width is the weight."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nmt_cli.drawing.svg import document, element, label, text_width
from nmt_cli.extras.attention_map.attention import Attention, chosen

TITLES = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Attention from the translation to the source",
}
LEGENDS = {
    "encoder": "Left: each source subword. Right: the subwords it attends to, from 5 % on.",
    "decoder": "Left: the predicted subword. Right: the subwords before it, from 5 % on.",
    "cross": "Left: the predicted subword. Right: the source subwords, from 5 % on.",
}
# Smaller weights are not drawn.
LEAST = 0.05
MARGIN, GAP = 16.0, 8.0
LEAST_WIDTH = 620.0


class _Scale(NamedTuple):
    """Sizes of a panel in pixels: row height, distance between words, thickest line, text size.

    drop: from the middle of a row to the foot of its word.
    """

    row: float
    width: float
    stroke: float
    kind: str
    drop: float


LARGE = _Scale(22.0, 220.0, 9.0, "", 4.0)
SMALL = _Scale(9.0, 90.0, 4.0, "tiny", 2.5)


def picture(
    attention: Attention, kind: str = "cross", layer: int | None = None, head: int | None = None
) -> str:
    """Draw one head with its words as SVG, or all heads if `layer` and `head` do not choose one.

    A picture of several heads has a row for each layer and a column for each head. layer, head:
    counted from 1. Raises UsageError for a layer or head that the model does not have.
    """
    weights = chosen(attention, kind, layer, head)
    layers, heads = weights.shape[:2]
    alone = layers == heads == 1
    scale = LARGE if alone else SMALL
    rows, columns = attention.rows(kind), attention.columns(kind)
    left = max(text_width(word, 12 if alone else 7) for word in rows) + (52 if alone else 0)
    right = max(text_width(word, 12 if alone else 7) for word in columns)
    # Few heads fill the width that the legend needs.
    beside = 2 * MARGIN + left + right
    scale = scale._replace(width=max(scale.width, (LEAST_WIDTH - beside) / heads - 2 * GAP))
    height = max(len(rows), len(columns)) * scale.row
    elements = [label(MARGIN, 26, TITLES[kind], kind="title")]
    top = 44.0
    for level in range(layers):
        for column in range(heads):
            x = MARGIN + left + GAP + column * (scale.width + 2 * GAP)
            title = f"layer {layer or level + 1} · head {head or column + 1}"
            elements.append(label(x + scale.width / 2, top, title, anchor="middle", kind="small"))
            elements += _links(weights[level, column].tolist(), x, top + GAP, scale)
        elements += _words(rows, MARGIN + left, top + GAP, scale, anchor="end")
        end = MARGIN + left + 2 * GAP + heads * (scale.width + 2 * GAP) - 2 * GAP
        elements += _words(columns, end, top + GAP, scale, anchor="start")
        if alone:
            shares = [max(row) for row in weights[0, 0].tolist()]
            elements += _shares(shares, top + GAP, scale)
        top += height + 3 * GAP + 12
    legend = " A number is the greatest weight of its row." if alone else ""
    elements.append(label(MARGIN, top - 8, f"{LEGENDS[kind]}{legend}", kind="small faint"))
    width = beside + heads * (scale.width + 2 * GAP)
    about = f"{attention.source} → {attention.translation}"
    return document(width, top + GAP, f"{TITLES[kind]}: {attention.source}", about, elements)


def _links(weights: list[list[float]], x: float, top: float, scale: _Scale) -> Iterator[str]:
    """Draw a line for each weight, from the row on the left to the column on the right."""
    for row, row_weights in enumerate(weights):
        for column, weight in enumerate(row_weights):
            if weight >= LEAST:
                yield element(
                    "line", x1=x, x2=x + scale.width,
                    y1=top + (row + 0.5) * scale.row, y2=top + (column + 0.5) * scale.row,
                    stroke_width=weight * scale.stroke, stroke_opacity=0.25 + 0.75 * weight,
                    class_="link",
                )  # fmt: skip


def _words(
    shown: Sequence[str], x: float, top: float, scale: _Scale, *, anchor: str
) -> Iterator[str]:
    for row, word in enumerate(shown):
        y = top + (row + 0.5) * scale.row + scale.drop
        yield label(x, y, word, anchor=anchor, kind=scale.kind)


def _shares(shares: Sequence[float], top: float, scale: _Scale) -> Iterator[str]:
    """Write the largest weight of each row as a number."""
    for row, share in enumerate(shares):
        y = top + (row + 0.5) * scale.row + 4
        yield label(MARGIN, y, f"{share:.0%}", kind="small faint")
