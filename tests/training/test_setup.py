"""Before the first step: settings are completed, and the directory is that of the same run."""

import pytest
import torch
from corpora import reversal_corpus, word_corpus

from nmt_cli.config.schema import Config, flatten, load, with_values
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.model_dir import refresh_weights
from nmt_cli.storage.model_check import WEIGHTS
from nmt_cli.training.setup import complete, prepare_directory

OTHER = {
    "train.preset": "small",
    "train.micro_batch_tokens": 50,
    "train.max_steps": 7,
    "train.max_epochs": 3,
    "train.max_hours": 0.5,
    "train.patience": 3,
    "train.log_every": 3,
    "train.checkpoint_every": 3,
    "train.validate_every": 3,
    "train.keep_last": 3,
    "train.keep_best": 3,
    "train.validation_sentences": 3,
    "train.rank_timeout": 60.0,
}


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Corpus]:
    return reversal_corpus(tmp_path_factory.mktemp("setup"), languages_src="xx")


def test_complete_takes_vocabularies_and_languages_from_the_corpus(setting):
    config, corpus = setting
    given = with_values(config, {"languages.src": "yy", "data.max_length": 3})
    found = complete(given, corpus)
    assert found.model.src_vocab_size == corpus.subwords.src_size
    assert found.model.tgt_vocab_size == corpus.subwords.tgt_size
    assert found.languages.src == "xx"
    assert found.data.max_length == config.data.max_length
    assert found.train == given.train
    assert complete(found, corpus) == found


def test_complete_refuses_vocabularies_that_differ_from_the_corpus(setting, tmp_path):
    config, corpus = setting
    for side in ("src", "tgt"):
        wrong = with_values(config, {f"model.{side}_vocab_size": 999})
        with pytest.raises(ConfigError, match=rf"{side}_vocab_size=999, but the corpus has \d+"):
            complete(wrong, corpus)
    config, corpus = word_corpus(tmp_path)
    with pytest.raises(ConfigError, match="tie_embeddings=all needs one vocabulary"):
        complete(with_values(config, {"model.tie_embeddings": "all"}), corpus)


def test_complete_refuses_fewer_positions_than_the_longest_sentence(setting):
    config, corpus = setting
    longest = max(int(corpus.train.src_lengths.max()), int(corpus.train.tgt_lengths.max()))
    learned = {"model.positions": "learned", "model.max_positions": longest}
    assert complete(with_values(config, learned), corpus).model.max_positions == longest
    learned["model.max_positions"] = longest - 1
    with pytest.raises(ConfigError, match=f"longest sentence of the corpus, which has {longest}"):
        complete(with_values(config, learned), corpus)
    # Other positions have no table that could be too short.
    complete(with_values(config, {"model.max_positions": 1}), corpus)


def test_settings_that_do_not_affect_the_weights_may_change(setting, tmp_path):
    config, corpus = setting
    config = complete(config, corpus)
    prepare_directory(config, corpus, tmp_path / "model")
    changed = with_values(config, OTHER)
    flat = flatten(config), flatten(changed)
    assert {key for key in flat[0] if flat[0][key] != flat[1][key]} == set(OTHER)
    prepare_directory(changed, corpus, tmp_path / "model")
    assert load(tmp_path / "model" / "config.toml") == changed


def test_prepare_directory_lists_all_differing_settings(setting, tmp_path):
    config, corpus = setting
    config = complete(config, corpus)
    prepare_directory(config, corpus, tmp_path / "model")
    changes = {"train.seed": 5, "languages.tgt": "zz", "data.joint": False}
    other = with_values(config, {**changes, "data.train": [["a.en", "a.de"]]})
    with pytest.raises(ConfigError) as caught:
        prepare_directory(other, corpus, tmp_path / "model")
    for part in (
        "train.seed was 1, now 5",
        'now "zz"',
        "data.joint was true, now false",
        'now [["a.en", "a.de"]]',
    ):
        assert part in caught.value.message


