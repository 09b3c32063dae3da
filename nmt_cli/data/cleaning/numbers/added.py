"""Finds numbers that a translation has besides those of its source: said twice, or made up."""

import re
from collections import Counter
from collections.abc import Sequence

from nmt_cli.data.cleaning.numbers.forms import HOURS
from nmt_cli.data.cleaning.numbers.notation import AMOUNT, DIGITS
from nmt_cli.data.cleaning.numbers.raised import with_plain_digits
from nmt_cli.data.cleaning.numbers.words import LANGUAGES, numbers_in_words
from nmt_cli.data.languages.words import base_code

# `40 dollars 40 dollars`, `7 to 7`, with a word between both at most.
_TWICE = re.compile(
    rf"(?<![\w.,:/(-])({AMOUNT})((?:[ \u00a0\u202f]?[^\W\d_]+)?)[,;]?[ \u00a0\u202f]"
    rf"(?:[^\W\d_]{{1,5}}[ \u00a0\u202f])?\1\2(?![\w/]|[.,:(-]\d)"
)
# Digits behind a word, in scripts that divide words by spaces: II5. Those of units and formulas may
# stand for words: m2, CO2, MP3.
_GLUED = re.compile(r"(?<![\w-])([A-Za-z\u00c0-\u024f\u0370-\u052f]+)(\d{1,9})(?![\w-])")
_SYMBOL = re.compile(r"(?![IVX]{2,}[23])[^\W\d_]{1,3}[23]")


def numbers_are_added(src: str, tgt: str, languages: Sequence[str]) -> bool:
    """Return whether a translation says a number twice in a row, or has one of its own in a word.

    >>> [numbers_are_added("for 40 dollars", tgt, ("en", "fr")) for tgt in (
    ...     "pour 40 dollars 40 dollars", "pour 40 dollars II5", "pour 40 dollars, 40 m2")]
    [True, True, False]
    >>> numbers_are_added("the seven of 40", "die G7 von 40", ("en", "de"))
    False
    """
    twice, glued = _TWICE.findall(tgt), _GLUED.findall(tgt)
    if not twice and not glued:
        return False
    said = Counter(map(int, DIGITS.findall(with_plain_digits(src))))
    said.update(number.value for number in numbers_in_words(src, languages[0]))
    shown = Counter(map(int, DIGITS.findall(tgt)))
    for number, _ in twice:
        if all(0 < said[group] < shown[group] for group in map(int, DIGITS.findall(number))):
            return True
    # In a language whose words are not known, a small number may be one.
    least = 0 if base_code(languages[0]) in LANGUAGES else HOURS
    return any(
        int(number) not in said and int(number) > least and not _SYMBOL.fullmatch(word + number)
        for word, number in glued
    )
