"""Settings: their order of precedence, every refusal, and the way through a file and back."""

import dataclasses
import math
import re
import tomllib
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.config.presets import PRESETS, TABLE3
from nmt_cli.config.schema import (
    SETTINGS,
    Config,
    SettingsLayer,
    dump,
    flatten,
    load,
    read_layer,
    resolve,
    with_values,
)
from nmt_cli.config.values import Setting, convert
from nmt_cli.errors import ConfigError, NoInputError


def refusal(*layers: SettingsLayer) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        resolve(layers)
    return caught.value


def one(key: str, value: object) -> object:
    return flatten(resolve([SettingsLayer("test", {key: value})]).config)[key]


@pytest.mark.parametrize("key", ["data.valid", "data.test"])
def test_single_pair_of_files_may_be_nested_like_training_pairs(key: str) -> None:
    assert one(key, [["t.en", "t.fr"]]) == one(key, ["t.en", "t.fr"]) == ("t.en", "t.fr")


class TestPrecedence:
    def test_default_settings_are_the_papers_base_model(self) -> None:
        config, origins = resolve([])
        assert (config.model.d_model, config.model.layers, config.model.heads) == (512, 6, 8)
        assert set(origins) == set(SETTINGS)
        assert set(origins.values()) == {"default", "preset base"}

    def test_a_preset_beats_the_default_and_a_file_beats_the_preset(self) -> None:
        file = SettingsLayer("nmt.toml", {"train.preset": "big", "model.heads": 32})
        config, origins = resolve([file])
        assert (config.model.d_model, origins["model.d_model"]) == (1024, "preset big")
        assert (config.model.heads, origins["model.heads"]) == (32, "nmt.toml")
        assert (config.search.beam, origins["search.beam"]) == (4, "default")

    def test_a_later_layer_beats_an_earlier_one_key_by_key(self) -> None:
        config, origins = resolve(
            [
                SettingsLayer("nmt.toml", {"model.heads": 4, "model.layers": 2}),
                SettingsLayer("NMT_MODEL_HEADS", {"model.heads": "2"}),
                SettingsLayer("command line", {"model.heads": 1}),
            ]
        )
        assert (config.model.heads, origins["model.heads"]) == (1, "command line")
        assert (config.model.layers, origins["model.layers"]) == (2, "nmt.toml")

    def test_last_layer_chooses_the_preset_and_all_layers_override_it(self) -> None:
        config, _ = resolve(
            [
                SettingsLayer("nmt.toml", {"train.preset": "tiny", "model.dropout": 0.25}),
                SettingsLayer("command line", {"train.preset": "big"}),
            ]
        )
        assert (config.train.preset, config.model.d_model) == ("big", 1024)
        assert config.model.dropout == 0.25


