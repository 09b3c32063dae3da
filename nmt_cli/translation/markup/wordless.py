"""Pairs of tags whose content is no word of the sentence: marks of footnotes, readings."""

import re
from collections.abc import Sequence

from nmt_cli.data.markup.marked_text import MarkedPiece, Tag, Text
from nmt_cli.data.markup.reference_marks import is_reference_mark
from nmt_cli.data.text.letters import has_letters

# The end of a word behind which a number with tags around it is the mark of a footnote: not that of
# an abbreviation, and in no script without spaces, where words and numbers touch.
_LETTER = r"[^\W\d_\u0e00-\uffff]"
_WORD_END = re.compile(rf"{_LETTER}{_LETTER}[.,;!?)\]\"'”’»]*\Z")
_NOTE = re.compile(r"\s*\[\d{1,3}\]\s*")
# How the words of `<ruby>` are read, and the brackets around that.
_READINGS = ("rt", "rp")


def is_wordless(pieces: Sequence[MarkedPiece], begin: int, end: int) -> bool:
    """Whether the pair of tags at these pieces has no word of the sentence in it.

    It is the mark of a footnote or a power, `<sup>1</sup>` or `Act<sup>a</sup>`, or a reading of
    `<ruby>`, which repeats the words that it stands at. Other formats are such a mark where they
    have nothing but a number right behind a word, or one in square brackets.
    """
    opening, after = pieces[begin], pieces[end + 1 : end + 2]
    name = opening.name if isinstance(opening, Tag) else ""
    if name in _READINGS:
        return True
    ends_word = not after or not isinstance(after[0], Text) or not after[0].text[:1].isalnum()
    words = "".join(
        piece.text if isinstance(piece, Text) else piece.raw
        for piece in pieces[begin + 1 : end]
        if not isinstance(piece, Tag)
    )
    if not ends_word:
        return False
    if name == "sup":
        return not has_letters(words) or is_reference_mark(words, _before(pieces, begin))
    if _NOTE.fullmatch(words):
        return True
    before = pieces[begin - 1] if begin else None
    is_behind_word = isinstance(before, Text) and _WORD_END.search(before.text)
    return words.isdecimal() and bool(is_behind_word)


def _before(pieces: Sequence[MarkedPiece], index: int) -> str:
    """The text before a piece, whatever tags are between."""
    while index and isinstance(pieces[index - 1], Tag):
        index -= 1
    last = pieces[index - 1] if index else None
    return last.text if isinstance(last, Text) else ""
