"""Options that are settings: each is made from the declaration of its setting.

A command declares by hand only what is no setting, such as `--force`.
"""

import copy
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, get_args

import typer
from typer.models import ParameterInfo

from nmt_cli.config.presets import PRESETS
from nmt_cli.config.schema import SETTINGS
from nmt_cli.config.values import Setting

AUTO = "auto"
OFF = "off"
DEFAULT_PRESET = str(SETTINGS["train.preset"].default)


class SettingOption(NamedTuple):
    """An option whose command treats a setting in its own way.

    key: the dotted key of the setting. name: the option, if it is not the one of the declaration.
    default: what the command does without the option, if that is not the default of the setting.
    """

    key: str
    name: str = ""
    default: str = ""


Layout = Mapping[str, Sequence[str | SettingOption]]
Command = Callable[..., None]


def with_options(layout: Layout) -> Callable[[Command], Command]:
    """Group the options of a command under headings, and add those that are settings.

    layout: the headings of the help, in order, and below each of them names of parameters of the
    command and dotted keys of settings; the heading "" is that of all commands. Parameters that it
    does not name come first. The command receives the values of its settings in the parameter
    `flags`, as `resolve_settings` takes them: by dotted key, None where an option is not given.
    """

    def decorate(command: Command) -> Command:
        own = dict(inspect.signature(command).parameters)
        own.pop("flags")
        grouped: list[inspect.Parameter] = []
        keys: dict[str, str] = {}
        for heading, entries in layout.items():
            for entry in entries:
                if isinstance(entry, str) and entry in own:
                    parameter = own.pop(entry)
                else:
                    option = SettingOption(entry) if isinstance(entry, str) else entry
                    parameter = _parameter(option)
                    keys[parameter.name] = option.key
                grouped.append(_under(heading, parameter))

        @functools.wraps(command)
        def run(**values: object) -> None:
            flags = {key: values.pop(name) for name, key in keys.items()}
            command(**values, flags=flags)

        ungrouped = [_under("", parameter) for parameter in own.values()]
        # Typer reads the options from the signature.
        run.__signature__ = inspect.Signature([*ungrouped, *grouped])  # type: ignore[attr-defined]
        return run

    return decorate


def _under(heading: str, parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter by keyword, under a heading."""
    info: ParameterInfo = copy.copy(parameter.annotation.__metadata__[0])
    info.rich_help_panel = heading or None
    value_type: Any = parameter.annotation.__origin__
    return parameter.replace(
        kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[value_type, info]
    )


def _parameter(option: SettingOption) -> inspect.Parameter:
    """The parameter that Typer makes the option from; its value is None if it is not given."""
    setting = SETTINGS[option.key]
    value_type, metavar = _value_type(setting)
    info = typer.Option(
        option.name or setting.option,
        metavar=metavar,
        help=_help(option, setting),
    )
    return inspect.Parameter(
        option.key.replace(".", "_"),
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[value_type | None, info],
    )


def _value_type(setting: Setting) -> tuple[Any, str | None]:
    """The type of an option's value, and the placeholder for it: `int` and `N`, for example.

    Where `off` is the default, leaving out the option is the way to say it; the same holds for
    `auto`, unless the metavar has it.
    """
    type_hint, metavar = setting.type_hint, setting.metavar or None
    choices = get_args(type_hint)
    if _takes_auto(setting):
        return str, metavar
    if int in (type_hint, *choices):
        return int, metavar or "N"
    if type_hint is float:
        return float, metavar or "X"
    if choices:
        unnamed = OFF if setting.default == OFF else None
        return Literal[tuple(choice for choice in choices if choice != unnamed)], metavar
    return type_hint, metavar


def _takes_auto(setting: Setting) -> bool:
    return AUTO in setting.metavar.split("|")


def _help(option: SettingOption, setting: Setting) -> str:
    """What the setting is, and what the command does without the option."""
    text = setting.about if _takes_auto(setting) else setting.summary
    default = option.default or _default(option.key, setting)
    shown = f" [default: {default}]" if default else ""
    return f"{text[0].upper()}{text[1:]}{shown}"


def _default(key: str, setting: Setting) -> str:
    """What holds without option, nmt.toml and `--preset`; "" for flags, which are then not set."""
    if setting.type_hint is bool and "/" not in setting.option:
        return ""
    if key.startswith("search."):
        # A model keeps the settings of search that it was trained with.
        return f"the model's, else {_shown(setting.default, setting)}"
    if key == "train.preset":
        return f"that of nmt.toml, or {DEFAULT_PRESET}"
    values = {preset.get(key, setting.default) for preset in PRESETS.values()}
    value = _shown(PRESETS[DEFAULT_PRESET].get(key, setting.default), setting)
    return f"set by the preset; {DEFAULT_PRESET}: {value}" if len(values) > 1 else value


def _shown(value: object, setting: Setting) -> str:
    if isinstance(value, bool):
        on, off = setting.option.split("/")
        return (on if value else off).lstrip("-")
    if value == AUTO and setting.auto and not _takes_auto(setting):
        return setting.auto
    return f"{value:g}" if isinstance(value, float) else str(value)
