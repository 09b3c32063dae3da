"""Finds numbers that are the same on both sides, but say something else in their context."""

import re
from collections.abc import Sequence

from nmt_cli.data.cleaning.numbers.amounts import (
    amounts_differ,
    cents_are_lost,
    currencies_differ,
    signs_are_lost,
)
from nmt_cli.data.cleaning.numbers.notation import (
    AMOUNT,
    AMOUNT_BEFORE,
    DIGITS,
    GAP,
    MONEY,
    MONEY_BEHIND,
    value_of,
)
from nmt_cli.data.cleaning.numbers.references import (
    CODE,
    FIRST_PART,
    OF_PART,
    numerals_differ,
)
from nmt_cli.data.cleaning.numbers.roman import as_roman, romans
from nmt_cli.data.cleaning.numbers.scales import scales_differ
from nmt_cli.data.cleaning.numbers.units import units_are_swapped

# A number with a letter, as sections of laws have: 12A, 12-A. Both may be apart: 12 A.
_WITH_LETTER = re.compile(r"(?<!\w)(\d{1,9})-?([A-Z])(?![^\W_])")
# In another script the letter may be another one.
_WITH_ANY_LETTER = re.compile(
    r"(?<!\d)(\d{1,9})[ \u00a0\u202f.\u2010-\u2013-]?"
    r"\(?(?:([A-Za-z])(?![A-Za-z0-9])|[\u0370-\u1dff](?!\w))"
)
# Letters that may be units, or million: 5M, 20C, 230V.
_UNITS = frozenset("VWCFKMGTBLDHSNP")
_MINUS = "[-−–]"
# A negative number: -5 °C, -3 %. Without a unit the sign may be that of a list.
_NEGATIVE = re.compile(rf"(?<![^\s(]){_MINUS}({AMOUNT}){GAP}[°%$€£]")
# Words for minus, and for what is below zero.
_IN_WORDS = re.compile(
    r"m[ií]+nus|moins|menos|\bmeno\b|eksi|минус|мінус|μείον|ناقص|माइनस|מינוס|マイナス|마이너스"
    r"|零下|氷点下|영하|\bâm\b|below|under|unter|onder|sous|bajo|sotto|abaixo|ниже|нижче|мороз|frost",
    re.IGNORECASE,
)
_MONEY_BEHIND_ALONE = re.compile(rf"{MONEY_BEHIND}(?![^\W\d_])")
# 5 March 2026, 5. März 2026, 5 de marzo de 2026, March 5, 2026.
_MONTH = r"[^\W\d_]{3,12}\.?"
_YEAR = r"(?:1[0-9]|20)\d\d(?!\d)"
_DAY = re.compile(
    rf"(?<![\d.,/])(\d\d?)(?:st|nd|rd|th|\.)?{GAP}(?:de |of )?({_MONTH}),? (?:de )?({_YEAR})"
    rf"|(?<!\w)({_MONTH}) (\d\d?)(?:st|nd|rd|th)?, ({_YEAR})"
)
# The first day of a month has a word in many languages: le premier, der Erste.
_FIRST = re.compile(
    r"first|premi|erst|eerst|prim|prem|перв|перш|първ|πρώτ|prv|pierwsz|első|ilk|birinci|först|først"
    r"|fyrst|ensimm|esim|أول|ראשון|पहल|首|初|첫",
    re.IGNORECASE,
)
# Before units numbers are never in words.
_OF_UNIT = re.compile(rf"{AMOUNT_BEFORE}(?:°|km/h)")


def contexts_differ(src: str, tgt: str, languages: Sequence[str]) -> bool:
    """Return whether a number of one side is in the other one with another meaning."""
    return (
        _letters_differ(src, tgt)
        or _signs_are_lost(src, tgt)
        or units_are_swapped(src, tgt)
        or scales_differ(src, tgt, languages)
        or amounts_differ(src, tgt, languages)
        or currencies_differ(src, tgt, languages[0])
        or cents_are_lost(src, tgt)
        or signs_are_lost(src, tgt, languages)
        or _money_is_scaled(src, tgt)
        or _days_are_lost(src, tgt)
        or _days_are_lost(tgt, src)
        or numerals_differ(src, tgt)
        or _digits_are_lost(src, tgt)
        or _digits_are_lost(tgt, src)
    )


