"""Elided words of French, Italian and Catalan, such as `l’`: no cue and no line ends with one."""

import re
from collections.abc import Sequence

from nmt_cli.data.languages.elision import ELIDED_WORD
from nmt_cli.data.markup.marked_text import MarkedPiece, Tag, Text

_ELIDED = re.compile(rf"(?:[«‹“„(\[]\s?)?{ELIDED_WORD}\s*\Z", re.IGNORECASE)


def ends_with_elided_word(text: str) -> bool:
    """Whether the last word belongs to the one that follows.

    >>> ends_with_elided_word("dans l’"), ends_with_elided_word("the dogs’")
    (True, False)
    """
    return _ELIDED.search(text) is not None


def cuts_before_elided_words(pieces: Sequence[MarkedPiece], cut: Tag) -> list[MarkedPiece]:
    """The pieces with each `cut` that stands behind an elided word moved before it.

    >>> pieces = (Text("de l’ "), Tag("|", "empty"), Text("eau"))
    >>> [getattr(piece, 'text', '|') for piece in cuts_before_elided_words(pieces, pieces[1])]
    ['de ', '|', 'l’', 'eau']
    """
    result: list[MarkedPiece] = []
    for piece in pieces:
        index = len(result) - 1
        while index >= 0 and isinstance(result[index], Tag) and result[index] != cut:
            index -= 1
        last = result[index] if index >= 0 else None
        found = _ELIDED.search(last.text) if isinstance(last, Text) else None
        if piece != cut or not isinstance(last, Text) or found is None:
            result.append(piece)
            continue
        before, word = last.text[: found.start()], last.text[found.start() :].rstrip()
        result[index : index + 1] = [*((Text(before),) if before else ()), cut, Text(word)]
    return result
