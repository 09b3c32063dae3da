"""Exact sizes of the paper's models, on the meta device; Table 3's rows by what they change."""

import pytest
import torch

from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.model.encoder_decoder import parameter_count
from nmt_cli.model.transformer import Transformer

VOCABULARY = 37_000
BASE = 63_045_632


def count(preset: str, settings: dict[str, object]) -> int:
    sizes = {"model.src_vocab_size": VOCABULARY, "model.tgt_vocab_size": VOCABULARY}
    layer = SettingsLayer("test", {"train.preset": preset, **sizes, **settings})
    with torch.device("meta"):
        return parameter_count(Transformer(resolve([layer]).config.model))


@pytest.mark.parametrize(
    ("preset", "biases", "expected"),
    [
        ("base", False, BASE),
        ("base", True, 63_082_496),
        ("big", False, 214_171_648),
        ("big", True, 214_245_376),
    ],
)
def test_parameter_counts_of_base_and_big(preset: str, biases: bool, expected: int) -> None:
    assert count(preset, {"model.attention_bias": biases}) == expected


def test_parameter_count_of_modern_preset_is_near_base() -> None:
    """The matrices of its layers are the base model's in number, to a thousandth and a half."""
    inner = {"model.activation": "swiglu", "model.d_ff": 1_368}
    assert count("modern", {}) == count("base", {"model.norm_order": "pre", **inner}) - 32 * 512
    weights = 12 * 512 * (3 * 1_368 - 2 * 2_048)
    assert count("base", inner) - BASE == weights + 12 * (2 * 1_368 - 2_048)


# Row of Table 3, settings, exact change of the count, the paper's millions of parameters.
# One attention holds 2 d_model h (d_k + d_v), base has 18; 7,350,272 is an encoder and a decoder
# layer.
TABLE_3 = [
    ("A 1 head", {"model.heads": 1}, 0, 65),
    ("A 4 heads", {"model.heads": 4}, 0, 65),
    ("A 16 heads", {"model.heads": 16}, 0, 65),
    ("A 32 heads", {"model.heads": 32}, 0, 65),
    ("B d_k 16", {"model.d_k": 16}, -18 * 2 * 512 * 8 * 48, 58),
    ("B d_k 32", {"model.d_k": 32}, -18 * 2 * 512 * 8 * 32, 60),
    ("C 2 layers", {"model.layers": 2}, -4 * 7_350_272, 36),
    ("C 4 layers", {"model.layers": 4}, -2 * 7_350_272, 50),
    ("C 8 layers", {"model.layers": 8}, 2 * 7_350_272, 80),
    ("C d_model 256", {"model.d_model": 256}, -36_229_120, 28),
    ("C d_model 1024", {"model.d_model": 1_024}, 100_769_792, 168),
    ("C d_ff 1024", {"model.d_ff": 1_024}, -12 * 1_024 * (2 * 512 + 1), 53),
    ("C d_ff 4096", {"model.d_ff": 4_096}, 12 * 2_048 * (2 * 512 + 1), 90),
]


@pytest.mark.parametrize(
    ("settings", "change", "millions"),
    [row[1:] for row in TABLE_3],
    ids=[row[0] for row in TABLE_3],
)
def test_parameter_counts_of_table_3(
    settings: dict[str, object], change: int, millions: int
) -> None:
    """The paper rounds, and says "about 37,000" words: each row of d_model weighs 0.037 million."""
    assert count("base", settings) - BASE == change
    slack = 2.5 if "model.d_model" in settings else 1.0
    assert change / 1e6 == pytest.approx(millions - 65, abs=slack)


@pytest.mark.parametrize(
    ("settings", "change"),
    [
        ({"model.tie_embeddings": "target"}, VOCABULARY * 512),
        ({"model.tie_embeddings": "none"}, 2 * VOCABULARY * 512),
        ({"model.output_bias": True}, VOCABULARY),
        ({"model.norm_order": "pre"}, 2 * 2 * 512),
        ({"model.norm": "rms_norm"}, -30 * 512),
        ({"model.feed_forward_bias": False}, -12 * (2_048 + 512)),
        ({"model.activation": "swiglu"}, 12 * (512 * 2_048 + 2_048)),
        ({"model.positions": "learned"}, 2 * 1_024 * 512),
        ({"model.positions": "rotary"}, 0),
        ({"model.positions": "sinusoidal_halves"}, 0),
        ({"model.positions": "sinusoidal_t2t"}, 0),
        ({"model.encoder_layers": 5}, -3_150_336),
        ({"model.decoder_layers": 7}, 4_199_936),
    ],
)
def test_parameter_counts_of_each_variant(settings: dict[str, object], change: int) -> None:
    assert count("base", settings) - BASE == change
