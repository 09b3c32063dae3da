"""Labels in their own tags before a sentence, such as `<b>Note 1:</b>`, which are no part of it."""

import re
from collections.abc import Sequence

from nmt_cli.data.languages.word_characters import MARK
from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Tag, Text, plain_text
from nmt_cli.documents.list_marks import parts_at_items

# At most two words, and perhaps a number. `The employer shall:` begins a sentence.
_WORD = rf"(?:[^\W\d_]|{MARK}){{1,20}}"
_LABEL = re.compile(rf"\s*{_WORD}(?:\s{_WORD})?(?:\s\d{{1,3}})?\s?[:：]\s*")
# Such as that of a question: models invent words for it.
_LETTER = re.compile(rf"\s*[^\W\d_]{MARK}*\s?[:：]\s*")


def parts_of(pieces: Sequence[MarkedPiece]) -> list[MarkedText]:
    """The pieces, cut behind a label and before the marks of items that one line has.

    >>> bold = Tag("<b>", "open", "b"), Text("Note:"), Tag("</b>", "close", "b")
    >>> [plain_text(part) for part in parts_of((*bold, Text(" the dog sleeps")))]
    ['Note:', ' the dog sleeps']
    """
    label = _label(pieces)
    if not label:
        return parts_at_items(pieces)
    return [label, *parts_at_items(pieces[len(label) :])]


def is_letter(pieces: MarkedText) -> bool:
    """Whether a text is only a letter with a colon in tags, such as `<b>Q:</b>`."""
    has_tags = any(isinstance(piece, Tag) for piece in pieces)
    return has_tags and _LETTER.fullmatch(plain_text(pieces)) is not None


def _label(pieces: Sequence[MarkedPiece]) -> MarkedText:
    """The label at the beginning with its tags; empty: there is none, or nothing behind it."""
    begin = int(bool(pieces) and isinstance(pieces[0], Text) and not pieces[0].text.strip())
    match pieces[begin : begin + 4]:
        case [Tag(kind="open"), Text(text), Tag(kind="close"), Text(rest)]:
            is_before_words = rest[:1].isspace() and plain_text(pieces[begin + 3 :]).strip()
            if _LABEL.fullmatch(text) and is_before_words:
                return tuple(pieces[: begin + 3])
    return ()