def _letters_differ(src: str, tgt: str) -> bool:
    """Whether a number such as 12A has another letter, or none, on the other side.

    >>> [_letters_differ("section 12A", tgt) for tgt in ("§ 12B", "§ 12 a", "§ 12-A", "§ 13")]
    [True, False, False, False]
    >>> _letters_differ("12A", "第12A条"), _letters_differ("12A", "статья 12А")
    (False, False)
    >>> _letters_differ("section 12-A", "§ 12-B"), _letters_differ("section 12-A", "§ 12a")
    (True, False)
    >>> _letters_differ("section 12A", "§ 12"), _letters_differ("5M", "5 Mio.")
    (True, False)
    """
    for side, other in ((src, tgt), (tgt, src)):
        numbers_with_letters = _WITH_LETTER.findall(side)
        if not numbers_with_letters:
            continue
        letters = {(number, letter.upper()) for number, letter in _WITH_ANY_LETTER.findall(other)}
        exact = dict(_WITH_LETTER.findall(other))
        numbers = set(DIGITS.findall(other))
        for number, letter in numbers_with_letters:
            if number not in numbers or not letters.isdisjoint(((number, letter), (number, ""))):
                continue
            if number in exact or letter not in _UNITS:
                return True
    return False


def _signs_are_lost(src: str, tgt: str) -> bool:
    """Whether a negative number is there without any minus.

    >>> [_signs_are_lost("It was -5 °C.", f"Il faisait {degrees}.") for degrees in (
    ...     "5 °C", "−5°C", "moins 5 °C", "6 °C")]
    [True, False, False, False]
    """
    for side, other in ((src, tgt), (tgt, src)):
        for number in _NEGATIVE.findall(side):
            digits = r"\D".join(DIGITS.findall(number))
            if not re.search(rf"(?<!\d){digits}(?!\d)", other) or _IN_WORDS.search(other):
                continue
            if not re.search(rf"{_MINUS}\s?{digits}(?!\d)", other):
                return True
    return False


def _money_is_scaled(src: str, tgt: str) -> bool:
    """Whether an amount is a thousandth, a millionth and so on, with no word that says so.

    >>> [_money_is_scaled("It costs $1,000.", tgt) for tgt in (
    ...     "Il coûte 1 $.", "Il coûte 1 000 $.", "Il coûte 1 k$.")]
    [True, False, False]
    """
    for side, other in ((src, tgt), (tgt, src)):
        behind = {value_of(number) for number in _MONEY_BEHIND_ALONE.findall(side)}
        amounts = {value_of(match[1] or match[2]) for match in MONEY.finditer(other)}
        if behind and amounts and not behind & amounts:
            scaled = {amount / 1000**power for amount in amounts for power in (1, 2, 3)}
            if behind & scaled:
                return True
    return False


def _days_are_lost(text: str, other: str) -> bool:
    """Whether the other side has the year of a date, but not its day.

    >>> [_days_are_lost("on 5 March 2026", tgt) for tgt in (
    ...     "im März 2026", "am 5. März 2026", "2026年3月5日", "le cinq mars", "1 5 2026")]
    [True, False, False, False, False]
    >>> [_days_are_lost("le 1 mars 2026", tgt) for tgt in ("the first of March 2026", "in 2026")]
    [False, True]
    """
    numbers = [int(group) for group in DIGITS.findall(other)]
    for match in _DAY.finditer(text):
        day, year = int(match[1] or match[5]), int(match[3] or match[6])
        if not 1 <= day <= 31 or day in numbers or year not in numbers:
            continue
        if day > 1 or not _FIRST.search(other):
            return True
    return False


def _digits_are_lost(text: str, other: str) -> bool:
    """Whether a number that is never in words is not on the other side.

    >>> [_digits_are_lost("Section 7 is at 40 °C.", tgt) for tgt in (
    ...     "§ 7, 40 °C", "§ 7, warm", "warm, 40 °C", "VII, 40")]
    [False, True, True, False]
    >>> [_digits_are_lost("Article 1", tgt) for tgt in ("l’article premier", "l’article")]
    [False, True]
    >>> _digits_are_lost("K1A 0N5", "K1A"), _digits_are_lost("an A320", "A 320")
    (True, False)
    """
    in_digits = {number for pattern in (OF_PART, CODE) for number in pattern.findall(text)}
    if FIRST_PART.search(other):
        in_digits.discard("1")
    in_digits.update(_OF_UNIT.findall(text))
    if not in_digits:
        return False
    groups = {group.lstrip("0") for group in DIGITS.findall(other)}
    roman = romans(other)
    for number in in_digits:
        parts = DIGITS.findall(number)
        is_held = all(part.lstrip("0") in groups for part in parts)
        if not is_held and as_roman("".join(parts)) not in roman:
            return True
    return False
