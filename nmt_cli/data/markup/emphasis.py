"""Where emphasis of Markdown may begin and end, and which may stand within which (CommonMark)."""

import string
import unicodedata
from collections.abc import Sequence
from typing import TypeGuard

from nmt_cli.data.languages.word_characters import is_word_character
from nmt_cli.data.markup.marked_text import MarkedPiece, Tag, raw_text

# How emphasis is written.
EMPHASIS = frozenset(("*", "**", "***", "****", "_", "__", "___", "____", "~~"))


def may_stand(mark: str, outside: str, inside: str) -> bool:
    """Whether a mark between these characters is an end of emphasis.

    outside, inside: the characters beside it, "" at an end of the text.

    >>> may_stand("**", outside="’", inside="h"), may_stand("**", outside="h", inside="’")
    (True, False)
    """
    if not inside or inside.isspace():
        return False
    if not outside or outside.isspace() or _is_punctuation(outside):
        return True
    # `_` is a letter within a word. Newer versions of CommonMark take symbols for punctuation.
    return mark[0] != "_" and not (_is_punctuation(inside) or _category(inside) == "S")


def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or _category(character) == "P"


def _category(character: str) -> str:
    return unicodedata.category(character)[0]


def clash(first: str, second: str) -> bool:
    """Whether emphasis with the one mark cannot stand within that with the other.

    >>> clash("*", "*"), clash("*", "**"), clash("**", "***"), clash("*", "****")
    (True, False, True, True)
    """
    marks = {first, second}
    is_same = marks <= EMPHASIS and first[0] == second[0]
    return is_same and (len(marks) == 1 or max(len(first), len(second)) > 2)


def are_one_run(first: str, second: str) -> bool:
    """Whether two marks side by side are read as one.

    >>> are_one_run("*", "**"), are_one_run("*", "_")
    (True, False)
    """
    return {first, second} <= EMPHASIS and first[0] == second[0]


def has_valid_emphasis(pieces: Sequence[MarkedPiece]) -> bool:
    """Whether CommonMark finds the emphasis of a text where its tags are.

    >>> from nmt_cli.data.markup.marked_text import Text
    >>> bold = Tag("**", "open", "**"), Tag("**", "close", "**")
    >>> has_valid_emphasis([bold[0], Text("l’"), bold[1], Text("eau")])
    False
    """
    # Where each pair begins that is not closed yet, its mark, and how long the whole run is.
    opened: list[tuple[int, str, int]] = []
    for index, piece in enumerate(pieces):
        if not _is_mark(piece):
            continue
        first, last = _run(pieces, index)
        before = "".join(raw_text((other,)) for other in pieces[max(0, first - 1) : first])[-1:]
        after = "".join(raw_text((other,)) for other in pieces[last + 1 : last + 2])[:1]
        length = sum(len(raw_text((other,))) for other in pieces[first : last + 1])
        kinds = [other.kind for other in pieces[first : last + 1] if _is_mark(other)]
        is_mixed = len({*kinds}) > 1
        is_within_word = piece.raw[0] == "*" and all(map(is_word_character, (before, after)))
        # Within a word, a run may end what is open and begin another one: `**a***b*`.
        if is_mixed and not (is_within_word and kinds == sorted(kinds)):
            return False
        if piece.kind == "open":
            if not may_stand(piece.raw, before, after):
                return False
            may_close = may_stand(piece.raw, after, before)
            for begin, mark, outer in opened:
                closes = may_close and _may_be_pair(outer, length)
                if clash(mark, piece.raw) or (
                    closes and begin < first and are_one_run(mark, piece.raw)
                ):
                    return False
            opened.append((index, piece.raw, length))
        elif not may_stand(piece.raw, after, before):
            return False
        else:
            ended = [outer for _, mark, outer in opened if mark == piece.raw]
            if is_mixed and not all(_may_be_pair(outer, length) for outer in ended):
                return False
            opened = [each for each in opened if each[1] != piece.raw]
    return True


def _may_be_pair(begin: int, end: int) -> bool:
    """Whether a run of the length `end`, which may also begin emphasis, may end one of `begin`.

    It does not if their lengths add up to 3 or 6.
    """
    return (begin + end) % 3 != 0 or begin == end


def _is_mark(piece: MarkedPiece) -> TypeGuard[Tag]:
    return isinstance(piece, Tag) and piece.kind != "empty" and piece.raw in EMPHASIS


def _run(pieces: Sequence[MarkedPiece], index: int) -> tuple[int, int]:
    """The first and the last of the tags that are read as one mark with that at `index`."""
    first = last = index
    raw = raw_text((pieces[index],))
    while first and _continues(raw, pieces[first - 1]):
        first -= 1
    while last + 1 < len(pieces) and _continues(raw, pieces[last + 1]):
        last += 1
    return first, last


def _continues(raw: str, piece: MarkedPiece) -> bool:
    return _is_mark(piece) and are_one_run(raw, piece.raw)
