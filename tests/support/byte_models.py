"""A tiny model with random weights over bytes: any text goes in, any bytes come out."""

from collections.abc import Mapping
from pathlib import Path

import torch

from nmt_cli.config.schema import Config, DataConfig, SettingsLayer, resolve
from nmt_cli.data.subwords.model import Subwords, learn_subwords
from nmt_cli.data.subwords.segmenters import Bytes
from nmt_cli.model.transformer import Transformer
from nmt_cli.model_dir import save_model

SETTINGS: dict[str, object] = {
    "model.layers": 1,
    "model.d_model": 16,
    "model.d_ff": 16,
    "model.heads": 2,
    "model.dropout": 0.0,
    "model.output_bias": True,
    "data.subwords": "bytes",
    "data.max_length": 40,
    "search.beam": 2,
    "search.max_extra_length": 4,
}


def byte_subwords() -> Subwords:
    return Subwords(Bytes())


def byte_config(settings: Mapping[str, object] | None = None) -> Config:
    size = byte_subwords().src_size
    sizes: dict[str, object] = {"model.src_vocab_size": size, "model.tgt_vocab_size": size}
    return resolve([SettingsLayer("test", {**SETTINGS, **sizes, **(settings or {})})]).config


def byte_model(config: Config, seed: int = 1) -> Transformer:
    """Its translations are of many lengths; letters are likelier than other bytes."""
    generator = torch.Generator().manual_seed(seed)
    model = Transformer(config.model).eval()
    with torch.no_grad():
        for path, weight in model.named_parameters():
            mean = 1.0 if path.endswith("norm.weight") else 0.0
            torch.nn.init.normal_(weight, mean, 0.4, generator=generator)
        model.output_bias[4 + ord("a") : 4 + ord("z")] += 2.0
        model.output_bias[4 + ord(" ")] += 3.0
        model.output_bias[config.model.eos_id] += 3.0
    return model


def save_word_model(folder: Path) -> None:
    """A model whose subwords have no letters but those of a few words."""
    counts = dict.fromkeys(("the", "small", "cat"), 9)
    subwords = learn_subwords(DataConfig(subwords="bpe", vocab_size=30), counts, counts)
    sizes = {"model.src_vocab_size": subwords.src_size, "model.tgt_vocab_size": subwords.tgt_size}
    config = byte_config({**sizes, "data.subwords": "bpe"})
    weights = Transformer(config.model).state_dict()
    weights = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    save_model(folder, weights, config, subwords, {})
