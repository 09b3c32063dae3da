"""Vocabulary size, steps and intervals that are worked out from the size of the data."""

import json
from collections import Counter
from pathlib import Path

import pytest
from corpora import reversal_corpus

from nmt_cli.config.automatic import (
    FEWEST_OCCURRENCES,
    FEWEST_STEPS,
    LARGEST_VOCABULARY,
    MOST_STEPS,
    Intervals,
    max_steps,
    training_steps,
    vocabulary_size,
)
from nmt_cli.config.schema import Config, DataConfig, SettingsLayer, load, resolve, with_values
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.data.subwords.model import learn_subwords
from nmt_cli.errors import ConfigError
from nmt_cli.training.setup import complete


@pytest.mark.parametrize("words", [1_000, 50_000, 480_000, 5_000_000, 10**9])
def test_automatic_vocabulary_entries_occur_often_enough(words: int) -> None:
    size = vocabulary_size(words)
    assert words / size >= FEWEST_OCCURRENCES
    assert size <= LARGEST_VOCABULARY
    assert size <= vocabulary_size(2 * words)


def test_automatic_steps_grow_with_the_corpus_within_bounds() -> None:
    assert training_steps(1) == FEWEST_STEPS
    assert training_steps(10**12) == MOST_STEPS
    assert training_steps(4_000_000) == 2 * training_steps(1_000_000)


def test_automatic_steps_are_computed_from_the_corpus(tmp_path: Path) -> None:
    config, corpus = reversal_corpus(tmp_path)
    automatic = with_values(config, {"train.max_steps": "auto"})
    with pytest.raises(ConfigError, match="max_steps is auto"):
        max_steps(automatic.train)
    completed = complete(automatic, corpus)
    tokens = int(corpus.train.tgt_lengths.sum())
    assert completed.train.max_steps == training_steps(tokens)
    # The run goes on with the same number.
    assert complete(completed, corpus) == completed
    assert complete(with_values(config, {"train.max_steps": 7}), corpus).train.max_steps == 7


def test_automatic_intervals_follow_the_number_of_steps() -> None:
    config = with_values(Config(), {"train.checkpoint_every": "auto", "train.max_steps": 3_000})
    assert Intervals.of(config.train) == Intervals(log=10, checkpoint=100, validate=300)
    config = with_values(config, {"train.max_steps": 5, "train.validate_every": 2})
    assert Intervals.of(config.train) == Intervals(log=1, checkpoint=1, validate=2)


@pytest.mark.parametrize(
    ("steps", "validate"), [(12, 30), (60, 30), (70, 30), (120, 32), (300, 30), (825, 81)]
)
def test_short_runs_validate_seldom_and_runs_of_automatic_length_ten_times(
    steps: int, validate: int
) -> None:
    values = {"train.checkpoint_every": "auto", "train.max_steps": steps}
    intervals = Intervals.of(with_values(Config(), values).train)
    assert intervals.validate == validate
    assert intervals.validate % intervals.checkpoint == 0
    if steps >= FEWEST_STEPS:
        assert intervals.validate == 3 * intervals.checkpoint


def test_an_interval_that_is_set_holds_in_short_runs() -> None:
    values = {"train.checkpoint_every": 4, "train.max_steps": 12}
    assert Intervals.of(with_values(Config(), values).train).validate == 4
    values = {"train.checkpoint_every": "auto", "train.max_steps": 12, "train.validate_every": 3}
    assert Intervals.of(with_values(Config(), values).train).validate == 3


def test_small_preset_is_automatic_and_paper_small_is_fixed() -> None:
    small, paper, base = (
        resolve([SettingsLayer("test", {"train.preset": name})]).config
        for name in ("small", "paper-small", "base")
    )
    assert small.data.vocab_size == small.train.max_steps == small.train.checkpoint_every == "auto"
    assert small.train.patience > 0
    assert small.model.layers == paper.model.layers
    assert (small.model.d_model, small.model.d_ff, small.model.heads) == (192, 768, 4)
    assert (paper.model.d_model, paper.model.d_ff, paper.model.heads) == (256, 1_024, 4)
    for name in ("optimizer", "schedule", "learning_rate", "label_smoothing", "precision"):
        assert getattr(paper.train, name) == getattr(base.train, name)
    assert paper.model.norm_order == base.model.norm_order


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece"])
def test_automatic_vocabulary_is_learnt_from_any_text(kind: str) -> None:
    data = DataConfig(subwords=kind, vocab_size="auto")  # type: ignore[arg-type]
    # 2,000 words, 8 of them different, in 8 characters: fewer merges exist than the rule asks for.
    few = Counter({f"{first}{second}": 250 for first in "abcd" for second in "ef"})
    assert 8 < learn_subwords(data, few, Counter()).src_size < vocabulary_size(2_000)
    # More characters than the rule has entries.
    many = Counter({chr(0x4E00 + index): 1 for index in range(300)})
    assert learn_subwords(data, many, Counter()).src_size > 300 > vocabulary_size(300)


def test_advice_for_separate_target_vocabulary_counts_its_words() -> None:
    data = DataConfig(vocab_size=100, joint=False, tgt_vocab_size=5_000)
    words = Counter({f"{a}{b}{c}": 40 for a in "abcde" for b in "fghij" for c in "klmno"})
    with pytest.raises(Exception, match="the target: a vocabulary of 5,000 is larger") as caught:
        learn_subwords(data, words, words)
    assert caught.value.hint == "use --set data.tgt_vocab_size=200, or add text"  # type: ignore[attr-defined]


def test_prepare_warns_of_rare_vocabulary_entries(tmp_path: Path) -> None:
    config, _ = reversal_corpus(tmp_path)
    values = {"data.subwords": "bpe", "data.vocab_size": 20}
    config = with_values(config, values)
    few = prepare(config, tmp_path / "few", workers=1)
    assert not [note for note in few.notes if "occurs" in note]
    tokens = few.src.tokens + few.tgt.tokens
    lines = [Path(path).read_text().splitlines()[:12] for path in config.data.train[0]]
    for path, side in zip(("a.xx", "a.yy"), lines, strict=True):
        (tmp_path / path).write_text("".join(f"{line}\n" for line in side))
    short = with_values(config, {"data.train": [[str(tmp_path / "a.xx"), str(tmp_path / "a.yy")]]})
    warned = prepare(short, tmp_path / "warned", workers=1)
    assert warned.src.tokens + warned.tgt.tokens < 10 * warned.src_size < tokens
    (note,) = [note for note in warned.notes if "occurs" in note]
    assert "the vocabulary of 20 is large for" in note
    assert "--vocab-size auto" in note
    automatic = with_values(short, {"data.vocab_size": "auto"})
    assert not [
        note
        for note in prepare(automatic, tmp_path / "automatic", workers=1).notes
        if "occurs" in note
    ]
    # The setting itself is kept: other text gives another size.
    assert load(tmp_path / "automatic" / "config.toml").data.vocab_size == "auto"
    assert json.loads((tmp_path / "automatic" / "corpus.json").read_text())
