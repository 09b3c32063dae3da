"""Flags of doubtful translations."""

import dataclasses

import numpy as np
import pytest

from nmt_cli.data.corpus.text_statistics import LENGTH_BOUNDS, SideStatistics, TextStatistics
from nmt_cli.data.languages.trigrams import BUCKETS, trigram_counts
from nmt_cli.translation.quality.checker import CheckedSentence, Confidence, QualityChecker
from nmt_cli.translation.quality.flags import FLAGS, NEED_STATISTICS, in_order

ENGLISH = ["the small dog sleeps in the house", "where is the train to the city"] * 40
GERMAN = ["der kleine hund schläft im haus", "wo ist der zug in die stadt"] * 40


def text_of(lines: list[str]) -> np.ndarray:
    return np.frombuffer("".join(f"{line}\n" for line in lines).encode(), np.uint8)


def odds() -> np.ndarray:
    counts = np.stack([trigram_counts(text_of(lines)) for lines in (ENGLISH, GERMAN)]) + 1.0
    shares = np.log(counts / counts.sum(1, keepdims=True))
    return (shares[0] - shares[1]).astype(np.float32)


STATISTICS = TextStatistics(
    SideStatistics("en"), SideStatistics("de"), 80, ((0.5, 2.0),) * len(LENGTH_BOUNDS), odds()
)
CHECKER = QualityChecker(("en", "de"), STATISTICS, Confidence(-1.0, -5.0))
GOOD = CheckedSentence(
    "The small dog sleeps.", "Der kleine Hund schläft.", [-0.1, -0.2, -0.1, -0.05]
)


def flags(source: str, text: str, scores: tuple[float, ...] = ()) -> set[str]:
    return CHECKER.flags([CheckedSentence(source, text, scores)])


def test_good_translation_has_no_flags() -> None:
    assert CHECKER.flags([GOOD]) == set()


@pytest.mark.parametrize(
    ("source", "text", "mismatch"),
    [
        ("I have 3 dogs.", "Ich habe 5 Hunde.", True),
        ("I have 3 dogs.", "Ich habe drei Hunde.", False),
        ("It costs 1,000 dollars.", "Es kostet 1.000 Dollar.", False),
        ("We met in 1989.", "Wir trafen uns 1998.", True),
        ("We met in 1989.", "Wir trafen uns.", True),
        ("They came with 47 men.", "Sie kamen mit Männern.", True),
        ("It is 20 miles away.", "Es ist zwanzig Meilen weg.", False),
        ("At 3 pm.", "Um 15 Uhr.", False),
        ("Nine dogs.", "9 Hunde.", False),
        ("Some dogs.", "87 Hunde.", True),
    ],
)
def test_number_mismatch(source: str, text: str, mismatch: bool) -> None:
    assert ("number_mismatch" in flags(source, text)) == mismatch


def test_copied() -> None:
    assert "copied" in flags("The small dog sleeps.", "the small dog sleeps")
    assert "copied" not in flags("Anna Berg 5100", "Anna Berg 5100")
    assert "copied" not in flags(GOOD.source, GOOD.text)


def test_untranslated_is_text_in_the_source_language() -> None:
    source = "the small dog sleeps in the house"
    assert "untranslated" in flags(source, "where is the train to the city")
    assert "untranslated" not in flags(source, "wo ist der zug in die stadt")


def test_length_outlier() -> None:
    source = "x" * 20
    for length, is_outlier in ((9, True), (10, False), (40, False), (41, True), (0, True)):
        assert ("length_outlier" in flags(source, "y" * length)) == is_outlier


def test_length_ratios_are_those_of_the_length() -> None:
    ratios = ((0.1, 9.0),) + ((0.5, 2.0),) * (len(LENGTH_BOUNDS) - 1)
    checker = QualityChecker(("en", "de"), dataclasses.replace(STATISTICS, length_ratios=ratios))
    short, long = (CheckedSentence("x" * length, "y" * length * 4) for length in (10, 11))
    assert "length_outlier" not in checker.flags([short])
    assert "length_outlier" in checker.flags([long])


