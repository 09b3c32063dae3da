"""Finds text that has almost none of the function words of the language that it should be in.

It may be in any other language, unlike text that is recognised by the words of its own.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from nmt_cli.data.languages.words import function_words

# Lines with so many words in lower case are looked at, if there are so many: names of places and
# titles have no function words, nor have lists of them.
LEAST_WORDS, LEAST_LINES = 4, 100
# In 100 such lines in a row of clean text in English, French and German, a quarter and more have a
# function word; the fewest are lists of chemical names.
LEAST_SHARE = 0.15
_LETTERS = re.compile(r"[^\W\d_]+")


class MissingWords(NamedTuple):
    """Lines of several words: how many have a function word of the language, of how many."""

    found: int
    lines: int


def missing_words(lines: Iterable[str], code: str) -> MissingWords | None:
    """The counts if almost none of the lines has a function word of the language `code`.

    None if some have, if there are too few lines of several words, or if the words of the language
    are not known. Diacritics do not matter.

    >>> missing_words(["Mũrĩmi mũerũ aramenya mũana mũnini"] * 100, "en")
    MissingWords(found=0, lines=100)
    >>> missing_words(["The new farmer knows this small child"] * 100, "en")
    >>> missing_words(["Lac sans nom, rivière sans nom"] * 99, "en")
    """
    words = {_without_marks(word) for word in function_words(code)}
    if not words:
        return None
    found = total = 0
    for line in lines:
        line_words = _LETTERS.findall(_without_marks(line))
        if sum(word[0].islower() for word in line_words) >= LEAST_WORDS:
            total += 1
            found += not words.isdisjoint(map(str.lower, line_words))
    is_missing = total >= LEAST_LINES and found < LEAST_SHARE * total
    return MissingWords(found, total) if is_missing else None


def _without_marks(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(char for char in decomposed if not unicodedata.combining(char))
