"""Text that does not suit: what `prepare` says to it; and corpora and models that do not match."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from corpora import reversal_corpus, reversal_pairs, tiny_config, write_pairs
from faults.tally import fault

from nmt_cli.cli import main
from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.corpus.layout import SUBWORDS
from nmt_cli.data.preparation.passes import PreparedCorpus
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.errors import ConfigError, DataError, NmtError, NoInputError
from nmt_cli.storage.manifest import write_manifest
from nmt_cli.training.loop import train
from nmt_cli.training.saving.average import average
from nmt_cli.translation.translator import Translator

Checks = Callable[..., None]
Pairs = list[tuple[str, str]]


def prepared(folder: Path, pairs: Pairs, **data: object) -> PreparedCorpus:
    paths = write_pairs(folder, "train", pairs)
    values = {"data.train": [paths], **{f"data.{key}": value for key, value in data.items()}}
    return prepare(resolve([SettingsLayer("test", values)]).config, folder / "corpus", workers=1)


def tried(folder: Path, pairs: Pairs, **data: object) -> PreparedCorpus | DataError:
    try:
        return prepared(folder, pairs, **data)
    except DataError as error:
        return error


# -- vocabularies ----------------------------------------------------------------------------------

WORDS: Pairs = [(f"dog number {n} sleeps", f"hund nummer {n} schläft") for n in range(60)]


@fault("P4")
@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_too_large_vocabulary_is_refused_with_the_largest_size(tmp_path: Path, kind: str) -> None:
    with pytest.raises(DataError, match="a vocabulary of 37,000 is larger") as caught:
        prepared(tmp_path, WORDS, subwords=kind)
    assert not (tmp_path / "corpus").exists()
    largest = int(caught.value.message.rpartition(" ")[2].replace(",", ""))
    assert "--vocab-size auto" in caught.value.hint
    assert prepared(tmp_path, WORDS, subwords=kind, vocab_size=largest).src_size == largest


@fault("P4")
def test_too_large_word_piece_vocabulary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="larger than this text supports") as caught:
        prepared(tmp_path, WORDS, subwords="wordpiece")
    largest = int(caught.value.message.rpartition(" ")[2].replace(",", ""))
    done = prepared(tmp_path, WORDS, subwords="wordpiece", vocab_size=largest)
    assert done.src_size == largest


@fault("P4")
def test_vocabulary_too_small_for_its_characters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the smallest that does has") as caught:
        prepared(tmp_path, WORDS, vocab_size=9)
    assert "--subwords bytes" in caught.value.hint


# -- odd text --------------------------------------------------------------------------------------


@fault("P5")
@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece", "chars"])
def test_subwords_are_learnt_from_lines_and_words_of_any_length(tmp_path: Path, kind: str) -> None:
    """sentencepiece would skip lines of more than 4,192 bytes; their letters would be unknown."""
    long = [("q" + "xyz" * 3_000, "w" + "uv" * 4_000), ("j k " * 3_000, "p r " * 3_000)]
    pairs = [(f"a b c {n}", f"d e f {n}") for n in range(60)] + long
    done = prepared(tmp_path, pairs, subwords=kind, vocab_size=36, max_length=2**20)
    assert done.kept == len(pairs)
    assert (done.src.unknowns, done.tgt.unknowns) == (0, 0)


@fault("P5")
def test_pairs_too_long_to_train_on_are_counted(tmp_path: Path) -> None:
    pairs = [*WORDS, ("a " * 5_000, "b " * 5_000)]
    done = prepared(tmp_path, pairs, subwords="bytes", max_length=200)
    assert done.dropped == {"too long": 1}


ODD: dict[str, Pairs] = {
    "one line": [("a dog", "ein hund")],
    "one letter": [("a", "b")],
    "only numbers": [(f"{n}", f"{n * 7}") for n in range(50)],
    "all the same": [("a dog", "ein hund")] * 100,
    "one script": [(chr(0x4E00 + n) * 3, chr(0x4E00 + n + 9) * 4) for n in range(50)],
    "only punctuation": [("...", "!!!"), ("?", "-")],
    "emoji": [("😀👍🏽", "👩‍👩‍👧"), ("🇩🇪", "1️⃣")],
    "private use": [("\ue000\uf8ff", "\U000f0000")],
    "noncharacters": [("\ufffe\uffff", "\U0001ffff")],
}


@fault("P6")
@pytest.mark.parametrize("name", ODD)
def test_odd_corpora_are_prepared_or_refused(tmp_path: Path, name: str, checks: Checks) -> None:
    for kind in ("bpe", "unigram", "wordpiece", "chars", "bytes"):
        for size in (37_000, 40):
            folder = tmp_path / f"{kind}-{size}"
            folder.mkdir()
            ended = tried(folder, ODD[name], subwords=kind, vocab_size=size)
            if isinstance(ended, DataError):
                assert "vocabulary" in ended.message
                assert ended.hint
            else:
                assert ended.kept >= 1
                assert len(Corpus.open(folder / "corpus").train) == ended.kept
            checks()
    assert (tmp_path / "bytes-40" / "corpus").is_dir()


@pytest.mark.slow
@fault("P6")
@pytest.mark.parametrize("name", ["one line", "one letter", "only numbers", "all the same"])
def test_odd_corpora_can_be_trained_on(tmp_path: Path, name: str) -> None:
    paths = write_pairs(tmp_path, "train", ODD[name])
    config = tiny_config(
        data_train=[paths], data_subwords="bytes", train_max_steps=2, train_checkpoint_every=2
    )
    prepare(config, tmp_path / "corpus", workers=1)
    *_, last = train(config, Corpus.open(tmp_path / "corpus"), tmp_path / "model")
    assert last.step == 2


# -- vocabularies of other models ------------------------------------------------------------------

OTHER = str.maketrans("abcdefgh", "stuvwxyz")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two short runs of the same settings and sizes; the text is in other letters."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("one", "two"):
        pairs = reversal_pairs(60, 1)
        if name == "two":
            pairs = [(src.translate(OTHER), tgt.translate(OTHER)) for src, tgt in pairs]
        config = tiny_config(
            data_train=[write_pairs(folder, "train", pairs)], train_max_steps=2,
            train_checkpoint_every=1,
        )  # fmt: skip
        prepare(config, folder / f"corpus-{name}", workers=1)
        list(train(config, Corpus.open(folder / f"corpus-{name}"), folder / name))
    return folder


@pytest.mark.slow
@fault("P7")
def test_resume_with_another_vocabulary_is_refused(runs: Path) -> None:
    other = Corpus.open(runs / "corpus-two")
    config = tiny_config(
        data_train=other.config.data.train, train_max_steps=4, train_checkpoint_every=1
    )
    with pytest.raises(ConfigError, match="the corpus differs from the one this run began with"):
        list(train(config, other, runs / "one"))


@pytest.mark.slow
@fault("P7")
def test_average_of_models_with_different_vocabularies_is_refused(
    runs: Path, checks: Checks
) -> None:
    for two in (runs / "two", runs / "two" / "checkpoints" / "step-000000002"):
        with pytest.raises(ConfigError, match=r"is another model than .*: the subwords differ"):
            average([runs / "one", two], runs / "mean")
        checks()


@pytest.mark.slow
@fault("P7")
def test_ensemble_of_models_with_different_vocabularies_is_refused(runs: Path) -> None:
    with pytest.raises(ConfigError, match="has another source vocabulary than the first"):
        Translator.load(runs / "one", others=[runs / "two"])


@pytest.mark.slow
@fault("P7")
@pytest.mark.parametrize("command", ["translate", "score"])
def test_a_vocabulary_copied_from_another_model_is_refused(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Of the same size: only its hash tells."""
    model = shutil.copytree(runs / "one", tmp_path / "model")
    shutil.copytree(runs / "two" / SUBWORDS, model / SUBWORDS, dirs_exist_ok=True)
    text = tmp_path / "text"
    text.write_text("a b\n")
    rest = ["--pairs", str(text), str(text)] if command == "score" else [str(text)]
    assert main([command, "--model", str(model), *rest]) == 65
    assert f"{SUBWORDS}/" in capsys.readouterr().err


