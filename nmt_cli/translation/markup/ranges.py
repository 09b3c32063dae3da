"""What a translation has between two marks that stand alone: the words of ranges and of lines."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from nmt_cli.data.markup.marked_text import MarkedPiece, MarkedText, Tag, plain_text

# Names of tags that stand for a range with an identifier have it behind this character.
_IDENTIFIER = "#"
# A line has got words of another one if its share of the letters is so many times as large or as
# small as in the source, and so many letters more or less. Of right translations of two lines of
# laws, one pair in a thousand has such a line.
_UNUSUAL_RATIO, _UNUSUAL_LETTERS = 3, 10


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


def has_mixed_lines(source: Sequence[MarkedPiece], target: Sequence[MarkedPiece]) -> bool:
    """Whether a line between the breaks has a very different share of the words than in the source.

    >>> from nmt_cli.data.markup.marked_text import Text
    >>> line_break = Tag("<br>", "empty", "br")
    >>> source = Text("The judge visits"), line_break, Text("the old court")
    >>> has_mixed_lines(source, (Text("Le"), line_break, Text("juge visite le vieux tribunal")))
    True
    """
    before, after = _letters_of_lines(source), _letters_of_lines(target)
    if len(before) != len(after) or not sum(before):
        return False
    scale = sum(after) / sum(before)
    return any(
        abs(expected - letters) >= _UNUSUAL_LETTERS
        and max(expected, letters) > _UNUSUAL_RATIO * min(expected, letters)
        for expected, letters in zip((scale * count for count in before), after, strict=True)
    )


def _empty_lines(pieces: Sequence[MarkedPiece]) -> int:
    return _letters_of_lines(pieces).count(0)


def _letters_of_lines(pieces: Sequence[MarkedPiece]) -> list[int]:
    """How many letters and digits each line between the breaks has."""
    lines = [0]
    for piece in pieces:
        if isinstance(piece, Tag) and piece.breaks_line:
            lines.append(0)
        else:
            lines[-1] += sum(map(str.isalnum, plain_text((piece,))))
    return lines


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
