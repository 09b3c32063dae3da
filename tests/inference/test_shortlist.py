"""The shortlist: learned from a corpus with a known lexicon, stored with a model, applied."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import torch
from corpora import tiny_config, write_pairs

from nmt_cli.cli import main
from nmt_cli.config.schema import dump
from nmt_cli.config.search import LONGEST_SHORTLIST, SearchConfig
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.lexical import lexicon as lexicons
from nmt_cli.data.lexical import shortlist as shortlists
from nmt_cli.data.lexical.glossary import Entry
from nmt_cli.data.lexical.lexicon import Lexicon, learn_lexicon
from nmt_cli.data.lexical.shortlist import SHORTLIST, Shortlist, make_shortlist
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.errors import ConfigError, DataError, NoInputError, TryAgainError
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.model_dir import load_config, load_subwords, save_model
from nmt_cli.search.decoder import Source
from nmt_cli.storage.locks import locked
from nmt_cli.storage.manifest import add_to_manifest, check_manifest
from nmt_cli.storage.model_check import CONFIG
from nmt_cli.training.learn_shortlist import learn_shortlist
from nmt_cli.translation.constraints import Constraints
from nmt_cli.translation.lines.inputs import with_shortlist
from nmt_cli.translation.translator import Translator

# Letters of the source and what each becomes; every line holds `x`, which becomes nothing.
DICTIONARY = dict(zip("abcdefgh", "ijklmnop", strict=True))
LINES = ["a b c", "h", "d d e", "", "g f", "a h b", "x"]


def dictionary_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    chooser = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        src = [*chooser.choice(list(DICTIONARY), size=chooser.integers(2, 7))]
        tgt = [DICTIONARY[index] for index in chooser.permutation(src)]
        pairs.append((" ".join([*src, "x"]), " ".join(tgt)))
    return pairs


def make_corpus(folder: Path, pairs: list[tuple[str, str]]) -> Corpus:
    folder.mkdir()
    files = write_pairs(folder, "train", pairs)
    config = tiny_config(data_train=[files], data_joint=False)
    prepare(config, folder / "corpus", workers=1)
    return Corpus.open(folder / "corpus")


@pytest.fixture(autouse=True, scope="module")
def few_frequent() -> Iterator[None]:
    """Else a target vocabulary as small as this were let in whole."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shortlists, "FREQUENT", 1)
        yield


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_corpus(tmp_path_factory.mktemp("dictionary") / "all", dictionary_pairs(400, 1))