def test_a_run_of_another_preset_is_refused_with_the_option_that_resumes_it(setting, tmp_path):
    config, corpus = setting
    config = with_values(complete(config, corpus), {"train.preset": "paper-small"})
    prepare_directory(config, corpus, tmp_path / "model")
    for changes, hint in (
        ({"train.preset": "small", "train.seed": 5}, "to resume it, add `--preset paper-small`"),
        (
            {"train.seed": 5},
            "to resume it with the values that it began with, give `--set train.seed=1`;",
        ),
        (
            {"train.warmup_steps": 12, "train.ema": 0.5},
            "to resume it with the values that it began with, give "
            f"`--set train.warmup_steps={config.train.warmup_steps} "
            f"--set train.ema={config.train.ema}`;",
        ),
        (
            # These may change, but not without being noticed.
            {"train.seed": 5, "train.checkpoint_every": 77, "train.max_hours": 3.0},
            "to resume it with the values that it began with, give `--set train.seed=1 "
            f"--set train.checkpoint_every={config.train.checkpoint_every}`;",
        ),
    ):
        with pytest.raises(ConfigError) as caught:
            prepare_directory(with_values(config, changes), corpus, tmp_path / "model")
        assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("changes", "options", "others"),
    [
        ({"data.vocab_size": 500}, "--vocab-size 40 --subwords chars", False),
        (
            {"data.joint": False, "train.seed": 5},
            "--joint --subwords chars --vocab-size 40",
            True,
        ),
    ],
)
def test_another_corpus_is_refused_with_the_command_to_prepare_it(
    setting, tmp_path, changes, options, others
):
    """Also with the files of then, since nmt.toml may name others now."""
    config, corpus = setting
    config = with_values(complete(config, corpus), {"data.vocab_size": 40})
    prepare_directory(config, corpus, tmp_path / "model")
    with pytest.raises(ConfigError) as caught:
        prepare_directory(with_values(config, changes), corpus, tmp_path / "model")
    (src, tgt), valid = config.data.train[0], " ".join(config.data.valid)
    command = f"nmt prepare --force --train {src} {tgt} --valid {valid} {options}"
    assert f"`{command}`" in caught.value.hint
    assert "--out" in caught.value.hint
    assert ("use the other settings again" in caught.value.hint) == others


def test_a_run_whose_model_was_deleted_is_refused(setting, tmp_path):
    config, corpus = setting
    config = complete(config, corpus)
    prepare_directory(config, corpus, tmp_path / "model")
    refresh_weights(tmp_path / "model", {"weight": torch.zeros(1)}, {"step": "0"})
    prepare_directory(config, corpus, tmp_path / "model")
    (tmp_path / "model" / WEIGHTS).unlink()
    with pytest.raises(DataError, match=r"model\.safetensors` is missing") as caught:
        prepare_directory(config, corpus, tmp_path / "model")
    assert f"`nmt average {tmp_path / 'model'} --out MODEL`" in caught.value.hint


def test_the_corpus_that_a_run_began_with_is_named(setting, tmp_path):
    """Preparing another directory anew would replace what has nothing to do with the run."""
    config, corpus = setting
    began = tmp_path / "my corpus"
    began.mkdir()
    config = with_values(complete(config, corpus), {"paths.corpus": str(began)})
    out = tmp_path / "model"
    prepare_directory(config, corpus, out)
    changed = {"paths.corpus": "other", "data.vocab_size": 500}
    with pytest.raises(ConfigError) as caught:
        prepare_directory(with_values(config, changed), corpus, out)
    assert caught.value.hint.startswith(f"it began with the corpus `{began}`: to resume it, add ")
    assert f"`--corpus '{began}'`" in caught.value.hint
    # With all other options that are needed.
    with pytest.raises(ConfigError) as caught:
        prepare_directory(with_values(config, {**changed, "train.warmup_steps": 15}), corpus, out)
    usual = config.train.warmup_steps
    assert f"`--corpus '{began}' --set train.warmup_steps={usual}`;" in caught.value.hint
    began.rmdir()
    with pytest.raises(ConfigError) as caught:
        prepare_directory(with_values(config, changed), corpus, out)
    assert "--out other`" in caught.value.hint
