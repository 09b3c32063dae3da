"""Finds sides that hold several translations of the other side: `He comes. / He is coming.`."""

import re

SEPARATOR = re.compile(" / ")
_ENDS_SENTENCE = re.compile(r"[.!?…。؟।]\W*$")
_FIRST_SIGN = re.compile(r"\w")
# Each translation has so many words, and is at most so many times as long as the shortest one. All
# together are at least so many times as long as the other side.
MIN_WORDS, MAX_RATIO, MIN_EXCESS = 3, 3.0, 1.4


def has_alternatives(src: str, tgt: str) -> bool:
    """Return whether one of two sides has several sentences between slashes, and the other one.

    Words between slashes, which both sides may have as one (and / or), are no sentences.

    >>> has_alternatives("He comes home. / He is coming home.", "Il rentre chez lui.")
    True
    >>> has_alternatives("A house / a home", "Ein Haus"), has_alternatives("A. / B.", "A.")
    (False, False)
    """
    return any(
        "/" not in other
        and len(side) >= MIN_EXCESS * len(other)
        and _are_sentences(side.split(" / "))
        for side, other in ((src, tgt), (tgt, src))
    )


def _are_sentences(parts: list[str]) -> bool:
    """Whether these are similar sentences: each begins alike, and all or none end with a mark."""
    lengths = [len(part) for part in parts]
    words = min(len(part.split()) for part in parts)
    if len(parts) < 2 or words < MIN_WORDS or max(lengths) > MAX_RATIO * min(lengths):
        return False
    ends = {_ENDS_SENTENCE.search(part) is not None for part in parts}
    return len(ends) == 1 and all(map(_begins_sentence, parts))


def _begins_sentence(part: str) -> bool:
    first = _FIRST_SIGN.search(part)
    return first is not None and first[0].isalpha() and not first[0].islower()
