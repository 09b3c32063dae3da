"""The settings of a run that begins with the weights of a model: its own, unless they are given."""

import pytest

from nmt_cli.cli.settings import overridden_preset_warning
from nmt_cli.config.fine_tuning import RATE_SHARE, fine_tuning_settings
from nmt_cli.config.schema import Config, ResolvedConfig, SettingsLayer, resolve, with_values
from nmt_cli.errors import ConfigError

SOURCE = resolve(
    [
        SettingsLayer(
            "model",
            {
                "train.preset": "small", "model.d_model": 64, "model.encoder_layers": 5,
                "model.dropout": 0.4, "model.src_vocab_size": 100, "search.beam": 7,
                "train.learning_rate": 0.125, "train.batch_tokens": 77,
            },
        )
    ]
).config  # fmt: skip


def settings(**given: object) -> ResolvedConfig:
    """As `nmt train` resolves them: with the preset of the model, unless another is given."""
    values = {key.replace("_", ".", 1): value for key, value in given.items()}

    preset = {"train.preset": SOURCE.train.preset}
    resolved = resolve([SettingsLayer("--set", {**preset, **values})])
    return fine_tuning_settings(resolved, SOURCE, "general")


def config(**given: object) -> Config:
    return settings(**given).config


def test_model_and_search_are_those_of_the_model() -> None:
    found = config()
    assert found.model == SOURCE.model
    assert found.search == SOURCE.search
    assert settings().origins["model.d_model"] == "model general"


def test_what_is_taken_from_the_model_is_not_said_to_be_of_the_project_file() -> None:
    assert settings().origins["train.learning_rate"] == "model general"
    assert overridden_preset_warning(settings()) == ""


def test_training_is_that_of_the_preset_with_a_lower_learning_rate() -> None:
    small = resolve([SettingsLayer("x", {"train.preset": "small"})]).config.train
    found = config().train
    assert found.learning_rate == pytest.approx(RATE_SHARE * float(small.learning_rate))
    assert found == with_values(
        Config(train=small), {"train.learning_rate": found.learning_rate}
    ).train  # fmt: skip


def test_learning_rate_of_equation_3_is_that_of_the_models_width() -> None:
    assert config(train_learning_rate="auto").train.learning_rate == "auto"
    paper = with_values(SOURCE, {"train.preset": "base"})
    resolved = resolve([])
    rate = fine_tuning_settings(resolved, paper, "general").config.train.learning_rate
    assert rate == pytest.approx(RATE_SHARE * (64 * 4_000) ** -0.5, rel=1e-5)


@pytest.mark.parametrize(
    ("key", "value"),
    [("model.dropout", 0.0), ("search.beam", 2), ("train.learning_rate", 0.5),
     ("train.batch_tokens", 9), ("train.optimizer", "adam")],
)  # fmt: skip
def test_given_settings_are_kept(key: str, value: object) -> None:
    section, name = key.split(".")
    found = config(**{f"{section}_{name}": value})
    assert getattr(getattr(found, section), name) == value


def test_settings_of_another_model_are_refused_and_named() -> None:
    with pytest.raises(ConfigError) as caught:
        settings(model_d_model=128, model_heads=2, model_norm_order="pre")
    message = caught.value.message
    assert "`general`" in message
    assert "model.d_model is 128 (--set), but 64 in `general`" in message
    assert "model.heads is 2 (--set), but 4 in `general`" in message
    assert "norm_order" not in message
    assert "leave them out" in caught.value.hint


def test_preset_of_another_model_is_refused_and_named() -> None:
    with pytest.raises(ConfigError) as caught:
        settings(train_preset="base")
    assert "model.encoder_layers" not in caught.value.message
    assert "model.layers is 6 (preset base), but 3 in `general`" in caught.value.message
    assert "leave the preset (base) out" in caught.value.hint


def test_preset_of_the_project_file_is_overridden_by_an_option() -> None:
    base = SettingsLayer("nmt.toml", {"train.preset": "base"})
    with pytest.raises(ConfigError) as caught:
        fine_tuning_settings(resolve([base]), SOURCE, "general")
    assert "`--preset small` overrides the preset (base) of `nmt.toml`" in caught.value.hint
    small = SettingsLayer("--set", {"train.preset": "small"})
    found = fine_tuning_settings(resolve([base, small]), SOURCE, "general").config
    assert found.model == SOURCE.model


@pytest.mark.parametrize("key", ["model_src_vocab_size", "model_d_k", "model_encoder_layers"])
def test_automatic_values_are_no_others(key: str) -> None:
    assert config(**{key: "auto"}).model == SOURCE.model
