"""Keeps placeholders that take their values by their order, such as `%s`, in that of the source.

In another order a program would crash or show its values in the wrong places.
"""

from collections import Counter
from collections.abc import Sequence

from nmt_cli.data.markup.inline import parse_line
from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Placeholder, raw_text
from nmt_cli.data.markup.placeholders import takes_next_value
from nmt_cli.translation.markup.carrier import Carrier
from nmt_cli.translation.markup.segments import Segment, copies_in


def with_values_in_order(
    pieces: MarkedText, source: Sequence[MarkedPiece]
) -> tuple[MarkedText, bool]:
    """The translation whose placeholders take the values of the source, and whether any was moved.

    >>> from nmt_cli.data.markup.marked_text import Text
    >>> source = (Placeholder("%d"), Text(" files of "), Placeholder("%s"))
    >>> target = (Placeholder("%s"), Text(": "), Placeholder("%d"), Text(" files"))
    >>> raw_text(with_values_in_order(target, source)[0])
    '%d: %s files'
    """
    wanted, found = _in_order(source), _in_order(pieces)
    if wanted == found or Counter(wanted) != Counter(found):
        return pieces, False
    following = iter(wanted)
    return tuple(next(following) if _has_order(piece) else piece for piece in pieces), True


def text_with_values_in_order(text: str, source: str) -> str:
    """The same for a sentence as it is written.

    >>> text_with_values_in_order("%s: %d files", "%d files of %s")
    '%d: %s files'
    """
    return raw_text(with_values_in_order(parse_line(text), parse_line(source))[0])


def are_values_swapped(carrier: Carrier, segments: Sequence[Segment]) -> bool:
    """Whether a translation has stand-ins of such placeholders in another order than the source.

    Where the placeholders are alike, their order looks right, but the words around them are wrong.
    """
    for segment in segments:
        begins = [
            copy.begin
            for copy in copies_in(carrier, segment)
            if copy is not None and takes_next_value(copy.raw)
        ]
        if begins != sorted(begins):
            return True
    return False


def _in_order(pieces: Sequence[MarkedPiece]) -> list[MarkedPiece]:
    return [piece for piece in pieces if _has_order(piece)]


def _has_order(piece: MarkedPiece) -> bool:
    return isinstance(piece, Placeholder) and takes_next_value(piece.raw)
