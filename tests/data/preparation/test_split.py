"""The pairs that `prepare` sets apart for validation and testing stay the same ones."""

import re
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from corpora import tiny_config, write_pairs
from synthetic_pairs import two_languages

from nmt_cli.cli import main
from nmt_cli.config.schema import DataConfig, dump
from nmt_cli.data.cleaning import findings
from nmt_cli.data.cleaning.held_out.digests import digests_of, pair_hashes
from nmt_cli.data.corpus.text_statistics import TextStatistics
from nmt_cli.data.preparation import split
from nmt_cli.data.preparation.passes import PreparedCorpus
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.data.preparation.split_sizes import SplitSizes
from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import DataError

Pairs = list[tuple[str, str]]
PAIRS = two_languages(700, 1)
MORE = two_languages(70, 9)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def prepared(pairs: Pairs, **data: object) -> PreparedCorpus:
    train = write_pairs(Path(), "train", pairs)
    sizes = {"test_split": 60, "valid_split": 50}
    settings = {f"data_{key}": value for key, value in {**sizes, **data}.items()}
    config = tiny_config(data_train=[train], **settings)
    return prepare(config, Path("corpus"), force=True, workers=1)


def text_of(*names: str) -> set[tuple[str, str]]:
    sides = [list(read_lines(f"corpus/{name}")) for name in names]
    return set(zip(*sides, strict=True))


