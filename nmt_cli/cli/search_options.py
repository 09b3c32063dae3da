"""The options of `nmt translate` for search: one for each setting, made from its declaration."""

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_type_hints

import typer

from nmt_cli.cli.panels import Function, moved, panel_of, set_parameters
from nmt_cli.config.search import SearchConfig, SearchConflictError, option_name
from nmt_cli.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from nmt_cli.config.schema import ResolvedConfig

# The headings of the help, in its order; options without a heading come before all of them.
PANELS = ("", "Search", "Length", "Constraints", "Sampling", "Output", "Hardware")

# Options that are no settings.
Ban = Annotated[
    Path | None,
    typer.Option(
        "--ban", metavar="FILE", rich_help_panel="Constraints",
        help="Words and phrases that must not occur in translations, one per line",
    ),
]  # fmt: skip
GlossaryFile = Annotated[
    Path | None,
    typer.Option(
        "--glossary", metavar="FILE", rich_help_panel="Constraints",
        help="Required translations of terms, one term per line: the source term, a tab, and its "
        "target forms separated by |",
    ),
]  # fmt: skip
Prefix = Annotated[
    Path | None,
    typer.Option(
        "--prefix", metavar="FILE", rich_help_panel="Constraints",
        help="The beginning of each translation, one per line of the text",
    ),
]  # fmt: skip
Scores = Annotated[
    bool,
    typer.Option(
        "--scores", rich_help_panel="Output",
        help="Add the score and the log-probability of each subword, separated by |||",
    ),
]  # fmt: skip


def with_search_options(**panels: str) -> Callable[[Function], Function]:
    """Give a command that takes `**settings` an option for each setting of search.

    Typer reads the options from the signature, which is sorted by the headings of the help. An
    option that is not given is None. panels: headings of parameters that other commands share.
    """

    def decorate(command: Function) -> Function:
        parameters = [
            moved(parameter, panels.get(parameter.name))
            for parameter in inspect.signature(command).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        parameters += _setting_parameters()
        set_parameters(
            command, sorted(parameters, key=lambda parameter: PANELS.index(panel_of(parameter)))
        )
        return command

    return decorate


def _setting_parameters() -> list[inspect.Parameter]:
    """A parameter for each setting of search, in the order of their declarations."""
    types = get_type_hints(SearchConfig)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=_annotation(field, types[field.name]),
        )
        for field in dataclasses.fields(SearchConfig)
    ]


def _annotation(field: "dataclasses.Field[Any]", setting_type: Any) -> Any:
    """The type of an option and its description: `int | None` with a metavar N, for example.

    Leaving out an option is the way to say `off` or `auto`, so that options do not take these.
    """
    about: str = field.metadata["about"]
    help_text = about[0].upper() + about[1:]
    if setting_type is not bool:
        help_text += f" [default: the model's, else {field.default}]"
    choices = get_args(setting_type)
    option_type, metavar = setting_type, None
    if setting_type is float:
        metavar = "X"
    elif int in (setting_type, *choices):
        option_type, metavar = int, "N"
    elif choices:
        option_type = Literal[tuple(choice for choice in choices if choice != "off")]
    option = typer.Option(
        option_name(field.name),
        metavar=metavar,
        help=help_text,
        rich_help_panel=field.metadata["panel"],
    )
    return Annotated[option_type | None, option]


class SearchFlags:
    """The settings of search that were typed as options."""

    def __init__(self, settings: Mapping[str, object], sets: Sequence[str] | None) -> None:
        """settings: the values of the options by name; None means not given. sets: of `--set`."""
        self._values = {name: value for name, value in settings.items() if value is not None}
        replaced = {text.partition("=")[0].strip() for text in sets or ()}
        self._typed = {name for name in self._values if f"search.{name}" not in replaced}

    def resolve(
        self, others: Mapping[str, object], sets: Sequence[str] | None, config_file: Path | None
    ) -> "ResolvedConfig":
        """Every setting of this run and its origin.

        others: the values of options that are other settings, by dotted key. Raises UsageError for
        wrong values of options, and whatever `resolve_settings` raises for other settings.
        """
        from nmt_cli.cli.settings import resolve_settings

        self._check_bounds()
        flags = {f"search.{name}": value for name, value in self._values.items()}
        with self.named_in_errors():
            return resolve_settings({**flags, **others}, sets, config_file)

    def _check_bounds(self) -> None:
        from nmt_cli.config.schema import SETTINGS
        from nmt_cli.config.values import convert

        problems: dict[str, str] = {}
        for name, value in self._values.items():
            setting = SETTINGS[f"search.{name}"]
            try:
                convert(setting, value)
            except ValueError as error:
                option = option_name(name)
                problems[f"{option} {str(error).removeprefix('= ')}"] = f"{option}: {setting.about}"
        if problems:
            raise UsageError("; ".join(problems), "; ".join(problems.values()))

    @contextlib.contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Where typed settings do not go together, raise a UsageError that names the options."""
        try:
            yield
        except ConfigError as error:
            # `resolve` may have raised it again with other names.
            conflict = error if isinstance(error, SearchConflictError) else error.__cause__
            if isinstance(conflict, SearchConflictError):
                raise (conflict.as_usage_error(self._typed) or error) from None
            raise
