"""Numerals that are no digits with places: those of Ethiopic are read, others are recognised."""

import re
import unicodedata
from functools import cache

# One to nine, ten to ninety, a hundred and ten thousand.
_ONE, _TEN, _HUNDRED, _MYRIAD = "\u1369", "\u1372", "\u137b", "\u137c"
_SIGNS = re.compile("[\u1369-\u137c]+")
_BELOW_HUNDRED = "[\u1372-\u137a]?[\u1369-\u1371]?"
_BELOW_MYRIAD = rf"(?:{_BELOW_HUNDRED}{_HUNDRED})?{_BELOW_HUNDRED}"
_NUMBER = re.compile(rf"(?:{_BELOW_MYRIAD}{_MYRIAD})*{_BELOW_MYRIAD}")


def with_ethiopic_read(text: str) -> str:
    """The text with 0 to 9 in place of Ethiopic numbers; those that are not well formed stay.

    >>> with_ethiopic_read("በ፲፱፻፺፩ ዓ.ም., ፵፱፻፵፯፡ሰዎች"), with_ethiopic_read("፩፪")
    ('በ1991 ዓ.ም., 4947፡ሰዎች', '፩፪')
    """
    return _SIGNS.sub(_read, text)


def has_unread_numerals(text: str) -> bool:
    """Whether a text has numerals for ten and more that are neither digits nor read.

    Circled and Roman numbers of one character are others, whose digits or letters are compared.

    >>> [has_unread_numerals(text) for text in ("௪௲௯௱", "፩፪", "4947 ⑩ Ⅻ ½ 十", "४९")]
    [True, True, False, False]
    """
    return not text.isascii() and any(map(_is_unread, set(text)))


def _read(signs: re.Match[str]) -> str:
    """The digits of an Ethiopic number; the signs themselves if it is not well formed."""
    if not _NUMBER.fullmatch(signs[0]):
        return signs[0]
    # The value up to the last sign for ten thousand, and the number that follows it.
    myriads = below = 0
    for sign in signs[0]:
        if sign == _MYRIAD:
            myriads, below = (myriads + below or 1) * 10_000, 0
        elif sign == _HUNDRED:
            below = (below or 1) * 100
        elif sign >= _TEN:
            below += 10 * (ord(sign) - ord(_TEN) + 1)
        else:
            below += ord(sign) - ord(_ONE) + 1
    return str(myriads + below)


@cache
def _is_unread(character: str) -> bool:
    if _SIGNS.match(character):
        return True
    # Ideographs such as those for ten are words, too.
    is_sign = unicodedata.category(character) in ("No", "Nl")
    if not is_sign or unicodedata.decomposition(character):
        return False
    return unicodedata.numeric(character, 0) >= 10
