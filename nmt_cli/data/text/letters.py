"""Tells text with words from numbers and signs, and marks from letters."""

import unicodedata
from collections.abc import Iterable


def has_letters(text: str) -> bool:
    """Return whether there is a letter of any script.

    >>> has_letters("9:00–18:00, 3.5 %"), has_letters("3 m"), has_letters("日")
    (False, True, True)
    """
    return any(map(str.isalpha, text))


def count_letters(texts: Iterable[str]) -> int:
    """Return the number of letters of all texts.

    >>> count_letters(["a 12", "bc"])
    3
    """
    return sum(map(str.isalpha, "".join(texts)))


def are_mostly_letters(texts: Iterable[str]) -> bool:
    """Return whether texts together have more letters than digits, unlike dates and identifiers.

    >>> are_mostly_letters(["9 dogs", "a12"]), are_mostly_letters(["a12", "2026-01-02T10:00"])
    (True, False)
    """
    whole = "".join(texts)
    return count_letters([whole]) > sum(map(str.isdecimal, whole))


def is_combining(character: str) -> bool:
    """Return whether it is an accent or vowel sign, which is written with the letter before it.

    >>> is_combining("\u0301"), is_combining("\u093f"), is_combining("é"), is_combining("")
    (True, True, False, False)
    """
    return bool(character) and unicodedata.category(character)[0] == "M"


def is_wordlike(character: str) -> bool:
    """Return whether it is a letter, a digit, or a combining mark, in any script.

    >>> [is_wordlike(character) for character in ("a", "\u093f", "-", "")]
    [True, True, False, False]
    """
    return character.isalnum() or is_combining(character)