class TestRefusals:
    def test_an_unknown_key_names_its_origin_and_the_nearest_key(self) -> None:
        error = refusal(SettingsLayer("nmt.toml", {"model.headz": 4}))
        assert error.message == "nmt.toml: unknown setting `model.headz`"
        assert error.hint == "did you mean `model.heads`?"

    def test_key_in_wrong_section_gets_a_suggestion(self) -> None:
        assert refusal(SettingsLayer("x", {"train.heads": 4})).hint == "did you mean `model.heads`?"

    def test_unrelated_key_hints_at_config_show(self) -> None:
        assert "nmt config show" in refusal(SettingsLayer("x", {"zzzz": 4})).hint

    def test_joint_vocabulary_refuses_target_vocabulary_size(self) -> None:
        error = refusal(SettingsLayer("--set", {"data.tgt_vocab_size": 100}))
        assert "data.joint is true" in error.message
        assert resolve([SettingsLayer("--set", {"data.tgt_vocab_size": 100, "data.joint": False})])

    def test_an_unknown_preset_names_the_nearest(self) -> None:
        error = refusal(SettingsLayer("command line", {"train.preset": "bsae"}))
        assert "unknown preset `bsae`" in error.message
        assert error.hint == "did you mean `base`?"

    @pytest.mark.parametrize("name", ["table3-x", "table3-ROW", "nothing"])
    def test_hint_lists_existing_presets(self, name: str) -> None:
        """A wrong row of Table 3 gets them all."""
        with pytest.raises(ConfigError) as caught:
            resolve([SettingsLayer("test", {"train.preset": name})])
        listed = re.findall(r"[\w.-]+-[\w.-]*\w|\bbase\b", caught.value.hint)
        assert listed
        assert set(listed) <= PRESETS.keys()
        assert ({*listed} == {"base", *TABLE3}) == name.startswith("table3")

    def test_all_problems_are_reported_together(self) -> None:
        error = refusal(
            SettingsLayer("nmt.toml", {"model.headz": 4, "model.layers": "six"}),
            SettingsLayer("--set", {"train.preset": "x", "search.beam": 0}),
        )
        for word in ("model.headz", "model.layers", "unknown preset `x`", "search.beam"):
            assert word in error.message

    @pytest.mark.parametrize(
        ("key", "value", "message"),
        [
            ("search.beam", 0, "must be at least 1, not 0"),
            ("search.beam", 1025, "must be at most 1024, not 1025"),
            ("model.dropout", math.nan, "must be at least 0.0, not nan"),
            ("model.dropout", 0.96, "must be at most 0.95, not 0.96"),
            ("model.heads", 2.0, "must be a whole number, not 2.0"),
            ("model.heads", True, "must be a whole number, not True"),
            ("model.heads", "eight", "must be a whole number, not 'eight'"),
            ("model.d_k", "automatic", "must be a whole number or `auto`"),
            ("data.joint", 1, "must be true or false, not 1"),
            ("data.joint", "yes", "must be true or false, not 'yes'"),
            ("data.subwords", "BPE", "`bpe` or `unigram`"),
            ("languages.src", 5, "must be a string, not 5"),
            ("data.valid", 5, 'must be a list of strings, such as ["a", "b"], not 5'),
            ("data.test", [["a", "b"], ["c", "d"]], 'such as ["a", "b"]'),
            ("train.max_hours", 10**400, "is too large for a floating-point number"),
        ],
    )
    def test_wrong_value_is_refused_with_its_reason(
        self, key: str, value: object, message: str
    ) -> None:
        error = refusal(SettingsLayer("x", {key: value}))
        assert f"`{key}`" in error.message
        assert message in error.message
        assert error.hint.startswith(f"{key}: ")

    def test_error_of_a_long_value_stays_short(self) -> None:
        assert len(refusal(SettingsLayer("x", {"model.heads": "x" * 100_000})).message) < 200

    def test_unbalanced_brackets_are_a_file_name(self) -> None:
        assert one("data.valid", "[" * 100_000) == ("[" * 100_000,)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"model.d_model": 512, "model.heads": 3}, "is not divisible by model.heads=3"),
            ({"model.d_model": 5, "model.heads": 1}, "needs an even d_model"),
            (
                {"model.positions": "rotary", "model.d_model": 6, "model.heads": 2},
                "a sine and a cosine, not 3",
            ),
            ({"search.n_best": 5}, "more than search.beam=4"),
            (
                {"search.keep_numbers": True, "search.markup": "off"},
                "search.markup=off translates markup like words",
            ),
            ({"train.optimizer": "schedule_free"}, "but train.schedule is inverse_sqrt"),
            (
                {
                    "train.optimizer": "schedule_free",
                    "train.schedule": "constant",
                    "train.ema": 0.9,
                },
                "averages the weights itself",
            ),
            ({"train.r_drop": 5.0, "model.dropout": 0.0}, "model.dropout is 0"),
        ],
    )
    def test_conflicting_values_are_refused(self, values: dict[str, object], message: str) -> None:
        assert message in refusal(SettingsLayer("x", values)).message

    def test_explicit_head_widths_need_no_division(self) -> None:
        values = {"model.d_model": 512, "model.heads": 3, "model.d_k": 32, "model.d_v": 32}
        assert resolve([SettingsLayer("x", values)]).config.model.heads == 3


class TestValuesFromText:
    @pytest.mark.parametrize(
        ("key", "text", "value"),
        [
            ("model.heads", "16", 16),
            ("model.d_k", "auto", "auto"),
            ("model.d_k", "64", 64),
            ("data.joint", "False", False),
            ("train.epsilon", "1e-9", 1e-9),
            ("train.max_hours", "2", 2.0),
            ("data.valid", "a.en,a.de", ("a.en", "a.de")),
            ("data.valid", '["a,b", "c"]', ("a,b", "c")),
            ("data.train", '[["a.en", "a.de"], ["b.tsv"]]', (("a.en", "a.de"), ("b.tsv",))),
            ("data.train", "", ()),
            ("model.banned_ids", "0,1", (0, 1)),
        ],
    )
    def test_text_is_converted_to_the_type_of_its_setting(
        self, key: str, text: str, value: object
    ) -> None:
        assert one(key, text) == value
        assert type(one(key, text)) is type(value)


