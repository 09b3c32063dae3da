"""Finds numbers that have the unit of another number, or have lost theirs."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
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
from nmt_cli.data.languages.words import function_words

# Symbols of units, which hardly any language translates.
_SYMBOL = (
    r"(?:°[CF]|[kcmnµμ]?m[²³23]?|km/h|m/s|[kmµμ]?g|[mµμhkc]?[lL]|[kMGm]?W|[kM]?Wh|[kMG]?Hz|[km]?V"
    r"|mA|m?Ah|[hkM]?Pa|m?bar|psi|k?N|N ?m|dB|k?J|kcal|[kMGT]B|rpm|k?Ω)(?![\w²³/'’-])"
)
_WITH_SYMBOL = re.compile(rf"{AMOUNT_BEFORE}({_SYMBOL})")
# `65 km per hour` is another unit, with another symbol.
_PER = re.compile(r"[ \u00a0](?:(?:per|par|pro|por|je)\b|à l['’])", re.IGNORECASE)
_WITH_UNIT = re.compile(
    rf"({CURRENCY}){GAP}({AMOUNT})|{AMOUNT_BEFORE}([%٪$€£]|{_SYMBOL}|°(?![\w²³/-]))"
)
# What may be behind a number without a unit: the end of a phrase, or a word that begins another.
_END = re.compile(r"[ \u00a0\u202f]*(?:[.,;:!?)»\"”…]|$)")
_NEXT_WORD = re.compile(r"[ \u00a0\u202f]([^\W\d_]{2,})(?![^\W\d_]| \d)")
# The unit may be behind another word: `150 or more kilowatts`.
_JOINING_WORDS = frozenset(
    ["and", "or", "et", "ou", "und", "oder", "y", "o", "e", "en", "of", "och", "eller", "og"]
)


def units_are_lost(src: str, tgt: str, languages: Sequence[str]) -> bool:
    """Return whether a side has a unit behind a number that stands without any on the other side.

    There, the number is at the end of a phrase, or before a function word.

    >>> [units_are_lost("Set it to 4.5 bar before use.", tgt, ("en", "fr")) for tgt in (
    ...     "Réglez à 4,5 avant utilisation.", "Réglez à 4,5.", "Réglez à 4,5 bars.")]
    [False, True, False]
    >>> [units_are_lost("at 5 m in a tube", tgt, ("en", "de")) for tgt in (
    ...     "bei 5 in einem Rohr", "bei 5 Metern in einem Rohr", "bei 5 in einem Rohr von 6 m")]
    [True, False, False]
    """
    return _lacks_unit(src, tgt, languages[1]) or _lacks_unit(tgt, src, languages[0])


def _lacks_unit(side: str, other: str, language: str) -> bool:
    units = {(value_of(match[1]), match[2]) for match in _WITH_SYMBOL.finditer(side)}
    if not units:
        return False
    function = function_words(language) - _JOINING_WORDS
    ends: dict[Fraction, list[bool]] = {}
    for match in NUMBER.finditer(other):
        word = _NEXT_WORD.match(other, match.end())
        is_alone = _END.match(other, match.end()) or (word and word[1].lower() in function)
        ends.setdefault(value_of(match[0]), []).append(bool(is_alone))
    return any(
        all(ends.get(value, [False]))
        and not re.search(rf"(?<![^\W\d_]){re.escape(unit)}", other, re.IGNORECASE)
        for value, unit in units
    )


def unit_is_another(src: str, tgt: str) -> bool:
    """Return whether a number has another unit on the other side, which only that side has.

    >>> [unit_is_another("38 cm wide", tgt) for tgt in ("38 Nm", "38 cm", "0,38 m", "38 large")]
    [True, False, False, False]
    >>> unit_is_another("5 kg or 5 lb", "5 kg ou 2,3 kg"), unit_is_another("2 l", "2 L")
    (False, False)
    >>> unit_is_another("65 km per hour", "65 km/h"), unit_is_another("100 m", "100 km")
    (False, True)
    """
    in_src, in_tgt = (dict.fromkeys(_symbols(side)) for side in (src, tgt))
    units_src, units_tgt = {unit for _, unit in in_src}, {unit for _, unit in in_tgt}
    only_src = {value for value, unit in in_src if unit not in units_tgt}
    only_tgt = {value for value, unit in in_tgt if unit not in units_src}
    return bool(only_src & only_tgt)


def _symbols(text: str) -> Iterator[tuple[Fraction, str]]:
    """Yield each number and the symbol of the unit behind it, in one notation."""
    for match in _WITH_SYMBOL.finditer(text):
        if _PER.match(text, match.end()):
            continue
        unit = match[2].replace(" ", "").replace("\u00b5", "\u03bc").lower()
        yield value_of(match[1]), unit.replace("²", "2").replace("³", "3")


def units_are_swapped(src: str, tgt: str) -> bool:
    """Return whether a number has the unit of another one.

    >>> [units_are_swapped("$20 for 30 days", tgt) for tgt in (
    ...     "30 $ pour 20 jours", "20 $ pour 30 jours", "20 dollars pour 30 jours")]
    [True, False, False]
    >>> [units_are_swapped("$100, €200 and $300", tgt) for tgt in (
    ...     "100 €, 200 $ et 300 $", "300 $, 200 € et 100 $", "100 €, 200 € et 300 $")]
    [True, False, False]
    >>> units_are_swapped("6 bar at 900 rpm", "900 bar bei 6 rpm")
    True
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
