"""Settings: frozen dataclasses, a strict TOML file, dotted overrides, and the origin of each value.

Preset, file, environment and command line are mappings from dotted keys to values. They override
the defaults in this order, and all are checked in the same way. A derived value is stored as
"auto", so that it follows a later override of the settings it derives from.
"""

import dataclasses
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_type_hints

from nmt_cli.config.model_kinds import check_kind
from nmt_cli.config.presets import PRESET_NAMES, PRESETS, preset_hint
from nmt_cli.config.search import SearchConfig as SearchConfig
from nmt_cli.config.search import check_search
from nmt_cli.config.synonyms import meant_setting
from nmt_cli.config.toml import read_settings
from nmt_cli.config.values import Setting, convert, setting, shortened
from nmt_cli.errors import ConfigError
from nmt_cli.storage.files import read_bytes

FORMAT = 1
MAX_BYTES = 1 << 20
# At most so many mistakes of a file are reported.
MOST_PROBLEMS = 20
Auto = Literal["auto"]


@dataclass(frozen=True)
class LanguagesConfig:
    """Language codes; they choose tokeniser rules and name things."""

    src: str = setting("src", "language translated from, such as en")
    tgt: str = setting("tgt", "language translated to, such as de")


@dataclass(frozen=True)
class PathsConfig:
    """Where the prepared corpus and the model lie."""

    corpus: str = setting("corpus", "the prepared corpus (`nmt prepare` writes it)")
    model: str = setting("model", "the model directory (`nmt train` writes it)")


@dataclass(frozen=True)
class DataConfig:
    """The text, and how it becomes subwords."""

    train: tuple[tuple[str, ...], ...] = setting((), "parallel files: [src, tgt] or [tsv], several")
    valid: tuple[str, ...] = setting((), "validation pair of files")
    valid_split: int = setting(
        0, "without validation files: training pairs set apart for validation", 0, 2**31
    )
    test: tuple[str, ...] = setting((), "test pair of files; more than two: several references")
    subwords: Literal["bpe", "unigram", "wordpiece", "bytes", "chars"] = setting(
        "bpe", "kind of subwords"
    )
    vocab_size: int | Auto = setting(
        37_000, "entries of the vocabulary; auto: by the number of words", 8, 2**24
    )
    joint: bool = setting(True, "one vocabulary for both languages")
    tgt_vocab_size: int | Auto = setting(
        "auto", "entries of the target's own vocabulary; auto: vocab_size", 8, 2**24
    )
    byte_fallback: bool = setting(False, "spell unknown characters as bytes (bpe, unigram)")
    normalize: bool = setting(False, "Moses-style normalisation of punctuation")
    min_length: int = setting(1, "shortest side kept, in subwords", 1, 2**20)
    max_length: int = setting(256, "longest side kept, in subwords", 1, 2**20)
    max_ratio: float = setting(9.0, "longest ratio of the sides kept, in subwords", 1.0, 1e6)
    strict: bool = setting(False, "refuse text that is not UTF-8, rather than repair it")
    clean: Literal["off", "safe", "strict"] = setting(
        "safe", "safe: repair what loses nothing; strict: drop whatever looks wrong; off: neither"
    )
    drop_duplicates: bool = setting(True, "keep the first of equal pairs")
    drop_wrong_language: bool = setting(
        False, "drop pairs in the wrong language, also where data.clean is not strict"
    )
    sample_lines: int = setting(5_000_000, "lines that subwords are learnt from", 1, 2**40)
    seed: int = setting(1, "of the sample of lines and the validation split", 0, 2**63 - 1)


