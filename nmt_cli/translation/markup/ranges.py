"""What a translation has between two marks that stand alone: the words of ranges and of lines."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Tag, plain_text

# Names of tags that stand for a range with an identifier have it behind this character.
_IDENTIFIER = "#"
# The names of tags that break a line: of HTML, Markdown and Word.
_BREAKS = ("br", "hard", "w:br")


def in_order(
    source: Sequence[MarkedPiece], target: Sequence[MarkedPiece]
) -> tuple[MarkedText, bool]:
    """The translation in which no range ends before it begins, and whether one is not at its words.

    The ends of an inverted range change places. A range that has lost all words is not at them.

    >>> begin, end = Tag("<sc id='1'/>", "empty", "sc#1"), Tag("<ec id='1'/>", "empty", "sc#1")
    >>> pieces, moved = in_order((begin, end), (end, begin))
    >>> pieces == (begin, end), moved
    (True, True)
    """
    result = list(target)
    moved = False
    places, words = _places(source), _word_counts(source)
    target_places, target_words = _places(target), _word_counts(target)
    for begin, end in _ranges(source):
        first, last = target_places.get(begin, -1), target_places.get(end, -1)
        if min(first, last) < 0:
            continue
        if last < first:
            result[first], result[last] = end, begin
        had_words = words[places[begin]] < words[places[end]]
        has_words = target_words[min(first, last)] < target_words[max(first, last)]
        moved |= last < first or (had_words and not has_words)
    return tuple(result), moved


def has_lost_line(source: Sequence[MarkedPiece], target: Sequence[MarkedPiece]) -> bool:
    """Whether a translation has more lines without a word than its source, between its breaks.

    >>> from nmt_cli.data.markup.marked_text import Text
    >>> line_break = Tag("<br>", "empty", "br")
    >>> has_lost_line((Text("Yes"), line_break, Text("no")), (line_break, Text("oui non")))
    True
    """
    return _empty_lines(source) < _empty_lines(target)


def _empty_lines(pieces: Sequence[MarkedPiece]) -> int:
    lines = [""]
    for piece in pieces:
        if isinstance(piece, Tag) and piece.kind == "empty" and piece.name in _BREAKS:
            lines.append("")
        else:
            lines[-1] += plain_text((piece,))
    return sum(not any(map(str.isalnum, line)) for line in lines)


def _ranges(pieces: Sequence[MarkedPiece]) -> Iterator[tuple[Tag, Tag]]:
    """The two ends of each range whose tags stand alone."""
    ends: dict[str, list[Tag]] = {}
    for piece in pieces:
        if isinstance(piece, Tag) and piece.kind == "empty" and _IDENTIFIER in piece.name:
            ends.setdefault(piece.name, []).append(piece)
    for tags in ends.values():
        if len(tags) == 2 and tags[0] != tags[1]:
            yield tags[0], tags[1]


def _places(pieces: Sequence[MarkedPiece]) -> dict[MarkedPiece, int]:
    return {piece: index for index, piece in enumerate(pieces)}


def _word_counts(pieces: Sequence[MarkedPiece]) -> list[int]:
    """How many pieces with words stand before each one."""
    return [0, *accumulate(bool(plain_text((piece,)).strip()) for piece in pieces)]
