"""What `prepare` measures in the kept text, and keeps for the checks of translation."""

from pathlib import Path

import numpy as np
import pytest

from nmt_cli.config.schema import SettingsLayer, resolve
from nmt_cli.data.cleaning import clean
from nmt_cli.data.cleaning.clean import Progress
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.corpus.text_statistics import (
    LENGTH_BOUNDS,
    SideStatistics,
    TextStatistics,
    has_spaced_mark,
    is_lower_case,
)
from nmt_cli.data.languages.trigrams import verdicts
from nmt_cli.data.preparation import measure
from nmt_cli.data.preparation.notes import sentence_remarks
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.data.sentences.splitter import SentenceSplitter

ENGLISH = ["where is the old house", "my small dog sleeps there", "they do not see the train"]
GERMAN = ["wo ist das alte haus", "mein kleiner hund schläft dort", "sie sehen den zug nicht"]


def measured(
    folder: Path,
    src: list[str],
    tgt: list[str],
    progress: Progress | None = None,
    **data: object,
) -> TextStatistics:
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
    prepare(config, folder / "corpus", workers=1, progress=progress)
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


def test_the_script_of_each_side_is_measured(tmp_path: Path) -> None:
    statistics = measured(tmp_path, ["жас рел"] * 180, ENGLISH * 60)
    assert (statistics.src.script, statistics.tgt.script) == ("CYRILLIC", "LATIN")


def test_length_ratios_are_quantiles_of_each_length(tmp_path: Path) -> None:
    # Sources of 8 characters have targets of 8 or 16; the long ones of 50 have 50.
    src = ["ab cd ef"] * 200 + ["abcd " * 9 + "abcde"] * 200
    tgt = ["ab cd ef"] * 100 + ["ab cd ef ab cdef"] * 100 + ["abcd " * 9 + "abcde"] * 200
    statistics = measured(tmp_path, src, tgt)
    assert statistics.length_ratios[0] == (1.0, 2.0)
    assert statistics.length_ratios[3] == (1.0, 1.0)
    # Of lengths that are rare, the ratios of all lengths hold.
    assert statistics.length_ratios[-1] == (1.0, 2.0)
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
    # Each kind of lines is in spans of its own; `here` and `hier` are no titles by the last kind.
    src = [f"It is ord. so {number} good." for number in range(40)]
    src += ["He sleeps here. She is there."] * 40 + ["come here now"] * 40
    tgt = [f"Er sah Abg. Nummer {number} am {number % 28 + 1}. Mai" for number in range(40)]
    tgt += ["Er schläft hier. Sie ist dort ."] * 40 + ["komm hier her"] * 40
    monkeypatch.setattr(clean, "CHUNK_PAIRS", 8)
    (tmp_path / "spans").mkdir()
    in_spans = measured(tmp_path / "spans", src, tgt)
    monkeypatch.undo()
    (tmp_path / "whole").mkdir()
    whole = measured(tmp_path / "whole", src, tgt)
    assert in_spans.to_bytes() == whole.to_bytes()
    assert len(whole.language_odds)
    third = pytest.approx(1 / 3, abs=1e-6)
    assert (whole.src.abbreviations, whole.src.titles, whole.src.ordinals) == (("ord",), (), None)
    assert (whole.tgt.abbreviations, whole.tgt.titles, whole.tgt.ordinals) == ((), ("abg",), True)
    assert whole.src.several_sentences == whole.src.lower_case == whole.tgt.tokenized == third
    assert (whole.lines, whole.src.tokenized) == (120, 0.0)


def test_span_without_kept_pairs_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean, "CHUNK_PAIRS", 6)
    src, tgt = ENGLISH * 40, GERMAN * 40
    (tmp_path / "kept").mkdir()
    kept = measured(tmp_path / "kept", src, tgt, max_length=50)
    long = ["where is it " * 300] * 6
    (tmp_path / "all").mkdir()
    with_long = measured(tmp_path / "all", [*src, *long], [*tgt, *long], max_length=50)
    assert with_long.to_bytes() == kept.to_bytes()
    assert len(kept.language_odds)


