"""Pairs of tags whose content is no word of the sentence: marks of footnotes, readings."""

import re
from collections.abc import Sequence

from nmt_cli.data.languages.word_characters import is_word_character
from nmt_cli.data.markup.links import is_link_tag
from nmt_cli.data.markup.marked_text import MarkedPiece, Tag, Text
from nmt_cli.data.markup.reference_marks import (
    is_note,
    is_reference_mark,
    is_symbol,
    may_be_mark,
)
from nmt_cli.data.text.letters import has_letters

# The end of a word behind which a number with tags around it is the mark of a footnote: not that of
# an abbreviation, and in no script without spaces, where words and numbers touch.
_LETTER = r"[^\W\d_\u0e00-\uffff]"
_WORD_END = re.compile(rf"{_LETTER}{_LETTER}[.,;!?)\]\"'”’»]*\Z")
# How the words of `<ruby>` are read, and the brackets around that.
_READINGS = ("rt", "rp")


def is_wordless(pieces: Sequence[MarkedPiece], begin: int, end: int) -> bool:
    """Whether the pair of tags at these pieces has no word of the sentence in it.

    It is the mark of a footnote or a power, `<sup>1</sup>` or `Act<sup>a</sup>`, a symbol alone, or
    a reading of `<ruby>`, which repeats the words that it stands at. Other formats are such a mark
    where they have nothing but a number right behind a word, or one in square brackets; links also
    where they have a sign, `*`, or a letter in brackets.
    """
    opening = pieces[begin]
    if not isinstance(opening, Tag):
        return False
    if opening.name in _READINGS:
        return True
    following = pieces[end + 1] if end + 1 < len(pieces) else None
    after = following.text if isinstance(following, Text) else ""
    words = "".join(
        piece.text if isinstance(piece, Text) else piece.raw
        for piece in pieces[begin + 1 : end]
        if not isinstance(piece, Tag)
    )
    is_raised = opening.name == "sup"
    if is_raised and after[:1].isupper() and _is_first(pieces, begin) and _is_mark(words):
        return True
    before = _before(pieces, begin)
    if is_symbol(words):
        return not (is_word_character(before[-1:]) and is_word_character(after[:1]))
    if is_word_character(after[:1]):
        return False
    if is_note(words, apart=is_raised or is_link_tag(opening)):
        return True
    if is_raised:
        return (
            not has_letters(words)
            or is_reference_mark(words, before)
            or (may_be_mark(words) and _is_first(pieces, begin))
        )
    last = pieces[begin - 1] if begin else None
    is_behind_word = isinstance(last, Text) and _WORD_END.search(last.text)
    return words.isdecimal() and bool(is_behind_word)


def _is_mark(words: str) -> bool:
    return words.strip().isdecimal() or may_be_mark(words)


def _is_first(pieces: Sequence[MarkedPiece], index: int) -> bool:
    """Whether there is nothing but tags and white space before a piece."""
    return all(
        isinstance(piece, Tag) or (isinstance(piece, Text) and not piece.text.strip())
        for piece in pieces[:index]
    )


def _before(pieces: Sequence[MarkedPiece], index: int) -> str:
    """The text before a piece, whatever tags are between."""
    while index and isinstance(pieces[index - 1], Tag):
        index -= 1
    last = pieces[index - 1] if index else None
    return last.text if isinstance(last, Text) else ""