def held_out() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The validation pairs and the test pairs of the corpus."""
    return text_of("valid.src.txt", "valid.tgt.txt"), text_of("test.src", "test.tgt")


def test_the_other_direction_has_the_same_held_out_pairs() -> None:
    prepared(PAIRS)
    valid, test = held_out()
    prepared([(tgt, src) for src, tgt in PAIRS])
    assert held_out() == tuple({(tgt, src) for src, tgt in pairs} for pairs in (valid, test))


def test_held_out_pairs_stay_when_pairs_are_added_moved_or_dropped() -> None:
    prepared(PAIRS)
    valid, test = held_out()
    prepared(PAIRS[::-1])
    assert held_out() == (valid, test)
    # 10 % more pairs replace about 10 % of those held out, never by training pairs.
    prepared([*MORE, *PAIRS])
    more_valid, more_test = held_out()
    assert (len(more_valid), len(more_test)) == (50, 60)
    assert len(more_test & test) >= 48
    assert len(more_valid & valid) >= 40
    assert more_test - test <= {*MORE, *valid}
    # Dropped pairs are replaced, all others stay.
    kept = [pair for index, pair in enumerate(PAIRS) if index % 10]
    prepared(kept)
    fewer_valid, fewer_test = held_out()
    assert len(fewer_test) == 60
    assert len(test & set(kept) - fewer_test) <= 2
    assert len(valid & set(kept) - fewer_valid) <= 2


def test_sides_of_held_out_pairs_are_not_in_the_training_text_in_the_other_direction() -> None:
    swapped = [(tgt, src) for src, tgt in PAIRS[:350]]
    prepared([*PAIRS, *swapped])
    assert not {*held_out()[0], *held_out()[1]} & {*PAIRS[:350], *swapped}


@pytest.mark.parametrize(
    ("first", "second"),
    [("1:4 ", "11:1 "), ("1:4 ", ""), ("", "(128)"), ("12. ", "13. "), ("1CO 1:4 ", "4. ")],
)
@pytest.mark.parametrize("copied", ["both", "source", "target", "turned"])
def test_pair_that_occurs_behind_another_verse_is_not_set_apart(
    first: str, second: str, copied: str
) -> None:
    """Without the numbers, one of its sides is in the training text, too."""
    pairs, others = PAIRS[:300], PAIRS[300:600]
    if copied == "source":
        others = [(src, tgt) for (src, _), (_, tgt) in zip(pairs, others, strict=True)]
    elif copied == "target":
        others = [(src, tgt) for (src, _), (_, tgt) in zip(others, pairs, strict=True)]
    else:
        others = pairs if copied == "both" else [(tgt, src) for src, tgt in pairs]
    numbered = [(first + src, first + tgt) for src, tgt in pairs]
    numbered += [(second + src, second + tgt) for src, tgt in others]
    new = PAIRS[600:]
    prepared([*numbered, *new], test_split=30, valid_split=20, drop_duplicates=False)
    assert set().union(*held_out()) < set(new)


@pytest.mark.parametrize(("of_src", "of_tgt"), [("1:{}", "1:{}"), ("{}.", "{}"), ("{}", "{}.")])
def test_pair_with_a_number_of_its_own_may_be_set_apart(of_src: str, of_tgt: str) -> None:
    """The side that is the same without the number of the other one is still of one pair."""
    numbered = [
        (f"{of_src.format(n)} {src}", f"{of_tgt.format(n)} {tgt}")
        for n, (src, tgt) in enumerate(PAIRS)
    ]
    prepared(numbered)
    assert sum(map(len, held_out())) == 110


def test_pairs_that_differ_only_in_spaces_or_unicode_form_are_equal() -> None:
    """To subwords they are, so none of them is set apart while its twin is trained on."""
    marked = [(src, f"{tgt} \u00e9") for src, tgt in PAIRS]
    twins = [
        (src.replace(" ", "\u00a0 "), unicodedata.normalize("NFD", tgt))
        for src, tgt in marked[:400]
    ]
    assert prepared([*marked, *twins]).dropped["same pair before"] == len(twins)
    assert not set().union(*held_out()) & set(marked[:400])


def test_the_size_of_one_set_hardly_changes_the_other() -> None:
    prepared(PAIRS)
    _, test = held_out()
    prepared(PAIRS, valid_split=20)
    assert len(held_out()[1] & test) >= 55
    prepared(PAIRS, seed=2)
    assert len(held_out()[1] & test) <= 20


def shifted(pairs: Pairs) -> Pairs:
    """The pairs with the targets of the lines 201 to 420 moved by one line."""
    targets = [tgt for _, tgt in pairs]
    targets[200:420] = [targets[419], *targets[200:419]]
    return [(src, tgt) for (src, _), tgt in zip(pairs, targets, strict=True)]


def test_pairs_of_noise_kinds_that_are_set_apart_are_counted() -> None:
    pairs = shifted(PAIRS)
    pairs[10:20] = [(f"{src} 1989", f"{tgt} 1998") for src, tgt in pairs[10:20]]
    result = prepared(pairs, valid_split=40, test_split=40)
    marked = {finding.kind: finding for finding in result.findings}
    assert marked.keys() == {"numbers that differ", "lines shifted"}
    first, last = map(int, marked["lines shifted"].lines[0].split("-"))
    wrong = {*pairs[10:20], *pairs[first - 1 : last]}
    valid, test = held_out()
    assert (result.doubtful_split, result.doubtful_test) == (len(valid & wrong), len(test & wrong))
    assert min(result.doubtful_split, result.doubtful_test) > 5
    clean = prepared(pairs, valid_split=40, test_split=40, clean="strict")
    assert (clean.doubtful_split, clean.doubtful_test) == (0, 0)
    assert not {*held_out()[0], *held_out()[1]} & wrong


def test_set_apart_pairs_of_a_kind_that_is_too_rare_to_be_listed_are_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    third = "Le chien de la voisine est dans le jardin et il ne dort pas"
    pairs = [(f"{third} {src}", tgt) if index % 2 else (f"{src}", tgt)
             for index, (src, tgt) in enumerate(PAIRS)]  # fmt: skip
    languages = {"languages_src": "en", "languages_tgt": "de"}

    def result() -> PreparedCorpus:
        config = tiny_config(
            data_train=[write_pairs(Path(), "train", pairs)], data_valid_split=50, **languages
        )
        return prepare(config, Path("corpus"), force=True, workers=1)

    assert [finding.kind for finding in result().findings] == ["a side in a third language"]
    assert 10 < result().doubtful_split < 40
    monkeypatch.setattr(findings, "MIN_SHARE", 0.9)
    assert not result().findings
    assert result().doubtful_split == 0


def test_the_closing_note_names_the_noise_in_the_sets_and_how_to_leave_it_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_pairs(Path(), "train", shifted(PAIRS))
    given = ["--train", "train.src", "train.tgt", "--src-lang", "xx", "--tgt-lang", "yy"]
    options = ["--vocab-size", "300", "--valid-split", "40", "--test-split", "40", "--force"]

    def note(*more: str) -> str:
        assert main(["prepare", *given, *options, *more]) == 0
        return " ".join(capsys.readouterr().err.split())

    text = note()
    found = re.search(
        r"`nmt prepare .*--clean --force --dropped FILE` drops them .* later commands do so too; "
        r"(\d+) of the 40 validation pairs and (\d+) of the 40 test pairs that were set apart are "
        "among them, and `--clean` sets others apart in their place",
        text,
    )
    assert found is not None
    assert min(map(int, found.groups())) > 5
    assert "validation pairs and" not in note("--valid-split", "0")
    assert "set apart are among them" not in note("--clean")
    # Of text in the right order there is nothing to say.
    write_pairs(Path(), "train", [*PAIRS[1:], ("ka 1989", "tra 1998")])
    text = note()
    assert "later commands do so too" in text
    assert "among them" not in text


def train_at(model: str, corpus: str = "corpus") -> None:
    """A model directory with the settings of a training on `corpus`."""
    Path(model).mkdir(parents=True)
    Path(model, "config.toml").write_text(dump(tiny_config(paths_corpus=corpus)))
    Path(model, "manifest.json").write_text("{}")


@pytest.mark.parametrize("model", ["model", "average", "runs/first"])
def test_another_test_set_is_reported_once(folder: Path, model: str) -> None:
    train_at(model)
    assert not any("test set changes" in note for note in prepared(PAIRS).notes)
    assert not any("test set changes" in note for note in prepared(PAIRS[::-1]).notes)
    _, before = held_out()
    result = prepared(PAIRS, seed=2)
    stay = len(held_out()[1] & before)
    assert result.notes[0].startswith(f"the test set changes: {stay} of 60 pairs stay; scores on")
    config = tiny_config(
        data_train=[("train.src", "train.tgt")], data_test_split=60, data_valid_split=50,
        data_seed=2,
    )  # fmt: skip
    again = prepare(config, folder / "corpus", workers=1)
    assert again.reused
    assert not any("test set changes" in note for note in again.notes)
    # A corpus that sets no pairs apart has no test set that could be compared.
    assert not any("test set changes" in note for note in prepared(PAIRS, test_split=0).notes)


def test_another_test_set_is_not_reported_before_a_model_is_trained_on_it() -> None:
    """There are no scores yet that could be compared."""
    train_at("runs/other", "other-corpus")
    Path("runs/notes").mkdir()
    prepared(PAIRS)
    assert not any("test set changes" in note for note in prepared(PAIRS, seed=2).notes)


def test_text_statistics_know_the_training_pairs_and_the_test_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepared(PAIRS)
    statistics = TextStatistics.load(Path("corpus"))
    assert statistics is not None
    _, test = held_out()

    def share(pairs: Pairs) -> float:
        assert statistics is not None
        return statistics.seen_share(pair_hashes(digests_of(*zip(*pairs, strict=True))))

    train = sorted(text_of("train.src.txt", "train.tgt.txt"))
    assert share(train) == 1.0
    assert share(sorted(test)) == share(MORE) == 0.0
    assert share([*train[:30], *MORE[:10]]) == 0.75
    assert share([(tgt, src) for src, tgt in train]) == 0.0
    assert len(statistics.test_digest) == 64
    # Of more training pairs only those with the smallest hashes are known.
    for module in ("corpus.text_statistics", "preparation.measure"):
        monkeypatch.setattr(f"nmt_cli.data.{module}.MAX_HASHES", 100)
    prepared(PAIRS)
    sampled = TextStatistics.load(Path("corpus"))
    assert sampled is not None
    assert sampled.pair_hashes.tolist() == statistics.pair_hashes[:100].tolist()
    hashes = pair_hashes(digests_of(*zip(*train[:200], *MORE, strict=True)))
    assert sampled.seen_share(hashes) == pytest.approx(200 / 260, abs=0.15)
    assert sampled.seen_share(np.zeros(0, np.uint64)) == 0.0
    # Of several forms of the pairs, the one that occurs most counts.
    assert sampled.seen_share(np.stack([hashes[::-1] + 1, hashes])) == sampled.seen_share(hashes)


def test_no_pair_that_training_drops_is_set_apart() -> None:
    """A word may have more subwords than a training pair may have, or than its translation."""
    too_long = [(f"{n}{'a' * 300}", f"{n}{'b' * 300}") for n in range(100)]
    too_different = [(f"x{n}", f"{n}{'c' * 100}") for n in range(100)]
    result = prepared([*PAIRS, *too_long, *too_different])
    valid, test = held_out()
    assert (len(valid), len(test)) == (50, 60)
    assert valid | test <= set(PAIRS)
    assert not valid & test
    assert result.dropped == {"too long": 100, "lengths too different": 100}
    # All others are where they would be without these.
    prepared(PAIRS)
    assert held_out() == (valid, test)


@pytest.mark.parametrize(
    ("src", "tgt", "is_usual"),
    [
        # Half the length and half the ratio that training accepts: a word is several subwords.
        (20, 20, True), (21, 21, False), (20, 21, False), (4, 12, True), (12, 4, True),
        (4, 13, False), (13, 4, False),
        # A word may be several ones in the other language.
        (1, 4, True), (4, 1, True), (1, 5, False),
    ],
)  # fmt: skip
def test_pairs_of_usual_length_are_set_apart(src: int, tgt: int, is_usual: bool) -> None:
    data = DataConfig(max_length=40, max_ratio=6.0)
    assert split._has_usual_length("a " * src, "b " * tgt, data) is is_usual


def test_split_larger_than_the_pairs_that_training_keeps_is_refused() -> None:
    too_long = [(f"{n}{'a' * 300}", f"{n}{'b' * 300}") for n in range(600)]
    with pytest.raises(DataError, match="only 100 training pairs can become") as caught:
        prepared([*PAIRS[:100], *too_long])
    assert caught.value.hint.endswith(
        "of 100 pairs together or less, more text, or validation text of its own: "
        "--valid SRC TGT --test-split 0"
    )


@pytest.mark.parametrize("separator", ["\u1361", " ", ""])
def test_words_need_no_spaces_to_be_set_apart(separator: str) -> None:
    """Lines of Ethiopic were taken for one word, beside which each translation was too long."""
    words = ["ሰላም", "ለዓለም", "ሁሉ", "አንድ", "ቤት", "ውስጥ", "ውሻ", "ትልቅ", "ነው", "ዛሬ"]
    if not separator:
        words = ["天气", "今天", "非常", "世界", "我们", "学校", "老师", "孩子", "朋友", "时间"]
    random = np.random.default_rng(1)
    order = [random.permutation(10) for _ in range(700)]
    english = [" ".join("abcdefghij"[index] for index in each) for each in order]
    others = [separator.join(words[index] for index in each) for each in order]
    assert prepared(list(zip(english, others, strict=True))).test == 60


@pytest.mark.parametrize(
    ("sizes", "hint"),
    [
        ((40, 50), "--valid-split 0 --test-split 0, or use validation text of its own: --valid SRC "
                   "TGT --test-split 0"),
        ((40, 0), "--valid-split 0, or use validation text of its own: --valid SRC TGT"),
        ((0, 50), "--test-split 0"),
    ],
)  # fmt: skip
def test_too_few_pairs_to_set_any_apart_get_the_options_that_do_not(
    sizes: tuple[int, int], hint: str
) -> None:
    """Such as corrections, with the sizes of the project whose model is trained on."""
    with pytest.raises(DataError) as caught:
        SplitSizes(*sizes).require_small(4)
    assert caught.value.hint == f"use more text, or set no pairs apart: {hint}"