@dataclass(frozen=True)
class ModelConfig:
    """The Transformer (section 3), or what it replaced; the defaults are the paper's base model."""

    kind: Literal["transformer", "rnn", "conv"] = setting(
        "transformer",
        "what was before the Transformer: rnn (Bahdanau et al. 2014), conv (Gehring et al. 2017)",
    )
    layers: int = setting(6, "N: layers of each stack", 1, 1_000)
    encoder_layers: int | Auto = setting("auto", "layers of the encoder; auto: layers", 0, 1_000)
    decoder_layers: int | Auto = setting("auto", "layers of the decoder; auto: layers", 1, 1_000)
    d_model: int = setting(512, "width of the model", 1, 65_536)
    d_ff: int = setting(2_048, "inner width of the feed-forward sublayer", 1, 1_048_576)
    heads: int = setting(8, "h: attention heads", 1, 4_096)
    d_k: int | Auto = setting("auto", "width of a head's query and key; auto: d_model/h", 1, 65_536)
    d_v: int | Auto = setting("auto", "width of a head's value; auto: d_model/h", 1, 65_536)
    dropout: float = setting(0.1, "P_drop: of sublayer outputs and embeddings", 0.0, 0.95)
    positions: Literal["sinusoidal", "sinusoidal_halves", "learned", "rotary"] = setting(
        "sinusoidal", "how positions enter (3.5); halves: all sines, then all cosines"
    )
    max_positions: int = setting(1_024, "rows of learned positions", 1, 1_048_576)
    kernel_width: int = setting(3, "of conv: tokens that a convolution sees", 1, 1_023)
    norm_order: Literal["post", "pre"] = setting("post", "normalise after or before the residual")
    norm: Literal["layer_norm", "rms_norm"] = setting("layer_norm", "kind of normalisation")
    norm_epsilon: float = setting(1e-6, "added to the variance", 0.0, 1.0)
    activation: Literal["relu", "gelu", "silu", "swiglu"] = setting("relu", "of the feed-forward")
    attention_bias: bool = setting(False, "biases in the attention projections")
    feed_forward_bias: bool = setting(True, "biases in the feed-forward sublayer")
    output_bias: bool = setting(False, "a bias on the logits")
    tie_embeddings: Literal["all", "target", "none"] = setting(
        "all", "one matrix for src, tgt and output (3.4); target: tgt and output only"
    )
    scale_embeddings: bool = setting(True, "embeddings times sqrt(d_model)")
    src_vocab_size: int | Auto = setting("auto", "auto: the corpus's", 1, 2**24)
    tgt_vocab_size: int | Auto = setting("auto", "auto: the corpus's", 1, 2**24)
    pad_id: int = setting(0, "id of padding", 0, 2**24)
    unk_id: int = setting(1, "id of the unknown subword", 0, 2**24)
    bos_id: int = setting(2, "id of the beginning of a sentence", 0, 2**24)
    eos_id: int = setting(3, "id of the end of a sentence", 0, 2**24)
    start_id: int | Auto = setting("auto", "first decoder input; auto: bos_id", 0, 2**24)
    banned_ids: tuple[int, ...] = setting((0, 1, 2), "ids never produced by search")


