"""The parts of Click that Typer bundles without a public name, imported in this module only."""

from collections.abc import Callable, Iterable

from typer._click.core import Command, Context, Parameter, ParameterSource
from typer._click.exceptions import ClickException
from typer._click.exceptions import UsageError as ClickUsageError
from typer._click.formatting import HelpFormatter
from typer._click.globals import get_current_context
from typer._click.shell_completion import CompletionItem
from typer._click.types import CompositeParamType

__all__ = [
    "ClickException",
    "ClickUsageError",
    "Command",
    "CompositeParamType",
    "Context",
    "HelpFormatter",
    "Parameter",
    "complete_with",
    "is_typed",
    "running_context",
]


def complete_with(parameter: Parameter, completer: Callable[[str], Iterable[str]]) -> None:
    """Let the shell complete the values of `parameter`; completer: takes what is typed so far."""

    def complete(_context: Context, _parameter: Parameter, typed: str) -> list[CompletionItem]:
        return [CompletionItem(text) for text in completer(typed)]

    parameter._custom_shell_complete = complete


def running_context() -> Context | None:
    """The context of the command that runs; None outside of a command."""
    return get_current_context(silent=True)


def is_typed(context: Context, parameter: Parameter) -> bool:
    """Whether a parameter is an option that the user typed."""
    source = context.get_parameter_source(str(parameter.name))
    return parameter.param_type_name == "option" and source is ParameterSource.COMMANDLINE
