"""The marks of list items at the beginning of a text, which are kept: `1.`, `(a)`, bullets."""

import re
from collections.abc import Sequence
from html import unescape

from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Tag, Text, plain_text

_ROMAN = r"(?=[ivxIVX])(?:x{0,3}(?:ix|iv|v?i{0,3})|X{0,3}(?:IX|IV|V?I{0,3}))"
# `1`, `a`, `1.1` and `a.1`, `iv`, and `aa`, which follows `z`.
_LABEL = rf"(?:(?:\d{{1,3}}|[A-Za-z])(?:\.\d{{1,3}})?|{_ROMAN}|(?P<letter>[a-z])(?P=letter))"
_MARK = rf"(?:(?:\(?{_LABEL}\))+|\d{{1,3}}\.|[-*+–—•‣◦▪●·])"
_NEXT_MARK = _MARK.replace("letter", "next_letter")
ITEM = re.compile(rf"\s*{_MARK}\s+")
ITEM_ALONE = re.compile(rf"\s*{_MARK}(?:\s+{_NEXT_MARK})*\s*")
# The number of a section before its sentence, which is told from a quantity by its tags.
_NUMBER = re.compile(r"\s*\d{1,3}(?:\.\d{1,3})*\.?\s*")
_SPACE = re.compile(r"\s+")
# A character as a document may write it: with an entity, escaped twice in XLIFF, with a backslash.
_CHARACTER = re.compile(r"&(?:amp;)?#?\w+;|\\h|\\[!-/:-@\[-`{-~]|(?s:.)")
# No mark with the space after it is written with more characters.
_LONGEST = 500


def split_marks(pieces: Sequence[MarkedPiece]) -> tuple[MarkedText, MarkedText]:
    """The marks at the beginning of a text, each with the space after it, and the rest.

    >>> split_marks((Text("(a) (i) the name"),))
    ((Text(text='(a) ', raw=None), Text(text='(i) ', raw=None)), (Text(text='the name', raw=None),))
    """
    marks: list[MarkedPiece] = []
    rest = tuple(pieces)
    last = ""
    while found := _first_mark(rest):
        mark, following = found
        written = plain_text(mark).strip()
        # Of `3. 10. 2020` the second number belongs to a date.
        if not following or (last.endswith(".") and written.endswith(".")):
            break
        marks += mark
        rest, last = following, written
    return tuple(marks), rest


def _first_mark(pieces: MarkedText) -> tuple[MarkedText, MarkedText] | None:
    """The first mark with the space after it, and what follows; None: there is no mark."""
    if pieces and isinstance(pieces[0], Text):
        return _cut(pieces, ITEM)
    length = _length_of_tagged(pieces)
    if not length:
        return None
    mark, rest = pieces[:length], pieces[length:]
    space, following = _cut(rest, _SPACE) or ((), rest)
    if ITEM_ALONE.fullmatch(plain_text(mark)):
        return (*mark, *space), following
    start = plain_text(following)
    begins = start[:1].isupper() or ITEM.match(start)
    return ((*mark, *space), following) if space and begins else None


def _length_of_tagged(pieces: MarkedText) -> int:
    """How many pieces a mark or number with tags around it has at the beginning; 0: none."""
    depth = 0
    while depth < len(pieces) and _is_tag(pieces[depth], "open"):
        depth += 1
    length = 2 * depth + 1
    if not depth or length > len(pieces):
        return 0
    text = plain_text(pieces[depth : depth + 1])
    is_closed = all(_is_tag(piece, "close") for piece in pieces[depth + 1 : length])
    is_mark = ITEM_ALONE.fullmatch(text) or _NUMBER.fullmatch(text)
    return length if is_closed and is_mark else 0


def _is_tag(piece: MarkedPiece, kind: str) -> bool:
    return isinstance(piece, Tag) and piece.kind == kind


def _cut(pieces: MarkedText, pattern: re.Pattern[str]) -> tuple[MarkedText, MarkedText] | None:
    """The pieces, cut behind what a pattern finds at the beginning of the first one."""
    first = pieces[0] if pieces else None
    if not isinstance(first, Text) or not (found := pattern.match(first.text)):
        return None
    raw = first.text if first.raw is None else first.raw
    end = found.end() if first.raw is None else _end_in(raw, pattern, found[0])
    text, raw_rest = first.text[found.end() :], raw[end:]
    if not end or bool(text) != bool(raw_rest):
        return None
    rest = (Text(text, None if text == raw_rest else raw_rest),) if text else ()
    return (Text(raw[:end]),), (*rest, *pieces[1:])


def _end_in(raw: str, pattern: re.Pattern[str], words: str) -> int:
    """Where what a pattern finds ends in a text as it is written; 0: it is not found there."""
    text = ""
    ends: list[int] = []
    for match in _CHARACTER.finditer(raw[:_LONGEST]):
        written = match[0]
        if written == "\\h":
            character = "\u00a0"
        elif written[0] == "\\":
            character = written[-1]
        else:
            character = unescape(written.replace("&amp;", "&", 1) if written[1:] else written)
        text += character
        ends += [match.end()] * len(character)
    found = pattern.match(text)
    return ends[found.end() - 1] if found and found[0].split() == words.split() else 0
