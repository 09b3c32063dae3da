"""A command's settings: default < preset < nmt.toml < NMT_* variables < command line."""

import contextlib
import json
import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.cli.used_settings import MODEL_ALONE, require_used
from nmt_cli.config.held_out_text import COMMAND_LINE, is_of_project
from nmt_cli.config.project import PATHS, PROJECT_FILE, project_layer
from nmt_cli.config.schema import (
    SETTINGS,
    Config,
    ResolvedConfig,
    SettingsLayer,
    flatten,
    resolve,
    with_values,
)
from nmt_cli.config.search import SearchConfig, SearchConflictError
from nmt_cli.config.synonyms import meant_setting_hint
from nmt_cli.config.values import convert
from nmt_cli.errors import ConfigError, NmtError, UsageError
from nmt_cli.plurals import counted

if TYPE_CHECKING:
    from nmt_cli.terminal.console import Console

_SECTIONS = tuple(dict.fromkeys(key.split(".")[0] for key in SETTINGS))


def resolve_settings(
    flags: Mapping[str, object],
    sets: Sequence[str] | None = None,
    config_file: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    *,
    used: Sequence[str] | None = None,
) -> ResolvedConfig:
    """Every setting of this run and its origin.

    `flags` maps dotted keys to the values of a command's options; None means not given. `sets`
    are the texts of `--set`. Without `config_file`, nmt.toml of the current directory is read
    where there is one. `used`: as of `require_used`. Raises UsageError for wrong options, and
    ConfigError, naming every wrong key, for the settings from elsewhere.
    """
    given = {key: value for key, value in flags.items() if value is not None}
    _check_options(given)
    require_used(sets, used)
    set_layers = [_set_layer(text) for text in sets or ()]
    with _naming_options(given.keys() - {key for layer in set_layers for key in layer.values}):
        resolved = resolve(
            [
                *_project_layer(config_file),
                *_environment_layers(environ),
                SettingsLayer(COMMAND_LINE, given, option_names(given)),
                *set_layers,
            ]
        )
    if "search.seed" in given and not resolved.config.search.sample:
        # As a setting it may stand in nmt.toml, for the runs that do sample.
        raise UsageError(
            "--seed needs --sample", "add --sample, which draws translations at random"
        )
    return resolved


def _check_options(given: Mapping[str, object]) -> None:
    """Raise UsageError, naming every option, if values of options are no values of their setting.

    given: the values by dotted key.
    """
    names = option_names(given)
    problems: list[str] = []
    hints: list[str] = []
    for key, value in given.items():
        try:
            convert(SETTINGS[key], value)
        except ValueError as error:
            name = names.get(key, f"`{key}`")
            problems.append(f"{name} {error}")
            hints.append(f"{name}: {SETTINGS[key].about}")
    if problems:
        raise UsageError("; ".join(problems), "; ".join(hints))


def named_model(model: Path | None, sets: Sequence[str] | None, config_file: Path | None) -> Path:
    """The model directory that is the argument of a command, else that of its settings.

    Raises UsageError for any other setting.
    """
    if model is not None:
        # A mistake in nmt.toml has nothing to do with it.
        require_used(sets, ())
        if not sets and config_file is None:
            return model
    resolved = resolve_settings({}, sets, config_file, used=MODEL_ALONE)
    return model or Path(resolved.config.paths.model)


@contextlib.contextmanager
def _naming_options(typed: Collection[str]) -> Iterator[None]:
    """Where settings of search conflict that were options, raise a UsageError that names these.

    typed: the dotted keys of the settings whose values are from options.
    """
    try:
        yield
    except ConfigError as error:
        # `resolve` may have raised it again with other names.
        conflict = error if isinstance(error, SearchConflictError) else error.__cause__
        if isinstance(conflict, SearchConflictError):
            names = {key.removeprefix("search.") for key in typed if key.startswith("search.")}
            raise (conflict.as_usage_error(names) or error) from None
        raise