def test_sentences_lost() -> None:
    source = "The dog sleeps. It is late."
    assert "sentences_lost" in flags(source, "Der Hund schläft.")
    assert "sentences_lost" not in flags(source, "Der Hund schläft. Es ist spät.")
    assert "sentences_lost" not in flags("At 5 p.m. it rained.", "Um 17 Uhr regnete es.")
    assert "sentences_lost" in flags("The dog sleeps.", "")


def test_low_confidence_by_mean_and_by_lowest_token() -> None:
    for scores, is_low in (
        ((-1.0, -1.0), False),
        ((-1.0, -1.1), True),
        ((-0.1, -5.0, -0.1, -0.1, -0.1, -0.1), False),
        ((-0.1, -5.1, -0.1, -0.1, -0.1, -0.1), True),
        ((), False),
    ):
        found = flags(GOOD.source, GOOD.text, scores)
        assert ("low_confidence" in found) == is_low


def test_flags_of_a_line_are_those_of_its_sentences() -> None:
    bad = CheckedSentence("I have 3 dogs.", "Ich habe 5 Hunde.")
    assert CHECKER.flags([GOOD, bad, GOOD]) == CHECKER.flags([bad]) == {"number_mismatch"}


def test_without_statistics_the_other_checks_are_left() -> None:
    checker = QualityChecker(("en", "de"))
    assert checker.left_out == NEED_STATISTICS
    assert checker.flags([CheckedSentence("x 3" * 20, "5", [-9.0])]) == {"number_mismatch"}
    similar = dataclasses.replace(STATISTICS, language_odds=np.zeros(0, np.float32))
    assert QualityChecker(("en", "de"), similar).left_out == ("untranslated", "low_confidence")
    assert CHECKER.left_out == ()


def test_flags_are_listed_in_one_order() -> None:
    assert in_order({"copied", "split", "low_confidence"}) == ("split", "copied", "low_confidence")
    assert in_order(set(FLAGS)) == tuple(FLAGS)


def test_confidence_is_measured_and_comes_back_from_text() -> None:
    scores = [[-0.1 * index, -0.2 * index] for index in range(1, 101)]
    confidence = Confidence.measured(scores, 0.01)
    assert confidence is not None
    assert confidence.mean == pytest.approx(-14.85, abs=0.02)
    assert confidence.lowest == pytest.approx(-19.8, abs=0.02)
    assert Confidence.parse(str(confidence)) == pytest.approx(confidence, abs=1e-4)
    assert Confidence.measured([[]], 0.01) is None
    for text in ("", "1", "a b", "nan 1", "1 2 3"):
        assert Confidence.parse(text) is None


def test_statistics_come_back_from_their_file(tmp_path) -> None:
    from nmt_cli.data.corpus.text_statistics import TEXT
    from nmt_cli.errors import DataError
    from nmt_cli.storage import manifest

    side = SideStatistics("fr", ("déc", "art"), ("mme",), True, 0.02, 0.25, 0.125, 0.001)
    kept = dataclasses.replace(STATISTICS, src=side)
    content = kept.to_bytes()
    manifest.add_to_manifest(tmp_path, TEXT, content)
    loaded = TextStatistics.load(tmp_path)
    assert loaded is not None
    assert (loaded.src, loaded.tgt, loaded.lines) == (side, kept.tgt, 80)
    assert loaded.length_ratios == kept.length_ratios
    assert loaded.language_odds.shape == (BUCKETS,)
    assert np.abs(loaded.language_odds - kept.language_odds).max() < 0.01
    manifest.add_to_manifest(tmp_path, "other", b"")
    for damaged in (b"", content[:1000], content.replace(b'"format":"1"', b'"format":"9"')):
        manifest.add_to_manifest(tmp_path, TEXT, damaged)
        with pytest.raises(DataError, match=r"text\.safetensors"):
            TextStatistics.load(tmp_path)


def test_directory_without_statistics_has_none(tmp_path) -> None:
    from nmt_cli.storage import manifest

    manifest.add_to_manifest(tmp_path, "other", b"")
    assert TextStatistics.load(tmp_path) is None
