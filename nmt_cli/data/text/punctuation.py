"""Normalises quotation marks, dashes and spaces as Moses does (`data.normalize`)."""

import functools
from collections.abc import Callable


@functools.lru_cache(maxsize=2)
def punctuation_normalizer(language: str) -> Callable[[str], str]:
    """Return the normaliser for text of a language. Spaces at the ends of a text stay.

    >>> punctuation_normalizer("en")(" the “old”  house – ")
    ' the "old" house - '
    """
    from sacremoses import MosesPunctNormalizer

    normalize = MosesPunctNormalizer(lang=language).normalize

    def normalized(text: str) -> str:
        words = text.strip(" ")
        if not words:
            return text
        start = len(text) - len(text.lstrip(" "))
        return f"{text[:start]}{normalize(words).strip()}{text[start + len(words) :]}"

    return normalized
