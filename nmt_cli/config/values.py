"""Converts texts and TOML values to the type of a setting, and checks its bounds."""

import tomllib
import types
from dataclasses import field
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin


class Setting(NamedTuple):
    """Type, default, explanation and bounds of a dotted key."""

    type_hint: Any
    default: object
    about: str
    low: float | None
    high: float | None


def setting(
    default: Any,
    about: str,
    low: float | None = None,
    high: float | None = None,
    *,
    panel: str = "",
) -> Any:
    """A dataclass field with its one-line explanation and, for numbers, its inclusive bounds.

    panel: the heading of its option, for settings whose options are made from this declaration.
    """
    return field(
        default=default, metadata={"about": about, "low": low, "high": high, "panel": panel}
    )


def convert(setting: Setting, value: object) -> object:
    """`value` as the setting's type; a string is parsed. Raises ValueError with the reason."""
    for type_hint in _alternatives(setting.type_hint):
        try:
            return _bounded(setting, _convert_to(type_hint, value))
        except TypeError:
            continue
    raise ValueError(f"= {shortened(repr(value))} is not {_type_name(setting.type_hint)}")


def shortened(text: str, length: int = 80) -> str:
    """`text` with its middle left out if it is longer than `length`.

    >>> shortened("abcdefghij", 5)
    'ab...ij'
    """
    half = length // 2
    return text if len(text) <= length else f"{text[:half]}...{text[-half:]}"


def _alternatives(type_hint: Any) -> tuple[Any, ...]:
    # `int | Literal["auto"]` is a typing.Union up to Python 3.13, `int | str` a types.UnionType.
    return (
        get_args(type_hint) if get_origin(type_hint) in (Union, types.UnionType) else (type_hint,)
    )


def _convert_to(type_hint: Any, value: object) -> object:
    """`value` as `type_hint`; raises TypeError if it is of another type."""
    if get_origin(type_hint) is Literal:
        if value not in get_args(type_hint):
            raise TypeError
        return value
    if get_origin(type_hint) is tuple:
        if isinstance(value, str):
            value = _parse_list(value)
        if not isinstance(value, list | tuple):
            raise TypeError
        # One pair of files, written like the list of pairs that data.train is.
        if type_hint == tuple[str, ...] and len(value) == 1 and isinstance(value[0], list | tuple):
            value = value[0]
        return tuple(_convert_to(get_args(type_hint)[0], entry) for entry in value)
    if isinstance(value, str) and type_hint in (bool, int, float):
        value = _parse_number(type_hint, value)
    if type_hint is float and type(value) is int:
        if abs(value) > 1 << 1_000:
            raise ValueError("is no number that fits a float")
        value = float(value)
    if type(value) is not type_hint:
        raise TypeError
    if isinstance(value, str) and "\0" in value:
        raise ValueError("holds the character NUL, which no name may have")
    return value


def _parse_number(type_hint: type, text: str) -> object:
    try:
        if type_hint is bool:
            return {"true": True, "false": False}[text.strip().lower()]
        return type_hint(text)
    except (KeyError, ValueError) as error:
        raise TypeError from error


def _parse_list(text: str) -> object:
    try:
        return tomllib.loads(f"x = {text}" if text.startswith("[") else f"x = [{text}]")["x"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text.split(",")


def _bounded(setting: Setting, value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value != value or (setting.low is not None and value < setting.low):
            raise ValueError(f"= {value} is below its minimum {setting.low}")
        if setting.high is not None and value > setting.high:
            raise ValueError(f"= {value} is above its maximum {setting.high}")
    return value


def _type_name(type_hint: Any) -> str:
    if len(_alternatives(type_hint)) > 1:
        return " or ".join(_type_name(alternative) for alternative in get_args(type_hint))
    if get_origin(type_hint) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(type_hint))
    if type_hint == tuple[str, ...]:
        return 'a list of texts, such as ["a", "b"]'
    if get_origin(type_hint) is tuple:
        return "a list"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    return names.get(type_hint, str(type_hint))
