"""The settings of a training that begins with the weights of a finished model (train.init_from)."""

from collections.abc import Mapping
from pathlib import Path

from nmt_cli.config.held_out_text import is_of_project
from nmt_cli.config.schema import Config, ResolvedConfig, flatten, load, with_values
from nmt_cli.config.values import shortened
from nmt_cli.errors import ConfigError
from nmt_cli.plurals import agreeing
from nmt_cli.storage.model_check import CONFIG

# The peak of the learning rate, as a share of that of the preset (docs/results.md).
RATE_SHARE = 0.2
# Settings of the model that do not change its weights.
FREE = ("model.dropout",)
SECTIONS = ("model.", "search.")


def fine_tuning_settings(resolved: ResolvedConfig, source: Config, name: str) -> ResolvedConfig:
    """The settings of a training that begins with the weights of a model of settings `source`.

    Settings of the model and of search are those of `source`, unless given; the peak of the
    learning rate is a fifth of the preset's, unless given. name: of the model, for errors. Raises
    ConfigError, naming them all, if settings of the model are given that it does not have.
    """
    config, origins = resolved
    now, before = flatten(config), flatten(source)
    # The settings of another preset are given with its name.
    other = now["train.preset"] != before["train.preset"]
    given = {
        key
        for key in now
        if origins[key] != "default"
        and (not origins[key].startswith("preset ") or (other and key.startswith("model.")))
    }
    _require_same_model(now, before, given, origins, name)
    # A given "auto" stands for what the model has.
    own = {key for key in given if key in FREE or key.startswith("search.")}
    values = {key: before[key] for key in now if key.startswith(SECTIONS) and key not in own}
    if "train.learning_rate" not in given:
        values["train.learning_rate"] = _lower_rate(config, source)
    inherited = dict.fromkeys(values, f"model {name}")
    return ResolvedConfig(with_values(config, values), {**origins, **inherited})


def overriding_preset(resolved: ResolvedConfig, model: Path) -> str | None:
    """The preset of `model`, if the project file names another one, which training refuses."""
    origin = resolved.origins["train.preset"]
    own = load(model / CONFIG).train.preset
    return own if is_of_project(origin) and own != resolved.config.train.preset else None


def _require_same_model(
    now: Mapping[str, object],
    before: Mapping[str, object],
    given: set[str],
    origins: Mapping[str, str],
    name: str,
) -> None:
    differing = [
        key
        for key in now
        if key in given and key.startswith("model.") and key not in FREE
        and now[key] not in ("auto", before[key])
    ]  # fmt: skip
    if not differing:
        return
    shown = [
        f"{key} is {_text(now[key])} ({origins[key]}), but {_text(before[key])} in `{name}`"
        for key in differing
    ]
    remedy = f"leave {agreeing(len(differing), 'it', 'them')} out"
    if any(origins[key].startswith("preset ") for key in differing):
        preset, origin = now["train.preset"], origins["train.preset"]
        remedy = f"leave the preset ({preset}) out"
        if is_of_project(origin):
            own = before["train.preset"]
            remedy = f"`--preset {own}` overrides the preset ({preset}) of `{origin}`"
    raise ConfigError(
        f"training cannot begin with the weights of `{name}`: {'; '.join(shown)}",
        f"{remedy}: the settings of the model are taken from `{name}`",
    )


def _text(value: object) -> str:
    return shortened(str(value).lower() if isinstance(value, bool) else str(value))


def _lower_rate(config: Config, source: Config) -> float:
    """A fifth of the peak that the preset's schedule would have for this model."""
    peak = config.train.learning_rate
    if isinstance(peak, str):
        peak = float((source.model.d_model * config.train.warmup_steps) ** -0.5)
    return float(f"{RATE_SHARE * peak:.6g}")
