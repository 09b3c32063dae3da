"""A run with model.zero_start: every engine and every saved model begins with zeros."""

from pathlib import Path

import pytest
import torch
from corpora import reversal_corpus
from engine_cases import ENGINES, engine_of, random_sources, translations

from nmt_cli.config.schema import with_values
from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import ConfigError
from nmt_cli.model_dir import load_model
from nmt_cli.training.loop import train


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("zero")
    config, corpus = reversal_corpus(
        folder, model_zero_start=True, model_positions="sinusoidal_t2t", train_ema=0.9
    )
    for _ in train(config, corpus, folder / "model"):
        pass
    return folder / "model"


def test_a_trained_model_begins_with_zeros(trained: Path) -> None:
    loaded = load_model(trained)
    matrix = loaded.model.embedding.matrix("tgt").detach()
    assert loaded.config.model.zero_start
    assert not matrix[loaded.config.model.bos_id].any()
    assert matrix[loaded.config.model.eos_id].any()


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "reference"])
def test_engines_decode_it_alike(trained: Path, kernel_cache: Path, name: str) -> None:
    """The sinusoids of tensor2tensor, too, are the same in every engine."""
    model = load_model(trained).model
    config = SearchConfig(beam=2, max_extra_length=5)
    sources = random_sources(6)
    expected, result = (
        translations(engine_of(each, model, kernel_cache).decoder(8, 2), sources, config)
        for each in ("reference", name)
    )
    for some, others in zip(expected, result, strict=True):
        assert [each.ids for each in some] == [each.ids for each in others]
        scores = torch.tensor([each.log_prob for each in some])
        torch.testing.assert_close(
            torch.tensor([each.log_prob for each in others]), scores, atol=1e-4, rtol=0
        )


def test_the_baselines_refuse_it(trained: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.zero_start"):
        with_values(load_model(trained).config, {"model.kind": "rnn", "model.zero_start": True})
