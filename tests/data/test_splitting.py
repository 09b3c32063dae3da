"""Long lines are cut where a reader would cut them, and nothing is lost."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.data.text.splitting import Piece, split_line


def words(texts) -> list[int]:
    """Counts as a model of words would, a character of a long word as one."""
    return [sum(1 + len(word) // 10 for word in text.split()) for text in texts]


def characters(texts) -> list[int]:
    return [len(text) for text in texts]


def test_a_short_line_is_one_piece() -> None:
    assert split_line("One. Two.", words, 5) == [Piece("One. Two.", " ")]


def test_sentences_come_apart_and_short_ones_stay_together() -> None:
    text = "One. Two two? Three three three three three! Four. Five five five five. (Six.) Seven"
    found = [one.text for one in split_line(text, words, 8)]
    assert found == [
        "One.", "Two two?", "Three three three three three!", "Four.",
        "Five five five five.", "(Six.) Seven",
    ]  # fmt: skip


def test_a_long_sentence_is_cut_at_clauses_then_at_spaces() -> None:
    text = "a b c, d e f; g h i j k l m n, o"
    assert [one.text for one in split_line(text, words, 7)] == [
        "a b c, d e f;", "g h i j k l m", "n,", "o",
    ]  # fmt: skip


def test_without_spaces_it_is_cut_at_their_own_marks() -> None:
    text = "今天天气很好。我们去公园吧！你喜欢什么，猫还是狗？"
    assert [one.text for one in split_line(text, characters, 12)] == [
        "今天天气很好。", "我们去公园吧！", "你喜欢什么，猫还是狗？",
    ]  # fmt: skip
    assert [one.text for one in split_line(text, characters, 9)][-2:] == [
        "你喜欢什么，",
        "猫还是狗？",
    ]


def test_an_endless_word_is_cut_anywhere_and_put_together_without_a_space() -> None:
    found = split_line("abcdefghij", characters, 4)
    assert [one.text for one in found] == ["abcd", "efgh", "ij"]
    assert {one.glue for one in found} == {""}


def test_accents_and_emoji_stay_whole() -> None:
    text = "e\u0301" * 10
    assert all(not unicodedata.combining(one.text[0]) for one in split_line(text, characters, 3))
    family = "👩\u200d👧"
    assert all(one.text[0] != "\u200d" for one in split_line(family * 9, characters, 4))


def test_a_decimal_point_is_no_end() -> None:
    text = "It costs 3.50 today and v1.2.3 is out at example.com now"
    assert split_line(text, words, 6)[0].text == "It costs 3.50 today and v1.2.3"


@given(
    st.text(alphabet=st.sampled_from("ab é。！, .?;\u0301\u200d字x"), max_size=300),
    st.integers(2, 20),
)
def test_no_character_is_lost_and_every_piece_fits(text: str, longest: int) -> None:
    found = split_line(text, characters, longest)
    assert "".join("".join(one.text.split()) for one in found) == "".join(text.split())
    joiners = sum(one in "\u0301\u200d" for one in text)
    assert all(len(one.text) <= longest + 2 * longest * bool(joiners) for one in found)


@pytest.mark.parametrize("unit", ["word ", "Short one. ", "x", "字", "a, b "])
def test_the_time_grows_with_the_length(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        start = time.process_time()
        assert len(split_line(text, characters, 50)) >= length / 51
        return time.process_time() - start

    seconds(1_000)
    assert seconds(200_000) < max(40 * seconds(20_000), 1.0)
