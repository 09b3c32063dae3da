"""The whole road teaches a model something: to say letters backwards."""

from corpora import reversal_corpus, reversal_pairs

from nmt_cli.training.loop import train
from nmt_cli.translator import Translator


def test_reversal_is_learnt(tmp_path):
    config, corpus = reversal_corpus(
        tmp_path,
        pairs=3_000,
        model_d_model=64,
        model_d_ff=128,
        model_layers=2,
        model_dropout=0.0,
        train_batch_tokens=800,
        train_max_steps=350,
        train_learning_rate=0.005,
        train_schedule="linear",
        train_checkpoint_every=50,
        train_validation_sentences=0,
    )
    for _ in train(config, corpus, tmp_path / "model"):
        pass
    unseen = reversal_pairs(100, seed=3)
    outputs = Translator.load(tmp_path / "model").translate([src for src, _ in unseen])
    right = sum(one.text == tgt for one, (_, tgt) in zip(outputs, unseen, strict=True))
    assert right >= 95
