"""Files that are shifted or shuffled against each other are warned of; aligned ones are not."""

import random
from pathlib import Path

import pytest
from corpora import tiny_config, write_pairs
from synthetic_pairs import two_languages

from nmt_cli.cli import main
from nmt_cli.data.cleaning.held_out.alignment import notes_by_lengths
from nmt_cli.data.preparation.prepare import prepare

Pairs = list[tuple[str, str]]
TEXT = list(dict.fromkeys(two_languages(3_400, 11)))
TRAIN, OTHERS = TEXT[:3_000], TEXT[3_000:3_300]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shifted(pairs: Pairs, start: int = 0) -> Pairs:
    """The same pairs without the target at `start`, and with that of the first pair at the end."""
    src, tgt = zip(*pairs, strict=True)
    return list(zip(src, [*tgt[:start], *tgt[start + 1 :], tgt[0]], strict=True))


def shuffled(pairs: Pairs) -> Pairs:
    """The sources, with the targets in no order."""
    src, tgt = zip(*pairs, strict=True)
    return list(zip(src, random.Random(2).sample(tgt, len(tgt)), strict=True))


def notes(train: Pairs, **held_out: Pairs) -> list[str]:
    """What `nmt prepare` says about the alignment of validation and test files."""
    files = {
        f"data_{name}": write_pairs(Path(), name, pairs)
        for name, pairs in {"train": train, **held_out}.items()
    }
    files["data_train"] = [files["data_train"]]  # type: ignore[assignment]
    config = tiny_config(**files, data_vocab_size=200)
    result = prepare(config, Path("corpus"), force=True, workers=1)
    return [note for note in result.notes if "scores on this text" in note]


@pytest.mark.parametrize("lines", [50, 300])
def test_aligned_files_are_not_warned_of(lines: int) -> None:
    assert notes(TRAIN, valid=OTHERS[:lines], test=TRAIN[:lines]) == []
    assert notes(TRAIN[:500], valid=OTHERS[:lines], test=TRAIN[:lines]) == []


@pytest.mark.parametrize("pairs", [500, 3_000])
def test_shifted_files_are_named_with_the_place(pairs: int) -> None:
    """Too few pairs to learn words from leave the lengths of the lines."""
    valid, test = notes(TRAIN[:pairs], valid=shifted(OTHERS), test=shifted(OTHERS, 120))
    assert valid.startswith(
        "validation text: `valid.src` and `valid.tgt` seem shifted against each other near line 1:"
    )
    place = int(test.partition("near line ")[2].partition(":")[0])
    assert test.startswith("test text: `test.src` and `test.tgt` seem shifted")
    assert abs(place - 121) <= 3


@pytest.mark.parametrize("pairs", [500, 3_000])
def test_shuffled_files_are_warned_of(pairs: int) -> None:
    (note,) = notes(TRAIN[:pairs], valid=OTHERS, test=shuffled(OTHERS))
    assert note.startswith(
        "test text: `test.src` and `test.tgt` do not seem to translate each other line by line, in "
        "lines 1 to 300: scores on this text say nothing about a model; write both sides anew"
    )


def test_words_show_what_lengths_do_not() -> None:
    """A short text, and lines of one length; with no words learnt, nothing is said of them."""
    short = shuffled(OTHERS[:60])
    alike = [pair for pair in TEXT[3_000:] if len(pair[0].split()) in (8, 9)]
    assert len(notes(TRAIN, valid=short, test=shifted(alike))) == 2
    assert notes(TRAIN[:500], valid=short, test=shifted(alike)) == []


def test_a_shuffled_part_is_named() -> None:
    (note,) = notes(TRAIN, valid=[*OTHERS[:150], *shuffled(OTHERS[150:])])
    first, last = note.partition("in lines ")[2].partition(":")[0].split(" to ")
    assert 145 <= int(first) <= 158
    assert int(last) == 300


def test_every_reference_is_looked_at() -> None:
    src, reference = write_pairs(Path(), "test", OTHERS)
    _, other = write_pairs(Path(), "other", shifted(OTHERS))
    config = tiny_config(
        data_train=[write_pairs(Path(), "train", TRAIN)],
        data_test=(src, reference, other),
        data_vocab_size=200,
    )
    result = prepare(config, Path("corpus"), workers=1)
    (note,) = (note for note in result.notes if "scores on this text" in note)
    assert "`test.src` and `other.tgt`" in note


def test_training_text_that_tells_nothing_says_nothing() -> None:
    assert notes(shuffled(TRAIN[:500]), valid=shuffled(OTHERS)) == []


def test_shuffled_training_text_is_told_by_the_lengths_of_other_text() -> None:
    train = write_pairs(Path(), "train", shuffled(TRAIN))
    valid, few = write_pairs(Path(), "valid", OTHERS), write_pairs(Path(), "few", OTHERS[:60])
    by_length = sorted(shuffled(TRAIN), key=lambda pair: len(pair[0]))
    alike = write_pairs(Path(), "sorted", by_length[1_000:2_500])
    right = write_pairs(Path(), "right", TRAIN)
    (note,) = notes_by_lengths([right, train, alike], few, ())
    assert note == (
        "training text: `train.src` and `train.tgt` do not seem to translate each other line by "
        "line, in lines 1 to 2,000: no translation can be learnt from them; write both sides anew "
        "from the same pairs, in the same order"
    )
    assert notes_by_lengths([train], valid, ()) == [note]
    assert notes_by_lengths([right], valid, ()) == []
    # Nothing shows that lengths tell anything in these languages.
    assert notes_by_lengths([train], few, ()) == []
    config = tiny_config(data_train=[train], data_valid=valid, data_vocab_size=200)
    assert note in prepare(config, Path("corpus"), workers=1).notes


def test_no_clean_checks_nothing() -> None:
    train, valid = write_pairs(Path(), "train", TRAIN), write_pairs(Path(), "valid", OTHERS)
    Path(valid[1]).write_text("".join(f"{tgt}\n" for _, tgt in shuffled(OTHERS)))
    config = tiny_config(
        data_train=[train], data_valid=valid, data_vocab_size=200, data_clean="off"
    )
    assert [
        note for note in prepare(config, Path("corpus"), workers=1).notes if "line" in note
    ] == []


def test_init_warns_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    train = write_pairs(Path(), "train", TRAIN)
    options = ["--train", *train, "--src-lang", "en", "--tgt-lang", "xx"]
    for name, pairs, said in (
        ("right", OTHERS, ""),
        ("wrong", shifted(OTHERS, 150), "seem shifted against each other near line 15"),
        ("mixed", shuffled(OTHERS), "do not seem to translate each other line by line"),
    ):
        files = write_pairs(Path(), name, pairs)
        assert main(["init", *options, "--valid", *files, "--force"]) == 0
        shown = " ".join(capsys.readouterr().err.split())
        assert said in shown
        assert ("scores on this text" in shown) == bool(said)
