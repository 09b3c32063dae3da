"""Declarations of settings; converts values to their types and checks their bounds."""

import tomllib
import types
from dataclasses import Field, field
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin


class Setting(NamedTuple):
    """The declaration of a dotted key.

    summary: what it is, without what `auto` stands for. auto: what `auto` stands for, or "".
    option: the name of the option that sets it, where a command has one. metavar: the placeholder
    for the value in the help of this option, or "".
    """

    type_hint: Any
    default: object
    summary: str
    low: float | None
    high: float | None
    auto: str
    option: str
    metavar: str

    @property
    def about(self) -> str:
        """The complete explanation, in one line."""
        return f"{self.summary}; auto = {self.auto}" if self.auto else self.summary


def setting(
    default: Any,
    about: str,
    low: float | None = None,
    high: float | None = None,
    *,
    auto: str = "",
    option: str = "",
    metavar: str = "",
) -> Any:
    """A dataclass field with its one-line explanation and, for numbers, its inclusive bounds.

    auto: what the value `auto` stands for. option: the name of its option, where that is not the
    name of the field, such as `--joint/--separate`. metavar: the placeholder in its help, such as
    `N|auto` for an option that takes a number or `auto`; options without it take no `auto`.
    """
    declared = {
        "about": about, "low": low, "high": high,
        "auto": auto, "option": option, "metavar": metavar,
    }  # fmt: skip
    return field(default=default, metadata=declared)


def declaration(field: "Field[Any]", type_hint: Any) -> Setting:
    """The declaration of a dataclass field that `setting` made; type_hint: its resolved type."""
    declared = field.metadata
    return Setting(
        type_hint, field.default, declared["about"], declared["low"], declared["high"],
        declared["auto"], declared["option"] or option_name(field.name), declared["metavar"],
    )  # fmt: skip


def option_name(setting_name: str) -> str:
    """The option for a setting, by the name of its field.

    >>> option_name("top_p")
    '--top-p'
    """
    return "--" + setting_name.replace("_", "-")


def convert(setting: Setting, value: object) -> object:
    """`value` as the setting's type; a string is parsed.

    Raises ValueError whose message is a predicate, such as "must be at least 1, not 0".
    """
    for type_hint in _alternatives(setting.type_hint):
        try:
            return _bounded(setting, _convert_to(type_hint, value))
        except TypeError:
            continue
    raise ValueError(f"must be {type_name(setting.type_hint)}, not {shortened(repr(value))}")


def require_type(name: str, setting: Setting, value: object) -> None:
    """Raise TypeError if `value`, an argument of a Python function, is not of the setting's type.

    Texts are not parsed, as those of options and environment variables are. name: of the argument.
    """
    if not any(_is_of(type_hint, value, setting) for type_hint in _alternatives(setting.type_hint)):
        given = shortened(repr(value))
        raise TypeError(f"{name} must be {type_name(setting.type_hint)}, not {given}")


def _is_of(type_hint: Any, value: object, setting: Setting) -> bool:
    if get_origin(type_hint) is Literal:
        # A setting of names alone says which names there are.
        is_name = isinstance(value, str)
        return is_name and (type_hint == setting.type_hint or value in get_args(type_hint))
    if get_origin(type_hint) is tuple:
        return isinstance(value, list | tuple)
    if type_hint is float and type(value) is int:
        return True
    return isinstance(value, type_hint) and type_hint in (type(value), str, float)


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
            raise ValueError("is too large for a floating-point number")
        value = float(value)
    if type(value) is not type_hint:
        raise TypeError
    if isinstance(value, str) and "\0" in value:
        raise ValueError("must not contain the character NUL")
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
            raise ValueError(f"must be at least {setting.low}, not {value}")
        if setting.high is not None and value > setting.high:
            raise ValueError(f"must be at most {setting.high}, not {value}")
    return value


def type_name(type_hint: Any) -> str:
    """Return what a value of this type is, as errors and docs/cli.md say it.

    >>> type_name(int | Literal["auto"]), type_name(bool)
    ('a whole number or `auto`', 'true or false')
    """
    if len(_alternatives(type_hint)) > 1:
        return " or ".join(type_name(alternative) for alternative in get_args(type_hint))
    if get_origin(type_hint) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(type_hint))
    if type_hint == tuple[str, ...]:
        return 'a list of strings, such as ["a", "b"]'
    if get_origin(type_hint) is tuple:
        return "a list"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}
    return names.get(type_hint, str(type_hint))
