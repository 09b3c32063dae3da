"""The arguments of the public functions: their types, the settings they set, and their errors."""

import os
import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nmt_cli.config.project import project_layer
from nmt_cli.config.python_spelling import python_value, with_python_values
from nmt_cli.config.schema import SETTINGS, ResolvedConfig, SettingsLayer, resolve
from nmt_cli.config.values import require_type
from nmt_cli.errors import NmtError

PathLike = str | os.PathLike[str]
# Arguments that are not named like their setting.
_NAMES = {
    "languages.src": "src_lang",
    "languages.tgt": "tgt_lang",
    "paths.corpus": "corpus",
    "paths.model": "out",
}
_CODE = re.compile(r"(`[^`]*`)")
_SETS = re.compile(r"`--set [^` ]+(?: --set [^` ]+)*`")
_ASSIGNMENT = re.compile(r"`[a-z_]+=[^` ]+`")
# An option with its value, which is no command.
_OPTION_WITH_WORD = re.compile(r"`--([a-z]+(?:-[a-z]+)*) ([^`\s\"]+)`")
_OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)(?: (\d+))?(?![\w=-])")


def path_text(argument: str, value: object) -> str:
    """The path that was passed as `argument`, as text; raises TypeError if it is not a path."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else value
    if not isinstance(path, str):
        raise TypeError(f"{argument} is a path (str or Path), not {type(path).__name__}")
    return path


def optional_path(argument: str, value: object) -> str | None:
    """The path that was passed as `argument` as text, or None."""
    return None if value is None else path_text(argument, value)


def require_functions(**callbacks: object) -> None:
    """Raise TypeError if one of these arguments is neither a function nor None."""
    for argument, callback in callbacks.items():
        if callback is not None and not callable(callback):
            raise TypeError(f"{argument} is a function, not {type(callback).__name__}")


def resolve_arguments(
    function: str,
    values: Mapping[str, object],
    settings: Mapping[str, object] | None,
    config: PathLike | None,
) -> ResolvedConfig:
    """The settings of a call: defaults < preset < project file < `settings` < arguments.

    function: its name, for errors; values: the arguments by dotted key, None where one was not
    given. Neither nmt.toml nor environment variables are read unless `config` names the file.
    Raises TypeError or ConfigError.
    """
    if settings is not None and not isinstance(settings, Mapping):
        raise TypeError(
            f'settings is a dict such as {{"model.dropout": 0.3}}, not {type(settings).__name__}'
        )
    keys = list(settings or ())
    if wrong := [key for key in keys if not isinstance(key, str)]:
        raise TypeError(f"the keys of settings are texts such as 'model.dropout', not {wrong[0]!r}")
    given = {key: value for key, value in values.items() if value is not None}
    names = {key: _NAMES.get(key, key.partition(".")[2]) for key in given}
    for key, value in given.items():
        require_type(names[key], SETTINGS[key], value)
    project = [] if config is None else [project_layer(Path(path_text("config", config)))]
    return resolve(
        [
            *project,
            SettingsLayer("settings", dict(settings or {})),
            SettingsLayer(f"{function}()", given, names),
        ]
    )


@contextmanager
def python_errors(arguments: Collection[str]) -> Iterator[None]:
    """Let the errors of the block name `arguments` of a function instead of options."""
    try:
        yield
    except NmtError as error:
        error.message = in_python(error.message, arguments)
        error.hint = in_python(error.hint, arguments)
        error.args = (error.message,)
        raise


def in_python(text: str, arguments: Collection[str]) -> str:
    """A message with the names of arguments in place of options; commands are left as they are.

    >>> in_python("use --force to replace it, or another --out", ["force", "out"])
    'use force=True to replace it, or another `out`'
    >>> in_python("use --valid-split 20; `nmt train --out M`", ["valid_split", "out"])
    'use valid_split=20; `nmt train --out M`'
    >>> in_python("name it, for example `--tgt-lang de`", ["tgt_lang"])
    'name it, for example `tgt_lang="de"`'
    >>> in_python("give `--set train.seed=1 --set data.clean=off`", ["settings"])
    'give `settings={"train.seed": 1, "data.clean": "off"}`'
    >>> in_python("it needs joint=true (`joint=true`)", ["joint"])
    'it needs joint=True (`joint=True`)'
    """

    def renamed(match: re.Match[str]) -> str:
        name, value = match[1].replace("-", "_"), match[2]
        if name not in arguments:
            return match[0]
        if name == "force":
            return "force=True"
        return f"{name}={value}" if value else f"`{name}`"

    def spelt(span: str) -> str:
        if "settings" in arguments and _SETS.fullmatch(span):
            return _in_settings(span)
        if _ASSIGNMENT.fullmatch(span):
            return with_python_values(span, arguments)
        match = _OPTION_WITH_WORD.fullmatch(span)
        name = match[1].replace("-", "_") if match else ""
        return f'`{name}="{match[2]}"`' if match and name in arguments else span

    def outside_code(span: str) -> str:
        return with_python_values(_OPTION.sub(renamed, span), arguments)

    spans = [spelt(span) for span in _CODE.split(text)]
    return "".join(span if span.startswith("`") else outside_code(span) for span in spans)


def _in_settings(sets: str) -> str:
    """The argument `settings` that does the same as options `--set KEY=VALUE`."""
    values = dict(word.split("=", 1) for word in shlex.split(sets.strip("`")) if word != "--set")
    shown = [f'"{key}": {python_value(value)}' for key, value in values.items()]
    return f"`settings={{{', '.join(shown)}}}`"
