"""Tiny models of the kinds from before the Transformer."""

import pytest
import torch

from nmt_cli.config.schema import ModelConfig, SettingsLayer, resolve
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model.kinds import make_model

Settings = dict[str, object]

SMALL: Settings = {
    "model.layers": 2,
    "model.d_model": 8,
    "model.dropout": 0.0,
    "model.src_vocab_size": 14,
    "model.tgt_vocab_size": 14,
}
APART: Settings = {"model.tie_embeddings": "target", "model.src_vocab_size": 11}
RNN: Settings = {"model.kind": "rnn"}
CONV: Settings = {"model.kind": "conv", "model.positions": "learned", "model.max_positions": 16}
VARIANTS: list[Settings] = [
    RNN,
    {**RNN, "model.layers": 1, "model.output_bias": True, "model.tie_embeddings": "none"},
    {**RNN, "model.encoder_layers": 0, "model.decoder_layers": 3, **APART},
    {**RNN, "model.encoder_layers": 3, "model.decoder_layers": 1},
    CONV,
    {**CONV, "model.layers": 1, "model.output_bias": True, "model.tie_embeddings": "none"},
    {**CONV, "model.encoder_layers": 0, "model.kernel_width": 5, **APART},
    {**CONV, "model.kernel_width": 1, "model.decoder_layers": 1},
    {"model.kind": "conv", "model.layers": 3, "model.positions": "sinusoidal"},
]
NAMES = [f"{variant['model.kind']}{index}" for index, variant in enumerate(VARIANTS)]
every_older = pytest.mark.parametrize("settings", VARIANTS, ids=NAMES)
both_kinds = pytest.mark.parametrize("settings", [RNN, CONV], ids=["rnn", "conv"])


def older_config(settings: Settings) -> ModelConfig:
    """Through the real check."""
    return resolve([SettingsLayer("test", {**SMALL, **settings})]).config.model


def older_model(settings: Settings) -> EncoderDecoder:
    """In float64; every weight, biases too, is random."""
    generator = torch.Generator().manual_seed(7)
    model = make_model(older_config(settings)).double().eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, 0.0, 0.5, generator=generator)
    return model
