"""Variants of the model: every three settings meet in every combination of their values."""

import itertools
import random

import pytest

from nmt_cli.config.schema import ModelConfig, SettingsLayer, resolve

Settings = dict[str, object]

TINY: Settings = {
    "model.layers": 2,
    "model.d_model": 12,
    "model.d_ff": 10,
    "model.heads": 3,
    "model.dropout": 0.0,
    "model.max_positions": 16,
    "model.src_vocab_size": 14,
    "model.tgt_vocab_size": 14,
}

# Each choice: the values that it can take, each of them some settings.
CHOICES: list[list[Settings]] = [
    [
        {"model.positions": kind}
        for kind in ("sinusoidal", "sinusoidal_halves", "learned", "rotary")
    ],
    [{"model.norm_order": order} for order in ("post", "pre")],
    [{"model.norm": norm} for norm in ("layer_norm", "rms_norm")],
    [{"model.activation": name} for name in ("relu", "gelu", "silu", "swiglu")],
    [{"model.attention_bias": yes} for yes in (False, True)],
    [{"model.feed_forward_bias": yes} for yes in (False, True)],
    [{"model.output_bias": yes} for yes in (False, True)],
    [{"model.scale_embeddings": yes} for yes in (False, True)],
    [
        {"model.tie_embeddings": "all"},
        {"model.tie_embeddings": "target", "model.src_vocab_size": 11},
        {"model.tie_embeddings": "none", "model.src_vocab_size": 11},
    ],
    [
        {},
        {"model.heads": 1},
        {"model.d_k": 2, "model.d_v": 5},
        {"model.heads": 5, "model.d_k": 6, "model.d_v": 3},
    ],
    [
        {},
        {"model.encoder_layers": 1, "model.decoder_layers": 3},
        {"model.encoder_layers": 3, "model.decoder_layers": 1},
        {"model.encoder_layers": 0, "model.decoder_layers": 1},
    ],
]


def model_config(settings: Settings) -> ModelConfig:
    """A tiny model's settings with some of them replaced, through the real check."""
    return resolve([SettingsLayer("test", {**TINY, **settings})]).config.model


def _triples(row: tuple[int, ...]) -> set[tuple[tuple[int, int], ...]]:
    return set(itertools.combinations(enumerate(row), 3))


def covering_rows() -> list[tuple[int, ...]]:
    """Rows of value numbers, one for each choice, chosen greedily until every triple is met."""
    chooser = random.Random(1)
    sizes = [len(values) for values in CHOICES]
    missing = {
        tuple(zip(columns, values, strict=True))
        for columns in itertools.combinations(range(len(sizes)), 3)
        for values in itertools.product(*(range(sizes[column]) for column in columns))
    }
    rows = []
    while missing:
        candidates = []
        for seed in chooser.sample(sorted(missing), min(12, len(missing))):
            row = [chooser.randrange(size) for size in sizes]
            for column, value in seed:
                row[column] = value
            candidates.append(tuple(row))
        best = max(candidates, key=lambda row: len(missing & _triples(row)))
        missing -= _triples(best)
        rows.append(best)
    return rows


def _variant(row: tuple[int, ...]) -> Settings:
    settings: Settings = {}
    for values, level in zip(CHOICES, row, strict=True):
        settings.update(values[level])
    return settings


VARIANTS: list[Settings] = [_variant(row) for row in covering_rows()]
every_variant = pytest.mark.parametrize("settings", VARIANTS, ids=range(len(VARIANTS)))
