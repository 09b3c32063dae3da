"""Finds pairs whose sides contain different numbers, written as digits.

In doubt a pair is not reported: `1,000` equals `1.000` and `1 000`, `3 pm` may be 15 Uhr, and a
small or round number may be written out on one side. Digits of all scripts are compared by value.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from fractions import Fraction

from nmt_cli.data.cleaning.number_contexts import as_roman, contexts_differ, romans
from nmt_cli.data.cleaning.raised_numbers import raised_numbers_differ

_DIGITS = re.compile(r"\d+")
_OTHER_DIGIT = re.compile(r"[^\D0-9]")
_NUMBER = re.compile(r"\d+(?:[.,'’٫٬ \u00a0\u202f\u2009]\d+)*")
# 20.10.2021: the month may be a word.
_DATE = re.compile(r"\d\d?[.,]\d\d?[.,]\d{4}")
_DECIMALS = re.compile(r"\d+[.,٫]\d\d")
_ONE_DECIMAL = re.compile(r"\d+[.,٫]\d")
# 1,375.20, with groups of three digits.
_GROUPED_DECIMALS = re.compile(r"(\d{1,3}(?:[.,'’٬ \u00a0\u202f\u2009]\d{3})+)[.,٫](\d\d)")
# An amount of money, and what its currency is called.
_MONEY = re.compile(
    r"[$€£]\s?(\d{1,15}(?:[.,'’ \u00a0\u202f]\d{1,15}){0,5})"
    r"|(?<!\d)(\d{1,15}(?:[.,'’ \u00a0\u202f]\d{1,15}){0,5})\s?[$€£]"
)
_CURRENCY = re.compile(
    "d[oó]l|дол|ドル|元|달러|डॉलर|دولار|דולר|δολ|euro|євро|евро|ユーロ|유로|यूरो|يورو|אירו|ευρώ|"
    "pound|pfund|livre|libra|sterlin|фунт|ポンド|镑|파운드",
    re.IGNORECASE,
)
# The parts of a number such as 10-200-3000.
_PART = re.compile(r"(?<=\d-)\d+\b|\b\d+(?=-\d)")
# Groups of digits that may be one number in another text, which those of a time may not.
_DIVIDED = re.compile(r"\d+(?:[^\w\n:]{1,2}\d+)+")
# Shorter numbers are often written out, or are part of a time or a date.
MIN_DIGITS = 2
# A number that is on one side only may be written out on the other, but rarely a year.
MIN_DIGITS_ALONE = 4
HOURS = 12
YEAR_DIGITS = 4
# Longer groups of digits are dates, telephone numbers and the like.
LONGEST_PLAIN = 5
# A sentence has no more numbers, and no longer ones.
MOST_NUMBERS = 100
MOST_DIGITS = 40
# A number is divided into so many groups at most.
MAX_DIVIDED = 5
# Of a reference such as 12(3) or [1], no number is written out.
_REFERENCE = re.compile(r"\d+(?=\(\d)|(?<=\()\d+(?=\))|(?<=\[)\d+(?=\])")
_FOOTNOTE = re.compile(r"\[(\d{1,4})\]")
# Of a reference such as 7(1)(e)(ii)(A) or 7(1)e), the letters; they may stand alone: Absatz 1
# Buchstabe e.
_LETTER_REFERENCE = re.compile(r"(?<=[\d)])\(?([a-z]|[ivx]{2,}|[A-Z])\)")
_LETTER = re.compile(r"(?<![^\W\d_])(?:[a-z]|[ivx]{2,}|[A-Z])(?![^\W_])")
# Powers of ten that have words: thousand, lakh, million, crore, billion, trillion.
SCALES = (3, 5, 6, 7, 9, 12)


def numbers_differ(src: str, tgt: str) -> bool:
    """Return whether the digits of two sides contradict each other.

    >>> numbers_differ("It costs 1,000 dollars.", "Es kostet 1.000 Dollar.")
    False
    >>> numbers_differ("We met in 1989.", "Wir trafen uns 1998.")
    True
    >>> numbers_differ("At 3:30 pm, on 5/12", "Um 15.30 Uhr, am 12. 5.")
    False
    >>> numbers_differ("In 2015", "२०१५ में"), numbers_differ("In 2015", "२०१६ में")
    (False, True)
    """
    src, tgt = with_ascii_digits(src), with_ascii_digits(tgt)
    src_groups, tgt_groups = set(_DIGITS.findall(src)), set(_DIGITS.findall(tgt))
    if src_groups == tgt_groups:
        return False
    only_src = _missing(src, src_groups - tgt_groups, tgt)
    only_tgt = _missing(tgt, tgt_groups - src_groups, src)
    if only_src and only_tgt:
        sides = [set().union(*missing.values()) for missing in (only_src, only_tgt)]
        return _have_long_numbers(*sides) and not _may_be_times(*sides)
    return any(_is_never_written_out(number) for number in only_src or only_tgt)


def numbers_changed(src: str, tgt: str) -> bool:
    """Return whether a translation has other numbers than its source.

    Unlike `numbers_differ`, which must not doubt the work of people, this also reports short
    numbers, and letters of references. A number up to twelve, or a round one, may be written out on
    one side.

    >>> numbers_changed("I have 3 dogs.", "Ich habe 5 Hunde.")
    True
    >>> numbers_changed("I have 3 dogs.", "Ich habe drei Hunde.")
    False
    >>> numbers_changed("They came with 47 men.", "Sie kamen mit Leuten.")
    True
    """
    src, tgt = with_ascii_digits(src), with_ascii_digits(tgt)
    if numbers_differ(src, tgt):
        return True
    if any(_is_no_prose(side) for side in (src, tgt)):
        return False
    if contexts_differ(src, tgt, _value):
        return True
    src_groups, tgt_groups = set(_DIGITS.findall(src)), set(_DIGITS.findall(tgt))
    only_src = _missing(src, src_groups - tgt_groups, tgt, partly=False)
    only_tgt = _missing(tgt, tgt_groups - src_groups, src, partly=False)
    if only_src and only_tgt:
        sides = [set().union(*missing.values()) for missing in (only_src, only_tgt)]
        return not _may_be_times(*sides)
    if _lost_references(src, tgt) or raised_numbers_differ(src, tgt):
        return True
    missing = only_src or only_tgt
    side, other = (src, tgt) if only_src else (tgt, src)
    if len(_NUMBER.findall(src)) == len(_NUMBER.findall(tgt)):
        # None is in words, so that others stand in the place of the missing ones.
        others = _NUMBER.findall(other)
        if any(not _has_form_in(number, others) for number in missing):
            return True
    in_digits, roman = _always_in_digits(side, other), romans(other)
    if any(
        (_is_rarely_written_out(number, groups) and as_roman(number) not in roman)
        or number in in_digits
        for number, groups in missing.items()
    ):
        return True
    return _all_numbers_differ(src, tgt)


def _is_no_prose(text: str) -> bool:
    """Whether there are more or longer numbers than a sentence has.

    >>> _is_no_prose("7" * 50), _is_no_prose("7 dogs and 3 cats")
    (True, False)
    """
    numbers = _DIGITS.findall(text)
    return len(numbers) > MOST_NUMBERS or any(len(number) > MOST_DIGITS for number in numbers)


def _lost_references(src: str, tgt: str) -> bool:
    """Whether one side refers to a number or letter, as in 1(e), that the other does not have.

    >>> [_lost_references("under 12(3)", tgt) for tgt in ("12(1)", "(3) de 12", "douze, (3)")]
    [True, False, True]
    >>> _lost_references("the fee [1]", "les droits"), _lost_references("fee [1]", "droits (1)")
    (True, False)
    >>> _lost_references("the fee[1] of 8(1)", "les droits de 8(1)")
    True
    >>> [_lost_references("7(1)(e)", tgt) for tgt in ("7(1)a)", "7(1)e)", "7 (1) Buchstabe e")]
    [True, False, False]
    """
    return any(
        not {*reference.findall(side)} <= {*anywhere.findall(other)}
        for reference, anywhere in ((_REFERENCE, _DIGITS), (_LETTER_REFERENCE, _LETTER))
        for side, other in ((src, tgt), (tgt, src))
    ) or any(
        _REFERENCE.findall(side).count(number) > _DIGITS.findall(other).count(number)
        for side, other in ((src, tgt), (tgt, src))
        for number in _FOOTNOTE.findall(side)
    )


def _all_numbers_differ(src: str, tgt: str) -> bool:
    """Whether each side has as many numbers, none of which can be a form of one of the other.

    >>> [_all_numbers_differ(src, tgt) for src, tgt in (
    ...     ("250 euros", "2."), ("350 euros", "3,50 Euro"), ("1,000 men", "100 Männer"),
    ...     ("2.5 million", "2.500.000"), ("the 1990s", "90er"), ("at 3 pm", "um 15 Uhr"))]
    [True, True, True, False, False, False]
    >>> _all_numbers_differ("$5,000", "5 000 000 $"), _all_numbers_differ("5 thousand", "5 000")
    (True, False)
    >>> _all_numbers_differ("from $1,300 to $2,500", "von 1 300 000 bis 2 500 000 $")
    True
    """
    src_numbers, tgt_numbers = (
        {_value(number): "".join(_DIGITS.findall(number)) for number in _NUMBER.findall(side)}
        for side in (src, tgt)
    )
    if not src_numbers or len(src_numbers) != len(tgt_numbers):
        return False
    return not any(
        _is_form_of(src_value, tgt_value) or _is_short_form(src_digits, tgt_digits)
        for src_value, src_digits in src_numbers.items()
        for tgt_value, tgt_digits in tgt_numbers.items()
    )


def _has_form_in(number: str, others: Sequence[str]) -> bool:
    """Whether one of the other numbers may be this one."""
    digits = "".join(_DIGITS.findall(number))
    return any(
        _is_form_of(_value(number), _value(other))
        or _is_short_form(digits, "".join(_DIGITS.findall(other)))
        for other in others
    )


def _is_short_form(digits: str, other: str) -> bool:
    """Whether one is the other in short, as a decade or an hour is."""
    short, long = sorted((digits, other), key=len)
    is_decade = len(short) == 2 and len(long) == 4 and long.endswith(short)
    return is_decade or _may_be_times({short}, {long})


def _is_form_of(value: Fraction, other: Fraction) -> bool:
    """Whether one is the other, or a word such as million makes it the other."""
    small, large = sorted((value, other))
    # People write 5 thousand and 1,500 million, but not 5,000 thousand.
    scales = (10**power for power in SCALES)
    return small == large or any(small * scale == large and small < scale for scale in scales)


def _value(number: str) -> Fraction:
    """What a number says; groups of three digits are thousands.

    >>> [float(_value(number)) for number in ("1.000", "3,50", "1,234,567", "1.234,5")]
    [1000.0, 3.5, 1234567.0, 1234.5]
    """
    first, *groups = _DIGITS.findall(number)
    decimals = groups.pop() if groups and len(groups[-1]) != 3 else ""
    return Fraction(int("".join((first, *groups, decimals))), 10 ** len(decimals))


def with_ascii_digits(text: str) -> str:
    """The text with 0 to 9 in place of the digits of other scripts.

    >>> with_ascii_digits("२०१५, ٣٫٥, １２, x²")
    '2015, 3٫5, 12, x²'
    """
    if text.isascii():
        return text
    return _OTHER_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), text)


def _is_rarely_written_out(number: str, missing: set[str]) -> bool:
    """Whether a number, of which these groups of digits are missing, is rarely put into words.

    >>> [_is_rarely_written_out(number, {missing}) for number, missing in (
    ...     ("47", "47"), ("1000", "1000"), ("12.50", "50"), ("15.30", "30"))]
    [True, False, True, False]
    >>> _is_rarely_written_out("1.2", {"1", "2"}), _is_rarely_written_out("0,5", {"5"})
    (True, False)
    >>> _is_rarely_written_out("20.10.2021", {"10"}), _is_rarely_written_out("20.10.2021", {"20"})
    (False, True)
    >>> [_is_rarely_written_out(number, {"1"}) for number in ("1,375.20", "1,250.00", "1,500.00")]
    [True, True, False]
    """
    groups = _DIGITS.findall(number)
    if _DATE.fullmatch(number):
        return any(int(group) > HOURS for group in missing)
    if grouped := _GROUPED_DECIMALS.fullmatch(number):
        return grouped[2] != "00" or _is_never_written_out(grouped[1])
    if _DECIMALS.fullmatch(number):
        # Half past three is 15.30.
        return groups[1] not in ("00", "30")
    if _ONE_DECIMAL.fullmatch(number):
        # Half of something may be written out.
        return number[0] + number[-1] != "05"
    digits = "".join(groups)
    return len(digits) >= MIN_DIGITS and not digits.endswith("0") and int(digits) > HOURS


def _missing(
    text: str, candidates: set[str], other: str, *, partly: bool = True
) -> dict[str, set[str]]:
    """Return the numbers of `text` that `other` lacks, with the missing groups of digits.

    partly: whether digits may be a part of a longer number: 5 of 15.
    """
    if not candidates:
        return {}
    others = _DIGITS.findall(other)
    is_held = _held_in_part(other) if partly else _held_as_number(text, other)
    missing = {}
    for number in _NUMBER.findall(text):
        groups = _DIGITS.findall(number)
        if is_held(number):
            continue
        lacking = {
            group
            for group in candidates.intersection(groups)
            if not is_held(group) and not (len(group) == YEAR_DIGITS and group[2:] in others)
        }
        if lacking:
            missing[number] = lacking
    return missing


def _held_in_part(text: str) -> Callable[[str], bool]:
    """What tells whether the digits of a number are anywhere in the numbers of a text."""
    groups = _DIGITS.findall(text)
    joined = "".join(groups)
    whole = {"".join(_DIGITS.findall(number)).strip("0") for number in _NUMBER.findall(text)}
    whole.update(group.strip("0") for group in groups)
    # The last two digits of a year may be enough: 1990-91, the 60s.
    whole.update(group[2:].strip("0") for group in groups if len(group) == YEAR_DIGITS)

    def is_held(number: str) -> bool:
        digits = "".join(_DIGITS.findall(number)).strip("0")
        return digits in whole or digits in joined

    return is_held


def _held_as_number(text: str, other: str) -> Callable[[str], bool]:
    """What tells whether a number of `text` is one of `other`, or a group of its digits."""
    groups = _DIGITS.findall(other)
    values = set(map(_value, _NUMBER.findall(other)))
    short = {group.lstrip("0") for group in groups}
    short.update(group[2:].lstrip("0") for group in groups if len(group) == YEAR_DIGITS)
    # Numbers may be divided in another way, such as 12345 and 12-345, and 20200123 may be a date.
    short.update(group for run, parts in _runs(text).items() if run in groups for group in parts)
    long = {run.lstrip("0") for run in _runs(other)}

    def is_held(number: str) -> bool:
        digits = "".join(_DIGITS.findall(number)).lstrip("0")
        if digits in short or any(_is_form_of(_value(number), value) for value in values):
            return True
        # Not the 1 of 1,250 for 10.
        return len(digits) > MIN_DIGITS and (
            digits in long or any(len(run) > LONGEST_PLAIN and digits in run for run in long)
        )

    return is_held


def _runs(text: str) -> dict[str, Sequence[str]]:
    """The digits of several groups in a row, with these groups.

    >>> list(_runs("12-345 6 and 7"))
    ['12345', '123456', '3456']
    """
    return {
        "".join(groups[first:last]): groups[first:last]
        for groups in map(_DIGITS.findall, _DIVIDED.findall(text))
        for first in range(len(groups))
        for last in range(first + 2, min(first + MAX_DIVIDED, len(groups)) + 1)
    }


def _always_in_digits(text: str, other: str) -> set[str]:
    """The numbers of `text` that `other` would not have in words.

    >>> _always_in_digits("$4,500 for no. 10-200-30", "4 500 $") >= {"4,500", "200", "30"}
    True
    >>> _always_in_digits("$4,500", "viertausendfünfhundert Dollar")
    set()
    """
    found = {number for number in _PART.findall(text) if int(number) > HOURS}
    if not _CURRENCY.search(other):
        found.update(number for match in _MONEY.findall(text) for number in match)
    return {number for number in found if number}


def _is_never_written_out(number: str) -> bool:
    first, *others = _DIGITS.findall(number)
    digits = "".join([first, *others])
    grouped = all(len(group) == 3 for group in others)
    return grouped and len(digits) >= MIN_DIGITS_ALONE and not digits.endswith("00")


def _have_long_numbers(*sides: set[str]) -> bool:
    return all(any(len(group) >= MIN_DIGITS for group in side) for side in sides)


def _may_be_times(src: set[str], tgt: set[str]) -> bool:
    """Return whether a number of one side is one of the other plus or minus twelve hours."""
    longest = max(map(len, src | tgt))
    if longest > MIN_DIGITS:
        return False
    return any(abs(int(hour) - int(other)) == HOURS for hour in src for other in tgt)
