"""Settings: frozen dataclasses, a strict TOML file, dotted overrides, and the origin of each value.

Preset, file, environment and command line are mappings from dotted keys to values. They override
the defaults in this order, and all are checked in the same way. A derived value is stored as
"auto", so that it follows a later override of the settings it derives from.
"""

import contextlib
import dataclasses
import re
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_type_hints

from nmt_cli.config.held_out_text import drop_overridden, is_of_project
from nmt_cli.config.model_kinds import check_kind
from nmt_cli.config.presets import PRESETS, preset_hint
from nmt_cli.config.search import SearchConfig as SearchConfig
from nmt_cli.config.search import check_search
from nmt_cli.config.synonyms import ALL_SETTINGS, meant_setting_hint
from nmt_cli.config.toml import read_settings
from nmt_cli.config.train import TrainConfig as TrainConfig
from nmt_cli.config.train import check_training
from nmt_cli.config.tsv_columns import column_numbers
from nmt_cli.config.values import Setting, convert, declaration, setting, shortened
from nmt_cli.errors import ConfigError
from nmt_cli.storage.files import read_bytes

FORMAT = 1
MAX_BYTES = 1 << 20
# At most this many problems are listed in one error.
MOST_PROBLEMS = 20
Auto = Literal["auto"]
# A dotted key within a message.
_KEY = re.compile(r"\b[a-z]+\.[a-z_0-9]+")


@dataclass(frozen=True)
class LanguagesConfig:
    """Language codes, which select the rules of tokenisers and occur in file names."""

    src: str = setting(
        "src", "source language code, such as en", option="--src-lang", metavar="CODE"
    )
    tgt: str = setting(
        "tgt", "target language code, such as de", option="--tgt-lang", metavar="CODE"
    )


@dataclass(frozen=True)
class PathsConfig:
    """The directories of the prepared corpus and of the model."""

    corpus: str = setting("corpus", "directory of the prepared corpus", metavar="CORPUS")
    model: str = setting("model", "model directory", metavar="MODEL")


@dataclass(frozen=True)
class DataConfig:
    """The text files, and how they are cleaned and split into subwords."""

    train: tuple[tuple[str, ...], ...] = setting(
        (), "training files, a list whose entries are [source, target] or [tsv]"
    )
    tsv_columns: str = setting(
        "", "columns of source and target in the training tables, such as 3,1", metavar="SRC,TGT"
    )
    valid: tuple[str, ...] = setting((), "validation files: [source, target] or [tsv]")
    valid_split: int = setting(
        0, "number of random training pairs to set aside for validation", 0, 2**31
    )
    test: tuple[str, ...] = setting((), "test files: [source, reference, ...] or [tsv]")
    test_split: int = setting(
        0,
        "number of random training pairs to set aside for testing; their text is in the corpus",
        0,
        2**31,
    )
    subwords: Literal["bpe", "unigram", "wordpiece", "bytes", "chars"] = setting(
        "bpe", "subword method"
    )
    subwords_from: str = setting(
        "",
        "model directory or corpus whose vocabulary is used, instead of learning one",
        metavar="MODEL",
    )
    vocab_size: int | Auto = setting(
        37_000,
        "vocabulary size",
        8,
        2**24,
        auto="chosen from the number of words",
        metavar="N|auto",
    )
    joint: bool = setting(
        True,
        "share one vocabulary between source and target, or learn one for each",
        option="--joint/--separate",
    )
    tgt_vocab_size: int | Auto = setting(
        "auto", "target vocabulary size, unless data.joint", 8, 2**24, auto="data.vocab_size"
    )
    byte_fallback: bool = setting(False, "encode unknown characters as bytes (bpe, unigram)")
    normalize: bool = setting(
        False,
        "normalise quotes, dashes and spaces as Moses does, also of text to translate",
        option="--normalize/--no-normalize",
    )
    min_length: int = setting(1, "minimum length of both sides, in subwords", 1, 2**20)
    max_length: int = setting(256, "maximum length of both sides, in subwords", 1, 2**20)
    max_ratio: float = setting(
        9.0, "maximum ratio between the lengths of the sides, in subwords", 1.0, 1e6
    )
    strict: bool = setting(
        False, "reject text that is not UTF-8 instead of replacing invalid bytes by U+FFFD"
    )
    clean: Literal["off", "safe", "strict"] = setting(
        "safe",
        "safe = repair text without loss and drop useless pairs; "
        "strict = also drop all suspicious pairs; off = neither",
    )
    drop: tuple[str, ...] = setting((), "kinds of noise to drop even if data.clean is not strict")
    drop_duplicates: bool = setting(True, "drop duplicate pairs, except the first of each")
    drop_wrong_language: bool = setting(
        False,
        "drop pairs with a side in the language of the other, or in a third one, even if "
        "data.clean is not strict",
    )
    drop_held_out: bool = setting(
        False,
        "drop pairs whose source, or target of at least five words, is in the validation or test "
        "text, even if data.clean is not strict",
    )
    sample_lines: int = setting(5_000_000, "maximum lines to learn subwords from", 1, 2**40)
    seed: int = setting(
        1, "random seed for sampling lines and choosing validation and test pairs", 0, 2**63 - 1
    )


