"""Elision: words of French, Italian and Catalan that lose their end before a vowel, as in `l'eau`.

An apostrophe stands between them and the next word, without a space.
"""

import re
import unicodedata

APOSTROPHES = "'’"
# ISO 639 codes of the languages that write it.
ELIDING_LANGUAGES = frozenset({"ca", "co", "fr", "it", "oc"})
# What is left of the words, in any of these languages.
_WORDS = (
    "l|d|s|n|m|t|c|j|v|qu|jusqu|lorsqu|puisqu|quoiqu|presqu|quelqu|"
    "un|dell|all|dall|nell|sull|coll|gl|degl|quell|quest|bell|sant|grand|tutt|com|cos|dov|anch|"
    "nessun|alcun|qualcun|ciascun|mezz|senz"
)
# An elided word with its apostrophe, as the source of a pattern that ignores case.
ELIDED_WORD = rf"(?<![^\W\d_])(?:{_WORDS})[{APOSTROPHES}]"
_ELIDED_WORD = re.compile(rf"\s*{ELIDED_WORD}", re.IGNORECASE)
_VOWELS = frozenset("aeiouyhœæ")


def elided_word(text: str) -> str:
    """The elided word at the beginning of a text, with spaces before it; "" where there is none.

    >>> elided_word(" l’eau"), elided_word("O'Brien")
    (' l’', '')
    """
    found = _ELIDED_WORD.match(text)
    return found[0] if found else ""


def begins_with_vowel(text: str) -> bool:
    """Whether words are elided before this one: a vowel with or without accents, `h` or `y`.

    >>> [begins_with_vowel(word) for word in ("École", "œil", "homme", "pain", "")]
    [True, True, True, False, False]
    """
    return unicodedata.normalize("NFKD", text[:1])[:1].lower() in _VOWELS if text else False
