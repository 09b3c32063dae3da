"""Writes SVG: elements, escaped text, and colours for light and dark pages."""

import re
from collections.abc import Iterable, Mapping
from html import escape

# Characters that XML 1.0 cannot hold.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
LIGHT = {
    "paper": "#ffffff", "ink": "#1a1a1a", "faint": "#767676", "line": "#d0d0d0",
    "curve1": "#c2410c", "curve2": "#1d5fb4", "curve3": "#0b7a55", "curve4": "#8e3a9d",
    "curve5": "#8a6a00",
}  # fmt: skip
DARK = {
    "paper": "#16181c", "ink": "#ececec", "faint": "#9a9a9a", "line": "#44474d",
    "curve1": "#f59e66", "curve2": "#7db4f5", "curve3": "#4fc79a", "curve4": "#d59ae0",
    "curve5": "#d9c04c",
}  # fmt: skip
_RULES = """
text { font: 12px FONTS; white-space: pre; }
.small { font-size: 10px; } .tiny { font-size: 7px; } .title { font-size: 15px; }
.link, .curve, .frame { fill: none; }
"""
# The colours have no CSS variables, which many programs other than browsers do not know.
_COLOURED = """
text, .mark { fill: INK; }
.faint { fill: FAINT; }
.paper { fill: PAPER; }
.link, .curve { stroke: INK; }
.curve1 { stroke: CURVE1; } .curve2 { stroke: CURVE2; }
.curve3 { stroke: CURVE3; } .curve4 { stroke: CURVE4; }
.curve5 { stroke: CURVE5; }
.frame { stroke: LINE; }
"""


def _coloured(colours: Mapping[str, str]) -> str:
    rules = _COLOURED
    for name, value in colours.items():
        rules = rules.replace(name.upper(), value)
    return rules


_DARK = f"@media (prefers-color-scheme: dark) {{{_coloured(DARK)}}}\n"
# Marks the pictures made by nmt.
GENERATOR = "nmt"
# The fonts for programs that do not support the generic name `system-ui`.
NAMED_FONTS = (
    "'Segoe UI', Arial, Helvetica, 'Liberation Sans', 'DejaVu Sans', 'Noto Sans', Roboto, "
    "sans-serif"
)
FONTS = f"system-ui, {NAMED_FONTS}"
STYLE = _RULES.replace("FONTS", FONTS) + _coloured(LIGHT) + _DARK


def in_light(drawn: str) -> str:
    """The document for programs without support of themes and `system-ui`."""
    return drawn.replace(_DARK, "").replace(FONTS, NAMED_FONTS)


def clean(text: str) -> str:
    """`text` with characters that XML cannot contain replaced by U+FFFD.

    >>> clean("a\\x00b")
    'a\ufffdb'
    """
    return _FORBIDDEN.sub("\ufffd", text)


def element(name: str, *inside: str, **attributes: float | str) -> str:
    """One element; numbers are rounded to a hundredth, `_` in a name stands for `-`.

    `inside` is markup, as returned by `words` and `element`.

    >>> element("line", x1=0, x2=1.004, stroke_width=2)
    '<line x1="0" x2="1" stroke-width="2"/>'
    """
    formatted = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
    )
    start = f"<{name}{formatted}"
    return f"{start}>{''.join(inside)}</{name}>" if inside else f"{start}/>"


def _value(value: float | str) -> str:
    return escape(clean(value)) if isinstance(value, str) else f"{round(value, 2):g}"


def words(text: str) -> str:
    """Text escaped as markup."""
    return escape(clean(text), quote=False)


def label(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "") -> str:
    """`text` at a point; anchor: start, middle or end; kind: its CSS classes."""
    attributes = {"class_": kind} if kind else {}
    return element("text", words(text), x=x, y=y, text_anchor=anchor, **attributes)


def document(
    width: float, height: float, title: str, description: str, inside: Iterable[str]
) -> str:
    """A complete SVG file without external links; title and description: for screen readers."""
    box = f"0 0 {_value(width)} {_value(height)}"
    return (
        element(
            "svg",
            element("metadata", GENERATOR),
            element("title", words(title)),
            element("desc", words(description)),
            element("style", STYLE),
            element("rect", width="100%", height="100%", class_="paper"),
            "\n",
            "\n".join(inside),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=box,
            width=width,
            height=height,
            role="img",
        )
        + "\n"
    )


def text_width(text: str, size: float = 12.0) -> float:
    """The approximate width of `text` in pixels; wide characters count double."""
    return sum(1.0 if ord(character) >= 0x1100 else 0.58 for character in text) * size
