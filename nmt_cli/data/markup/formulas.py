"""Formulas with subscripts in HTML, `H<sub>2</sub>O`, each of which is one word that is kept."""

import re
from collections.abc import Sequence

from nmt_cli.data.markup.marked_text import (
    MarkedPiece,
    MarkedText,
    Placeholder,
    Tag,
    Text,
    raw_text,
)

_SYMBOLS = r"(?:[A-Z][a-z]?)+"
# What stands before the first subscript: symbols of elements, or the letter of a variable.
_HEAD = re.compile(rf"(?<!\w)(?:\d{{0,3}}{_SYMBOLS}(?:\({_SYMBOLS}\))?|[A-Za-z\u0391-\u03c9])\Z")
# What stands between two subscripts, and behind the last one.
_BETWEEN = re.compile(rf"\)?\(?(?:{_SYMBOLS})?\)?")
_TAIL = re.compile(rf"{_SYMBOLS}(?!\w)")
# `\ufffc` stands for an element of XLIFF.
_SCRIPT = re.compile(r"[^\s<>\ufffc]{1,8}")
# A formula with its brackets is no longer before its first subscript.
_LONGEST_HEAD = 40


def with_formulas(pieces: Sequence[MarkedPiece]) -> MarkedText:
    """The pieces, where each formula with subscripts is a placeholder.

    >>> sub = Tag("<sub>", "open", "sub"), Text("2"), Tag("</sub>", "close", "sub")
    >>> with_formulas((Text("the CO"), *sub, Text(" tax")))[1:]
    (Placeholder(raw='CO<sub>2</sub>'), Text(text=' tax', raw=None))
    """
    if not any(isinstance(piece, Tag) and piece.name == "sub" for piece in pieces):
        return tuple(pieces)
    result: list[MarkedPiece] = []
    rest = list(reversed(pieces))
    while rest:
        head = _head(result) if _is_script(rest, ("sub",)) else ""
        if not head:
            result.append(rest.pop())
            continue
        formula = head + _taken(rest)
        _cut_end(result, len(head))
        if formula.count(")") > formula.count("(") and _ends_with_bracket(result):
            _cut_end(result, 1)
            formula = f"({formula}"
        result.append(Placeholder(formula))
    return tuple(result)


def _is_script(rest: Sequence[MarkedPiece], names: Sequence[str]) -> bool:
    """Whether a short subscript or superscript comes next; rest: the next pieces, in reverse."""
    if len(rest) < 3:
        return False
    opening, content, closing = rest[-1], rest[-2], rest[-3]
    return (
        isinstance(opening, Tag)
        and isinstance(content, Text)
        and isinstance(closing, Tag)
        and (opening.kind, closing.kind) == ("open", "close")
        and opening.name == closing.name
        and opening.name in names
        and bool(_SCRIPT.fullmatch(content.text))
    )


def _head(before: Sequence[MarkedPiece]) -> str:
    """The beginning of a formula at the end of these pieces, "" if there is none."""
    last = before[-1] if before else None
    if not isinstance(last, Text):
        return ""
    found = _HEAD.search(last.text[-_LONGEST_HEAD:])
    return found[0] if found and raw_text((last,)).endswith(found[0]) else ""


def _taken(rest: list[MarkedPiece]) -> str:
    """The scripts of a formula and what stands between them, taken from the next pieces."""
    taken = ""
    while _is_script(rest, ("sub", "sup")):
        taken += raw_text([rest.pop() for _ in range(3)])
        following = rest[-1] if rest else None
        if not isinstance(following, Text):
            continue
        raw = raw_text((following,))
        if _is_script(rest[:-1], ("sub", "sup")) and _BETWEEN.fullmatch(raw):
            taken += raw
            rest.pop()
        elif tail := _TAIL.match(raw):
            taken += tail[0]
            rest.pop()
            if tail.end() < len(raw):
                rest.append(_without(following, 0, tail.end()))
    return taken


def _ends_with_bracket(pieces: Sequence[MarkedPiece]) -> bool:
    return bool(pieces) and isinstance(pieces[-1], Text) and raw_text(pieces[-1:])[-1] == "("


def _cut_end(pieces: list[MarkedPiece], length: int) -> None:
    """Take so many characters from the end of the last piece, and the piece if none are left."""
    last = pieces.pop()
    assert isinstance(last, Text)
    if length < len(last.text):
        pieces.append(_without(last, length, 0))


def _without(text: Text, at_end: int, at_begin: int) -> Text:
    """A text without characters at its ends, which are written as they are."""
    raw = text.raw
    shown = text.text[at_begin : len(text.text) - at_end]
    return Text(shown, None if raw is None else raw[at_begin : len(raw) - at_end])
