"""Settings in messages as Python spells them."""

import json
import re
from collections.abc import Collection

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_LITERALS = {"true": "True", "false": "False"}
_ASSIGNED = re.compile(r"(?<![\w.-])([a-z][a-z_]*)=([\w+-](?:[\w.+-]*\w)?)")


def python_value(value: str) -> str:
    """A value of `--set` as a literal of Python.

    >>> [python_value(value) for value in ("true", "2", "1e-5", "off")]
    ['True', '2', '1e-5', '"off"']
    """
    if _NUMBER.fullmatch(value):
        return value
    return _LITERALS.get(value, json.dumps(value))


def with_python_values(text: str, names: Collection[str]) -> str:
    """`text` with the values that it gives to these arguments as literals of Python.

    >>> with_python_values("set sample=true, not markup=off or x=off.", ["sample", "markup"])
    'set sample=True, not markup="off" or x=off.'
    """

    def spelt(match: re.Match[str]) -> str:
        name, value = match.groups()
        is_spelt = name not in names or value in ("True", "False", "None")
        return match[0] if is_spelt else f"{name}={python_value(value)}"

    return _ASSIGNED.sub(spelt, text)