class TestSettingsFiles:
    def test_an_auto_value_stays_auto_so_that_later_overrides_still_work(self) -> None:
        config = resolve([SettingsLayer("x", {"model.d_model": 256})]).config
        assert config.model.d_k == "auto"
        again = tomllib.loads(dump(config))
        assert again["model"]["d_k"] == "auto"

    def test_dumped_settings_file_is_complete(self) -> None:
        document = tomllib.loads(dump(Config()))
        assert document.pop("format") == 1
        keys = {f"{section}.{key}" for section, part in document.items() for key in part}
        assert keys == set(SETTINGS)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("model = [", "not valid TOML"),
            ("[model]\nheads = 4\nheads = 8\n", "not valid TOML"),
            ("format = 2\n", "has format 2; this nmt reads format 1"),
            ("format = 0\n", "has format 0; this nmt reads format 1"),
            ("heads = 4\n", "unknown setting `heads`"),
            ("[[model]]\nheads = 4\n", "unknown setting `model`"),
            ("[model.heads]\nx = 1\n", "`model.heads`"),
            ("x = " + "[" * 100_000, "not valid TOML"),
        ],
    )
    def test_invalid_settings_file_is_named(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "nmt.toml"
        path.write_text(text)
        with pytest.raises(ConfigError, match=r"nmt\.toml") as caught:
            load(path)
        assert message in caught.value.message
        assert caught.value.hint

    @pytest.mark.parametrize(("version", "newer"), [(0, False), (2, True)])
    def test_settings_file_of_later_format_needs_newer_nmt(
        self, tmp_path: Path, version: int, newer: bool
    ) -> None:
        path = tmp_path / "nmt.toml"
        path.write_text(f"format = {version}\n")
        with pytest.raises(ConfigError) as caught:
            load(path)
        assert ("newer nmt" in caught.value.hint) == newer

    def test_settings_file_that_is_not_utf8_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "nmt.toml"
        path.write_bytes(b"[languages]\nsrc = '\xff'\n")
        with pytest.raises(ConfigError, match="toml`, line 2: not UTF-8") as caught:
            load(path)
        assert f"iconv -f CP1252 -t UTF-8 {path} > {tmp_path}/nmt.utf8.toml" in caught.value.hint

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
    def test_settings_file_in_utf16_names_the_conversion(
        self, tmp_path: Path, encoding: str
    ) -> None:
        path = tmp_path / "nmt.toml"
        path.write_text('[languages]\nsrc = "en"\n', encoding)
        with pytest.raises(ConfigError) as caught:
            load(path)
        assert caught.value.message == f"`{path}` looks like {encoding.upper()}, UTF-8 is needed"
        assert f"iconv -f {encoding.upper()} -t UTF-8 {path} >" in caught.value.hint

    @pytest.mark.parametrize("name", [r"C:\Users\x.tsv", r"C:\data\x.tsv", r"C:\Udddddddd\x.tsv"])
    def test_backslash_in_double_quotes_is_explained(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / "nmt.toml"
        path.write_text(f'[data]\ntrain = [["{name}"]]\n')
        with pytest.raises(ConfigError, match="not valid TOML") as caught:
            load(path)
        assert "backslash" in caught.value.hint
        for repaired in (f"'{name}'", '"{}"'.format(name.replace("\\", "\\\\"))):
            path.write_text(f"[data]\ntrain = [[{repaired}]]\n")
            assert load(path).data.train == ((name,),)

    def test_missing_settings_file_is_missing_input(self, tmp_path: Path) -> None:
        with pytest.raises(NoInputError):
            read_layer(tmp_path / "none.toml")


class TestSettingsTable:
    def test_every_default_passes_its_own_check(self) -> None:
        for key, setting in SETTINGS.items():
            assert convert(setting, setting.default) == setting.default, key

    @pytest.mark.parametrize("name", PRESETS)
    def test_every_preset_holds_known_keys_and_checked_values(self, name: str) -> None:
        for key, value in PRESETS[name].items():
            assert convert(SETTINGS[key], value) == value
            assert type(value) is type(convert(SETTINGS[key], value))
        resolve([SettingsLayer("x", {"train.preset": name})])

    def test_every_setting_has_help(self) -> None:
        assert [key for key, setting in SETTINGS.items() if len(setting.about) < 5] == []

    def test_a_configuration_cannot_be_changed(self) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            Config().model.heads = 4  # type: ignore[misc]


# Everything that can stand in a file: any text but lone surrogates.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


def values_of(setting: Setting) -> st.SearchStrategy[object]:
    """Values that the setting admits."""
    low, high = setting.low, setting.high
    kinds = get_args(setting.type_hint)
    if get_origin(setting.type_hint) is Literal:
        return st.sampled_from(get_args(setting.type_hint))
    if get_origin(setting.type_hint) is tuple:
        if kinds[0] is int:
            return st.lists(st.integers(0, 99), max_size=3).map(tuple)
        texts = st.lists(TEXTS, max_size=3).map(tuple)
        return texts if kinds[0] is str else st.lists(texts, max_size=2).map(tuple)
    if setting.type_hint is bool:
        return st.booleans()
    if setting.type_hint is str:
        return TEXTS
    if setting.type_hint is float:
        return st.floats(low, high, allow_nan=False, allow_infinity=False)
    numbers = st.integers(int(low or 0), int(high) if high is not None else 2**62)
    return numbers if setting.type_hint is int else st.one_of(numbers, st.just("auto"))


FREE = {
    key: values_of(setting)
    for key, setting in SETTINGS.items()
    # These must fit together; the tests above hold them.
    if key not in ("model.d_model", "model.heads", "model.d_k", "model.d_v", "model.positions")
    and key not in ("search.beam", "search.n_best", "train.preset", "model.dropout")
    and key not in ("model.kind", "model.kernel_width", "data.joint", "data.tgt_vocab_size")
    and key not in ("model.position_offset", "train.optimizer", "train.schedule")
    and key not in ("train.ema", "train.r_drop")
    and key not in ("search.sample", "search.temperature", "search.top_k", "search.top_p")
    and key not in ("search.min_length", "search.max_length", "search.keep_numbers")
} | {"data.tsv_columns": st.sampled_from(["", "3,1", "1,2"])}
# Other kinds of models have fewer settings.
TRANSFORMERS = sorted(name for name, preset in PRESETS.items() if "model.kind" not in preset)


@given(st.fixed_dictionaries({}, optional=FREE), st.sampled_from(TRANSFORMERS))
def test_configuration_round_trips_through_its_file(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, object], preset: str
) -> None:
    config = resolve([SettingsLayer("x", {**values, "train.preset": preset})]).config
    assert {key: flatten(config)[key] for key in values} == values
    path = tmp_path_factory.getbasetemp() / "round.toml"
    path.write_text(dump(config), encoding="utf-8", newline="")
    assert load(path) == config
    assert with_values(config, {}) == config


def refused_in_our_words(values: dict[str, object]) -> bool:
    """Whether `values` are refused, properly; any other exception passes through."""
    try:
        resolve([SettingsLayer("x", values)])
    except ConfigError as error:
        return bool(error.message)
    return False


@given(st.dictionaries(TEXTS, st.one_of(st.integers(), TEXTS, st.booleans(), st.none())))
def test_unknown_keys_are_always_refused(values: dict[str, object]) -> None:
    assert refused_in_our_words(values) or set(values) <= set(SETTINGS)


@given(st.sampled_from(sorted(SETTINGS)), st.one_of(TEXTS, st.integers(), st.none(), st.floats()))
def test_value_of_wrong_type_is_refused(key: str, value: object) -> None:
    if not refused_in_our_words({key: value}):
        assert convert(SETTINGS[key], one(key, value)) == one(key, value)


def test_only_presets_of_our_own_forbid_empty_translations() -> None:
    layers = {name: SettingsLayer("x", {"train.preset": name}) for name in PRESETS}
    least = {name: resolve([layer]).config.search.min_length for name, layer in layers.items()}
    assert {name for name, length in least.items() if length} == {"small"}
    assert least["small"] == 1
