"""Attention as one interactive HTML file, which needs no network and no other files."""

from importlib.resources import files

from nmt_cli.drawing.html_page import as_data, filled, policy_hash
from nmt_cli.drawing.svg import words
from nmt_cli.extras.attention_map.attention import Attention, as_document, chosen


def page(
    attention: Attention, kind: str = "cross", layer: int | None = None, head: int | None = None
) -> str:
    """The text of the HTML file; kind, layer and head (from 1) are what it shows first.

    Layer None: the last but one, which aligns words best; head None: the mean of all heads.
    Raises UsageError for what the model does not have.
    """
    chosen(attention, kind, layer, head)
    layers = len(attention.weights(kind))
    start = {
        "kind": kind,
        "layer": max(0, layers - 2) if layer is None else layer - 1,
        "head": "mean" if head is None else head - 1,
    }
    folder = files(__package__)
    style, script, template = (
        (folder / name).read_text("utf-8") for name in ("page.css", "page.js", "page.html")
    )
    parts = {
        "TITLE": words(f"Attention: {attention.source}"),
        "SOURCE": words(attention.source),
        "TRANSLATION": words(attention.translation),
        "POLICY": (
            f"default-src 'none'; style-src {policy_hash(style)}; script-src {policy_hash(script)}"
        ),
        "STYLE": style,
        "DATA": as_data({**as_document(attention), "start": start}),
        "SCRIPT": script,
    }
    return filled(template, parts)
