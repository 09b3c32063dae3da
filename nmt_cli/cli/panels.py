"""Headings that group the options of a command in its help."""

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from typer.models import ParameterInfo

Function = TypeVar("Function", bound=Callable[..., None])


def with_panels(panels: Mapping[str, Sequence[str]]) -> Callable[[Function], Function]:
    """Put parameters of a command under headings: `panels` has the names of each in order.

    Parameters that it does not name come before the first heading.
    """

    def decorate(command: Function) -> Function:
        parameters = {**inspect.signature(command).parameters}
        grouped = [
            moved(parameters.pop(name), panel) for panel, names in panels.items() for name in names
        ]
        set_parameters(command, [*map(moved, parameters.values()), *grouped])
        return command

    return decorate


def set_parameters(command: Function, parameters: Iterable[inspect.Parameter]) -> None:
    """Let Typer read these `parameters`, and not those that the function itself has."""
    signature = inspect.signature(command).replace(parameters=list(parameters))
    command.__signature__ = signature  # type: ignore[attr-defined]


def panel_of(parameter: inspect.Parameter) -> str:
    """The heading of a parameter, or "" if it has none."""
    return str(_info(parameter).rich_help_panel or "")


def moved(parameter: inspect.Parameter, panel: str | None = None) -> inspect.Parameter:
    """The parameter by keyword, and under the heading `panel` if that is not None."""
    info = copy.copy(_info(parameter))
    info.rich_help_panel = panel or info.rich_help_panel
    value_type: Any = parameter.annotation.__origin__
    return parameter.replace(
        kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[value_type, info]
    )


def _info(parameter: inspect.Parameter) -> ParameterInfo:
    """What Typer knows of a parameter: the option or argument in its annotation."""
    info: ParameterInfo = parameter.annotation.__metadata__[0]
    return info
