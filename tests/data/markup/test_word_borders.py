"""Words of Indic scripts end behind their vowel signs, for marks beside them as for patterns."""

import pytest

from nmt_cli.data.cleaning.repairs import Repaired, repair_sides
from nmt_cli.data.corpus.text_statistics import has_spaced_mark
from nmt_cli.data.markup.emphasis import has_valid_emphasis
from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.marked_text import Placeholder, Tag, Text, plain_text, raw_text
from nmt_cli.data.markup.reference_marks import is_reference_mark
from nmt_cli.documents.deletions import _is_in_word
from nmt_cli.documents.labels import is_letter, parts_of
from nmt_cli.documents.list_marks import _beginning
from nmt_cli.documents.markdown.inline import _escaped
from nmt_cli.translation.markup.carrier import Atom, carry
from nmt_cli.translation.markup.gaps import Element, Space, _needs_space
from nmt_cli.translation.markup.wordless import is_wordless

# Words that end with a vowel sign or another combining mark: Hindi, Bengali, Tamil, and Latin ones.
WORDS = ["हिन्दी", "বাংলা", "தமிழ்", "word"]
END = "ी"


@pytest.mark.parametrize("word", WORDS)
def test_a_raised_letter_behind_a_word_is_a_mark(word: str) -> None:
    assert is_reference_mark("a", word)
    assert is_reference_mark("a", f"{word},")
    assert is_reference_mark("(कि)", word)


@pytest.mark.parametrize("word", WORDS)
def test_a_space_before_punctuation_is_seen_behind_a_word(word: str) -> None:
    assert has_spaced_mark(f"{word} , {word}")
    assert not has_spaced_mark(f"{word}, {word}")


@pytest.mark.parametrize("word", WORDS)
def test_marks_of_subwords_are_removed_behind_a_word(word: str) -> None:
    lines = [f"{word}@@ {word} {word} @-@ {word}"]
    src, _ = repair_sides(lines, lines, Repaired())
    assert src == [f"{word}{word} {word}-{word}"]


@pytest.mark.parametrize("word", WORDS)
def test_signs_within_a_word_are_no_markdown(word: str) -> None:
    for line in (f"{word}_{word}_", f"{word}*{word}*", f"{word}`{word}`"):
        assert parse_line(line) == (Text(line),)
    assert _escaped(f"{word}_{word}") == f"{word}_{word}"


@pytest.mark.parametrize("word", WORDS)
def test_emphasis_may_end_and_begin_within_a_word(word: str) -> None:
    bold, bold_end, italic, italic_end = (
        Tag(mark, kind, mark) for mark in ("**", "*") for kind in ("open", "close")
    )
    first, second = (bold, Text(word), bold_end), (italic, Text(word), italic_end)
    pieces = (Text(word), *first, *second, Text(word))
    assert raw_text(pieces) == f"{word}**{word}***{word}*{word}"
    assert has_valid_emphasis(pieces)


@pytest.mark.parametrize("word", WORDS)
def test_a_tag_within_a_word_is_seen_behind_it(word: str) -> None:
    opening, closing = Tag("<del>", "open", "del"), Tag("</del>", "close", "del")
    pieces = (Text(word), opening, Text(word), closing, Text(" "))
    assert _is_in_word(pieces, 1, 3)
    # A vowel sign behind a tag belongs to the word before it.
    assert _is_in_word((opening, Text(word), closing, Text(END)), 0, 2)
    assert _beginning((Text(word), Tag("<sup>", "open", "sup"), Text("1)"))) == word


@pytest.mark.parametrize("word", WORDS)
def test_a_label_in_tags_is_a_segment(word: str) -> None:
    opening, closing = Tag("<b>", "open", "b"), Tag("</b>", "close", "b")
    pieces = (opening, Text(f"{word} 1:"), closing, Text(f" {word} {word}"))
    assert [plain_text(part) for part in parts_of(pieces)] == [f"{word} 1:", f" {word} {word}"]


def test_a_letter_with_a_vowel_sign_is_a_label() -> None:
    opening, closing = Tag("<b>", "open", "b"), Tag("</b>", "close", "b")
    assert is_letter((opening, Text("कि:"), closing))


def test_a_vowel_sign_behind_a_mark_is_no_punctuation() -> None:
    image = Tag("<img>", "empty", "img")
    [atom] = carry((Text("क"), image, Text(END))).nodes
    assert isinstance(atom, Atom)
    assert not atom.mark_after
    arrow = (Text(WORDS[0]), Tag("<b>", "open", "b"), Text("→"), Tag("</b>", "close", "b"))
    assert not is_wordless((*arrow, Text(WORDS[0])), 1, 3)


@pytest.mark.parametrize("word", WORDS)
def test_a_placeholder_has_a_space_behind_a_word(word: str) -> None:
    assert _needs_space(Element((Placeholder("%s"),), space=Space.AFTER), Space.BEFORE, word[-1])