@dataclass(frozen=True)
class ModelConfig:
    """The architecture (section 3); the defaults are those of the paper's base model."""

    kind: Literal["transformer", "rnn", "conv"] = setting(
        "transformer",
        "architecture: transformer, rnn (Bahdanau et al. 2014) or conv (Gehring et al. 2017)",
    )
    layers: int = setting(6, "layers of the encoder and of the decoder (N)", 1, 1_000)
    encoder_layers: int | Auto = setting(
        "auto", "layers of the encoder", 0, 1_000, auto="model.layers"
    )
    decoder_layers: int | Auto = setting(
        "auto", "layers of the decoder", 1, 1_000, auto="model.layers"
    )
    d_model: int = setting(512, "width of the model", 1, 65_536)
    d_ff: int = setting(2_048, "inner width of the feed-forward sublayers", 1, 1_048_576)
    heads: int = setting(8, "attention heads (h)", 1, 4_096)
    d_k: int | Auto = setting(
        "auto", "width of each head's queries and keys", 1, 65_536, auto="d_model/heads"
    )
    d_v: int | Auto = setting(
        "auto", "width of each head's values", 1, 65_536, auto="d_model/heads"
    )
    dropout: float = setting(
        0.1, "dropout rate of sublayer outputs and embeddings (P_drop)", 0.0, 0.95
    )
    positions: Literal["sinusoidal", "sinusoidal_halves", "sinusoidal_t2t", "learned", "rotary"] = (
        setting(
            "sinusoidal",
            "position encoding (section 3.5); sinusoidal_halves = all sines, then all cosines; "
            "sinusoidal_t2t = the same with the wavelengths of Marian and tensor2tensor",
        )
    )
    position_offset: int = setting(
        0, "position of the first token in the sinusoids; 2 in models of fairseq", 0, 1_024
    )
    max_positions: int = setting(
        1_024, "number of learned positions: the longest sentence, in subwords", 1, 1_048_576
    )
    kernel_width: int = setting(3, "kernel width of convolutions, in tokens (conv)", 1, 1_023)
    norm_order: Literal["post", "pre"] = setting(
        "post", "normalise after each residual connection (post) or before each sublayer (pre)"
    )
    norm: Literal["layer_norm", "rms_norm"] = setting("layer_norm", "normalisation method")
    norm_epsilon: float = setting(1e-6, "epsilon of the normalisation", 0.0, 1.0)
    activation: Literal["relu", "gelu", "silu", "swiglu"] = setting(
        "relu", "activation function of the feed-forward sublayers"
    )
    attention_bias: bool = setting(False, "use biases in the attention projections")
    feed_forward_bias: bool = setting(True, "use biases in the feed-forward sublayers")
    output_bias: bool = setting(False, "add a bias to the logits")
    tie_embeddings: Literal["all", "target", "none"] = setting(
        "all",
        "share embeddings (section 3.4): all = source, target and output; "
        "target = target and output; none = each has its own",
    )
    scale_embeddings: bool = setting(True, "multiply embeddings by sqrt(d_model)")
    src_vocab_size: int | Auto = setting(
        "auto", "source vocabulary size", 1, 2**24, auto="that of the corpus"
    )
    tgt_vocab_size: int | Auto = setting(
        "auto", "target vocabulary size", 1, 2**24, auto="that of the corpus"
    )
    pad_id: int = setting(0, "ID of the padding token", 0, 2**24)
    unk_id: int = setting(1, "ID of the unknown token", 0, 2**24)
    bos_id: int = setting(2, "ID of the beginning-of-sentence token", 0, 2**24)
    eos_id: int = setting(3, "ID of the end-of-sentence token", 0, 2**24)
    start_id: int | Auto = setting("auto", "first decoder input", 0, 2**24, auto="model.bos_id")
    zero_start: bool = setting(
        False, "keep the first decoder input at zero, as Marian and tensor2tensor do"
    )
    banned_ids: tuple[int, ...] = setting((0, 1, 2), "token IDs that search never generates")


