"""Splits long lines into pieces for a model: at sentence ends, else clauses, else spaces."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

# Where a line may be split, best positions first; the split is after the match.
CUTS = (
    # A match begins only at the first mark of a run, so that a hundred thousand dots are scanned
    # once.
    re.compile(r"(?<![.!?…؟।])[.!?…؟।]++[\"'»”’)\]]*+\s+|[。！？｡]+[」』”’）]*\s*"),
    re.compile(r"[,;:،؛]\s+|\s[-–—]\s+|[、，；：]\s*"),
    re.compile(r"\s+"),
)
# Models translate single sentences best, so sentences are joined only up to this share of the
# longest piece.
JOINED_SHARE = 0.25

Count = Callable[[Sequence[str]], list[int]]


class Piece(NamedTuple):
    """A part of a line.

    glue: what joins it to the next piece: white space, or "" inside a word and between sentences
    that have no space between them. ends_sentence: whether a sentence ends with it.
    """

    text: str
    glue: str
    ends_sentence: bool = False


def split_line(text: str, count: Count, longest: int) -> list[Piece]:
    """Split `text` into pieces of at most `longest` subwords, counted by `count`.

    No text is lost. The time is linear in the length of the text.
    """
    return [piece for piece in _split(text, count, longest, level=0) if piece.text]


def _split(text: str, count: Count, longest: int, level: int) -> Iterator[Piece]:
    total = count([text])[0]
    if total <= longest:
        yield Piece(text.strip(), " ")
    elif level == len(CUTS):
        yield from _split_characters(text, count, longest, total)
    else:
        for part in _join_parts(
            text, CUTS[level], count, longest if level else longest * JOINED_SHARE
        ):
            yield from _split(part, count, longest, level + 1)


def _join_parts(text: str, cut: re.Pattern[str], count: Count, room: float) -> Iterator[str]:
    """Yield neighbouring parts of `text`, joined as long as they fit into `room` subwords."""
    ends = [match.end() for match in cut.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    starts = [0, *ends[:-1]]
    parts = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    begin, size = 0, 0
    for start, tokens in zip(starts, count(parts), strict=True):
        if size and size + tokens > room:
            yield text[begin:start]
            begin, size = start, 0
        size += tokens
    yield text[begin:]


def _split_characters(text: str, count: Count, longest: int, total: int) -> Iterator[Piece]:
    """Split between characters, but not before a combining one: used where nothing else fits."""
    size = max(1, len(text) * longest // total)
    parts, begin = [], 0
    while begin < len(text):
        end = begin + size
        while end < min(len(text), begin + 2 * size) and _combines(text, end, begin):
            end += 1
        parts.append(text[begin:end])
        begin = end
    if parts == [text] and len(text) > 1:
        # Characters that belong together are longer than a piece may be.
        parts = [text[: len(text) // 2], text[len(text) // 2 :]]
    for part, tokens in zip(parts, count(parts), strict=True):
        if tokens > longest and len(part) > 1:
            yield from _split_characters(part, count, longest, 2 * tokens)
        else:
            yield Piece(part, "")


def _combines(text: str, index: int, begin: int = 0) -> bool:
    """Return whether the character at `index` combines with the one before it.

    This holds for accents and for the parts of emoji and flags. begin: the index where the first
    flag may begin if there are several in a row.

    >>> [_combines("e\u0301 \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", i) for i in range(1, 7)]
    [True, False, False, True, False, True]
    """
    before, character = text[index - 1], text[index]
    if _is_half_flag(character) and _is_half_flag(before):
        start = index
        while start > begin and _is_half_flag(text[start - 1]):
            start -= 1
        return (index - start) % 2 == 1
    return (
        unicodedata.category(character).startswith("M")
        or "\u200d" in (before, character)
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _is_half_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
