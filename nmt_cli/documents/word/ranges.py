"""Ranges of a Word document, such as bookmarks and comments: two elements around its words."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Tag, Text
from nmt_cli.data.markup.pairs import tag_pairs, with_pairs_only
from nmt_cli.documents.list_marks import begins_with_mark
from nmt_cli.documents.word.package import Element

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# Such as `bookmarkStart` and `bookmarkEnd`, `commentRangeStart` and `commentRangeEnd`.
_END_OF_RANGE = re.compile(re.escape(WORD) + r"(?P<kind>\w+)(?P<end>Start|End)")
# What the names of tags of ranges begin with.
_RANGE = "w:range "


def end_of_range(element: Element, scope: str) -> tuple[str, str] | None:
    """`open` or `close` with the name of the range, if an element begins or ends one.

    scope: the link or the like that it stands in, as no pair begins in one and ends in another.
    """
    found = _END_OF_RANGE.fullmatch(element.tag) if isinstance(element.tag, str) else None
    number = element.get(f"{WORD}id")
    if found is None or number is None:
        return None
    kind = "open" if found["end"] == "Start" else "close"
    return kind, f"{_RANGE}{found['kind']}#{number}{scope}"


def is_comment_mark(run: Element) -> bool:
    """Whether a run is the mark of a comment, which stands behind the end of its words."""
    content = [child.tag for child in run if child.tag != f"{WORD}rPr"]
    return content == [f"{WORD}commentReference"]


def is_range(piece: MarkedPiece) -> bool:
    """Whether a piece is the beginning or the end of a range."""
    return isinstance(piece, Tag) and piece.name.startswith(_RANGE)


def with_ranges(pieces: Sequence[MarkedPiece]) -> MarkedText:
    """The pieces, in which the ends of ranges that cannot go around their words stand alone.

    These are ranges that cross other ones or go on elsewhere, and those that begin before the mark
    of a list item, which is kept at its place.
    """
    paired = with_pairs_only(pieces)
    alone = without_ranges(paired)
    if alone == paired or not begins_with_mark(alone):
        return paired
    result = list(paired)
    first = next((index for index, piece in enumerate(paired) if isinstance(piece, Text)), 0)
    for begin, end in tag_pairs(paired).items():
        if begin < first and is_range(paired[begin]):
            result[begin], result[end] = alone[begin], alone[end]
    return tuple(result)


def without_ranges(pieces: Sequence[MarkedPiece]) -> MarkedText:
    """The pieces, in which the ends of all ranges stand alone."""
    return tuple(_alone(piece) if is_range(piece) else piece for piece in pieces)


def _alone(piece: MarkedPiece) -> MarkedPiece:
    return replace(piece, kind="empty") if isinstance(piece, Tag) else piece


def nested(pieces: Sequence[MarkedPiece]) -> list[MarkedPiece]:
    """The pieces, where ranges that begin or end side by side do so in the order of a nest."""
    result = list(pieces)
    for kind, other in (("open", "close"), ("close", "open")):
        partners = {
            piece.name: index
            for index, piece in enumerate(result)
            if isinstance(piece, Tag) and piece.kind == other
        }
        _sort_runs(result, kind, partners)
    return result


def _sort_runs(pieces: list[MarkedPiece], kind: str, partners: Mapping[str, int]) -> None:
    """Sort ends of ranges of this kind that stand side by side: first that with the last partner.

    So the range that ends last begins first, and that which begins last ends first.
    """
    begin = 0
    while begin < len(pieces):
        run: list[Tag] = []
        for piece in pieces[begin:]:
            if not (isinstance(piece, Tag) and is_range(piece) and piece.kind == kind):
                break
            run.append(piece)
        run.sort(key=lambda tag: partners.get(tag.name, -1), reverse=True)
        pieces[begin : begin + len(run)] = run
        begin += len(run) + 1