def note_defaults(
    resolved: ResolvedConfig,
    config_file: Path | None,
    console: "Console",
    *,
    vocabulary: bool = False,
) -> None:
    """Write a note that the defaults are used, if there is neither project file nor preset.

    Warns if the project file overrides settings of a preset that was named for this command.
    vocabulary: whether a vocabulary will be learnt, so that its size is a setting that matters.
    """
    if warning := overridden_preset_warning(resolved):
        console.warning(warning)
    key = "data.vocab_size" if vocabulary else "train.preset"
    if (
        config_file is not None
        or PROJECT_FILE.exists()
        or resolved.origins["train.preset"] != "default"
        or resolved.origins[key] != "default"
    ):
        return
    size = resolved.config.data.vocab_size
    shown = f", vocabulary {size:,}" if vocabulary and isinstance(size, int) else ""
    console.note(
        f"no {PROJECT_FILE} was found, so the settings are the defaults "
        f"(preset {resolved.config.train.preset}{shown}); `nmt init` chooses them for this text"
    )


# Where settings come from that the user has typed for this command alone.
_TYPED = (COMMAND_LINE, "--set")
# So many settings are named.
_SHOWN_SETTINGS = 8


def overridden_preset_warning(resolved: ResolvedConfig) -> str:
    """That the project file overrides settings of the preset of the command line, or ""."""
    from nmt_cli.config.presets import PRESETS

    origins, name = resolved.origins, resolved.config.train.preset
    if origins["train.preset"] not in _TYPED:
        return ""
    values = flatten(resolved.config)
    overridden = [
        f"{key} is {json.dumps(values[key])} (preset: {json.dumps(value)})"
        for key, value in PRESETS[name].items()
        if is_of_project(origins[key]) and values[key] != value
    ]
    if not overridden:
        return ""
    more = len(overridden) - _SHOWN_SETTINGS
    shown = [*overridden[:_SHOWN_SETTINGS], *([f"and {more} more"] if more > 0 else [])]
    return (
        f"the project file overrides {counted(len(overridden), 'setting')} of the preset "
        f"`{name}`: {'; '.join(shown)}"
    )


def check_corpus(
    resolved: ResolvedConfig,
    console: "Console",
    *,
    is_new_run: bool,
    config_file: Path | None = None,
) -> None:
    """Warn if the project names other text or settings now than its corpus was prepared with.

    Not of a corpus that the command line or a variable names: it may well be of other text.
    config_file: the project file that was named, which the commands of the hints name too. Raises
    ConfigError if a new run would learn from other files than the project names, or from a corpus
    with other settings than the command line names.
    """
    from nmt_cli.config.schema import flatten
    from nmt_cli.data.preparation.options import options_for
    from nmt_cli.data.preparation.outdated import changes_since

    origins, corpus = resolved.origins, resolved.config.paths.corpus
    given = {key: origin for key, origin in origins.items() if key.startswith("data.")}
    values = flatten(resolved.config)
    typed = {key: values[key] for key, origin in given.items() if origin in _TYPED}
    unchosen = ("default", "preset ")
    chosen = [key for key, origin in given.items() if not origin.startswith(unchosen)]
    changes = changes_since(Path(corpus), resolved.config, chosen)
    origin = origins["paths.corpus"]
    if origin in _TYPED or origin.startswith("NMT_") or origins["data.train"] == "default":
        changes = [change for change in changes if change.key in typed]
    if not changes:
        return
    described = "; ".join(change.description for change in changes)
    options = options_for(typed)
    project = config_option(config_file)
    if any(change.key in typed for change in changes):
        message = f"`{corpus}` was prepared with other settings than the command line has"
        other = f"{corpus}-2"
        prepare = " ".join([f"nmt prepare{project}", *options, "--out", shlex.quote(other)])
        if not is_new_run:
            console.warning(
                f"{message}, and the run goes on with those of the corpus: {described}; to train "
                f"a new run with them: `{prepare}`, and then `nmt train{project}` with "
                f"`--corpus {shlex.quote(other)}` and another --out"
            )
            return
        raise ConfigError(
            f"{message}: {described}",
            f"`{prepare}` prepares another corpus; to train with it, "
            f"`--corpus {shlex.quote(other)}` in place of these settings",
        )
    prepare = " ".join([f"nmt prepare{project} --force", *options])
    message = f"`{corpus}` was prepared before this changed: {described}"
    if is_new_run and any(change.key == "data.train" for change in changes):
        old = f"`nmt train{project} --corpus {shlex.quote(corpus)}`"
        hint = f"`{prepare}` prepares the new text; to train with the old one: {old}"
        raise ConfigError(message, hint)
    console.warning(
        f"{message}; to train with it, `{prepare}` and then `nmt train{project}` with another --out"
    )