@dataclass(frozen=True)
class Config:
    """All settings, by section."""

    languages: LanguagesConfig = LanguagesConfig()
    paths: PathsConfig = PathsConfig()
    data: DataConfig = DataConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    search: SearchConfig = SearchConfig()


def _known_settings() -> dict[str, Setting]:
    known = {}
    for section in dataclasses.fields(Config):
        cls: Any = type(section.default)
        type_hints = get_type_hints(cls)
        for field in dataclasses.fields(cls):
            known[f"{section.name}.{field.name}"] = declaration(field, type_hints[field.name])
    return known


SETTINGS: Mapping[str, Setting] = types.MappingProxyType(_known_settings())


class SettingsLayer(NamedTuple):
    """Settings from one source; `origin` describes this source to the user.

    names: what errors call a setting that the user wrote in another way, such as `--max-steps`.
    """

    origin: str
    values: Mapping[str, object]
    names: Mapping[str, str] = types.MappingProxyType({})


class ResolvedConfig(NamedTuple):
    """A complete configuration and the origin of each dotted key."""

    config: Config
    origins: dict[str, str]


def resolve(layers: Iterable[SettingsLayer]) -> ResolvedConfig:
    """Override the defaults by the preset that `layers` choose, then by `layers`, in their order.

    Raises ConfigError, which lists all wrong keys and values.
    """
    layers = list(layers)
    problems: list[str] = []
    hints: list[str] = []
    checked = [_checked_layer(layer, problems, hints) for layer in layers]
    chosen = next(
        (layer for layer in reversed(checked) if "train.preset" in layer.values),
        SettingsLayer("default", {"train.preset": "base"}),
    )
    name = str(chosen.values["train.preset"])
    if name not in PRESETS:
        origin = chosen.names.get("train.preset", chosen.origin)
        problems.append(f"{origin}: unknown preset `{name}`")
        hints.append(preset_hint(name))
    if problems:
        more = len(problems) - MOST_PROBLEMS
        reported = [*problems[:MOST_PROBLEMS], *([f"and {more:,} more"] if more > 0 else [])]
        raise ConfigError("; ".join(reported), "; ".join(dict.fromkeys(hints)))
    defaults: dict[str, object] = {key: setting.default for key, setting in SETTINGS.items()}
    flat = dict(defaults)
    origins = dict.fromkeys(flat, "default")
    names: dict[str, str] = {}
    for layer in [SettingsLayer(f"preset {name}", PRESETS[name]), *checked]:
        flat.update(layer.values)
        origins.update(dict.fromkeys(layer.values, layer.origin))
        names.update({key: layer.names.get(key, key) for key in layer.values})
    drop_overridden(flat, origins, defaults)
    with _naming(names, origins):
        return ResolvedConfig(_check_together(_build(flat)), origins)


