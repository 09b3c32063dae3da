"""Keeps placeholders that begin or end with a letter or digit apart from their neighbours.

Two numbers that touch would be read as a third one: 12 and 3 as 123.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Placeholder, Tag, Text
from nmt_cli.data.text.letters import is_wordlike

# Endings of ordinal numbers in digits: 1er, 2e, 3ème, 1st, 22nd, 3rd, 4th, 1ste, 2de.
_ORDINAL = re.compile(r"(?:er|re|ère|e|ème|nde?|st|rd|th|ste|de)s?(?![^\W_])")


def separated(
    source: Sequence[MarkedPiece], target: Sequence[MarkedPiece], *, spaced: bool
) -> MarkedText:
    """The pieces of `target` with a space where a placeholder would become part of a word.

    A placeholder may touch a word that it touches in `source`, as in `5kg`, and a number the ending
    of an ordinal, as in `1er`, but never another placeholder's letters or digits, and a number
    never other digits. spaced: whether the language has spaces between words; without them only
    placeholders are kept apart.

    >>> separated((), (Placeholder("12"), Placeholder("3"), Text(".")), spaced=True)[1].text
    ' '
    """
    allowed = set(_touching(source))
    result: list[MarkedPiece] = []
    last: MarkedPiece | None = None
    for piece in target:
        if isinstance(piece, Tag):
            result.append(piece)
            continue
        if last is not None and _is_glued(last, piece, allowed, spaced=spaced):
            result.append(Text(" "))
        result.append(piece)
        last = piece
    return tuple(result)


def _is_glued(
    left: MarkedPiece, right: MarkedPiece, allowed: set[tuple[str, bool]], *, spaced: bool
) -> bool:
    """Whether two neighbours would be read as one word that is not in the source."""
    if not _touch(left, right):
        return False
    two_numbers = _shown(left)[-1:].isdigit() and _shown(right)[:1].isdigit()
    if two_numbers or (isinstance(left, Placeholder) and isinstance(right, Placeholder)):
        return Placeholder in (type(left), type(right))
    if not spaced:
        return False
    if isinstance(left, Placeholder):
        return (left.raw, True) not in allowed and not (
            left.raw.isdecimal() and _ORDINAL.match(_shown(right))
        )
    return isinstance(right, Placeholder) and (right.raw, False) not in allowed


def _touching(pieces: Sequence[MarkedPiece]) -> Iterator[tuple[str, bool]]:
    """The placeholders that touch a word: (their text, whether at their end)."""
    visible = [piece for piece in pieces if not isinstance(piece, Tag)]
    for left, right in pairwise(visible):
        if _touch(left, right):
            if isinstance(left, Placeholder):
                yield left.raw, True
            if isinstance(right, Placeholder):
                yield right.raw, False


def _touch(left: MarkedPiece, right: MarkedPiece) -> bool:
    return is_wordlike(_shown(left)[-1:]) and _shown(right)[:1].isalnum()


def _shown(piece: MarkedPiece) -> str:
    if isinstance(piece, Text):
        return piece.text
    return piece.raw if isinstance(piece, Placeholder) else ""