# -- held-out sentences ----------------------------------------------------------------------------


@fault("P8")
@pytest.mark.parametrize("count", [0, 1, 17])
def test_test_sentences_in_the_training_text_are_counted(tmp_path: Path, count: int) -> None:
    train_pairs = [(f"sentence number {n}.", f"Satz Nummer {n}.") for n in range(200)]
    other = [(f"another one, {n}.", f"ein anderer, {n}.") for n in range(40)]
    test = write_pairs(tmp_path, "test", [*other, *train_pairs[:count]])
    valid = write_pairs(tmp_path, "valid", [*train_pairs[: 2 * count], *other])
    wanted = [
        f"{2 * count} of {40 + 2 * count} validation sentences also occur in the training text",
        f"{count} of {40 + count} test sentences also occur in the training text",
    ]
    for clean in ("off", "safe"):
        settings: dict[str, object] = {"subwords": "bytes", "test": test, "valid": valid}
        for folder in (clean, f"{clean}, dropped"):
            (tmp_path / folder).mkdir()
        done = prepared(tmp_path / clean, train_pairs, **settings, clean=clean)
        notes = [note.partition("; ") for note in done.notes if "also occur" in note]
        assert [note for note, _, _ in notes] == (wanted if count else [])
        assert all("--set data.drop_held_out=true" in hint for *_, hint in notes)
        assert done.kept == 200
        settings["drop_held_out"] = True
        done = prepared(tmp_path / f"{clean}, dropped", train_pairs, **settings, clean=clean)
        assert not [note for note in done.notes if "also occur" in note]
        found = (
            f"{2 * count} of {40 + 2 * count} validation sentences, {count} of {40 + count} test"
        )
        assert [remark.partition(" sentences),")[0] for remark in done.remarks] == (
            [f"{2 * count} training pairs were dropped as copies of held-out text ({found}"]
            if count
            else []
        )
        assert done.kept == 200 - 2 * count


