"""Reads TOML that anybody may have written, in time that grows as its length does."""

import re
import tomllib
from typing import Any

# tomllib's time grows with the square of a key's parts; a setting has two.
MOST_PARTS = 16
_TEXTS = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|' + r"'''.*?'''|" + r'"(?:[^"\\\n]|\\.)*+"?|' + r"'[^'\n]*+'?|#[^\n]*+",
    re.DOTALL,
)
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MOST_PARTS}}}")


def read_toml(data: bytes) -> dict[str, Any]:
    """The document of a file's content; raises ValueError with the reason.

    >>> read_toml(b"[model]\\nheads = 4")
    {'model': {'heads': 4}}
    """
    text = data.decode("utf-8")
    # Each text becomes one word: dots in it part nothing.
    if _LONG_KEY.search(_TEXTS.sub("x", text)):
        raise ValueError(f"a key has more than {MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("brackets are nested too deeply") from error
