"""HTML pages in one file: style, script and data are inside, and nothing is loaded."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping

from nmt_cli.drawing.svg import clean


def filled(template: str, parts: Mapping[str, str]) -> str:
    """The template with each `@NAME@` replaced by the part of this name.

    All are replaced in one pass, so that text of one part is never taken for another one.
    """
    return re.sub("@([A-Z]+)@", lambda match: parts[match[1]], template)


def policy_hash(text: str) -> str:
    """The name of a style or script for a Content-Security-Policy, which allows only this text."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def as_data(document: object) -> str:
    """The document as JSON, escaped so that no text in it can end the script element."""
    text = clean(json.dumps(document, ensure_ascii=False, separators=(",", ":")))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
