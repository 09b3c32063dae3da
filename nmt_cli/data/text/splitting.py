"""Long lines in pieces that a model can take: cut at sentences, else clauses, else spaces."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

# Where a line may be cut, best places first; the cut is behind the match.
CUTS = (
    # From the first mark of a row only: a hundred thousand dots are looked at once.
    re.compile(r"(?<![.!?…؟।])[.!?…؟।]++[\"'»”’)\]]*+\s+|[。！？｡]+[」』”’）]*\s*"),
    re.compile(r"[,;:،؛]\s+|\s[-–—]\s+|[、，；：]\s*"),
    re.compile(r"\s+"),
)
# Models translate single sentences best: several go together only while they are short.
SHORT = 0.25

Count = Callable[[Sequence[str]], list[int]]


class Piece(NamedTuple):
    """A part of a line, and what joins it to the next one: a space, or nothing inside a word."""

    text: str
    glue: str


def split_line(text: str, count: Count, longest: int) -> list[Piece]:
    """`text` in pieces of at most `longest` subwords, which `count` counts; nothing is left out.

    Its time grows with the length of the text and not faster.
    """
    pieces = list(_split(text, count, longest, level=0))
    return [one for one in pieces if one.text]


def _split(text: str, count: Count, longest: int, level: int) -> Iterator[Piece]:
    total = count([text])[0]
    if total <= longest:
        yield Piece(text.strip(), " ")
    elif level == len(CUTS):
        yield from _chop(text, count, longest, total)
    else:
        for part in _packed(text, CUTS[level], count, longest if level else longest * SHORT):
            yield from _split(part, count, longest, level + 1)


def _packed(text: str, cut: re.Pattern[str], count: Count, room: float) -> Iterator[str]:
    """Neighbouring parts of `text` put together as long as they fit into `room`."""
    ends = [match.end() for match in cut.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    starts = [0, *ends[:-1]]
    parts = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    begin, size = 0, 0
    for start, number in zip(starts, count(parts), strict=True):
        if size and size + number > room:
            yield text[begin:start]
            begin, size = start, 0
        size += number
    yield text[begin:]


def _chop(text: str, count: Count, longest: int, total: int) -> Iterator[Piece]:
    """Cut where no better place is: between characters, but not before one that combines."""
    size = max(1, len(text) * longest // total)
    parts, begin = [], 0
    while begin < len(text):
        end = begin + size
        while end < min(len(text), begin + 2 * size) and _joined(text, end, begin):
            end += 1
        parts.append(text[begin:end])
        begin = end
    if parts == [text] and len(text) > 1:
        # What belongs together is too long by itself.
        parts = [text[: len(text) // 2], text[len(text) // 2 :]]
    for part, number in zip(parts, count(parts), strict=True):
        if number > longest and len(part) > 1:
            yield from _chop(part, count, longest, 2 * number)
        else:
            yield Piece(part, "")


def _joined(text: str, place: int, begin: int = 0) -> bool:
    """Whether the character there belongs to the one before: accents, parts of emoji, of flags.

    begin: where a flag may begin, when there are several in a row.

    >>> [_joined("e\u0301 \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", one) for one in range(1, 7)]
    [True, False, False, True, False, True]
    """
    before, character = text[place - 1], text[place]
    if _is_half_flag(character) and _is_half_flag(before):
        row = place
        while row > begin and _is_half_flag(text[row - 1]):
            row -= 1
        return (place - row) % 2 == 1
    return (
        unicodedata.category(character).startswith("M")
        or "\u200d" in (before, character)
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _is_half_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
