"""Marks of notes and symbols in tags of their own are no words of the sentence."""

import pytest
from projections import project

from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.marked_text import raw_text
from nmt_cli.documents.document import has_words
from nmt_cli.translation.markup.carrier import carry
from nmt_cli.translation.markup.projection import words_of

LINKS = [("A", "Ein"), ("The", "Der"), ("dog", "Hund"), ("sleeps", "schläft")]
NOTE = '<a href="#n1">'


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # At the beginning of a paragraph.
        ("<sup>a</sup>&nbsp;A dog sleeps.", "<sup>a</sup> Ein Hund schläft."),
        ("<sup>a</sup>A dog sleeps.", "<sup>a</sup>Ein Hund schläft."),
        ("<b><sup>a, b</sup></b> A dog sleeps.", "<b><sup>a, b</sup></b> Ein Hund schläft."),
        ("<sup>1</sup>A dog sleeps.", "<sup>1</sup>Ein Hund schläft."),
        # In links.
        (f"A dog sleeps{NOTE}*</a>.", f"Ein Hund schläft{NOTE}*</a>."),
        (f"A dog{NOTE}[a]</a> sleeps.", f"Ein Hund{NOTE}[a]</a> schläft."),
        (f"A dog{NOTE}§</a> sleeps.", f"Ein Hund{NOTE}§</a> schläft."),
        (f"A dog<sup>{NOTE}[note 2]</a></sup> sleeps.",
         f"Ein Hund<sup>{NOTE}[note 2]</a></sup> schläft."),
        (f"A dog sleeps. {NOTE}↩</a>", f"Ein Hund schläft. {NOTE}↩</a>"),
        # Symbols in any tags.
        ("<i>☐</i> A dog sleeps.", "<i>☐</i> Ein Hund schläft."),
        ("A dog <b>|</b> sleeps <i>→</i>", "Ein Hund <b>|</b> schläft. <i>→</i>"),
    ],
)  # fmt: skip
def test_marks_of_notes_and_symbols_are_kept(line: str, expected: str) -> None:
    result = project(line, "Ein Hund schläft.", LINKS)
    assert raw_text(result.pieces) == expected
    assert not result.moved


def test_link_of_a_note_stands_against_the_punctuation_behind_it() -> None:
    result = project(f"A dog{NOTE}[1]</a> sleeps.", "Nun schläft Hund.", LINKS)
    assert raw_text(result.pieces) == f"Nun schläft Hund{NOTE}[1]</a>."


@pytest.mark.parametrize(
    "line",
    ["<b>a</b> dog", "<i>[a]</i> dog", f"{NOTE}a</a> dog", f"{NOTE}[see]</a> dog", "a <b>+</b> dog",
     "dog<b>.</b>", "a<b>*</b>b dog", "<i>§</i> dog", "<sup>th</sup> dog", "<sup>a</sup>s dog"],
)  # fmt: skip
def test_other_letters_and_signs_are_words(line: str) -> None:
    assert carry(parse_line(line)).text == words_of(parse_line(line))


def test_a_raised_letter_alone_is_not_translated() -> None:
    assert not has_words(parse_line("<sup>a</sup>"))
    assert not has_words(parse_line("<b><sup>(b)</sup></b> "))
    assert has_words(parse_line("<b>a</b>"))
    assert has_words(parse_line("<sup>a</sup> dog"))
