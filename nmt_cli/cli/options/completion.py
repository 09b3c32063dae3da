"""What the shell completes as the value of an option: models, presets, settings, metrics."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.cli.options.click_adapter import complete_with

if TYPE_CHECKING:
    from nmt_cli.cli.options.click_adapter import Command, Parameter

# The shells read completions as code or split them at spaces: other names are not offered.
_SAFE = re.compile(r"[\w./@%+=,-]+")
# A model is looked for in so many levels of folders below what is typed, and so many of them.
LEVELS, MOST_FOLDERS = 3, 2_000

Completer = Callable[[str], Iterable[str]]


def models(typed: str) -> Iterator[str]:
    """The model directories whose paths begin with what is typed, sorted."""
    from nmt_cli.storage.model_check import is_model_directory

    parent, name = typed[: typed.rfind("/") + 1], typed[typed.rfind("/") + 1 :]
    level = [child for child in _folders(Path(parent or ".")) if child.name.startswith(name)]
    for _ in range(LEVELS):
        below: list[Path] = []
        for folder in level[:MOST_FOLDERS]:
            if is_model_directory(folder):
                yield parent + str(folder.relative_to(parent or "."))
            else:
                below += _folders(folder)
        level = below


def _folders(folder: Path) -> list[Path]:
    """The folders in a folder that are not hidden, sorted; none if it cannot be read."""
    try:
        children = sorted(folder.iterdir())[:MOST_FOLDERS]
        return [child for child in children if child.is_dir() and not child.name.startswith(".")]
    except OSError:
        return []


def _presets(_typed: str) -> Iterable[str]:
    from nmt_cli.config.presets import PRESETS

    return PRESETS


def _settings(_typed: str) -> Iterable[str]:
    from nmt_cli.config.schema import SETTINGS

    return [f"{key}=" for key in SETTINGS]


def _metrics(_typed: str) -> Iterable[str]:
    from nmt_cli.scoring import METRICS

    return METRICS


BY_OPTION: dict[str, Completer] = {
    "--model": models,
    "--init-from": models,
    "--subwords-from": models,
    "--preset": _presets,
    "--set": _settings,
    "--metric": _metrics,
}
# The first word of the placeholder of an argument.
BY_ARGUMENT: dict[str, Completer] = {"MODEL": models}


def add_completion(command: "Command") -> None:
    """Let the shell complete the values of a command's options and arguments."""
    for parameter in command.params:
        completer = _completer_of(parameter)
        if completer is not None:
            complete_with(parameter, _offering(completer))


def _completer_of(parameter: "Parameter") -> Completer | None:
    if parameter.param_type_name == "argument":
        placeholder = re.match(r"\W*(\w+)", getattr(parameter, "metavar", None) or "")
        return BY_ARGUMENT.get(placeholder[1]) if placeholder else None
    return next((BY_OPTION[name] for name in parameter.opts if name in BY_OPTION), None)


def _offering(completer: Completer) -> Completer:
    """The completer, without what does not begin as typed or what a shell could misread."""

    def offer(typed: str) -> list[str]:
        return [
            text for text in completer(typed) if text.startswith(typed) and _SAFE.fullmatch(text)
        ]

    return offer