@dataclass(frozen=True)
class TrainConfig:
    """Section 5; the defaults are the paper's base model."""

    preset: str = setting("base", "named settings: " + PRESET_NAMES)
    batch_tokens: int = setting(25_000, "tokens a step on each side, all GPUs together", 1, 2**31)
    micro_batch_tokens: int | Auto = setting(
        "auto", "tokens of one pass on one device; the rest is gradient accumulation", 1, 2**31
    )
    parallel_shards: int | Auto = setting(
        "auto", "passes at a time on a CPU, each in a thread; auto: one a core, up to 8", 1, 1_024
    )
    max_steps: int | Auto = setting(
        100_000, "stop after so many steps; auto: by the size of the corpus", 1, 2**40
    )
    max_epochs: int = setting(0, "stop after so many passes over the corpus; 0: no limit", 0, 2**31)
    max_hours: float = setting(0.0, "stop after so much time; 0: no limit", 0.0, 1e6)
    patience: int = setting(
        0, "stop after so many validations that improve neither BLEU nor loss; 0: never", 0
    )
    optimizer: Literal["adam", "schedule_free", "muon"] = setting(
        "adam", "kind of optimiser; schedule_free needs train.schedule=constant"
    )
    beta1: float = setting(0.9, "of Adam; of schedule_free: how near y is to the mean", 0.0, 1.0)
    beta2: float = setting(0.98, "of Adam", 0.0, 1.0)
    epsilon: float = setting(1e-9, "of Adam", 0.0, 1.0)
    momentum: float = setting(0.95, "of Muon's matrices", 0.0, 1.0)
    weight_decay: float = setting(0.0, "decoupled (AdamW); of matrices only", 0.0, 10.0)
    schedule: Literal["inverse_sqrt", "linear", "cosine", "wsd", "constant"] = setting(
        "inverse_sqrt",
        "after warm-up: equation 3; down to zero at max_steps; wsd: down in the last steps only",
    )
    decay_fraction: float = setting(
        0.2, "share of max_steps in which wsd goes down to zero", 0.0, 1.0
    )
    warmup_steps: int = setting(4_000, "of equation 3", 1, 2**31)
    learning_rate: float | Auto = setting(
        "auto",
        "at the end of warm-up; auto: equation 3's (d_model * warmup_steps)^-0.5",
        0.0,
        100.0,
    )
    label_smoothing: float = setting(0.1, "epsilon_ls (5.4)", 0.0, 0.99)
    r_drop: float = setting(
        0.0, "alpha of R-Drop: two passes of unlike dropout should agree; 0: one pass", 0.0, 100.0
    )
    subword_dropout: float = setting(
        0.0,
        "BPE-dropout: share of merges left out by chance, anew each epoch, such as 0.1",
        0.0,
        0.99,
    )
    ema: float = setting(
        0.0, "decay of a moving average of the weights, such as 0.999; 0: none", 0.0, 0.999999
    )
    max_gradient_norm: float = setting(0.0, "gradient clipping; 0: none, as in the paper", 0.0)
    precision: Literal["auto", "float32", "bf16", "fast"] = setting(
        "auto",
        "of the arithmetic; auto: bf16 on a GPU, float32 on a CPU; fast: bf16 where it is quicker",
    )
    deterministic: bool = setting(
        False, "the same bits on 1, 2, 4, ... ranks too; slower: one thread a rank on a CPU"
    )
    packing: Literal["auto", "sorted", "packed"] = setting(
        "auto",
        "sorted: batches of about one length; packed: of one shape; auto: packed on a GPU",
    )
    compile: Literal["auto", "on", "off"] = setting(
        "auto", "torch.compile, for packed batches; auto: on a GPU"
    )
    seed: int = setting(1, "of weights, dropout and the order of the corpus", 0, 2**63 - 1)
    log_every: int | Auto = setting("auto", "steps between reports; auto: checkpoint_every/10", 1)
    checkpoint_every: int | Auto = setting(
        1_500, "steps between checkpoints; auto: max_steps/30", 1, 2**40
    )
    save_minutes: float = setting(
        10.0,
        "a checkpoint to resume from at least every so many minutes, the first after 2; 0: none",
        0.0,
        1e6,
    )
    validate_every: int | Auto = setting(
        "auto",
        "steps between validations; auto: each checkpoint; both auto: max_steps/10",
        1,
    )
    keep_last: int = setting(5, "checkpoints kept, and averaged at the end", 1, 1_000)
    keep_best: int = setting(1, "best checkpoints kept", 0, 1_000)
    validation_sentences: int = setting(500, "decoded for BLEU at a validation; 0: loss only", 0)
    rank_timeout: float = setting(
        1_800.0, "seconds that GPUs wait for one another before all stop", 1.0, 1e6
    )
    max_restarts: int = setting(
        3, "times that processes of this machine are started again without a new checkpoint", 0, 100
    )
    on_divergence: Literal["warn", "stop", "roll_back"] = setting(
        "warn", "where the loss rises far above its course; roll_back: and halve the learning rate"
    )


