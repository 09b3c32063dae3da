"""Question marks in place of letters that an encoding conversion has lost."""

import pytest

from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.doubts import find_doubts
from nmt_cli.data.cleaning.letters.lost_letters import DIGIT_FOR_LETTER, REST_OF_MARK


def kind_of(src: str, tgt: str) -> int:
    return int(find_doubts([src], [tgt], ("xx", "en"))[0])


@pytest.mark.parametrize(
    "line",
    [
        "a M?nchen b", "d?j? vu", "gr??er", "k??ta ka?", "Ti?ng Vi?t", "kp?\u025b",
        "????? ??? ka", "????????? ????????? ??????",
    ],
)  # fmt: skip
@pytest.mark.parametrize("other", ["What is it there?", "So it is."])
def test_letters_are_lost_where_no_question_ends(line: str, other: str) -> None:
    assert kind_of(line, other) == kind_of(other, line) == kinds.LOST_LETTERS


@pytest.mark.parametrize(
    "line",
    [
        "un caf? noir", "un caf?, du lait", "un caf?; un th?.", "un th?, a", "l'?cole, une ?le",
        "?cole \u00e0 c", "(?le) b", "M?NCHEN b", "BRAUNER GR?N", "il est ? Paris",
        "(AP) ? Die Stadt", "du ??? noir", "??? noir",
        "wei?-blau b", "anti-?meute b", "plus de ?100 b", "\u201e?ber ihn\u201c", "l\u2019?le b",
    ],
)  # fmt: skip
@pytest.mark.parametrize("mark", "?\uff1f\u061f\u00bf")
def test_a_mark_that_may_end_a_question_counts_beside_a_side_without_any(
    line: str, mark: str
) -> None:
    other = "So it is there."
    assert kind_of(line, other) == kind_of(other, line) == kinds.LOST_LETTERS
    assert kind_of(line, other.replace(".", mark)) == kinds.CLEAN


def test_a_semicolon_ends_a_question_in_greek_alone() -> None:
    assert kind_of("un caf? noir", "\u03b5\u03af\u03bd\u03b1\u03b9;") == kinds.CLEAN
    assert kind_of("un caf? noir", "black coffee;") == kinds.LOST_LETTERS


@pytest.mark.parametrize(
    "line",
    [
        "Ka mi?", "Ka mi??", "Ka mi???", "Ka mi ?", "Ka mi ???", "Ka mi?!", "Ka mi?..", "Ka mi?...",
        "\u00abKa mi?\u00bb", "Ka mi?) ta", '"Ka mi?" ta', "Ka mi? Ta mo.", "on http://a.b/c?d=e",
        "a.org/b?c ka", "A?N ka", "Ka mi? (ta)", "\u00bfKa mi?. \u00bfTa? ka",
        "Ka mi?.", "Ka mi?. Ta.", "Ka m\u00e9?, ta",
    ],
)  # fmt: skip
def test_marks_behind_words_are_questions(line: str) -> None:
    assert kind_of(line, "So it is there.") in (kinds.CLEAN, kinds.ONE_ADDRESS)


@pytest.mark.parametrize(
    "line", ["So ? Ja , ja .", "so ? er kam , sah und ging .", "Ja ? So ist es ?", "wo ? hier !"]
)
def test_single_marks_between_words_of_tokenised_text_are_questions(line: str) -> None:
    assert kind_of(line, "So it is there.") == kinds.CLEAN
    assert kind_of(f"un caf?, {line}", "So it is there.") == kinds.LOST_LETTERS


def test_a_side_of_marks_alone_is_still_dropped() -> None:
    assert kind_of("??? ???", "So it is there.") == kinds.ADDRESS


@pytest.mark.parametrize("line", ["por0Ò a", "ipor0Òvéva", "PYTAGU0§", "mit0│kuéra", "a ka0¬ b"])
def test_a_zero_and_a_sign_within_a_word_are_a_lost_letter(line: str) -> None:
    assert kind_of(line, "So it is.") == kind_of("So it is.", line) == kinds.LOST_LETTERS


@pytest.mark.parametrize(
    "line", ["A0 a", "H20 b", "a 0§ b", "10§", "§ 0 b", "a0b", "a0ò", "v2.0Ò", "por0-o", "CO0\nÒ"]
)
def test_other_zeros_are_no_lost_letters(line: str) -> None:
    assert not DIGIT_FOR_LETTER.search(line)


@pytest.mark.parametrize("line", ["Leone €“ Bénin", "l€™homme", "€œoui€\x9d", "fin€¦", "a€“b"])
def test_rests_of_marks_are_found(line: str) -> None:
    assert find_doubts([line], ["ka"], ("fr", "ee")).tolist() == [kinds.LOST_LETTERS]
    assert find_doubts(["ka"], [line], ("ee", "fr")).tolist() == [kinds.LOST_LETTERS]


@pytest.mark.parametrize(
    "line", ["„500 €“ sagte er", "„500€“ sagte", "„in €“.", "5 € – 6 €", "€5", "l’â€™a"]
)
def test_euro_signs_are_no_rests_of_marks(line: str) -> None:
    assert not REST_OF_MARK.search(line)
