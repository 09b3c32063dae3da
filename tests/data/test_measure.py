"""What `prepare` measures in the kept text, and keeps for the checks of translation."""

from pathlib import Path

import numpy as np
import pytest

from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.data.cleaning import clean
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.corpus.text_statistics import LENGTH_BOUNDS, TextStatistics
from nmt_cli.data.languages.wrong_sides import verdicts
from nmt_cli.data.preparation.prepare import prepare

ENGLISH = ["where is the old house", "my small dog sleeps there", "they do not see the train"]
GERMAN = ["wo ist das alte haus", "mein kleiner hund schläft dort", "sie sehen den zug nicht"]


def measured(folder: Path, src: list[str], tgt: list[str], **data: object) -> TextStatistics:
    """The statistics of a corpus of these lines."""
    for language, lines in (("en", src), ("de", tgt)):
        (folder / f"train.{language}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    paths = [str(folder / "train.en"), str(folder / "train.de")]
    values = {
        "data.train": [paths], "data.subwords": "bytes", "data.clean": "off",
        "data.drop_duplicates": False, "languages.src": "en", "languages.tgt": "de",
        **{f"data.{name}": value for name, value in data.items()},
    }  # fmt: skip
    config = resolve([SettingsLayer("test", values)]).config
    prepare(config, folder / "corpus", workers=1)
    statistics = Corpus.open(folder / "corpus").text
    assert statistics is not None
    return statistics


def test_shares_of_lines_are_counted_for_each_side(tmp_path: Path) -> None:
    src = ["The dog sleeps. It is late."] * 10 + ["the dog sleeps ."] * 20 + ["The dog."] * 70
    tgt = ["Der Hund."] * 99 + ["der hund"]
    statistics = measured(tmp_path, src, tgt)
    assert statistics.lines == 100
    assert statistics.src.several_sentences == pytest.approx(0.1)
    assert statistics.src.lower_case == statistics.src.tokenized == pytest.approx(0.2)
    assert (statistics.tgt.several_sentences, statistics.tgt.tokenized) == (0.0, 0.0)
    assert statistics.tgt.lower_case == pytest.approx(0.01)
    assert not statistics.has_single_sentences
    assert (statistics.src.language, statistics.tgt.language) == ("en", "de")


def test_abbreviations_are_learnt(tmp_path: Path) -> None:
    src = [f"It is ord. so {number} good." for number in range(30)]
    statistics = measured(tmp_path, src, src)
    assert statistics.src.abbreviations == statistics.tgt.abbreviations == ("ord",)
    assert [each.text for each in statistics.src.splitter.split("An ord. Dog. Cat.")] == [
        "An ord. Dog.", "Cat.",
    ]  # fmt: skip


def test_length_ratios_are_quantiles_of_each_length(tmp_path: Path) -> None:
    # Sources of 8 characters have targets of 8 or 16; the long ones of 50 have 50.
    src = ["ab cd ef"] * 200 + ["abcd " * 9 + "abcde"] * 200
    tgt = ["ab cd ef"] * 100 + ["ab cd ef ab cdef"] * 100 + ["abcd " * 9 + "abcde"] * 200
    statistics = measured(tmp_path, src, tgt)
    assert statistics.ratios_of(8) == (1.0, 2.0)
    assert statistics.ratios_of(50) == (1.0, 1.0)
    # Of lengths that are rare, the ratios of all lengths hold.
    assert statistics.ratios_of(1_000) == (1.0, 2.0)
    assert len(statistics.length_ratios) == len(LENGTH_BOUNDS)


def test_odds_tell_the_languages_apart(tmp_path: Path) -> None:
    statistics = measured(tmp_path, ENGLISH * 60, GERMAN * 60)
    for lines, sign in ((ENGLISH, 1), (GERMAN, -1)):
        text = np.frombuffer("".join(f"{line}\n" for line in lines).encode(), np.uint8)
        assert verdicts(text, statistics.language_odds).tolist() == [sign] * 3


def test_sides_in_one_language_have_no_odds(tmp_path: Path) -> None:
    assert len(measured(tmp_path, ENGLISH * 60, ENGLISH * 60).language_odds) == 0


def test_dropped_pairs_are_not_measured(tmp_path: Path) -> None:
    src = ["The dog."] * 100 + ["The dog sleeps. " * 300]
    statistics = measured(tmp_path, src, ["Der Hund."] * 101, max_length=50)
    assert statistics.lines == 100
    assert statistics.src.several_sentences == 0.0


def test_spans_are_measured_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    src = [f"It is ord. so {number} good. Yes." for number in range(40)]
    monkeypatch.setattr(clean, "CHUNK_PAIRS", 7)
    (tmp_path / "spans").mkdir()
    in_spans = measured(tmp_path / "spans", src, src)
    monkeypatch.undo()
    (tmp_path / "whole").mkdir()
    whole = measured(tmp_path / "whole", src, src)
    assert in_spans.to_bytes() == whole.to_bytes()