def command_for(config: Config, model: str, config_file: Path | None = None) -> str:
    """The command that uses a model: `nmt translate`, or `nmt parse` for a parser.

    config_file: the project file that was named, as of `model_option`.
    """
    from nmt_cli.extras.parsing.training_text import BRACKETS

    # The name that docs/parsing.md gives to the language of lines of brackets.
    command = "nmt parse" if config.languages.tgt == BRACKETS else "nmt translate"
    return command + model_option(model, config_file)


def model_option(model: str, config_file: Path | None = None) -> str:
    """` --model MODEL` for the next command, or "" if that model is its default.

    config_file: the project file that was named with --config, which is named for the next command,
    too.
    """
    named = config_option(config_file)
    with contextlib.suppress(NmtError):
        if Path(model) == Path(resolve_settings({}, None, config_file).config.paths.model):
            return named
    return f"{named} --model {shlex.quote(model)}"


def config_option(config_file: Path | None) -> str:
    """` --config FILE` for the next command, or "" if none was given.

    >>> config_option(None), config_option(Path("my own.toml"))
    ('', " --config 'my own.toml'")
    """
    return "" if config_file is None else f" --config {shlex.quote(str(config_file))}"


def chosen_search(resolved: ResolvedConfig, model: Config) -> SearchConfig:
    """The search settings of the model, overridden by those that the user gave here.

    Raises UsageError or ConfigError if they conflict.
    """
    given = {
        key: value
        for key, value in flatten(resolved.config).items()
        if key.startswith("search.") and not resolved.origins[key].startswith(("default", "preset"))
    }
    typed = [key for key in given if resolved.origins[key] == COMMAND_LINE]
    with _naming_options(typed):
        return with_values(model, given, option_names(typed)).search


def option_names(keys: Iterable[str]) -> dict[str, str]:
    """The options that set these keys, for errors; without those that differ between commands.

    >>> option_names(["train.max_steps", "languages.src", "paths.model"])
    {'train.max_steps': '--max-steps', 'languages.src': '--src-lang'}
    """
    return {key: SETTINGS[key].option.split("/")[0] for key in keys if key not in PATHS}


def _project_layer(config_file: Path | None) -> Iterator[SettingsLayer]:
    if config_file is not None or PROJECT_FILE.exists():
        yield project_layer(config_file or PROJECT_FILE)


def _environment_layers(environ: Mapping[str, str]) -> Iterator[SettingsLayer]:
    """One layer per variable, such as NMT_MODEL_HEADS for `model.heads`."""
    for name in sorted(environ):
        for section in _SECTIONS:
            prefix = f"NMT_{section.upper()}_"
            if name.startswith(prefix):
                key = f"{section}.{name.removeprefix(prefix).lower()}"
                yield SettingsLayer(name, {key: environ[name]})


def _set_layer(text: str) -> SettingsLayer:
    key, equals, value = text.partition("=")
    if not equals:
        hint = "write it as --set key=value, such as model.heads=16"
        if text.strip() not in SETTINGS and (meant := meant_setting_hint(text.strip(), SETTINGS)):
            hint = f"{meant} {hint}"
        raise UsageError(f"--set {text}: there is no `=`", hint)
    return SettingsLayer("--set", {key.strip(): value.strip()})
