"""`data.subwords_from`: a corpus takes the vocabulary of a model or of another corpus."""

import json
import shutil
from pathlib import Path

import pytest
from api_calls import digests
from corpora import reversal_corpus, tiny_config, word_corpus, write_pairs
from runs import go

from nmt_cli.config.schema import ResolvedConfig, SettingsLayer, resolve, with_values
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.preparation.existing_subwords import (
    VOCABULARY_SETTINGS,
    ExistingSubwords,
    with_existing_subwords,
)
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.errors import CannotCreateError, ConfigError, DataError, NoInputError

NEW = [("a b c h", "h c b a"), ("d e f", "f e d"), ("g a", "a g"), ("b x ☃", "☃ x b")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose vocabulary are the letters of its text; `corpus` is beside it."""
    folder = tmp_path_factory.mktemp("model")
    config, corpus = reversal_corpus(folder, languages_src="xx", languages_tgt="yy")
    go(with_values(config, {"train.max_steps": 5}), corpus, folder / "model")
    return folder / "model"


def new_text(folder: Path) -> dict[str, object]:
    return {"data.train": [write_pairs(folder, "new", NEW)]}


def resolved(source: Path, folder: Path, **given: object) -> ResolvedConfig:
    named = {key.replace("_", ".", 1): value for key, value in given.items()}
    values = {"data.subwords_from": str(source), **new_text(folder), **named}
    return resolve([SettingsLayer("--set", values)])


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (directory / "subwords").iterdir()}


@pytest.mark.parametrize("name", ["model", "corpus"])
def test_corpus_has_the_vocabulary_of_a_model_or_a_corpus(name, model, tmp_path):
    source = model.with_name(name)
    before = digests(source)
    config = with_existing_subwords(resolved(source, tmp_path))
    prepare(config, tmp_path / "corpus", workers=1)
    assert contents(tmp_path / "corpus") == contents(source)
    assert digests(source) == before
    corpus = Corpus.open(tmp_path / "corpus")
    assert len(corpus.train) == len(NEW)
    found = corpus.subwords.decode_source([corpus.train[0][0].tolist()])
    assert found == [NEW[0][0]]


def test_settings_of_the_vocabulary_and_languages_are_those_of_the_model(model, tmp_path):
    stored = ExistingSubwords.read(model).config
    config = with_existing_subwords(resolved(model, tmp_path, data_max_length=9))
    for key in VOCABULARY_SETTINGS:
        name = key.partition(".")[2]
        assert getattr(config.data, name) == getattr(stored.data, name)
    assert (config.languages.src, config.languages.tgt) == ("xx", "yy")
    assert config.data.max_length == 9
    given = with_existing_subwords(resolved(model, tmp_path, languages_tgt="zz"))
    assert (given.languages.src, given.languages.tgt) == ("xx", "zz")


def test_other_settings_of_the_vocabulary_are_refused_and_named(model, tmp_path):
    other = resolved(model, tmp_path, data_vocab_size=70, data_normalize=True, data_joint=True)
    with pytest.raises(ConfigError) as caught:
        with_existing_subwords(other)
    message = caught.value.message
    assert f"data.vocab_size is 70 (--set), but 64 in `{model}`" in message
    assert "data.normalize is true (--set), but false in" in message
    assert "data.joint" not in message


def test_equal_settings_and_those_of_a_preset_are_accepted(model, tmp_path):
    same = resolved(model, tmp_path, data_vocab_size=64, train_preset="big")
    assert with_existing_subwords(same).data.vocab_size == 64


def test_unknown_characters_are_counted_and_warned_of(model, tmp_path):
    config = with_existing_subwords(resolved(model, tmp_path))
    prepared = prepare(config, tmp_path / "corpus", workers=1)
    assert prepared.src.unknowns == prepared.tgt.unknowns == 2
    [src, tgt] = [note for note in prepared.notes if "unknown to the vocabulary" in note]
    assert f"of `{model}`: 2 of {prepared.src.tokens:,} tokens of the kept source text" in src
    assert f"({prepared.tgt.unknowns / prepared.tgt.tokens:.2%})" in tgt
    # x and the snowman are in the fourth line of both files.
    for note, file in ((src, "new.src"), (tgt, "new.tgt")):
        where = f"1 kept line of `{tmp_path / file}`: 4)"
        assert f": x (U+0078, {where}, ☃ (U+2603, {where}" in note
    assert "data.byte_fallback=true" in tgt
    assert "need no training" not in tgt


def test_unknown_characters_of_tags_and_placeholders_need_no_training(model, tmp_path):
    pairs = [(f"{'a ' * n}{{b}}", f"{{b}} {'a ' * n}") for n in range(1, 9)]
    train = [write_pairs(tmp_path, "manual", pairs)]
    config = with_existing_subwords(resolved(model, tmp_path, data_train=train))
    notes = prepare(config, tmp_path / "corpus", workers=1).notes
    [tgt] = [note for note in notes if "kept target text" in note]
    assert tgt.endswith(
        "and {0}, need no training, since `nmt translate` takes them out and puts them back: in "
        "training text, delete tags, and write a name or a number in place of a placeholder, on "
        "both sides"
    )


def test_unknown_characters_are_listed_with_their_lines(model, tmp_path):
    pairs = [
        ("a b ʔ", "b a"), ("", "c"), ("ʔ d", "d"), *[("a ʔ", f"{'a ' * n}h") for n in range(1, 7)],
        ("a " * 30 + "§", "a " * 30), ("e\u0301 ŋa", "a ŋ"),
    ]  # fmt: skip
    train = [write_pairs(tmp_path, "old", NEW[:3]), write_pairs(tmp_path, "more", pairs)]
    # Without repairs, the accent stays a character of its own in the text, but not in subwords.
    given = {"data_max_length": 50, "data_max_ratio": 100.0, "data_clean": "off"}
    config = with_existing_subwords(resolved(model, tmp_path, data_train=train, **given))
    prepared = prepare(config, tmp_path / "corpus", workers=1)
    source, target = train[1]
    expected = [
        ("ʔ", "U+0294", "src", source, 8, (1, 3, 4, 5, 6)),
        ("é", "U+00E9", "src", source, 1, (11,)),
        ("ŋ", "U+014B", "src", source, 1, (11,)),
        ("ŋ", "U+014B", "tgt", target, 1, (11,)),
    ]
    assert list(prepared.unknown_characters) == expected
    first = prepared.to_json()["unknown_characters"][0]
    assert first == {
        "character": "ʔ", "code": "U+0294", "side": "src", "file": source, "lines": 8,
        "first_lines": [1, 3, 4, 5, 6],
    }  # fmt: skip
    again = prepare(config, tmp_path / "corpus", workers=1)
    assert again.reused
    assert list(again.unknown_characters) == expected
    [src, _] = [note for note in prepared.notes if "unknown to the vocabulary" in note]
    assert (
        f"ʔ (U+0294, 8 kept lines of `{source}`: 1, 3, 4, 5, 6, …), é (U+00E9, 1 kept line" in src
    )


def test_text_that_a_vocabulary_cuts_into_letters_is_warned_of(model, tmp_path):
    """Of each side for itself; one word in a line may be a line without spaces."""
    (tmp_path / "words").mkdir()
    word_corpus(tmp_path / "words")
    words = tmp_path / "words" / "corpus"
    for number, (source, line, is_warned) in enumerate(
        [(words, "aaaaa bbbbb ababa", True), (words, "aaaaabbbbbababa", False),
         (words, "a b a b", False), (model, "abc defg hab", False)]
    ):  # fmt: skip
        train = [write_pairs(tmp_path, f"new{number}", [(line, "a b a b")] * 9)]
        config = with_existing_subwords(resolved(source, tmp_path, data_train=train))
        notes = prepare(config, tmp_path / f"corpus-{number}", workers=1).notes
        found = [note for note in notes if "trains faster" in note]
        assert len(found) == is_warned
        assert all(f"of `{words}` cuts a word of the source text into" in note for note in found)


def test_text_of_other_languages_is_warned_of(model, tmp_path):
    config = with_existing_subwords(resolved(model, tmp_path, languages_src="vv"))
    prepared = prepare(config, tmp_path / "corpus", workers=1)
    assert f"the text is vv-yy, but `{model}` is xx-yy" in prepared.notes


def test_corpus_is_kept_as_long_as_the_vocabulary_is_the_same(model, tmp_path):
    prepare(with_existing_subwords(resolved(model, tmp_path)), tmp_path / "corpus", workers=1)
    moved = tmp_path / "moved"
    shutil.copytree(model, moved)
    config = with_existing_subwords(resolved(moved, tmp_path))
    assert prepare(config, tmp_path / "corpus", workers=1).reused
    (tmp_path / "words").mkdir()
    word_corpus(tmp_path / "words")
    shutil.rmtree(moved)
    shutil.copytree(tmp_path / "words/corpus", moved)
    with pytest.raises(CannotCreateError, match="is another one"):
        prepare(config, tmp_path / "corpus", workers=1)


def test_corpus_with_its_own_vocabulary_is_not_taken_for_one_with_that_of_a_model(model, tmp_path):
    text = new_text(tmp_path)
    prepare(tiny_config(data_train=text["data.train"]), tmp_path / "corpus", workers=1)
    config = with_existing_subwords(resolved(model, tmp_path))
    with pytest.raises(CannotCreateError, match="prepared differently"):
        prepare(config, tmp_path / "corpus", workers=1)


@pytest.mark.parametrize("place", ["", "new"])
def test_what_the_vocabulary_is_taken_from_is_no_output(place, model, tmp_path):
    before = digests(model.parent)
    config = with_existing_subwords(resolved(model, tmp_path))
    with pytest.raises(CannotCreateError, match="only read here"):
        prepare(config, model / place, force=True, workers=1)
    assert digests(model.parent) == before


def test_missing_foreign_and_damaged_sources_are_refused(model, tmp_path):
    with pytest.raises(NoInputError, match="there is no model directory"):
        ExistingSubwords.read(tmp_path / "missing")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign/config.json").write_text(json.dumps({"model_type": "marian"}))
    with pytest.raises(ConfigError, match="it looks like a model of Hugging Face"):
        ExistingSubwords.read(tmp_path / "foreign")
    shutil.copytree(model, tmp_path / "model")
    vocabulary = tmp_path / "model/subwords/vocabulary.json"
    vocabulary.write_bytes(vocabulary.read_bytes().replace(b"a", b"b", 1))
    with pytest.raises(DataError, match="is damaged"):
        ExistingSubwords.read(tmp_path / "model")
