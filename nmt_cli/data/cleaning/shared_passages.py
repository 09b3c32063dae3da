"""Passages of a sentence that both sides have, which were not translated.

Lists of names are the same in many languages, so that most words of a passage are no names.
"""

import re

# A passage has so many characters and words at least, and this share of its words has no capital.
LEAST_CHARACTERS, LEAST_WORDS, LEAST_SMALL = 60, 8, 0.75
# A passage contains one of the pieces of this length that begin at each of its multiples.
_PIECE = LEAST_CHARACTERS // 3 * 2
_STEP = LEAST_CHARACTERS - _PIECE
_WORD = re.compile(r"[^\W\d_]+")


def has_shared_passage(src: str, tgt: str) -> bool:
    """Whether both sides, which are not equal, have the same long passage of words.

    >>> passage = "the little dog that was sleeping in the garden saw a cat on the wall"
    >>> has_shared_passage(f"He said: {passage}", f"Er sagte: {passage}.")
    True
    >>> has_shared_passage(passage, passage), has_shared_passage(passage, passage.title())
    (False, False)
    """
    if src == tgt or min(len(src), len(tgt)) < LEAST_CHARACTERS:
        return False
    begin = 0
    while begin + _PIECE <= len(src):
        there = tgt.find(src[begin : begin + _PIECE])
        if there < 0:
            begin += _STEP
            continue
        first, last = _extended(src, begin, tgt, there)
        if _is_passage(src[first:last]):
            return True
        begin = max(begin + _STEP, last)
    return False


def _extended(src: str, begin: int, tgt: str, there: int) -> tuple[int, int]:
    """Where the passage begins and ends in the source that has a piece at these places."""
    first, last = begin, begin + _PIECE
    offset = there - begin
    while first > 0 and first + offset > 0 and src[first - 1] == tgt[first + offset - 1]:
        first -= 1
    while last < len(src) and last + offset < len(tgt) and src[last] == tgt[last + offset]:
        last += 1
    return first, last


def _is_passage(text: str) -> bool:
    words = _WORD.findall(text)
    small = sum(not word[0].isupper() for word in words)
    is_long = len(text) >= LEAST_CHARACTERS and len(words) >= LEAST_WORDS
    return is_long and small >= LEAST_SMALL * len(words)