def test_large_corpora_are_measured_by_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "SAMPLE_PAIRS", 50)
    assert measured(tmp_path, ENGLISH * 60, GERMAN * 60).lines == 50


def test_languages_are_learnt_from_enough_lines(tmp_path: Path) -> None:
    assert len(measured(tmp_path, ENGLISH * 33, GERMAN * 33).language_odds) == 0


def test_side_of_which_most_lines_are_in_the_other_language_has_no_odds(tmp_path: Path) -> None:
    assert len(measured(tmp_path, ENGLISH * 60, ENGLISH * 36 + GERMAN * 24).language_odds) == 0


def test_progress_is_that_of_the_measured_pairs(tmp_path: Path) -> None:
    steps = []
    measured(
        tmp_path, ENGLISH, GERMAN,
        progress=lambda step, done, total: steps.append((step, done, total)),
    )  # fmt: skip
    assert ("measure text", 3, 3) in steps


def test_side_has_what_was_learnt_and_measured() -> None:
    words = frozenset(f"w{number}" for number in range(20))
    splitter = SentenceSplitter("en", words, frozenset({"b", "a"}), True)
    side = measure._side("en", splitter, np.array([0.1, 0.2, 0.3]), 0.012345678, "LATIN")
    assert side == SideStatistics(
        "en", tuple(sorted(words)), ("a", "b"), True, 0.1, 0.2, 0.3, 0.012346, "LATIN"
    )


@pytest.mark.parametrize(
    ("line", "is_lower", "is_spaced"),
    [
        ("the dog sleeps.", True, False),
        ("The dog sleeps .", False, True),
        ("the dog , he sleeps", True, True),
        ("12 34", False, False),
        ("a .45", True, False),
        ("- . -", False, False),
    ],
)
def test_lines_in_lower_case_and_with_spaces_before_marks(
    line: str, is_lower: bool, is_spaced: bool
) -> None:
    assert is_lower_case(line) == is_lower
    assert has_spaced_mark(line) == is_spaced


def ratios(*pairs: tuple[int, int, int]) -> tuple[tuple[float, float], ...]:
    """The ratios of so many pairs each: (count, characters of the source, of the target)."""
    lengths = np.concatenate([np.full((count, 2), (src, tgt)) for count, src, tgt in pairs])
    return measure._length_ratios(lengths)


def test_length_ratios_are_those_of_lengths_up_to_their_bound() -> None:
    assert ratios((100, 10, 10), (100, 11, 33))[:2] == ((1.0, 1.0), (3.0, 3.0))


def test_length_ratios_of_fewer_than_a_hundred_pairs_are_those_of_all() -> None:
    assert ratios((99, 10, 10), (100, 11, 33))[:2] == ((1.0, 3.0), (3.0, 3.0))


def test_rare_length_ratios_and_empty_sources_do_not_count() -> None:
    assert ratios((3_000, 10, 10), (1, 10, 500), (1, 10, 1))[0] == (1.0, 1.0)
    assert ratios((3_000, 10, 10), (1, 0, 5))[0] == (1.0, 1.0)


@pytest.mark.parametrize(
    ("share", "remark"),
    [(0.04, ""), (0.05, "5% of the source lines have several"), (0.49, "49% of"), (0.5, "")],
)
def test_a_few_lines_of_several_sentences_are_remarked_on(share: float, remark: str) -> None:
    side = SideStatistics("en", several_sentences=share)
    ratios = ((0.5, 2.0),) * len(LENGTH_BOUNDS)
    statistics = TextStatistics(side, SideStatistics("de"), 1, ratios, np.zeros(0, np.float32))
    remarks = sentence_remarks(statistics)
    assert len(remarks) == bool(remark)
    assert "".join(remarks).startswith(remark)
