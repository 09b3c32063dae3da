"""Joins names in marked texts whose placeholders were found before the names were known.

The name `NordPad v2.4.1` is one placeholder, although `v2.4.1` alone is another one.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby

from nmt_cli.data.markup.html_tags import Mark, unescaped
from nmt_cli.data.markup.kept import KeptNames
from nmt_cli.data.markup.marked_text import MarkedPiece, Placeholder, Tag, Text, raw_text


def with_whole_names(pieces: Sequence[MarkedPiece], names: KeptNames) -> Sequence[MarkedPiece]:
    """The pieces, where names that have placeholders within them are placeholders themselves.

    >>> pieces = Text("NordPad "), Placeholder("v2.4.1"), Text(" is new.")
    >>> with_whole_names(pieces, KeptNames(["NordPad v2.4.1"]))
    [Placeholder(raw='NordPad v2.4.1'), Text(text=' is new.', raw=None)]
    """
    if not names or not any(isinstance(piece, Placeholder) for piece in pieces):
        return pieces
    result: list[MarkedPiece] = []
    for is_tag, group in groupby(pieces, lambda piece: isinstance(piece, Tag)):
        run = list(group)
        result += run if is_tag else _joined(run, names)
    return result


def _joined(pieces: Sequence[MarkedPiece], names: KeptNames) -> Iterator[MarkedPiece]:
    """Pieces without tags between them, where each name with a placeholder is one piece."""
    raw = raw_text(pieces)
    ends = list(accumulate(len(raw_text([piece])) for piece in pieces))
    cuts: dict[int, list[Mark]] = defaultdict(list)
    for mark in names.find(raw):
        first, last = bisect_right(ends, mark.begin), bisect_left(ends, mark.end)
        rests = mark.begin - (ends[first - 1] if first else 0), ends[last] - mark.end
        if (
            first < last
            and _may_be_cut(pieces[first], rests[0])
            and _may_be_cut(pieces[last], rests[1])
        ):
            for index in range(first, last + 1):
                cuts[index].append(mark)
    for index, piece in enumerate(pieces):
        if index not in cuts:
            yield piece
            continue
        at, end = ends[index] - len(raw_text([piece])), ends[index]
        for mark in cuts[index]:
            if mark.begin >= at:
                yield from _text(raw[at : mark.begin], piece)
                yield mark.piece
            at = mark.end
        yield from _text(raw[at:end], piece)


def _text(raw: str, whole: MarkedPiece) -> list[Text]:
    """The rest of a piece that was cut."""
    if not raw:
        return []
    has_entities = isinstance(whole, Text) and whole.raw is not None
    return [Text(unescaped(raw), raw) if has_entities else Text(raw)]


def _may_be_cut(piece: MarkedPiece, rest: int) -> bool:
    """Whether a name may leave this many characters of a piece: of words, but not of others."""
    return not rest or (
        isinstance(piece, Text) and (piece.raw is None or unescaped(piece.raw) == piece.text)
    )
