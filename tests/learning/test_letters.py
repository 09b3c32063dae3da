"""The whole road teaches a model something: to say letters backwards."""

import pytest
from corpora import reversal_corpus, reversal_pairs

from nmt_cli.training.loop import train
from nmt_cli.translation.translator import Translator


@pytest.mark.slow
def test_model_learns_to_reverse_letters(tmp_path):
    config, corpus = reversal_corpus(
        tmp_path,
        pairs=8_000,
        shortest=3,  # There are too few shorter lines to learn from: equal ones are dropped.
        model_d_model=48,
        model_d_ff=128,
        model_layers=2,
        model_heads=4,
        model_dropout=0.0,
        model_norm_order="pre",
        train_label_smoothing=0.0,
        train_batch_tokens=400,
        train_max_steps=500,
        train_learning_rate=0.005,
        train_schedule="linear",
        train_warmup_steps=50,
        train_checkpoint_every=250,
        train_validation_sentences=0,
    )
    for _ in train(config, corpus, tmp_path / "model"):
        pass
    unseen = reversal_pairs(100, seed=3, shortest=3)
    outputs = Translator.load(tmp_path / "model").translate([src for src, _ in unseen])
    right = sum(output.text == tgt for output, (_, tgt) in zip(outputs, unseen, strict=True))
    assert right >= 95, right
