"""Deleted words of HTML, `<del>`, which are no part of the sentence that they stand in."""

from collections.abc import Iterator

from nmt_cli.data.languages.word_characters import is_word_character
from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Tag, Text, raw_text
from nmt_cli.data.markup.pairs import tag_pairs
from nmt_cli.documents.document import has_words
from nmt_cli.documents.template import Template, Write

_DELETED = "del"


def with_deletions_apart(
    template: Template, pieces: MarkedText, place: str, write: Write
) -> MarkedText:
    """The pieces, where each deletion within a sentence is one tag.

    Its words are a segment of their own: together with those in their place they would make no
    sentence, `<del>two</del> <ins>three</ins> dogs`. A part of a word is kept as it is.
    """
    spans = list(_deletions(pieces))
    deleted = {index for begin, last in spans for index in range(begin, last + 1)}
    rest = tuple(piece for index, piece in enumerate(pieces) if index not in deleted)
    if not spans or not has_words(rest):
        return pieces
    result: list[MarkedPiece] = []
    end = 0
    for begin, last in spans:
        raw, opening, closing = (
            raw_text(part)
            for part in (pieces[begin : last + 1], pieces[begin : begin + 1], pieces[last:][:1])
        )
        if not _is_in_word(pieces, begin, last) and raw not in template.tags:
            template.add_tag(raw, opening, pieces[begin + 1 : last], closing, place, write)
        result += [*pieces[end:begin], Tag(raw, "empty", _DELETED)]
        end = last + 1
    return (*result, *pieces[end:])


def _deletions(pieces: MarkedText) -> Iterator[tuple[int, int]]:
    """The first and the last piece of each deletion, none of which is in another one."""
    if not any(isinstance(piece, Tag) and piece.name == _DELETED for piece in pieces):
        return
    end = -1
    for begin, last in tag_pairs(pieces).items():
        opening = pieces[begin]
        if begin > end and isinstance(opening, Tag) and opening.name == _DELETED:
            yield begin, last
            end = last


def _is_in_word(pieces: MarkedText, begin: int, last: int) -> bool:
    """Whether a letter next to a pair belongs to the same word."""
    before = pieces[begin - 1] if begin else None
    after = pieces[last + 1] if last + 1 < len(pieces) else None
    return (isinstance(before, Text) and is_word_character(before.text[-1:])) or (
        isinstance(after, Text) and is_word_character(after.text[:1])
    )
