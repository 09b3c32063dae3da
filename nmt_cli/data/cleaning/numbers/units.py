"""Finds numbers that have the unit of another number."""

import re
from collections import Counter
from fractions import Fraction

from nmt_cli.data.cleaning.numbers.notation import (
    AMOUNT,
    AMOUNT_BEFORE,
    CURRENCY,
    GAP,
    MONEY,
    NUMBER,
    PERCENT,
    value_of,
)

# Units that are written alike in many languages.
_SYMBOL = (
    r"[%٪$€£]|(?:°[CF]?|[kcm]?m[²³23]?|km/h|[km]?g|[mhk]?[lL]|[kMG]?W|[kM]?Wh|[kMG]?Hz|k?V|[kM]?Pa)"
    r"(?![\w²³/-])"
)
_WITH_UNIT = re.compile(rf"({CURRENCY}){GAP}({AMOUNT})|{AMOUNT_BEFORE}({_SYMBOL})")


def units_are_swapped(src: str, tgt: str) -> bool:
    """Return whether a number has the unit of another one.

    >>> [units_are_swapped("$20 for 30 days", tgt) for tgt in (
    ...     "30 $ pour 20 jours", "20 $ pour 30 jours", "20 dollars pour 30 jours")]
    [True, False, False]
    >>> [units_are_swapped("$100, €200 and $300", tgt) for tgt in (
    ...     "100 €, 200 $ et 300 $", "300 $, 200 € et 100 $", "100 €, 200 € et 300 $")]
    [True, False, False]
    """
    return _have_other_units(src, tgt) or any(
        _has_number_of_another(pattern, src, tgt) for pattern in (MONEY, PERCENT)
    )


def _have_other_units(src: str, tgt: str) -> bool:
    """Whether the numbers with units are the same, and the units, but not which has which."""
    in_src = _with_units(src)
    if len({unit for _, unit in in_src}) < 2:
        return False
    in_tgt = _with_units(tgt)
    return in_src != in_tgt and all(
        Counter(pair[part] for pair in in_src.elements())
        == Counter(pair[part] for pair in in_tgt.elements())
        for part in (0, 1)
    )


def _with_units(text: str) -> Counter[tuple[Fraction, str]]:
    """How often each pair of a number and its unit occurs."""
    return Counter(
        (value_of(match[2] or match[3]), match[1] or match[4])
        for match in _WITH_UNIT.finditer(text)
    )


def _has_number_of_another(pattern: re.Pattern[str], src: str, tgt: str) -> bool:
    """Whether an amount of money, or a percentage, has the number of something else."""
    in_src, in_tgt = (
        {value_of(match[1] or match[pattern.groups]) for match in pattern.finditer(side)}
        for side in (src, tgt)
    )
    only_src, only_tgt = in_src - in_tgt, in_tgt - in_src
    if not only_src or not only_tgt:
        return False
    others = {value_of(number) for number in NUMBER.findall(pattern.sub(" ; ", tgt))}
    return only_src <= others
