"""Finds superscript and subscript numbers, such as those of m², CO₂ and footnotes."""

import re
import unicodedata
from collections import Counter

from nmt_cli.data.cleaning.numbers.notation import DIGITS

_RAISED_DIGITS = "²³¹⁰⁴-⁹₀-₉"
_LETTER = rf"[^\W\d_{_RAISED_DIGITS}]"
_WORDS = re.compile(rf"{_LETTER}+|\d+")
_RAISED = re.compile(f"[{_RAISED_DIGITS}]+")
# The word or number before it.
_BASE = re.compile(rf"(?:{_LETTER}+|\d+)\Z")
# Longer ones are found in part, which is enough to tell them from a symbol.
_LONGEST_BASE = 20
# Symbols of units and formulas are no longer; words may stand for them: square metre, dioxide.
MAX_SYMBOL_LETTERS = 2


def raised_numbers_differ(src: str, tgt: str) -> bool:
    """Return whether one side lacks a superscript or subscript number of the other.

    A plain number that the side has besides may stand for it, another word for a unit or formula.

    >>> [raised_numbers_differ("up to 65 m²", tgt) for tgt in ("65 m", "65 m2", "65 Quadratmeter")]
    [True, False, False]
    >>> [raised_numbers_differ("Minister²", tgt) for tgt in ("die Ministerin", "der Minister ²")]
    [True, False]
    >>> raised_numbers_differ("Minister² in section 2", "der Minister, Artikel 2")
    True
    >>> [raised_numbers_differ("CO₂ is", tgt) for tgt in ("CO ist", "CO2 ist", "Kohlendioxid")]
    [True, False, False]
    """
    return _lacks_raised(src, tgt) or _lacks_raised(tgt, src)


def _lacks_raised(text: str, other: str) -> bool:
    """Whether `other` lacks a superscript or subscript number of `text`."""
    if text.isascii():
        return False
    raised = _raised(text)
    if not raised:
        return False
    words = set(_WORDS.findall(other))
    raised_in_other = {number for _, number in _raised(other)}
    # Digits of a word, too: m2.
    here, there = Counter(DIGITS.findall(text)), Counter(DIGITS.findall(other))
    for base, number in raised:
        if number in raised_in_other or there[number] > here[number]:
            continue
        is_symbol = 0 < len(base) <= MAX_SYMBOL_LETTERS or base.isdecimal()
        if not is_symbol or base in words:
            return True
    return False


def _raised(text: str) -> list[tuple[str, str]]:
    """The superscript and subscript numbers: the word before each, and its plain digits."""
    raised = []
    for match in _RAISED.finditer(text):
        begin = match.start()
        base = _BASE.search(text, max(0, begin - _LONGEST_BASE), begin)
        raised.append((base[0] if base else "", with_plain_digits(match[0])))
    return raised


def with_plain_digits(text: str) -> str:
    """The text with 0 to 9 in place of superscript and subscript digits.

    >>> with_plain_digits("CO₂, 10⁶")
    'CO2, 106'
    """
    return _RAISED.sub(
        lambda raised: "".join(str(unicodedata.digit(sign)) for sign in raised[0]), text
    )
