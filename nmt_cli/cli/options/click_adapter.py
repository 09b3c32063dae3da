"""The parts of Click that Typer bundles without a public name, imported in this module only."""

from typer._click.core import Command, Context, Parameter
from typer._click.exceptions import ClickException
from typer._click.exceptions import UsageError as ClickUsageError
from typer._click.formatting import HelpFormatter
from typer._click.types import CompositeParamType

__all__ = [
    "ClickException",
    "ClickUsageError",
    "Command",
    "CompositeParamType",
    "Context",
    "HelpFormatter",
    "Parameter",
]
