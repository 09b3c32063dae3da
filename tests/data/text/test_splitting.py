"""Long lines are split at natural boundaries, and no text is lost."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.data.text.splitting import Piece, split_line


def words(texts) -> list[int]:
    """Count words; each ten characters of a long word count as another piece."""
    return [sum(1 + len(word) // 10 for word in text.split()) for text in texts]


def characters(texts) -> list[int]:
    return [len(text) for text in texts]


def test_short_line_is_one_piece() -> None:
    assert split_line("One. Two.", words, 5) == [Piece("One. Two.", " ")]


def test_sentences_are_split_and_short_ones_stay_together() -> None:
    text = "One. Two two? Three three three three three! Four. Five five five five. (Six.) Seven"
    pieces = [piece.text for piece in split_line(text, words, 8)]
    assert pieces == [
        "One.", "Two two?", "Three three three three three!", "Four.",
        "Five five five five.", "(Six.) Seven",
    ]  # fmt: skip


def test_long_sentence_is_split_at_clauses_then_at_spaces() -> None:
    text = "a b c, d e f; g h i j k l m n, o"
    assert [piece.text for piece in split_line(text, words, 7)] == [
        "a b c, d e f;", "g h i j k l m", "n,", "o",
    ]  # fmt: skip


def test_text_without_spaces_is_split_at_its_own_punctuation() -> None:
    text = "今天天气很好。我们去公园吧！你喜欢什么，猫还是狗？"
    assert [piece.text for piece in split_line(text, characters, 12)] == [
        "今天天气很好。", "我们去公园吧！", "你喜欢什么，猫还是狗？",
    ]  # fmt: skip
    assert [piece.text for piece in split_line(text, characters, 9)][-2:] == [
        "你喜欢什么，",
        "猫还是狗？",
    ]


def test_long_word_is_split_anywhere_and_joined_without_a_space() -> None:
    pieces = split_line("abcdefghij", characters, 4)
    assert [piece.text for piece in pieces] == ["abcd", "efgh", "ij"]
    assert {piece.glue for piece in pieces} == {""}


ENGLAND = "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng") + "\U000e007f"


@pytest.mark.parametrize("sign", ["e\u0301", "👩\u200d👧", "👍🏽", "🇩🇪", ENGLAND])
def test_accents_and_emoji_stay_whole(sign: str) -> None:
    pieces = split_line(sign * 9, characters, len(sign) + 1)
    assert len(pieces) > 1
    assert {piece.text.replace(sign, "") for piece in pieces} == {""}
    # A sign that is longer than a piece may be is split.
    split = split_line(sign, characters, 1)
    assert [piece.text for piece in split] == list(sign)


def test_pieces_fit_where_some_characters_have_more_subwords() -> None:
    def count(texts) -> list[int]:
        return [sum(5 if character == "字" else 1 for character in text) for text in texts]

    pieces = [piece.text for piece in split_line("a" * 40 + "字" * 8, count, 10)]
    assert "".join(pieces) == "a" * 40 + "字" * 8
    assert max(count(pieces)) <= 10


def test_decimal_point_does_not_end_a_sentence() -> None:
    text = "It costs 3.50 today and v1.2.3 is out at example.com now"
    assert split_line(text, words, 6)[0].text == "It costs 3.50 today and v1.2.3"


@given(
    st.text(alphabet=st.sampled_from("ab é。！, .?;\u0301\u200d字x"), max_size=300),
    st.integers(2, 20),
)
def test_no_character_is_lost_and_every_piece_fits(text: str, longest: int) -> None:
    pieces = split_line(text, characters, longest)
    assert "".join("".join(piece.text.split()) for piece in pieces) == "".join(text.split())
    joiners = sum(character in "\u0301\u200d" for character in text)
    assert all(len(piece.text) <= longest + 2 * longest * bool(joiners) for piece in pieces)


@pytest.mark.parametrize("unit", ["word ", "Short piece. ", "x", "字", "a, b "])
def test_time_is_linear_in_the_length(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * length)[:length]
        start = time.process_time()
        assert len(split_line(text, characters, 50)) >= length / 51
        return time.process_time() - start

    seconds(1_000)
    assert seconds(200_000) < max(40 * seconds(20_000), 1.0)
