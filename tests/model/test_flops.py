"""Counted work of training: torch's own counter, and the figures for the paper's two models."""

import numpy as np
import pytest
import torch
from corpora import tiny_config
from torch.utils.flop_counter import FlopCounterMode
from variants import every_variant, model_config

from nmt_cli.batch import make_batch
from nmt_cli.config.schema import ModelConfig, SettingsLayer, resolve
from nmt_cli.model.encoder_decoder import initialise, stack_depths
from nmt_cli.model.flops import training_flops
from nmt_cli.model.shapes import head_widths
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.loss.cross_entropy import label_smoothed_cross_entropy


def hidden_from_sight(model: ModelConfig, tgt_lengths: np.ndarray) -> float:
    """What torch counts and we do not: products with positions that the causal mask hides."""
    width = model.heads * sum(head_widths(model))
    pairs = (tgt_lengths * (tgt_lengths - 1) / 2).sum()
    return float(6 * stack_depths(model)[1] * width * pairs)


def counted_by_torch(model: ModelConfig, src_lengths: np.ndarray, tgt_lengths: np.ndarray) -> int:
    """Forward and backward, with the loss written plainly."""
    sides = [[np.full(n, 7) for n in lengths] for lengths in (src_lengths, tgt_lengths)]
    batch = make_batch(*sides, range(len(src_lengths)), 2)
    built = initialise(Transformer(model), 1).train()
    with FlopCounterMode(display=False) as counter:
        torch.autograd.backward(
            label_smoothed_cross_entropy(built(batch), batch.tgt_out, 0.1).total
        )
    return counter.get_total_flops()


@every_variant
def test_flops_equal_the_count_of_torch(settings):
    """Sentences of one length, so that nothing is padded inside attention."""
    model = model_config(settings)
    src, tgt = np.full(3, 5), np.full(3, 7)
    ours = training_flops(model, src, tgt) + hidden_from_sight(model, tgt)
    assert ours == counted_by_torch(model, src, tgt)


def paper_model(preset: str) -> ModelConfig:
    sizes = {"model.src_vocab_size": 37_000, "model.tgt_vocab_size": 37_000}
    return resolve([SettingsLayer("test", {"train.preset": preset, **sizes})]).config.model


@pytest.mark.parametrize(("preset", "products"), [("base", 377_905_152), ("big", 1_284_292_608)])
def test_flops_of_the_papers_models_without_attention(preset, products):
    """A source and a target token: 377.9 and 1,284.3 MFLOP; each sees one position."""
    model = paper_model(preset)
    attention = 6 * 3 * 6 * 2 * model.d_model
    assert training_flops(model, np.ones(1), np.ones(1)) == products + attention


@pytest.mark.parametrize(("preset", "expected"), [("base", 382.2e6), ("big", 1_292.9e6)])
def test_flops_of_the_papers_models_with_attention(preset, expected):
    """Sentences of 40; the expected figures count the forward product of attention twice."""
    model = paper_model(preset)
    work = training_flops(model, np.full(1, 40), np.full(1, 40)) / 40
    again = 2 * (6 * 40 + 6 * 20.5 + 6 * 40) * model.d_model
    assert work + again == pytest.approx(expected, rel=3e-4)
    assert work == pytest.approx(expected, rel=3e-3)


def test_flops_of_sentences_add_up():
    model = paper_model("base")
    together = training_flops(model, np.array([3, 9]), np.array([5, 2]))
    one_by_one = [training_flops(model, np.array([s]), np.array([t])) for s, t in [(3, 5), (9, 2)]]
    assert together == sum(one_by_one)


def test_flops_need_vocabulary_sizes():
    with pytest.raises(ValueError, match="vocabularies"):
        training_flops(tiny_config().model, np.ones(1), np.ones(1))
