"""Where the words of a text stand in what a document has, which breaks its lines elsewhere.

A paragraph of Markdown is one text, whose lines may begin with `>` or with spaces.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nmt_cli.data.markup.html_tags import Mark, Resolved, resolved
from nmt_cli.data.markup.marked_text import MarkedPiece, Placeholder, Text

_WORD = re.compile(r"\S+")
_QUOTE = re.compile(r">+")


class _Word(NamedTuple):
    """A word of the text from `begin` to `end`.

    places: where its characters begin in the document, and where the last one ends.
    """

    begin: int
    end: int
    places: Sequence[int]


def split_wrapped(text: str, raw: str, marks: Sequence[Mark]) -> list[MarkedPiece] | None:
    r"""The pieces of a text with these marks; None where its words are not those of `raw`.

    >>> mark = Mark(4, 7, Text("--x"))
    >>> split_wrapped("Now --x is", "Now\n> --x is", [mark])
    [Text(text='Now ', raw='Now\n> '), Text(text='--x', raw=None), Text(text=' is', raw=' is')]
    """
    words = _words(text, resolved(raw))
    if words is None:
        # `&nbsp;` is no space where a format has no entities.
        words = _words(text, Resolved(raw, range(len(raw) + 1)))
    if words is None:
        return None
    pieces: list[MarkedPiece] = []
    end, at = 0, 0
    for mark in marks:
        spans = _place(words, mark.begin, mark.end)
        if spans is None:
            continue
        written = raw[slice(*spans)]
        is_as_written = isinstance(mark.piece, Placeholder) and "\n" not in written
        piece = Placeholder(written) if is_as_written else mark.piece
        pieces += [*_text(text[end : mark.begin], raw[at : spans[0]]), piece]
        end, at = mark.end, spans[1]
    return [*pieces, *_text(text[end:], raw[at:])]


def _text(text: str, raw: str) -> Iterator[Text]:
    if text or raw:
        yield Text(text, raw)


def _words(text: str, document: Resolved) -> list[_Word] | None:
    """The words that the document writes as they are; None if one of both has more words.

    Beside such a word there may be more, such as a sign that makes `*` a letter.
    """
    own, written = list(_WORD.finditer(text)), list(_WORD.finditer(document.text))
    if len(own) != len(written):
        written = [word for word in written if not _QUOTE.fullmatch(word[0])]
    if len(own) != len(written):
        return None
    words = []
    for word, other in zip(own, written, strict=True):
        index = other[0].find(word[0])
        if index >= 0:
            at = other.start() + index
            places = document.places[at : at + len(word[0]) + 1]
            words.append(_Word(word.start(), word.end(), places))
    return words


def _place(words: Sequence[_Word], begin: int, end: int) -> tuple[int, int] | None:
    """Where these characters of the text stand in the document, if that is known."""
    ends = []
    for position in (begin, end - 1):
        index = bisect_right(words, position, key=lambda word: word.begin) - 1
        if index < 0 or position >= words[index].end:
            return None
        word = words[index]
        ends.append(word.places[position - word.begin : position - word.begin + 2])
    return ends[0][0], ends[1][1]
