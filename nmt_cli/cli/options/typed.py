"""The options that the user typed for the running command, for hints that repeat them."""

import shlex
from collections.abc import Iterator
from enum import Enum

from nmt_cli.cli.options.click_adapter import Context, Parameter, is_typed, running_context


def typed_options(*left_out: str) -> str:
    """The options of the running command that were typed, each with a space before it.

    left_out: options that the hint gives in another way, or that do not fit. "" if no command runs.
    """
    context = running_context()
    if context is None:
        return ""
    words = [
        word
        for parameter in context.command.params
        # The value of an option of all commands, such as --debug, is not kept.
        if parameter.name in context.params
        if not {*parameter.opts} & {*left_out} and is_typed(context, parameter)
        for word in _words(context, parameter)
    ]
    return "".join(f" {shlex.quote(word)}" for word in words)


def _words(context: Context, parameter: Parameter) -> Iterator[str]:
    """A parameter as it is typed: its long name and its value, for each of its values."""
    given = context.params[str(parameter.name)]
    name = next((option for option in parameter.opts if option.startswith("--")), parameter.opts[0])
    for value in given if isinstance(given, list | tuple) else [given]:
        if isinstance(value, bool):
            yield name if value else parameter.secondary_opts[0]
        else:
            yield from (name, str(value.value if isinstance(value, Enum) else value))
