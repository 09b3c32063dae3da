"""The text of subword ids, and which of its characters belong to which id."""

from nmt_cli.data.subwords.spelled_ids import SpelledIds
from nmt_cli.data.subwords.spelling import begins_inside, ends_inside


def test_characters_belong_to_the_ids_that_spell_them() -> None:
    spelled = SpelledIds([0, 1, 2, 3], [b" gr", "ö".encode(), b"", "ßer, ab".encode()])
    assert spelled.text == " größer, ab"
    assert spelled.positions(1, 4) == (0, 1)
    assert spelled.words() == [(0, 1, 2, 3), (3,)]
    assert spelled.positions(2, 2) == ()


def test_marks_and_joiners_belong_to_the_word_around_them() -> None:
    pieces = [" क".encode(), "्‌".encode(), "हि".encode(), b","]
    assert SpelledIds(range(4), pieces).words() == [(0, 1, 2)]
    assert [begins_inside(piece) for piece in pieces] == [False, True, True, False]
    assert [ends_inside(piece) for piece in pieces] == [True, True, True, False]
    # An emoji in its coloured form is no word.
    assert not ends_inside("\u2764\ufe0f".encode())


def test_invalid_bytes_do_not_shift_positions() -> None:
    spelled = SpelledIds(range(5), [b"\xc3", b"\xff", b" a", b"\xc3", b"\xa4b"])
    assert spelled.words() == [(2, 3, 4)]
