from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.data.sentences.learning import StopCounts
from nmt_cli.data.sentences.splitter import SentenceSplitter

CASES = [
    line.split("\t")
    for line in (Path(__file__).parent / "sentence_cases.tsv").read_text("utf-8").splitlines()
]
# Between sentences of these languages there is no space.
WITHOUT_SPACES = ("zh", "ja")


def texts(splitter: SentenceSplitter, line: str) -> list[str]:
    return [sentence.text for sentence in splitter.split(line)]


@pytest.mark.parametrize(("language", "marked"), CASES)
def test_splitter_on_hard_cases(language: str, marked: str) -> None:
    sentences = [sentence.strip() for sentence in marked.split("‖")]
    line = ("" if language in WITHOUT_SPACES else " ").join(sentences)
    assert texts(SentenceSplitter(language), line) == sentences


def test_hard_cases_are_two_hundred() -> None:
    assert len(CASES) >= 200
    assert len({tuple(case) for case in CASES}) == len(CASES)


@given(
    st.lists(
        st.sampled_from(
            [*'aB .!?…。」”"(\n\t1I。٫؟-“「»', "  ", "Dr.", "etc.", "3.", "A.", "\u00a0"]
        )
        | st.characters()
    ).map("".join)
)
def test_sentences_and_gaps_are_the_line(line: str) -> None:
    for language in ("", "en", "de", "zh"):
        sentences = SentenceSplitter(language).split(line)
        assert "".join(sentence.text + sentence.gap for sentence in sentences) == line
        assert all(sentence.gap.strip() == "" for sentence in sentences)


def test_white_space_between_sentences_is_kept() -> None:
    sentences = SentenceSplitter("en").split("One is here.  Two\u00a0is here. \t Three.")
    assert [sentence.gap for sentence in sentences] == ["  ", " \t ", ""]


def test_long_lines_take_linear_time() -> None:
    # Each of these would take minutes in quadratic time.
    for unit in ("A. ", "e.g. x ", "。」", "「。", "word ", "... i ", '."', "No. 1 "):
        SentenceSplitter("en").split(unit * 100_000)


def learnt(lines: list[str], language: str = "xx") -> SentenceSplitter:
    counts = StopCounts()
    words: dict[str, int] = {}
    counts.add(lines)
    for word in " ".join(lines).split():
        words[word] = words.get(word, 0) + 1
    return counts.splitter(language, words)


def test_abbreviations_are_learnt_from_text_that_goes_on_in_lower_case() -> None:
    lines = [f"das ist rd. so {number} mal gut." for number in range(5)] + ["Es ist gut."] * 5
    splitter = learnt(lines)
    assert splitter.abbreviations == {"rd"}
    assert texts(splitter, "Es sind rd. Zehn da. Gut.") == ["Es sind rd. Zehn da.", "Gut."]
    assert texts(SentenceSplitter("xx"), "Es sind rd. Zehn.") == ["Es sind rd.", "Zehn."]


def test_titles_are_learnt_where_a_word_nearly_always_has_its_full_stop() -> None:
    lines = [f"Wir sahen Abg. Nummer {number}." for number in range(5)]
    lines += [f"Es war Tag. Der {number}." for number in range(5)] + ["Ein Tag am Meer"] * 5
    splitter = learnt(lines)
    assert splitter.titles == {"abg"}
    assert texts(splitter, "Es kam Abg. Der. Am Tag. Nun") == ["Es kam Abg. Der.", "Am Tag.", "Nun"]


def test_ordinals_are_learnt_from_numbers_within_lines() -> None:
    dates = [f"Am {day}. Mai" for day in range(1, 9)]
    assert learnt(dates).ordinals is True
    assert learnt([f"Es sind {day}." for day in range(1, 9)]).ordinals is False
    assert learnt(["Am Ende"]).ordinals is None


def test_counts_of_spans_add_up() -> None:
    lines = [f"das ist rd. so {number} mal gut." for number in range(6)]
    first, second, whole = StopCounts(), StopCounts(), StopCounts()
    first.add(lines[:3])
    second.add(lines[3:])
    first.merge(second)
    whole.add(lines)
    assert first == whole
