"""Fine-tuning: a run begins with the weights of a finished model, which is only read."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from api_calls import digests
from corpora import reversal_corpus, word_corpus
from ranks import in_ranks
from runs import (
    VARIANTS,
    assert_same_run,
    assert_same_state,
    go,
    make_run,
    settings_of,
    take_steps,
)

from nmt_cli.config.schema import Config, flatten, load, with_values
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.corpus.text_statistics import TextStatistics
from nmt_cli.errors import CannotCreateError, ConfigError, DataError, NoInputError, TryAgainError
from nmt_cli.model.kinds import make_model
from nmt_cli.model_dir import CONFIG, WEIGHTS, read_model, refresh_weights
from nmt_cli.storage import manifest
from nmt_cli.training import starting_model
from nmt_cli.training.evaluation.model_selection import ModelSelector
from nmt_cli.training.loop import train
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.reporting.report import Published
from nmt_cli.training.run import Run
from nmt_cli.training.saving.tensor_files import model_weights
from nmt_cli.training.setup import complete
from nmt_cli.training.starting_model import load_starting_weights, published_digest
from nmt_cli.translation import translator
from nmt_cli.translation.translator import Translator

KINDS: dict[str, dict[str, object]] = {
    "transformer": {},
    "uneven": {"model.encoder_layers": 2, "model.decoder_layers": 1, "model.norm_order": "pre"},
    "untied": {"model.tie_embeddings": "none", "model.output_bias": True},
    "learned": {"model.positions": "learned", "model.norm": "rms_norm"},
    "swiglu": {"model.positions": "rotary", "model.activation": "swiglu"},
    "zero_start": {"model.zero_start": True, "model.tie_embeddings": "target"},
    "rnn": {"model.kind": "rnn"},
    "conv": {"model.kind": "conv", "model.positions": "learned"},
}
TRANSFORMER_ONLY = ("model.d_ff", "model.heads", "model.norm_order", "model.positions")


def weights_of(model: Path) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array) for name, array in read_model(model).weights.items()}


def begun_with(config: Config, model: Path, **values: object) -> Config:
    """The settings of a run that begins with the weights of `model`."""
    start = {"train.init_from": str(model), "train.init_sha256": published_digest(model)}
    named = {key.replace("_", ".", 1): value for key, value in values.items()}
    return with_values(config, {**start, **named})


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Corpus, Path]:
    """Settings, a corpus, and a model that was trained on it for a few steps."""
    folder = tmp_path_factory.mktemp("source")
    config, corpus = reversal_corpus(folder)
    go(with_values(config, {"train.max_steps": 5}), corpus, folder / "model")
    return config, corpus, folder / "model"


@pytest.mark.parametrize("kind", KINDS)
def test_run_begins_with_the_published_weights(kind, tmp_path):
    settings = {"train.max_steps": 3, "train.checkpoint_every": 3, **KINDS[kind]}
    config, corpus = reversal_corpus(tmp_path, 60)
    if "model.kind" in settings:
        defaults = flatten(Config())
        settings = {**{key: defaults[key] for key in TRANSFORMER_ONLY}, **settings}
    config = with_values(config, settings)
    go(config, corpus, tmp_path / "model")
    run = make_run(begun_with(config, tmp_path / "model"), corpus, tmp_path / "tuned")
    expected = weights_of(tmp_path / "model")
    found = model_weights(run.model)
    assert found.keys() == expected.keys()
    for name, weight in found.items():
        assert torch.equal(weight, expected[name]), name
    before = model_weights(run.model)
    take_steps(run, 1)
    assert any(not torch.equal(w, before[name]) for name, w in model_weights(run.model).items())


def test_pairs_that_the_model_learnt_from_stay_known(project, tmp_path):
    config, corpus, model = project
    own = replace(corpus.text, pair_hashes=np.array([1, 2], np.uint64), lines=2)
    make_run(begun_with(config, model), replace(corpus, text=own), tmp_path / "tuned")
    text, earlier = TextStatistics.load(tmp_path / "tuned"), TextStatistics.load(model)
    assert len(earlier.pair_hashes) > 100
    assert text.pair_hashes.tolist() == [1, 2, *earlier.pair_hashes.tolist()]
    assert text.lines == 2


def with_several(corpus: Corpus, share: float) -> Corpus:
    """The corpus, as if this share of its source lines had several sentences."""
    src = replace(corpus.text.src, several_sentences=share)
    return replace(corpus, text=replace(corpus.text, src=src))


@pytest.mark.parametrize(
    ("earlier_share", "share", "splits", "warns"),
    [(0.0, 0.0, True, False), (0.2, 0.0, False, False), (0.0, 0.2, False, True)],
)
def test_lines_of_several_sentences_are_translated_as_by_the_model_that_it_begins_with(
    earlier_share, share, splits, warns, project, tmp_path, monkeypatch
):
    config, corpus, _ = project
    general = tmp_path / "general"
    config = with_values(config, {"train.max_steps": 5})
    go(config, with_several(corpus, earlier_share), general)
    used = []

    class Recorded(Translator):
        def __init__(self, *arguments, text, **options):
            used.append(text)
            super().__init__(*arguments, text=text, **options)

    monkeypatch.setattr(translator, "Translator", Recorded)
    tuned = begun_with(config, general)
    reports = go(tuned, with_several(corpus, share), tmp_path / "tuned", stop_after=2)
    # The warning is not repeated when the run is resumed.
    reports += go(tuned, with_several(corpus, share), tmp_path / "tuned")
    assert {text.has_single_sentences for text in used} == {splits}
    assert TextStatistics.load(tmp_path / "tuned").has_single_sentences is splits
    notes = [report.note for report in reports if "20% of the training lines" in report.note]
    assert len(notes) == warns
    chosen = with_values(tuned, {"search.sentences": "split"})
    assert starting_model.sentences_note(chosen, with_several(corpus, share)) == ""


def test_only_new_lines_of_several_sentences_are_warned_of(project, monkeypatch):
    config, corpus, model = project
    tuned = begun_with(config, model)

    def note(earlier_share: float, share: float) -> str:
        earlier = with_several(corpus, earlier_share).text
        monkeypatch.setattr(TextStatistics, "load", lambda _: earlier)
        return starting_model.sentences_note(tuned, with_several(corpus, share))

    assert note(0.2, 0.2) == note(0.2, 0.0) == note(0.0, 0.0) == ""
    assert note(0.0, 0.2).startswith("20% of the training lines have several sentences")
    assert starting_model.sentences_note(tuned, replace(corpus, text=None)) == ""
    # The current directory may be a model with which this training does not begin.
    monkeypatch.chdir(model)
    assert starting_model.sentences_note(config, with_several(corpus, 0.2)) == ""


def test_model_is_validated_before_the_first_step_and_published(project, tmp_path):
    config, corpus, model = project
    first, *_ = go(begun_with(config, model, train_max_steps=5), corpus, tmp_path / "tuned")
    assert first.step == 0
    assert first.validation.best
    earlier = json.loads((model / "log.jsonl").read_text().splitlines()[-1])["published"]
    assert first.validation.bleu == pytest.approx(earlier["bleu"])
    assert first.validation.perplexity == pytest.approx(earlier["perplexity"])
    closing = json.loads((tmp_path / "tuned" / "log.jsonl").read_text().splitlines()[-1])
    assert closing["published"]["before"] == [first.validation.bleu, first.validation.perplexity]


def test_bleu_before_training_is_kept_only_beside_bleu_of_the_same_sentences(
    project, tmp_path, monkeypatch
) -> None:
    config, corpus, model = project
    monkeypatch.setattr(ModelSelector, "_is_better", lambda *_: True)

    def published(sentences: int, steps: int) -> Published:
        values = {"train_validation_sentences": sentences, "train_max_steps": steps}
        settings = begun_with(config, model, train_compare_at_end=False, **values)
        return go(settings, corpus, tmp_path / "tuned")[-1].published

    first, same, other = published(10, 5), published(10, 10), published(4, 15)
    assert [each.sentences for each in (first, same, other)] == [10, 10, 4]
    assert first.before[0] is not None
    assert (same.before, other.before) == (first.before, (None, first.before[1]))


def test_time_limit_begins_after_the_validation_before_the_first_step(
    project, tmp_path, monkeypatch
):
    """Otherwise it might be over before a step was taken."""
    config, corpus, model = project
    now, validate = [0.0], Run.validate

    def validate_for_an_hour(run: Run, *given: object) -> object:
        now[0] += 3_600
        return validate(run, *given)

    monkeypatch.setattr(Run, "validate", validate_for_an_hour)
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("nmt_cli.training.reporting.monitor.time", clock)
    limited = begun_with(config, model, train_max_steps=5, train_max_hours=0.5)
    closing = go(limited, corpus, tmp_path / "tuned")[-1]
    assert closing.note == "finished: 5 steps are done"


def test_worse_weights_are_not_published(project, tmp_path):
    config, corpus, model = project
    worse = begun_with(config, model, train_max_steps=5, train_learning_rate=3.0)
    closing = go(worse, corpus, tmp_path / "tuned")[-1]
    assert closing.published.step == 0
    expected = weights_of(model)
    for name, weight in weights_of(tmp_path / "tuned").items():
        assert torch.equal(weight, expected[name]), name


def test_worse_weights_that_a_sample_favoured_are_replaced_by_those_of_the_model(
    project, tmp_path, monkeypatch
):
    """At the end, on all validation pairs."""
    config, corpus, model = project
    worse = begun_with(
        config, model, train_max_steps=5, train_learning_rate=3.0, train_validation_sentences=2
    )
    monkeypatch.setattr(ModelSelector, "_is_better", lambda *_: True)
    closing = go(worse, corpus, tmp_path / "tuned")[-1]
    published = closing.published
    assert (published.step, published.weights, published.by_comparison) == (0, "current", True)
    assert [published.bleu, published.perplexity] == list(published.before)
    assert f"validation pairs, not only 2: BLEU {published.final_bleu:.2f}" in published.comparison
    expected = weights_of(model)
    for name, weight in weights_of(tmp_path / "tuned").items():
        assert torch.equal(weight, expected[name]), name


def test_run_with_random_weights_has_no_validation_before_it(project, tmp_path):
    config, corpus, _ = project
    reports = go(with_values(config, {"train.max_steps": 2}), corpus, tmp_path / "new")
    assert min(report.step for report in reports) > 0
    assert "before" not in json.loads((tmp_path / "new/log.jsonl").read_text().split("\n")[-2])


@pytest.mark.parametrize(
    "variant", [None, *(pytest.param(name, marks=pytest.mark.slow) for name in VARIANTS)]
)
def test_resumed_run_is_bit_exact_also_without_the_model(variant, project, tmp_path):
    config, corpus, _ = project
    if variant:
        config = settings_of(config, variant)
    go(with_values(config, {"train.max_steps": 5}), corpus, tmp_path / "model")
    tuned = begun_with(config, tmp_path / "model", train_max_steps=12)
    go(tuned, corpus, tmp_path / "whole")
    go(tuned, corpus, tmp_path / "resumed", stop_after=7)
    shutil.rmtree(tmp_path / "model")
    go(tuned, corpus, tmp_path / "resumed")
    assert_same_run(tmp_path / "resumed", tmp_path / "whole")


def test_run_killed_before_its_first_checkpoint_begins_again(project, tmp_path):
    config, corpus, model = project
    tuned = begun_with(config, model, train_max_steps=5)
    go(tuned, corpus, tmp_path / "whole")
    reports = train(tuned, corpus, tmp_path / "killed")
    assert next(reports).step == 0
    shutil.copytree(tmp_path / "killed", tmp_path / "again")
    reports.close()
    (tmp_path / "again/.lock").unlink()
    go(tuned, corpus, tmp_path / "again")
    assert_same_run(tmp_path / "again", tmp_path / "whole")


def test_return_to_the_beginning_returns_to_the_model(project, tmp_path):
    config, corpus, model = project
    run = make_run(begun_with(config, model), corpus, tmp_path / "tuned")
    run.validate()
    score = run.state.scores["0"]
    take_steps(run, 2)
    run.load_or_initialise(None)
    assert run.state.scores == {"0": score}
    expected = weights_of(model)
    for name, weight in model_weights(run.model).items():
        assert torch.equal(weight, expected[name]), name


def test_the_model_is_only_read(project, tmp_path):
    config, corpus, model = project
    before = digests(model)
    go(begun_with(config, model, train_max_steps=6), corpus, tmp_path / "tuned")
    assert digests(model) == before


@pytest.mark.parametrize("place", ["", "tuned", "checkpoints/tuned"])
def test_the_model_and_places_in_it_are_no_output(place, project, tmp_path):
    config, corpus, model = project
    copy = tmp_path / "model"
    shutil.copytree(model, copy)
    before = digests(copy)
    link = tmp_path / "link"
    link.symlink_to(copy)
    with pytest.raises(CannotCreateError, match="only read here"):
        go(begun_with(config, copy), corpus, link / place)
    assert digests(copy) == before


def test_corpus_with_another_vocabulary_is_refused(project, tmp_path):
    _, _, model = project
    other, corpus = word_corpus(tmp_path)
    with pytest.raises(ConfigError, match="another vocabulary than that of") as caught:
        go(begun_with(other, model), corpus, tmp_path / "tuned")
    assert f"nmt prepare --subwords-from {model}" in caught.value.hint
    assert not (tmp_path / "tuned").exists()


def test_damaged_model_is_refused(project, tmp_path):
    config, corpus, model = project
    shutil.copytree(model, tmp_path / "model")
    tuned = begun_with(config, tmp_path / "model")
    data = bytearray((tmp_path / "model" / WEIGHTS).read_bytes())
    data[-3] ^= 1
    (tmp_path / "model" / WEIGHTS).write_bytes(data)
    with pytest.raises(DataError, match="is damaged"):
        go(tuned, corpus, tmp_path / "tuned")


def test_missing_and_foreign_models_are_refused(tmp_path):
    with pytest.raises(NoInputError, match="there is no model directory"):
        published_digest(tmp_path / "missing")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign/pytorch_model.bin").write_bytes(b"PK")
    with pytest.raises(ConfigError, match="is not a model directory of nmt"):
        published_digest(tmp_path / "foreign")


def test_model_without_weights_is_refused(project, tmp_path):
    config, corpus, _ = project
    make_run(config, corpus, tmp_path / "begun")
    with pytest.raises(NoInputError, match="holds no weights yet"):
        published_digest(tmp_path / "begun")


def test_weights_replaced_since_the_run_began_are_refused(project, tmp_path):
    config, corpus, model = project
    shutil.copytree(model, tmp_path / "model")
    tuned = begun_with(config, tmp_path / "model", train_max_steps=6)
    go(tuned, corpus, tmp_path / "tuned", stop_after=3)
    other = {name: weight + 1 for name, weight in weights_of(model).items()}
    refresh_weights(tmp_path / "model", other, {"step": "9"})
    with pytest.raises(ConfigError, match="other weights than those that") as caught:
        go(begun_with(tuned, tmp_path / "model"), corpus, tmp_path / "tuned")
    assert "leave out --init-from" in caught.value.hint
    with pytest.raises(TryAgainError, match="has other weights now"):
        make_run(tuned, corpus, tmp_path / "new")
    # The hash in the settings of the run is that of the weights that it began with.
    go(tuned, corpus, tmp_path / "tuned")


def test_hash_is_that_of_the_weights_also_after_a_replacement_was_killed(project, tmp_path):
    config, corpus, model = project
    shutil.copytree(model, tmp_path / "model")
    listed = json.loads((tmp_path / "model/manifest.json").read_text())
    entry = listed["files"][WEIGHTS]
    listed["files"][WEIGHTS] = {**entry, "sha256": "0" * 64, "next": dict(entry)}
    (tmp_path / "model/manifest.json").write_text(json.dumps(listed))
    assert published_digest(tmp_path / "model") == entry["sha256"]
    make_run(begun_with(config, tmp_path / "model"), corpus, tmp_path / "tuned")


def test_ranks_that_read_different_weights_all_end(project, tmp_path):
    config, corpus, model = project
    shutil.copytree(model, tmp_path / "other")
    other = {name: weight + 1 for name, weight in weights_of(model).items()}
    refresh_weights(tmp_path / "other", other, {"step": "9"})

    def work(ranks: Ranks) -> str:
        source = model if ranks.is_first else tmp_path / "other"
        settings = begun_with(complete(config, corpus), source)
        with pytest.raises(TryAgainError, match="has other weights now"):
            load_starting_weights(make_model(settings.model), settings.train, ranks.all_reduce_max)
        return "refused"

    assert [outcome.result for outcome in in_ranks(work)] == ["refused", "refused"]


@pytest.mark.slow
def test_two_ranks_begin_with_the_model(project, tmp_path):
    config, corpus, model = project
    tuned = begun_with(
        config, model, train_max_steps=5, train_deterministic=True, train_micro_batch_tokens=80
    )
    for ranks in (1, 2):
        outcomes = in_ranks(lambda group: _train_in(group, tuned, corpus, tmp_path), ranks)
        assert [outcome.error for outcome in outcomes] == [None] * ranks
    assert_same_state(tmp_path / "ranks-2", tmp_path / "ranks-1")


def _train_in(ranks: Ranks, config: Config, corpus: Corpus, folder: Path) -> None:
    list(train(config, corpus, folder / f"ranks-{ranks.world_size}", ranks))


def test_run_from_before_the_settings_existed_resumes(project, tmp_path):
    config, corpus, _ = project
    config = with_values(config, {"train.max_steps": 8})
    go(config, corpus, tmp_path / "whole")
    go(config, corpus, tmp_path / "old", stop_after=6)
    new = ("init_from", "init_sha256", "subwords_from")
    lines = (tmp_path / "old" / CONFIG).read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(new)]
    assert len(lines) - len(kept) == len(new)
    manifest.add_to_manifest(tmp_path / "old", CONFIG, "".join(kept).encode())
    go(config, corpus, tmp_path / "old")
    assert_same_run(tmp_path / "old", tmp_path / "whole")
    assert load(tmp_path / "old" / CONFIG).train.init_from == ""
