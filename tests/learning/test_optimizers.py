"""Every optimiser teaches a model to copy letters, in as many steps as Adam needs."""

import math

import pytest
from corpora import reversal_corpus

from nmt_cli.config.schema import with_values
from nmt_cli.training.loop import train
from nmt_cli.training.optimizers.factory import OPTIMIZERS


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory):
    return reversal_corpus(
        tmp_path_factory.mktemp("copy"),
        pairs=3_000,
        shortest=3,
        step=1,
        model_dropout=0.0,
        model_norm_order="pre",
        train_label_smoothing=0.0,
        train_batch_tokens=600,
        train_max_steps=160,
        train_schedule="constant",
        train_checkpoint_every=160,
        train_validation_sentences=0,
    )


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_each_optimizer_learns_copying(setting, tmp_path, optimizer) -> None:
    config, corpus = setting
    config = with_values(config, {"train.optimizer": optimizer})
    (results,) = [
        report.validation for report in train(config, corpus, tmp_path / "m") if report.validation
    ]
    # Without a look at the source each of the eight letters is as likely as the others.
    assert results.nll < math.log(8) / 4
