"""Settings that do not apply to a kind of model are refused, all at once; presets fit."""

import pytest
import torch

from nmt_cli.config.model_kinds import BASELINES, CHECKS, SHARED
from nmt_cli.config.schema import ModelConfig, SettingsLayer, dump, load, resolve
from nmt_cli.errors import ConfigError
from nmt_cli.model.encoder_decoder import parameter_count
from nmt_cli.model.kinds import make_model

MEANINGLESS = {
    "rnn": {
        "d_ff": 100, "heads": 4, "d_k": 7, "d_v": 7, "positions": "rotary", "max_positions": 5,
        "kernel_width": 5, "norm_order": "pre", "norm": "rms_norm", "norm_epsilon": 1e-5,
        "activation": "gelu", "attention_bias": True, "feed_forward_bias": False,
        "scale_embeddings": False, "zero_start": True, "position_offset": 2,
    },
}  # fmt: skip
MEANINGLESS["conv"] = {
    name: value
    for name, value in MEANINGLESS["rnn"].items()
    if name not in ("positions", "position_offset", "max_positions", "kernel_width")
}
MEANINGLESS["transformer"] = {"kernel_width": 5}
CASES = [(kind, name) for kind, names in MEANINGLESS.items() for name in names]


def refusal(values: dict[str, object]) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        resolve([SettingsLayer("test", values)])
    return caught.value


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_settings_of_other_model_kinds_are_refused(kind, name):
    error = refusal({"model.kind": kind, f"model.{name}": MEANINGLESS[kind][name]})
    assert error.message == f"model.{name} does not apply to model.kind={kind}"


@pytest.mark.parametrize("kind", BASELINES)
def test_every_model_setting_applies_or_is_refused(kind):
    """A new one has to be put on one side or the other."""
    every = set(ModelConfig.__dataclass_fields__)
    assert every == SHARED | BASELINES[kind] | set(MEANINGLESS[kind])
    assert set(CHECKS) == {"transformer", *BASELINES}


def test_all_settings_of_other_model_kinds_are_reported():
    error = refusal({"train.preset": "tiny", "model.kind": "rnn", "train.compile": "on"})
    assert error.message == (
        "model.d_ff, model.heads, model.positions, model.norm_order, train.compile=on do not apply "
        "to model.kind=rnn"
    )
    assert "`--preset rnn`" in error.hint


def test_settings_of_a_project_that_do_not_fit_are_said_to_be_its_own():
    layers = [
        SettingsLayer("nmt.toml", {"model.heads": 4}),
        SettingsLayer("--set", {"train.preset": "rnn", "model.d_ff": 64}),
    ]
    with pytest.raises(ConfigError) as caught:
        resolve(layers)
    assert caught.value.hint.endswith(" has suitable ones; model.heads is set in nmt.toml")


@pytest.mark.parametrize("kind", BASELINES)
def test_baselines_refuse_compile(kind):
    refusal({"model.kind": kind, "train.compile": "on"})
    for value in ("auto", "off"):
        resolve([SettingsLayer("test", {"model.kind": kind, "train.compile": value})])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"kind": "rnn", "d_model": 7}, "model.d_model=7 is odd"),
        ({"kind": "conv", "kernel_width": 4}, "model.kernel_width=4 is even"),
        ({"kind": "conv", "positions": "rotary"}, "rotates the queries and keys of self-attention"),
        ({"kind": "conv", "d_model": 7}, "a cosine, not 7"),
        ({"positions": "rotary", "position_offset": 2}, "does not apply to model.positions=rotary"),
        ({"d_model": 7}, "model.d_model=7 is not divisible by model.heads=8"),
        ({"d_model": 7, "heads": 1}, "a cosine, not 7"),
        (
            {"d_model": 30, "heads": 10, "positions": "rotary"},
            "needs an even model.d_k (d_model / heads)",
        ),
        ({"d_model": 30, "heads": 10, "positions": "rotary", "d_k": 5}, "a cosine, not 5"),
    ],
)
def test_incompatible_settings_are_refused(values, words):
    assert words in str(refusal({f"model.{name}": value for name, value in values.items()}))


@pytest.mark.parametrize(
    "values",
    [
        {"kind": "rnn", "d_model": 10},
        {"kind": "conv", "d_model": 7, "positions": "learned", "kernel_width": 1},
        {"d_model": 30, "heads": 10, "positions": "rotary", "d_k": 4},
        {"d_model": 7, "d_k": 2, "d_v": 2, "positions": "learned"},
    ],
)
def test_baselines_accept_other_widths(values):
    resolve([SettingsLayer("test", {f"model.{name}": value for name, value in values.items()})])


@pytest.mark.parametrize("kind", BASELINES)
def test_baseline_presets_have_the_size_and_training_of_small(kind):
    counts = {}
    for name in ("paper-small", kind):
        sizes = {"model.src_vocab_size": 8_000, "model.tgt_vocab_size": 8_000}
        config = resolve([SettingsLayer("test", {"train.preset": name, **sizes})]).config
        with torch.device("meta"):
            counts[name] = parameter_count(make_model(config.model))
    assert counts[kind] == pytest.approx(counts["paper-small"], rel=0.06)
    small, other = (
        resolve([SettingsLayer("x", {"train.preset": n})]).config for n in ("paper-small", kind)
    )
    assert other.model.kind == kind
    assert other.data == small.data
    same = ("batch_tokens", "max_steps", "warmup_steps", "label_smoothing", "checkpoint_every")
    for name in same:
        assert getattr(other.train, name) == getattr(small.train, name)


@pytest.mark.parametrize("kind", BASELINES)
def test_baseline_settings_round_trip_through_a_file(kind, tmp_path):
    config = resolve([SettingsLayer("test", {"train.preset": kind})]).config
    (tmp_path / "config.toml").write_text(dump(config))
    assert load(tmp_path / "config.toml") == config


def test_settings_file_without_model_kind_is_a_transformer(tmp_path):
    lines = dump(resolve([]).config).splitlines()
    old = [line for line in lines if not line.startswith(("kind =", "kernel_width ="))]
    assert len(old) == len(lines) - 2
    (tmp_path / "config.toml").write_text("\n".join(old))
    assert load(tmp_path / "config.toml") == resolve([]).config
