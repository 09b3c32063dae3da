"""Emphasis beside punctuation, as CommonMark has it."""

import pytest

from nmt_cli.data.markup.marked_text import Tag
from nmt_cli.documents.markdown.inline import parse_marks


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ('The dog sees **the "cat"**.', ["open", "close"]),
        ("*the cat (1)*.", ["open", "close"]),
        ("**Minister (Ottawa)**, by order", ["open", "close"]),
        ("~~the cat!~~.", ["open", "close"]),
        ('**"Yes"** and **"no"**.', ["open", "close"] * 2),
        ("*(a)* and (*b*)", ["open", "close"] * 2),
        ("_(x)_.", ["open", "close"]),
        ("**a *b!***", ["open", "open", "close", "close"]),
        ("a * b, 2 * 3", []),
    ],
)
def test_emphasis_beside_punctuation(text: str, kinds: list[str]) -> None:
    pieces = parse_marks(text)
    assert [piece.kind for piece in pieces if isinstance(piece, Tag)] == kinds
