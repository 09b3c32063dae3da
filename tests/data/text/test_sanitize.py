"""Cleaning a line: what is removed, what is replaced, and that one line stays one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.data.text.sanitize import clean_line

# What programs take for the end of a line, and what steers a terminal.
NEVER_SHOWN = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\x00\x1b"


@given(st.text(st.characters(codec=None)))
def test_clean_line_gives_one_line_of_utf_8(text):
    clean = clean_line(text)
    assert not set(clean) & set(NEVER_SHOWN)
    assert len(clean.splitlines()) <= 1
    clean.encode("utf-8")
    assert clean_line(clean) == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain Text, naïve 中文 \u05e9", "plain Text, naïve 中文 \u05e9"),
        ("a\tb\x0bc\x0cd\x1ce\x1df\x1eg\x85h\u2028i\u2029j\rk", "a b c d e f g h i j k"),
        ("a\x00b\x07c\x7fd\x9be", "abcde"),
        ("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\", "red link"),
        ("a\u00a0b\u00adc\u200bd", "a\u00a0b\u00adc\u200bd"),
        ("a\ud800b", "a\ufffdb"),
        ("a▁b", "a_b"),
    ],
)
def test_clean_line_removes_or_replaces_characters(text, clean):
    assert clean_line(text) == clean
