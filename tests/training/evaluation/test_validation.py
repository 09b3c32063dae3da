"""Validation: the plain formula over all pairs, and BLEU of what the model translates."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from corpora import reversal_corpus

from nmt_cli.config.schema import Config, with_values
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.inference import engines
from nmt_cli.inference.engines import Engine
from nmt_cli.machine import cache_folder
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.scoring import score
from nmt_cli.training.evaluation import validation
from nmt_cli.training.evaluation.passes import sample_of
from nmt_cli.training.evaluation.validation import AbandonedError, text_hash, validate
from nmt_cli.training.loss.cross_entropy import label_smoothed_cross_entropy
from nmt_cli.training.setup import complete
from nmt_cli.translation.translator import Translator

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Corpus, Transformer]:
    config, corpus = reversal_corpus(
        tmp_path_factory.mktemp("validation"), model_dropout=0.5, train_label_smoothing=0.3
    )
    config = complete(config, corpus)
    return config, corpus, initialise(Transformer(config.model), 1)


def test_validation_loss_equals_the_plain_formula(setting, monkeypatch):
    """In several batches, and without the dropout that training leaves on."""
    config, corpus, model = setting
    monkeypatch.setattr(validation, "BATCH_TOKENS", 30)
    model.train()
    found = validate(model, config, corpus, CPU, bleu=False)
    assert not model.training
    batch = corpus.valid.batch(np.arange(len(corpus.valid)), config.model.bos_id)
    with torch.no_grad():
        expected = label_smoothed_cross_entropy(model.double()(batch), batch.tgt_out, 0.3)
    model.float()
    assert found.loss == pytest.approx(expected.total.item() / batch.tokens, rel=1e-5)
    assert found.nll == pytest.approx(expected.nll.item() / batch.tokens, rel=1e-5)
    assert found.perplexity == pytest.approx(math.exp(found.nll))
    assert found.bleu is None


def test_validation_bleu_equals_that_of_the_translator(setting, monkeypatch):
    config, corpus, model = setting
    monkeypatch.setitem(validation.WINDOW, "cpu", 3)
    config = with_values(config, {"train.validation_sentences": 7, "search.beam": 2})
    found = validate(model, config, corpus, CPU, bleu=True)
    sources, references = (
        [side[index * len(side) // 7] for index in range(7)] for side in corpus.valid_text
    )
    outputs = [
        translation.text
        for translation in Translator(model, config, corpus.subwords).translate(sources)
    ]
    expected = score(outputs, [references], ["bleu"])[0]
    assert (found.bleu, found.signature) == (expected.value, expected.signature)
    assert found.samples == tuple(zip(sources, references, outputs, strict=True))[:3]
    assert found.sentences == 7
    assert found.text == text_hash(corpus.valid_text) != text_hash((sources, references))


def test_decoding_on_a_cpu_takes_the_engine_of_nmt_translate(setting, monkeypatch):
    """It packs copies of the weights, so each validation has to pack them anew."""
    config, corpus, _ = setting
    model = initialise(Transformer(config.model), 1)
    real = engines.fastest_engine
    names: list[str] = []

    def chosen(*given: object) -> Engine:
        engine = real(*given)
        names.append(engine.name)
        return engine

    monkeypatch.setattr(engines, "fastest_engine", chosen)
    config = with_values(config, {"train.validation_sentences": 3})
    before = validate(model, config, corpus, CPU, bleu=True)
    for name, weight in initialise(Transformer(config.model), 2).state_dict().items():
        model.state_dict()[name].copy_(weight)
    after = validate(model, config, corpus, CPU, bleu=True)
    anew = validate(model, config, corpus, CPU, bleu=True)
    assert before.confidence != after.confidence == anew.confidence
    assert names == [real(model, cache_folder()).name] * 3


def test_bleu_is_measured_on_the_configured_number_of_pairs(setting, monkeypatch):
    """All of them translated well, but for the first."""
    config, corpus, model = setting
    sources, references = corpus.valid_text
    answers = dict(zip(sources, references, strict=True)) | {sources[0]: references[1]}

    def translate_window(self: Translator, lines: list[str], **_: object) -> list[SimpleNamespace]:
        scored = [SimpleNamespace(token_scores=(-0.5,))]
        return [SimpleNamespace(text=answers[line], hypotheses=scored) for line in lines]

    monkeypatch.setattr(Translator, "translate_window", translate_window)
    found = {}
    for count in (5, 9):
        wanted = with_values(config, {"train.validation_sentences": count})
        found[count] = validate(model, wanted, corpus, CPU, bleu=True).bleu
        outputs = [answers[line] for line in sample_of(sources, count)]
        expected = score(outputs, [sample_of(references, count)], ["bleu"])[0].value
        assert found[count] == expected
    assert 0.0 < found[5] < found[9] < 100.0


def test_validation_without_bleu_decodes_nothing(setting, monkeypatch):
    config, corpus, model = setting
    monkeypatch.setattr(validation, "_translations", None)
    none = with_values(config, {"train.validation_sentences": 0})
    assert validate(model, none, corpus, CPU, bleu=True).bleu is None
    assert validate(model, config, corpus, CPU, bleu=False).bleu is None


def test_known_losses_are_not_computed_again(setting, monkeypatch):
    config, corpus, model = setting
    config = with_values(config, {"train.validation_sentences": 3})
    whole = validate(model, config, corpus, CPU, bleu=True)
    losses = validate(model, config, corpus, CPU, bleu=False)
    monkeypatch.setattr(validation, "shard_loss", None)
    assert validate(model, config, corpus, CPU, bleu=True, losses=losses) == whole


def test_perplexity_of_a_very_bad_model_is_finite(setting, monkeypatch):
    """exp(nll) is more than a float holds."""
    config, corpus, model = setting
    real = validation.shard_loss
    monkeypatch.setattr(
        validation, "shard_loss", lambda *given: (loss := real(*given))._replace(nll=loss.nll * 1e4)
    )
    found = validate(model, config, corpus, CPU, bleu=False)
    assert found.nll > 710.0
    assert math.isfinite(found.perplexity)


def test_a_stop_is_noticed_between_two_steps_of_a_search(setting):
    """Not only between two windows: all sentences are in one here."""
    config, corpus, model = setting
    config = with_values(config, {"train.validation_sentences": 5, "search.beam": 1})
    finished: list[int] = []
    polls = 0

    def stop() -> bool:
        nonlocal polls
        # Asked first for the batch of the loss, at the beginning of the window, then in the search.
        polls += 1
        return polls > 4

    with pytest.raises(AbandonedError):
        validate(
            model, config, corpus, CPU, bleu=True, stop=stop,
            on_progress=lambda done, _total: finished.append(done),
        )  # fmt: skip
    assert polls == 5
    assert max(finished) < 5
