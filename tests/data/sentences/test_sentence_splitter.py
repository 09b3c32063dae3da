import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.data.sentences.splitter import Sentence, SentenceSplitter

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


@pytest.mark.parametrize(
    "unit", ["A. ", "e.g. x ", "。」", "「。", "word ", "... i ", '."', "No. 1 ", ".", "– "]
)
def test_long_lines_take_linear_time(unit: str) -> None:
    def seconds(count: int) -> float:
        begin = time.process_time()
        SentenceSplitter("en").split(unit * count)
        return time.process_time() - begin

    shorter, longer = (min(seconds(count) for _ in range(2)) for count in (5_000, 40_000))
    # Eight times as much in linear time, and 64 times in quadratic time.
    assert longer < 24 * shorter + 0.05


@pytest.mark.parametrize(
    ("language", "marked"),
    [
        # Lines in lower case: quoted speech goes on, and an abbreviation does not end a sentence.
        ("en", '"stop!" he cried.‖he ran.'),
        ("en", "they sell pens, etc. the shop is old.‖it is late."),
        # What follows has no word, so it is no sentence.
        ("en", "Thank you! :-)"),
        # Marks at the beginning of a sentence do not end it.
        ("en", "It is over.‖... And then?"),
        ("en", "Well… I do not know."),
        ("en", "Is it me?‖I think so."),
        # Numbers and letters of items.
        ("en", "A. The box is open."),
        ("en", "12. Wash the rice."),
        ("en", "– 1. Wash the rice."),
        ("de", "Das war 1989.‖Peter kam."),
        # Initials and numbers with full stops in them.
        ("en", "Many non-U.S. Citizens came."),
        ("en", "Then J. A. Reed spoke."),
        ("en", "It costs 3.5.‖Peter paid."),
        # The pronoun is one in English, and where the language is not known.
        ("", "So do I.‖Mary does not."),
        ("en_GB", "So do I.‖Mary does not."),
        ("de", "Kaiser Max I. Sigmund kam."),
        ("en", "See chap. IV for more."),
        # The function words and abbreviations of all languages hold where it is not known.
        ("", "They sell pens, etc.‖The shop is old."),
        ("xx", "They sell pens, etc.‖The shop is old."),
        ("", "Es gab Brot usw. Peter kam."),
        ("de_AT", "Es gab Brot usw. Peter kam."),
    ],
)
def test_splitter_on_one_rule_each(language: str, marked: str) -> None:
    sentences = marked.split("‖")
    assert texts(SentenceSplitter(language), " ".join(sentences)) == sentences


@pytest.mark.parametrize(
    ("line", "sentences"),
    [
        ("「好。」 他說。", [("「好。」", " "), ("他說。", "")]),
        ("「行く。」「はい。」", [("「行く。」", ""), ("「はい。」", "")]),
        # A quotation mark that was never opened belongs to its own sentence alone.
        (
            "はい」。「行こう。急いで。」と言った。",
            [("はい」。", ""), ("「行こう。急いで。」と言った。", "")],
        ),
    ],
)
def test_quotations_of_chinese_and_japanese(line: str, sentences: list[tuple[str, str]]) -> None:
    assert SentenceSplitter("ja").split(line) == [Sentence(*pair) for pair in sentences]


def test_white_space_at_the_end_is_the_gap_of_the_last_sentence() -> None:
    assert SentenceSplitter("en").split("Good.  ") == [Sentence("Good.", "  ")]


def test_empty_line_has_no_sentences() -> None:
    assert SentenceSplitter("en").split("") == []


@pytest.mark.parametrize(
    ("language", "has_ordinals"),
    [
        *((code, True) for code in ("cs", "da", "de", "et", "fi", "hr", "hu", "is", "lb", "lt")),
        *((code, True) for code in ("lv", "no", "pl", "sk", "sl", "sr", "tr")),
        *((code, False) for code in ("en", "fr", "es", "it", "nl", "sv", "ru", "xx")),
        ("de-CH", True),
    ],
)
def test_full_stops_of_ordinal_numbers_by_language(language: str, has_ordinals: bool) -> None:
    assert len(texts(SentenceSplitter(language), "Xa 3. Xaver xa.")) == 2 - has_ordinals


def test_learnt_ordinals_prevail_over_those_of_the_language() -> None:
    line = "Xa 3. Xaver xa."
    assert texts(SentenceSplitter("en", ordinals=True), line) == [line]
    assert len(texts(SentenceSplitter("de", ordinals=False), line)) == 2