@pytest.fixture(scope="module")
def trained(few_frequent, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model directory with a shortlist; its weights are random."""
    path = tmp_path_factory.mktemp("models") / "model"
    subwords = corpus.subwords
    values = {"src_vocab_size": subwords.src_size, "tgt_vocab_size": subwords.tgt_size}
    config = tiny_config(
        **{f"model_{key}": value for key, value in values.items()}, model_tie_embeddings="none"
    )
    config = replace(config, search=replace(config.search, beam=3, max_extra_length=6))
    model = initialise(Transformer(config.model), 1)
    save_model(path, model.state_dict(), config, subwords, {})
    learn_shortlist(corpus.path, path)
    return path


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "model"))


def target_id(corpus: Corpus, letter: str) -> int:
    return corpus.subwords.target_pieces(range(corpus.subwords.tgt_size)).index(letter)


def source_id(corpus: Corpus, letter: str) -> int:
    return corpus.subwords.source_pieces(range(corpus.subwords.src_size)).index(letter)


def lexicon_of(corpus: Corpus, **options: int) -> Lexicon:
    return learn_lexicon(
        corpus.train, (corpus.subwords.src_size, corpus.subwords.tgt_size), **options
    )


def row_of(lexicon: Lexicon, src_id: int) -> dict[int, float]:
    places = slice(lexicon.offsets[src_id], lexicon.offsets[src_id + 1])
    return dict(zip(lexicon.ids[places].tolist(), lexicon.counts[places].tolist(), strict=True))


def plain_model_1(corpus: Corpus, iterations: int) -> dict[tuple[int, int], float]:
    """IBM model 1 as it is written down: expected counts, in plain loops."""
    counts: dict[tuple[int, int], float] = {}
    for iteration in range(iterations):
        sums: dict[int, float] = {}
        for (s, _), count in counts.items():
            sums[s] = sums.get(s, 0.0) + count
        old = {key: count / sums[key[0]] for key, count in counts.items()} if iteration else None
        counts = {}
        for pair in range(len(corpus.train)):
            src, tgt = corpus.train[pair]
            for t in tgt.tolist():
                chances = {s: old.get((s, t), 0.0) if old else 1.0 for s in set(src.tolist())}
                for s, chance in chances.items():
                    counts[s, t] = counts.get((s, t), 0.0) + chance / sum(chances.values())
    return counts


@pytest.mark.parametrize("iterations", [1, 3])
def test_counts_equal_those_of_plain_loops(corpus: Corpus, monkeypatch, iterations: int) -> None:
    monkeypatch.setattr(lexicons, "CHUNK", 50)
    result = lexicon_of(corpus, iterations=iterations)
    expected = plain_model_1(corpus, iterations)
    rows = [row_of(result, src_id) for src_id in range(corpus.subwords.src_size)]
    assert {(s, t) for s, row in enumerate(rows) for t in row} == {
        key for key, count in expected.items() if count > 0
    }
    for (s, t), count in expected.items():
        assert rows[s].get(t, 0.0) == pytest.approx(count, rel=1e-4, abs=1e-6)


def test_a_lexicon_is_learned(corpus: Corpus, trained: Path) -> None:
    shortlist = Shortlist.load(trained, corpus.subwords)
    for src, tgt in DICTIONARY.items():
        best = shortlist.candidates[source_id(corpus, src), :2].tolist()
        # Beside the letter itself, the space before it.
        assert target_id(corpus, tgt) in best, (src, best)


def test_only_the_best_candidates_are_kept(corpus: Corpus, monkeypatch) -> None:
    whole = lexicon_of(corpus, iterations=1)
    monkeypatch.setattr(lexicons, "KEPT_CANDIDATES", 3)
    result = lexicon_of(corpus, iterations=1)
    for src_id in range(corpus.subwords.src_size):
        ranked = sorted(row_of(whole, src_id).items(), key=lambda pair: (-pair[1], pair[0]))
        assert row_of(result, src_id) == dict(ranked[:3])
    assert lexicon_of(corpus, iterations=4).counts.size > 0


def test_a_large_corpus_is_sampled_evenly(corpus: Corpus) -> None:
    pairs = corpus.train
    links = int(pairs.src_lengths.astype(int) @ pairs.tgt_lengths.astype(int))
    assert lexicon_of(corpus, iterations=1, max_links=links).pairs == len(pairs)
    result = lexicon_of(corpus, iterations=1, max_links=links // 2)
    assert result.pairs == pytest.approx(len(pairs) / 2, abs=1)
    seen = lexicons._choose(pairs, links // 2)
    assert np.diff(seen).min() >= 2
    assert seen[-1] >= len(pairs) - 3


def test_progress_is_reported(corpus: Corpus) -> None:
    progress: list[tuple[str, int, int | None]] = []
    learn_lexicon(
        corpus.train, (corpus.subwords.src_size, corpus.subwords.tgt_size), iterations=2,
        progress=lambda *report: progress.append(report),
    )  # fmt: skip
    assert {stage for stage, *_ in progress} == {"iteration 1", "iteration 2"}
    for stage in ("iteration 1", "iteration 2"):
        done = [some for done, some, _ in progress if done == stage]
        assert done == sorted(done)
    assert all(total is not None and done <= total for _, done, total in progress)


def test_the_same_corpus_gives_the_same_file(corpus: Corpus, model: Path) -> None:
    before = (model / SHORTLIST).read_bytes()
    for _ in range(8):
        (model / SHORTLIST).unlink()
        learn_shortlist(corpus.path, model)
        assert (model / SHORTLIST).read_bytes() == before
    check_manifest(model)


def some_shortlist() -> Shortlist:
    candidates = np.full((5, LONGEST_SHORTLIST), -1, np.int32)
    candidates[1, :3] = 9, 5, 7
    candidates[2, :1] = 5
    return Shortlist(
        candidates, np.array([-1, 11, -1, -1, -1], np.int32), np.array([4, 9], np.int32)
    )


def test_allowed_ids_of_a_source() -> None:
    shortlist = some_shortlist()
    assert shortlist.allowed([1, 2, 1], 2, [20, 4]).tolist() == [4, 5, 9, 11, 20]
    assert shortlist.allowed([1], 3).tolist() == [4, 5, 7, 9, 11]
    assert shortlist.allowed([2, 3], 100).tolist() == [4, 5, 9]
    assert shortlist.allowed([3], 1).dtype == np.int64


def test_candidates_are_ranked_and_limited(corpus: Corpus) -> None:
    size = corpus.subwords.src_size
    offsets = np.full(size + 1, 5)
    offsets[:5] = 0
    result = make_shortlist(
        Lexicon(offsets, np.array([3, 4, 5, 6, 7]), np.array([9.0, 1.0, 2.0, 2.0, 0.5]), 1),
        np.array([0, 8, 9, 7, 0, 2, 2, 3]), corpus.subwords, [1, 2, 3],
    )  # fmt: skip
    assert result.candidates[4, :5].tolist() == [5, 6, 4, 7, -1]
    assert (result.candidates[5] == -1).all()
    # Ids 1 and 2 are the most frequent.
    assert result.frequent.tolist() == [7]
    assert (result.same[:4] == -1).all() or result.same[3] == -1


def test_equally_spelt_subwords_are_allowed(tmp_path: Path) -> None:
    """A name of the source can be copied, though it was never seen translated so."""
    pairs = [("a b q", "i j"), ("b a", "j i"), ("a", "q")] * 3
    both = make_corpus(tmp_path / "q", pairs)
    shortlist = make_shortlist(lexicon_of(both), np.zeros(99), both.subwords, [0, 1, 2, 3])
    assert shortlist.same[source_id(both, "q")] == target_id(both, "q")
    assert shortlist.same[source_id(both, "b")] == -1


def texts(model: Path, lines: list[str] = LINES, count: int = 2, **more: object) -> list[str]:
    translator = Translator.load(model)
    prefixes, constraints = more.pop("prefixes", None), more.pop("constraints", Constraints())
    search = replace(translator.config.search, shortlist=count, **more)
    translations = translator.translate(
        lines, search=search, constraints=constraints, prefixes=prefixes
    )
    return [translation.text for translation in translations]


def test_a_line_is_translated_with_its_own_words_in_any_batch(model: Path, corpus: Corpus) -> None:
    together = texts(model)
    assert together == [texts(model, [line])[0] for line in LINES]
    assert together != texts(model, count=0)
    shortlist = Shortlist.load(model, corpus.subwords)
    for line, text in zip(LINES, together, strict=True):
        ids = corpus.subwords.encode_source([line])[0]
        pieces = corpus.subwords.target_pieces(shortlist.allowed(ids, 2).tolist())
        assert set(text.replace(" ", "")) <= set("".join(pieces))


@pytest.fixture
def narrow(model: Path, corpus: Corpus) -> Path:
    """A model whose shortlist lets nothing in but one letter."""
    only = np.array([target_id(corpus, "i")], np.int32)
    src = corpus.subwords.src_size
    empty = np.full((src, LONGEST_SHORTLIST), -1, np.int32)
    Shortlist(empty, empty[:, 0].copy(), only).save(model, corpus.subwords)
    return model


def test_prefixes_and_terms_are_allowed_beyond_the_shortlist(narrow: Path) -> None:
    assert set("".join(texts(narrow))) <= {"i", " "}
    begun = texts(narrow, ["a b", "c"], prefixes=["k l", ""])
    assert begun[0].startswith("k l")
    assert set(begun[1]) <= {"i", " "}
    constraints = Constraints(glossary=(Entry("b", ("m n",), 1),))
    held = texts(narrow, ["a b", "c"], constraints=constraints)
    assert "m n" in held[0]
    assert set(held[1]) <= {"i", " "}


def test_eos_is_always_allowed_and_unk_for_replacement(corpus: Corpus) -> None:
    subwords = corpus.subwords
    for replaces in (False, True):
        search = SearchConfig(shortlist=5, replace_unknown=replaces)
        (result,) = with_shortlist([Source((4, 3), (7,))], some_shortlist(), search, subwords)
        assert result.allowed is not None
        assert result == Source((4, 3), (7,))
        unknown = [subwords.unk_id] if replaces else []
        assert result.allowed.tolist() == sorted([subwords.eos_id, *unknown, 4, 7, 9])


def test_without_the_setting_the_shortlist_is_not_loaded(model: Path) -> None:
    (model / SHORTLIST).write_bytes(b"nonsense")
    assert len(texts(model, count=0)) == len(LINES)


def test_a_missing_shortlist_names_the_command(model: Path, corpus: Corpus) -> None:
    subwords = load_subwords(model)
    entries = json.loads((model / "manifest.json").read_text())
    del entries["files"][SHORTLIST]
    (model / "manifest.json").write_text(json.dumps(entries))
    with pytest.raises(NoInputError, match="holds no shortlist") as caught:
        Shortlist.load(model, subwords)
    assert f"`nmt shortlist --model {model}`" in caught.value.hint
    assert "`--shortlist 0`" in caught.value.hint
    with pytest.raises(NoInputError, match="no shortlist"):
        texts(model)
    loaded = Translator.load(model)
    bare = Translator(loaded.model, loaded.config, subwords)
    with pytest.raises(NoInputError, match="no shortlist"):
        bare.shortlist_for(replace(loaded.config.search, shortlist=1))


def saved(model: Path, facts: dict[str, str] | None = None, **arrays: np.ndarray) -> None:
    path = model / SHORTLIST
    with safetensors.safe_open(path, framework="np") as file:
        old_facts = dict(file.metadata())
    now = {**safetensors.numpy.load_file(path), **arrays}
    data = safetensors.numpy.save(now, {**old_facts, **(facts or {})})
    add_to_manifest(model, SHORTLIST, data)


@pytest.mark.parametrize(
    ("arrays", "facts", "message"),
    [
        ({"frequent": np.array([999], np.int32)}, {}, "`frequent` does not fit"),
        ({"frequent": np.array([-2], np.int32)}, {}, "`frequent` does not fit"),
        ({"frequent": np.array([[1]], np.int32)}, {}, "`frequent` does not fit"),
        ({"same": np.array([1], np.int32)}, {}, "`same` does not fit"),
        ({"candidates": np.zeros((3, 3), np.int32)}, {}, "`candidates` does not fit"),
        ({"frequent": np.array([1.0], np.float32)}, {}, "`frequent` does not fit"),
        ({}, {"format": "2"}, "format 1"),
    ],
)
def test_an_invalid_shortlist_is_refused(model: Path, arrays, facts, message: str) -> None:
    saved(model, facts, **arrays)
    with pytest.raises(DataError, match=message):
        texts(model)


def test_a_damaged_shortlist_is_refused(model: Path) -> None:
    path = model / SHORTLIST
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match="SHA-256"):
        texts(model)
    add_to_manifest(model, SHORTLIST, b"\x80\x04nonsense")
    with pytest.raises(DataError, match="is damaged"):
        texts(model)
    add_to_manifest(model, SHORTLIST, safetensors.numpy.save({"same": np.zeros(1)}))
    with pytest.raises(DataError, match="is damaged"):
        texts(model)


def test_a_shortlist_of_another_vocabulary_is_refused(model: Path, tmp_path: Path) -> None:
    saved(model, {"vocabulary": "another"})
    with pytest.raises(ConfigError, match="other subwords"):
        texts(model)
    other = make_corpus(tmp_path / "other", [("a z", "i"), ("b", "j")] * 5)
    with pytest.raises(ConfigError, match="has other subwords"):
        learn_shortlist(other.path, model)


def test_a_locked_model_directory_is_left_unchanged(model: Path, corpus: Corpus) -> None:
    with locked(model), pytest.raises(TryAgainError) as caught:
        learn_shortlist(corpus.path, model)
    # The command has no such option.
    assert "--out" not in caught.value.hint


@pytest.fixture
def nmt(model: Path, tmp_path: Path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines").write_text("".join(f"{line}\n" for line in LINES))

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        return code, *capfd.readouterr()

    return run


def test_the_shortlist_commands(nmt, model: Path, corpus: Corpus) -> None:
    expected = texts(model)
    (model / SHORTLIST).unlink()
    entries = json.loads((model / "manifest.json").read_text())
    del entries["files"][SHORTLIST]
    (model / "manifest.json").write_text(json.dumps(entries))
    code, out, err = nmt("translate", "--shortlist", "2", "lines")
    assert (code, out) == (66, "")
    assert "`nmt shortlist --model model`" in err
    code, out, err = nmt("shortlist", "--corpus", str(corpus.path))
    assert (code, out) == (0, "")
    assert f"learnt from {len(corpus.train):,} pairs" in err
    assert "nmt translate --shortlist" in err
    code, out, err = nmt("translate", "--shortlist", "2", "lines")
    # The untrained model translates some lines by nothing, which a warning says.
    empty = sum(bool(line) > bool(text) for line, text in zip(LINES, expected, strict=True))
    warning = f"warning: {empty} translations of text are empty: --min-length 1 forbids this\n"
    assert (code, err) == (0, warning)
    assert out.splitlines() == expected
    assert nmt("translate", "--shortlist", "101", "lines")[0] in (2, 78)
    assert nmt("shortlist", "--corpus", "nowhere")[0] == 66


def test_the_model_of_a_shortlist_is_named_as_that_of_other_commands(
    nmt, model: Path, corpus: Corpus
) -> None:
    (model / SHORTLIST).rename(model.with_name("before"))
    model.rename("other")
    code, _, err = nmt("shortlist", "other", "--corpus", str(corpus.path))
    assert (code, Path("other", SHORTLIST).read_bytes()) == (0, Path("before").read_bytes())
    assert "nmt translate --shortlist 50 --model other" in err
    code, _, err = nmt("shortlist", "other", "--model", "other")
    assert (code, "the model is given twice" in err) == (2, True)


def test_shortlist_of_a_model_is_learnt_from_its_own_corpus(
    nmt, model: Path, corpus: Corpus
) -> None:
    """A fine-tuned model was trained on another corpus than the project names."""
    Path("nmt.toml").write_text('[paths]\ncorpus = "general"\n', "utf-8")
    recorded = load_config(model)
    changed = replace(recorded, paths=replace(recorded.paths, corpus=str(corpus.path)))
    add_to_manifest(model, CONFIG, dump(changed).encode())
    code, _, err = nmt("shortlist")
    assert (code, f"pairs of `{corpus.path}`" in err) == (0, True)
    assert nmt("shortlist", "--corpus", "nowhere")[0] == 66


def test_shortlist_of_a_fine_tuned_model_names_the_words_that_it_lacks(
    nmt, model: Path, corpus: Corpus
) -> None:
    copied = Path(shutil.copytree(corpus.path, "all-text"))
    recorded = load_config(model)
    paths = replace(recorded.paths, corpus=str(corpus.path))
    notes = []
    for train in (recorded.train, replace(recorded.train, init_from="first model")):
        add_to_manifest(model, CONFIG, dump(replace(recorded, paths=paths, train=train)).encode())
        for source in (corpus.path, copied):
            code, _, err = nmt("shortlist", "--corpus", str(source))
            assert code == 0
            notes.append(" ".join(err.split()))
    assert ["was fine-tuned" in note for note in notes] == [False, False, True, False]
    assert "nmt prepare --subwords-from 'first model' --train" in notes[2]
    assert "nmt shortlist model --corpus all-text" in notes[2]


def test_validation_during_training_uses_the_whole_vocabulary(
    corpus: Corpus, trained: Path
) -> None:
    from nmt_cli.training.evaluation.validation import validate

    loaded = Translator.load(trained)
    config = replace(loaded.config, search=replace(loaded.config.search, shortlist=5))
    held = replace(corpus, valid=corpus.train, valid_text=(["a b", "c"], ["i j", "k"]))
    result = validate(loaded.model, config, held, torch.device("cpu"), bleu=True)
    assert result.bleu is not None


def test_shortlist_without_a_corpus_says_how_to_make_one(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["shortlist"]) == 66
    err = capsys.readouterr().err
    assert "there is no prepared corpus at `corpus`" in err
    assert "run `nmt prepare` first" in err
