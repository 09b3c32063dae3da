"""From a text or a TOML value to the type and bounds of a setting."""

import tomllib
import types
from dataclasses import field
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin


class Setting(NamedTuple):
    """What is known of one dotted key."""

    kind: Any
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
    for kind in _alternatives(setting.kind):
        try:
            return _bounded(setting, _convert_to(kind, value))
        except TypeError:
            continue
    raise ValueError(f"= {shortened(repr(value))} is not {_kind_name(setting.kind)}")


def shortened(text: str, length: int = 80) -> str:
    """`text`, its middle left out where it is longer than `length`.

    >>> shortened("abcdefghij", 5)
    'ab...ij'
    """
    half = length // 2
    return text if len(text) <= length else f"{text[:half]}...{text[-half:]}"


def _alternatives(kind: Any) -> tuple[Any, ...]:
    # `int | Literal["auto"]` is a typing.Union up to Python 3.13, `int | str` a types.UnionType.
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _convert_to(kind: Any, value: object) -> object:
    """`value` as `kind`; raises TypeError when it is something else."""
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise TypeError
        return value
    if get_origin(kind) is tuple:
        if isinstance(value, str):
            value = _parse_list(value)
        if not isinstance(value, list | tuple):
            raise TypeError
        # One pair of files, written like the list of pairs that data.train is.
        if kind == tuple[str, ...] and len(value) == 1 and isinstance(value[0], list | tuple):
            value = value[0]
        return tuple(_convert_to(get_args(kind)[0], one) for one in value)
    if isinstance(value, str) and kind in (bool, int, float):
        value = _parse_number(kind, value)
    if kind is float and type(value) is int:
        if abs(value) > 1 << 1_000:
            raise ValueError("is no number that fits a float")
        value = float(value)
    if type(value) is not kind:
        raise TypeError
    if isinstance(value, str) and "\0" in value:
        raise ValueError("holds the character NUL, which no name may have")
    return value


def _parse_number(kind: type, text: str) -> object:
    try:
        if kind is bool:
            return {"true": True, "false": False}[text.strip().lower()]
        return kind(text)
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


def _kind_name(kind: Any) -> str:
    if len(_alternatives(kind)) > 1:
        return " or ".join(_kind_name(one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return " or ".join(f"`{one}`" for one in get_args(kind))
    if kind == tuple[str, ...]:
        return 'a list of texts, such as ["a", "b"]'
    if get_origin(kind) is tuple:
        return "a list"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    return names.get(kind, str(kind))