@contextlib.contextmanager
def _naming(names: Mapping[str, str], origins: Mapping[str, str]) -> Iterator[None]:
    """Let the errors of the block call settings by their `names`, and say which a file sets."""
    try:
        yield
    except ConfigError as error:
        message = _KEY.sub(lambda match: names.get(match[0], match[0]), error.message)
        keys = dict.fromkeys(_KEY.findall(error.message))
        set_in = [
            f"{key} is set in {origins[key]}"
            for key in keys
            if key in origins and is_of_project(origins[key])
        ]
        raise ConfigError(message, "; ".join(filter(None, [error.hint, *set_in]))) from error


def _checked_layer(layer: SettingsLayer, problems: list[str], hints: list[str]) -> SettingsLayer:
    values = {}
    for key, value in layer.values.items():
        if key not in SETTINGS:
            problems.append(f"{layer.origin}: unknown setting `{shortened(key)}`")
            # Searching for the nearest key takes a millisecond.
            if len(problems) <= MOST_PROBLEMS:
                hints.append(meant_setting_hint(key, SETTINGS) or ALL_SETTINGS)
            continue
        try:
            values[key] = convert(SETTINGS[key], value)
        except ValueError as error:
            name = layer.names.get(key, "")
            problems.append(f"{name} {error}" if name else f"{layer.origin}: `{key}` {error}")
            hints.append(f"{name or key}: {SETTINGS[key].about}")
    return SettingsLayer(layer.origin, values, layer.names)


def _build(flat: Mapping[str, object]) -> Config:
    sections: dict[str, dict[str, Any]] = {}
    for key, value in flat.items():
        section, name = key.split(".")
        sections.setdefault(section, {})[name] = value
    return Config(
        LanguagesConfig(**sections["languages"]), PathsConfig(**sections["paths"]),
        DataConfig(**sections["data"]), ModelConfig(**sections["model"]),
        TrainConfig(**sections["train"]), SearchConfig(**sections["search"]),
    )  # fmt: skip


def _check_together(config: Config) -> Config:
    """Raise ConfigError for values that are valid, but not in this combination."""
    model = config.model
    check_kind(dataclasses.asdict(model), dataclasses.asdict(ModelConfig()), config.train.compile)
    check_search(config.search)
    column_numbers(config.data.tsv_columns)
    if config.data.joint and config.data.tgt_vocab_size != "auto":
        raise ConfigError(
            "data.tgt_vocab_size is the size of a vocabulary of its own, but data.joint is true",
            "set data.joint=false (`nmt prepare --separate`), or only data.vocab_size",
        )
    check_training(config.train, model.dropout)
    return config


def flatten(config: Config) -> dict[str, object]:
    """Every dotted key with its value."""
    return {
        f"{section}.{name}": value
        for section, values in dataclasses.asdict(config).items()
        for name, value in values.items()
    }


def with_values(
    config: Config, values: Mapping[str, object], names: Mapping[str, str] | None = None
) -> Config:
    """`config` with some dotted keys replaced; checked like any other setting.

    names: what errors call these settings.
    """
    return resolve([SettingsLayer("config", {**flatten(config), **values}, names or {})]).config


def of_preset(name: str) -> Config:
    """The configuration of a preset for which nothing else is chosen; ConfigError for no preset."""
    return resolve([SettingsLayer("preset", {"train.preset": name})]).config


def read_layer(path: Path) -> SettingsLayer:
    """The settings of a TOML file; raises NoInputError or ConfigError."""
    return parse_layer(read_bytes(path, "settings", max_bytes=MAX_BYTES), path)


def parse_layer(data: bytes, path: Path) -> SettingsLayer:
    """The settings in `data`, the content of the TOML file `path`."""
    return SettingsLayer(str(path), read_settings(data, path, FORMAT))


def load(path: Path) -> Config:
    """The configuration saved in `path`, complete and checked."""
    return resolve([read_layer(path)]).config


def dump(config: Config) -> str:
    """The complete configuration as TOML; `load` reads it back to an equal one."""
    import tomli_w

    return tomli_w.dumps({"format": FORMAT, **dataclasses.asdict(config)})