def test_references_beside_other_sources_are_counted(tmp_path: Path) -> None:
    """As text for back-translation may have them; not short ones, nor one in more than 100."""
    targets = [f"das ist der lange Satz Nummer {n}." for n in range(100)]
    train_pairs = [(f"sentence number {n}.", targets[n % 100]) for n in range(200)]
    other = [(f"another one, {n}.", f"ein ganz anderer und neuer Satz, {n}.") for n in range(40)]
    short = [(f"a short one, {n}.", "Ja, gut.") for n in range(10)]
    train_pairs += [(f"yes {n}", "Ja, gut.") for n in range(10)]
    seen = [(f"human source {n}", targets[n]) for n in range(30)]
    test = write_pairs(tmp_path, "test", [*other, *short, *seen])
    # One pair in 105; and whole pairs, which count as sentences already.
    valid_pairs = [(f"new, {n}", f"auch dieser Satz ist wirklich neu, {n}.") for n in range(100)]
    valid = write_pairs(tmp_path, "valid", [*valid_pairs, *train_pairs[:4], ("x", targets[5])])
    settings: dict[str, object] = {"subwords": "bytes", "test": test, "valid": valid}
    for name, drops, clean in (("a", False, "safe"), ("b", True, "safe"), ("c", False, "strict")):
        (tmp_path / name).mkdir()
        done = prepared(
            tmp_path / name, train_pairs, **settings, clean=clean, drop_held_out=drops,
            drop_duplicates=False,
        )  # fmt: skip
        is_dropped = drops or clean == "strict"
        notes = [note for note in done.notes if "also occur" in note]
        found = "30 of 80 test targets"
        if is_dropped:
            [remark] = done.remarks
            assert remark.startswith("60 training pairs were dropped as copies of held-out text (")
            assert "4 of 105 validation sentences, " in remark
            assert f"{found} beside other sources)" in remark
            assert notes == []
        else:
            assert notes[0].startswith("4 of 105 validation sentences also occur")
            assert [note.partition(", as")[0] for note in notes[1:]] == [
                f"{found} also occur in the training text beside other sources"
            ]
            assert notes[1].endswith("--set data.drop_held_out=true")
            assert done.remarks == ()
        dropped = done.dropped.get("also in validation or test text", 0)
        # Each target twice, also that of the validation text.
        assert dropped == (60 if is_dropped else 0)


