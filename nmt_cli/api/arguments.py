"""The arguments of the public functions: their types and the settings they set."""

import os
from collections.abc import Mapping
from pathlib import Path

from nmt_cli.config.project import project_layer
from nmt_cli.config.schema import SETTINGS, ResolvedConfig, SettingsLayer, resolve
from nmt_cli.config.values import require_type

PathLike = str | os.PathLike[str]
# Arguments that are not named like their setting.
_NAMES = {
    "languages.src": "src_lang",
    "languages.tgt": "tgt_lang",
    "paths.corpus": "corpus",
    "paths.model": "out",
}


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
