"""Which opening tag belongs to which closing tag."""

from collections.abc import Sequence
from dataclasses import replace

from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Tag


def tag_pairs(pieces: Sequence[MarkedPiece]) -> dict[int, int]:
    """The index of each opening tag with that of its closing tag; tags without a partner are left
    out, and so are tags that are closed in the wrong order.

    >>> tag_pairs([Tag("<b>", "open", "b"), Tag("<i>", "open", "i"), Tag("</b>", "close", "b")])
    {0: 2}
    """
    pairs: dict[int, int] = {}
    opened: list[int] = []
    names: dict[str, int] = {}
    for index, piece in enumerate(pieces):
        if not isinstance(piece, Tag):
            continue
        if piece.kind == "open":
            opened.append(index)
            names[piece.name] = names.get(piece.name, 0) + 1
        elif piece.kind == "close" and names.get(piece.name):
            while opened:
                last = opened.pop()
                tag = pieces[last]
                assert isinstance(tag, Tag)
                names[tag.name] -= 1
                if tag.name == piece.name:
                    pairs[last] = index
                    break
    return dict(sorted(pairs.items()))


def with_pairs_only(pieces: Sequence[MarkedPiece]) -> MarkedText:
    """The pieces, where tags without a partner stand alone."""
    pairs = tag_pairs(pieces)
    paired = {*pairs, *pairs.values()}
    surrounding = [index for index, piece in enumerate(pieces) if _surrounds(piece)]
    if len(paired) == len(surrounding):
        return tuple(pieces)
    return tuple(
        replace(piece, kind="empty")
        if isinstance(piece, Tag) and _surrounds(piece) and index not in paired
        else piece
        for index, piece in enumerate(pieces)
    )


def _surrounds(piece: MarkedPiece) -> bool:
    return isinstance(piece, Tag) and piece.kind != "empty"