def test_trees_of_the_same_brackets_are_no_copies(tmp_path: Path) -> None:
    trees = [f"(S (NP DT {'NN ' * (n % 9)})NP (VP VBZ )VP . )S" for n in range(100)]
    train_pairs = [(f"sentence {n} to parse .", tree) for n, tree in enumerate(trees)]
    test = write_pairs(tmp_path, "test", [(f"other {n} .", trees[n]) for n in range(40)])
    done = prepared(tmp_path, train_pairs, subwords="bytes", test=test, clean="off")
    assert [note for note in done.notes if "also occur" in note] == []


@pytest.mark.parametrize("clean", ["off", "safe"])
def test_copies_that_differ_only_in_invisible_characters_are_found(
    tmp_path: Path, clean: str
) -> None:
    train_pairs = [(f"sentence number {n}.", f"Satz Nummer {n}.") for n in range(60)]
    train_pairs[:10] = [(f"sen\u200btence number\ufeff {n}.", f"Satz {n}.") for n in range(10)]
    seen = [(f"sentence\u200b number {n}.", f"Satz {n}.") for n in range(5)]
    test = write_pairs(tmp_path, "test", [*seen, ("sentence num\u00adber 20.", "Satz Nummer 20.")])
    settings: dict[str, object] = {"subwords": "bytes", "test": test, "clean": clean}
    done = prepared(tmp_path, train_pairs, **settings, drop_held_out=True)
    assert "held-out text (6 of 6 test sentences)" in " ".join(done.remarks)
    assert done.dropped["also in validation or test text"] == 6


@pytest.mark.parametrize("drops", [False, True])
def test_copies_with_other_capitals_or_punctuation_are_found(
    tmp_path: Path, *, drops: bool
) -> None:
    """But not short ones, nor other numbers; an exact copy counts once."""
    train_pairs = [(f"this is sentence number {n}.5!", f"Satz Nummer {n}.") for n in range(60)]
    train_pairs += [("Yes!", "Ja!"), ("the long new sentence is here.", "Der neue Satz.")]
    test_pairs = [(f"This, is sentence number {n}.5", f"Satz {n}") for n in range(5)]
    test_pairs += [("This is sentence number 75", "Satz 75"), ("yes.", "Ja."), train_pairs[-1]]
    test = write_pairs(tmp_path, "test", test_pairs)
    settings: dict[str, object] = {"subwords": "bytes", "test": test, "drop_held_out": drops}
    done = prepared(tmp_path, train_pairs, **settings)
    notes = [note for note in done.notes if "in the training text" in note]
    with_others = "with other capital letters or punctuation"
    if drops:
        [remark] = done.remarks
        assert f"(1 of 8 test sentences, 5 of 8 test sentences {with_others})" in remark
        assert notes == []
    else:
        assert notes[0].startswith("1 of 8 test sentences also occur in the training text; ")
        assert notes[1].startswith(
            f"5 of 8 test sentences occur in the training text {with_others}"
        )
        assert len(notes) == 2
    assert done.dropped.get("also in validation or test text", 0) == 6 * drops


