"""Attention as one interactive HTML file, which needs no network and no other files."""

import base64
import hashlib
import json
import re
from importlib.resources import files

from nmt_cli.drawing.svg import clean, words
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
        "POLICY": f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}",
        "STYLE": style,
        "DATA": _as_data({**as_document(attention), "start": start}),
        "SCRIPT": script,
    }
    # All placeholders are replaced in one pass, so that text of one is never taken for another one.
    return re.sub("@([A-Z]+)@", lambda match: parts[match[1]], template)


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _as_data(document: object) -> str:
    """The document as JSON, escaped so that no text in it can end the script element."""
    text = clean(json.dumps(document, ensure_ascii=False, separators=(",", ":")))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
