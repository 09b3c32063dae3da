"""Tells text with words from numbers and signs, and marks from letters."""

import unicodedata


def has_letters(text: str) -> bool:
    """Return whether there is a letter of any script.

    >>> has_letters("9:00–18:00, 3.5 %"), has_letters("3 m"), has_letters("日")
    (False, True, True)
    """
    return any(map(str.isalpha, text))


def is_combining(character: str) -> bool:
    """Return whether it is an accent or vowel sign, which is written with the letter before it.

    >>> is_combining("\u0301"), is_combining("\u093f"), is_combining("é"), is_combining("")
    (True, True, False, False)
    """
    return bool(character) and unicodedata.category(character)[0] == "M"


def is_wordlike(character: str) -> bool:
    """Return whether it is a letter, a digit, or a combining mark, in any script.

    >>> [is_wordlike(each) for each in ("a", "\u093f", "-", "")]
    [True, True, False, False]
    """
    return character.isalnum() or is_combining(character)