def test_all_references_of_the_test_set_are_looked_for(tmp_path: Path) -> None:
    """Each of a line once, however many of its references are found."""
    pairs = [(f"a new source, {n}", f"das ist der erste Satz Nummer {n}.") for n in range(40)]
    second = [f"dies aber ist der zweite Satz, {n}." for n in range(40)]
    test = write_pairs(tmp_path, "test", pairs)
    (tmp_path / "second").write_text("".join(f"{line}\n" for line in second), "utf-8")
    seen = [*second[:30], *[target for _, target in pairs[20:35]]]
    train_pairs = [(f"other source {n}", target) for n, target in enumerate(seen)]
    train_pairs += [(f"sentence {n}", f"ganz andere Wörter sind wohl hier {n}") for n in range(99)]
    settings: dict[str, object] = {
        "subwords": "bytes", "test": (*test, str(tmp_path / "second")), "drop_held_out": True
    }  # fmt: skip
    done = prepared(tmp_path, train_pairs, **settings)
    (remark,) = done.remarks
    assert "(35 of 40 test targets beside other sources)" in remark
    assert done.dropped["also in validation or test text"] == 45


# -- corpora that are not whole --------------------------------------------------------------------


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    reversal_corpus(folder, pairs=50)
    return folder / "corpus"


@pytest.mark.slow
@fault("P10")
def test_incomplete_corpus_copy_is_refused(corpus: Path, tmp_path: Path, checks: Checks) -> None:
    """Each file in turn is missing, cut, or longer; without reading a byte of their content."""
    names = [str(path.relative_to(corpus)) for path in corpus.rglob("*") if path.is_file()]
    copy = tmp_path / "copy"
    shutil.copytree(corpus, copy)
    for name in sorted(names):
        whole = (copy / name).read_bytes()
        for data in (None, b"", whole[: len(whole) // 2], whole[:-1], whole + b"\0"):
            if data is None:
                (copy / name).unlink()
            else:
                (copy / name).write_bytes(data)
            if data != whole and not (name == "manifest.json" and data == whole[:-1]):
                with pytest.raises((DataError, NoInputError)):
                    Corpus.open(copy, verify=False)
                checks()
        (copy / name).write_bytes(whole)
    assert len(Corpus.open(copy).train) > 0


@fault("P10")
def test_corpus_with_flipped_bit_is_refused(corpus: Path, tmp_path: Path, checks: Checks) -> None:
    copy = shutil.copytree(corpus, tmp_path / "copy")
    for path in sorted(copy.rglob("*")):
        # The kept text is not read when training.
        if path.is_dir() or path.name in ("manifest.json", "train.src.txt", "train.tgt.txt"):
            continue
        whole = path.read_bytes()
        data = bytearray(whole)
        data[len(data) // 2] ^= 32
        path.write_bytes(data)
        with pytest.raises(NmtError):
            Corpus.open(copy)
        path.write_bytes(whole)
        checks()


@fault("P10")
@pytest.mark.parametrize("name", ["train.src.ids", "valid.tgt.ids", "train.src.offsets"])
def test_corpus_in_other_byte_order_is_refused(corpus: Path, tmp_path: Path, name: str) -> None:
    copy = shutil.copytree(corpus, tmp_path / "copy")
    kind = "<i8" if name.endswith("offsets") else "<u2"
    values = np.frombuffer((copy / name).read_bytes(), kind)
    (copy / name).write_bytes(values.byteswap().tobytes())
    write_manifest(copy)
    with pytest.raises(DataError, match=r"beyond the vocabulary|does not fit"):
        Corpus.open(copy)


@fault("P10")
@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_a_corpus_of_another_version_is_refused(
    corpus: Path, tmp_path: Path, version: object
) -> None:
    copy = shutil.copytree(corpus, tmp_path / "copy")
    document = json.loads((copy / "corpus.json").read_text()) | {"format": version}
    (copy / "corpus.json").write_text(json.dumps(document))
    write_manifest(copy)
    with pytest.raises(DataError, match="is not a corpus of format 1") as caught:
        Corpus.open(copy)
    assert "nmt prepare" in caught.value.hint
