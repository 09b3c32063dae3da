"""Finds numbers that stand in the place of others with the same digits: 25 for 2.5, 12 for 1/2."""

import re
from collections import Counter

from nmt_cli.data.cleaning.numbers.notation import DIGITS, SEPARATOR, value_of

# As NUMBER, with fractions.
_NUMBER = re.compile(rf"\d+(?:(?:{SEPARATOR}|/)\d+)*")
# Years are said again in place of a date, and 100 in French per cent: `100 p. 100`.
_LENGTHS, _OFTEN_REPEATED = (2, 3), ("100", "00", "000")


def numbers_are_mistaken(src: str, tgt: str) -> bool:
    """Return whether a number has become another one that its side has, too.

    >>> numbers_are_mistaken("2/5 every 25 hours", "25 toutes les 2 heures")
    True
    >>> numbers_are_mistaken("1/2 every 12 hours", "12 toutes les 12 heures")
    True
    >>> numbers_are_mistaken("2.5 and 25", "2,5 et 25")
    False
    """
    return _has_lost_sign(src, tgt) or _has_lost_sign(tgt, src) or _is_said_for_another(src, tgt)


def _has_lost_sign(side: str, other: str) -> bool:
    """Whether a side has a number of several groups, and one of the same digits without a sign.

    The other side has them less often.
    """
    numbers, others = _NUMBER.findall(side), _NUMBER.findall(other)
    divided = [number for number in numbers if not number.isdigit()]
    if not divided:
        return False
    counts, other_counts = (Counter(map(_digits, found)) for found in (numbers, others))
    values = set(map(value_of, others))
    return any(
        _digits(number) in numbers
        and other_counts[_digits(number)] < counts[_digits(number)]
        and value_of(number) not in values
        for number in divided
    )


def _is_said_for_another(src: str, tgt: str) -> bool:
    """Whether the translation has a number more often, and lacks another one altogether."""
    before, after = Counter(DIGITS.findall(src)), Counter(DIGITS.findall(tgt))
    return (
        any(
            len(number) in _LENGTHS and number not in _OFTEN_REPEATED and count > before[number] > 0
            for number, count in after.items()
        )
        and not before.keys() <= after.keys()
    )


def _digits(number: str) -> str:
    return "".join(DIGITS.findall(number))
