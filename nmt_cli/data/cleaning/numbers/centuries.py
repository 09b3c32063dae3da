"""Reads centuries that one side names by their first year: the 1800s, das 19. Jahrhundert."""

import re

from nmt_cli.data.cleaning.numbers.notation import DIGITS
from nmt_cli.data.cleaning.numbers.roman import as_roman, romans

_HUNDREDS = re.compile(
    r"(?<![\d.,])(?:1\d|20)00(?=(?:['’]?s|er)(?![^\W_]))"
    r"|(?:(?<=années )|(?<=años ))(?:1\d|20)00(?!\d)"
)
_CENTURY = re.compile(
    r"jahrhundert|\bjh(?![^\W_])|\bcentur|\bsiècles?\b|\bsiglos?\b", re.IGNORECASE
)


def with_centuries(text: str, other: str) -> str:
    """The text with the number of a century that the other side has, in place of its first year.

    >>> with_centuries("in the 1700s and 1800's", "im 18. und 19. Jahrhundert")
    "in the 18s and 19's"
    >>> with_centuries("Lieder der 1800er", "les chansons du XIXe siècle")
    'Lieder der XIXer'
    >>> with_centuries("in the 1800s", "im 18. Jahrhundert")
    'in the 1800s'
    """
    if "00" not in text or not _HUNDREDS.search(text) or not _CENTURY.search(other):
        return text
    numbers = {*DIGITS.findall(other), *romans(other)}

    def as_other(match: re.Match[str]) -> str:
        century = str(int(match[0][:2]) + 1)
        return next((form for form in (century, as_roman(century)) if form in numbers), match[0])

    return _HUNDREDS.sub(as_other, text)
