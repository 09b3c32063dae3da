"""Tells text with words from numbers and signs."""


def has_letters(text: str) -> bool:
    """Return whether there is a letter of any script.

    >>> has_letters("9:00–18:00, 3.5 %"), has_letters("3 m"), has_letters("日")
    (False, True, True)
    """
    return any(map(str.isalpha, text))
