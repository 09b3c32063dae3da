"""Small numbers as Roman numerals."""

import re

# The 19th century is le XIXe siècle.
_ROMAN = re.compile(r"(?<!\w)([XVI]{2,})(?![XVI])")
# A whole word that is a Roman numeral below 90.
NUMERAL = r"(?<!\w)(?=[IVXL])(?:XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?![\w'’])"
MAX_ROMAN, MAX_ROMAN_DIGITS = 39, 2


def as_roman(number: str) -> str:
    """The Roman numeral of a small number; "" for others.

    >>> [as_roman(number) for number in ("19", "24", "39", "40", "1.5")]
    ['XIX', 'XXIV', 'XXXIX', '', '']
    """
    if not number.isdecimal() or len(number) > MAX_ROMAN_DIGITS or int(number) > MAX_ROMAN:
        return ""
    tens, ones = divmod(int(number), 10)
    return "X" * tens + ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")[ones]


def romans(text: str) -> set[str]:
    """The Roman numerals of a text that are no single letter."""
    return set(_ROMAN.findall(text))