@dataclass(frozen=True)
class Config:
    """Everything that can be set, by section."""

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
            known[f"{section.name}.{field.name}"] = Setting(
                type_hints[field.name], field.default, field.metadata["about"],
                field.metadata["low"], field.metadata["high"],
            )  # fmt: skip
    return known


SETTINGS: Mapping[str, Setting] = types.MappingProxyType(_known_settings())


class SettingsLayer(NamedTuple):
    """Some settings and their origin, which is shown to the user."""

    origin: str
    values: Mapping[str, object]


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
        problems.append(f"{chosen.origin}: unknown preset `{name}`")
        hints.append(preset_hint(name))
    if problems:
        more = len(problems) - MOST_PROBLEMS
        reported = [*problems[:MOST_PROBLEMS], *([f"and {more:,} more"] if more > 0 else [])]
        raise ConfigError("; ".join(reported), "; ".join(dict.fromkeys(hints)))
    flat: dict[str, object] = {key: setting.default for key, setting in SETTINGS.items()}
    origins = dict.fromkeys(flat, "default")
    for layer in [SettingsLayer(f"preset {name}", PRESETS[name]), *checked]:
        flat.update(layer.values)
        origins.update(dict.fromkeys(layer.values, layer.origin))
    return ResolvedConfig(_check_together(_build(flat)), origins)


def _checked_layer(layer: SettingsLayer, problems: list[str], hints: list[str]) -> SettingsLayer:
    values = {}
    for key, value in layer.values.items():
        if key not in SETTINGS:
            problems.append(f"{layer.origin}: unknown setting `{shortened(key)}`")
            # Searching for the nearest key takes a millisecond.
            hints += [_nearest_key(key)] if len(problems) <= MOST_PROBLEMS else []
            continue
        try:
            values[key] = convert(SETTINGS[key], value)
        except ValueError as error:
            problems.append(f"{layer.origin}: `{key}` {error}")
            hints.append(f"{key}: {SETTINGS[key].about}")
    return SettingsLayer(layer.origin, values)


def _nearest_key(key: str) -> str:
    best = meant_setting(key, SETTINGS)
    return f"did you mean `{best}`?" if best else "`nmt config show` lists all settings"


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
    if config.data.joint and config.data.tgt_vocab_size != "auto":
        raise ConfigError(
            "data.tgt_vocab_size is the size of a vocabulary of its own, but data.joint is true",
            "set data.joint=false (`nmt prepare --separate`), or only data.vocab_size",
        )
    _check_training(model, config.train)
    return config


def _check_training(model: ModelConfig, train: TrainConfig) -> None:
    if train.optimizer == "schedule_free" and train.schedule != "constant":
        raise ConfigError(
            f"train.optimizer=schedule_free keeps the learning rate, but train.schedule is "
            f"{train.schedule}",
            "set train.schedule=constant",
        )
    if train.optimizer == "schedule_free" and train.ema:
        raise ConfigError(
            "train.optimizer=schedule_free averages the weights itself: train.ema has no use",
            "set train.ema=0",
        )
    if train.r_drop and not model.dropout:
        raise ConfigError(
            "train.r_drop compares two dropout masks, but model.dropout is 0",
            "set model.dropout, or train.r_drop=0",
        )


def flatten(config: Config) -> dict[str, object]:
    """Every dotted key with its value."""
    return {
        f"{section}.{name}": value
        for section, values in dataclasses.asdict(config).items()
        for name, value in values.items()
    }


def with_values(config: Config, values: Mapping[str, object]) -> Config:
    """`config` with some dotted keys replaced; checked like any other setting."""
    return resolve([SettingsLayer("config", {**flatten(config), **values})]).config


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
