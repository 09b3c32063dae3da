"""Which numbers people put into words: not 47, nor an amount of money or a part of 10-200-3000."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from nmt_cli.data.cleaning.numbers.forms import ALL_FORMS, HOURS
from nmt_cli.data.cleaning.numbers.notation import DIGITS, GAP, MONEY, value_of
from nmt_cli.data.cleaning.numbers.scales import SCALE_WORD

# 20.10.2021: the month may be a word.
_DATE = re.compile(r"\d\d?[.,]\d\d?[.,]\d{4}")
_DECIMALS = re.compile(r"\d+[.,٫]\d\d")
_ONE_DECIMAL = re.compile(r"\d+[.,٫]\d")
# 1,375.20, with groups of three digits.
_GROUPED_DECIMALS = re.compile(r"(\d{1,3}(?:[.,'’٬ \u00a0\u202f\u2009]\d{3})+)[.,٫](\d\d)")
# What the currency of an amount of money is called.
_CURRENCY = re.compile(
    "d[oó]l|дол|ドル|元|달러|डॉलर|دولار|דולר|δολ|euro|євро|евро|ユーロ|유로|यूरो|يورو|אירו|ευρώ|"
    "pound|pfund|livre|libra|sterlin|фунт|ポンド|镑|파운드",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(?<![\d:])(\d\d?)(?::| ?h ?| Uhr )(\d\d)(?![\d:])")
# The parts of a number such as 10-200-3000.
_PART = re.compile(r"(?<=\d-)\d+\b|\b\d+(?=-\d)")
# Numbers that another word may stand for, or none: all of 100 %, 2-butanone, m2, French 5 p. 100,
# the month of 7.12.1941.
_LEFT_OUT = re.compile(
    rf"100(?={GAP}(?:%|per ?cent))|(?<=p\.[ \u00a0\u202f\u2009])100|(?<=pour )100|(?<=por )100"
    r"|(?<!\d)\d(?=[-–](?!(?:second|minute|hour|day|week|month|year)s?\b)[^\W\d_])|(?<=[^\W\d_][-–])\d(?!\d)|(?<=[^\W\d_])\d+"
    r"|(?<!\d)\d\d?(?=[-/.]\d\d?[-/.]\d)|(?<=\d[-/.])\d\d?(?=[-/.]\d)"
)
# Shorter numbers are often written out, or are part of a time or a date.
MIN_DIGITS = 2
# A number that is on one side only may be written out on the other, but rarely a year.
MIN_DIGITS_ALONE = 4


def is_rarely_written_out(number: str, missing: set[str]) -> bool:
    """Whether a number, of which these groups of digits are missing, is rarely put into words.

    >>> [is_rarely_written_out(number, {missing}) for number, missing in (
    ...     ("47", "47"), ("1000", "1000"), ("12.50", "50"), ("15.30", "30"))]
    [True, False, True, False]
    >>> is_rarely_written_out("1.2", {"1", "2"}), is_rarely_written_out("0,5", {"5"})
    (True, False)
    >>> is_rarely_written_out("20.10.2021", {"10"}), is_rarely_written_out("20.10.2021", {"20"})
    (False, True)
    >>> [is_rarely_written_out(number, {"1"}) for number in ("1,375.20", "1,250.00", "1,500.00")]
    [True, True, False]
    """
    groups = DIGITS.findall(number)
    if _DATE.fullmatch(number):
        return any(int(group) > HOURS for group in missing)
    if grouped := _GROUPED_DECIMALS.fullmatch(number):
        return grouped[2] != "00" or is_never_written_out(grouped[1])
    if _DECIMALS.fullmatch(number):
        # Half past three is 15.30.
        return groups[1] not in ("00", "30")
    if _ONE_DECIMAL.fullmatch(number):
        # Half of something may be written out.
        return number[0] + number[-1] != "05"
    digits = "".join(groups)
    return len(digits) >= MIN_DIGITS and not digits.endswith("0") and int(digits) > HOURS


def is_rarely_left_out(text: str, missing: Mapping[str, set[str]]) -> bool:
    """Whether a translation rarely leaves out one of the numbers of a text that it lacks.

    missing: these numbers with the groups of digits that are missing. One and zero may be an
    article, or a word such as `no`.

    >>> [is_rarely_left_out(text, {number: {number}}) for text, number in (
    ...     ("200 men", "200"), ("1 man", "1"), ("100 % of it", "100"), ("2-butanone", "2"))]
    [True, False, False, False]
    >>> is_rarely_left_out("1,000 men", {"1,000": {"1", "000"}})
    True
    """
    groups = {
        group
        for number, groups in missing.items()
        for group in groups
        # The 1 of 1,000 is no article.
        if int(group) > 1 or (groups >= {*DIGITS.findall(number)} and value_of(number) > 1)
    }
    return not groups <= set(_LEFT_OUT.findall(text))


def may_be_in_words(number: str, words: Sequence[int], text: str) -> bool:
    """Whether a number of this text may be one of those that the other side has in words.

    A part of it is enough: `8.30` may be `huit heures trente`, and `1945` `nineteen forty-five`.

    >>> [may_be_in_words("30", words, "30 days") for words in ([20], [30], [], [5, 30])]
    [False, True, False, True]
    >>> may_be_in_words("1945", [19, 45], "in 1945"), may_be_in_words("40", [10, 20], "at 9:40")
    (True, True)
    >>> may_be_in_words("5", [5000], "5 of it"), may_be_in_words("5", [5000], "5 thousand")
    (False, True)
    """
    if words and any(number in match.groups() for match in _CLOCK.finditer(text)):
        # 9:40 may be `dix heures moins vingt`.
        return True
    digits = "".join(DIGITS.findall(number))
    value = value_of(number)
    has_scale = bool(SCALE_WORD.search(text))
    return any(
        word == value
        or str(word) in DIGITS.findall(number)
        or ALL_FORMS.is_short_form(digits, str(word))
        or (has_scale and ALL_FORMS.is_form_of(value, Fraction(word)))
        for word in words
    ) or any(digits == f"{first}{second}" for first, second in pairwise(words))


def is_never_written_out(number: str) -> bool:
    """Whether a number is one of at least four digits that is not round.

    >>> [is_never_written_out(number) for number in ("1989", "1,989", "1900", "47")]
    [True, True, False, False]
    """
    first, *others = DIGITS.findall(number)
    digits = "".join([first, *others])
    grouped = all(len(group) == 3 for group in others)
    return grouped and len(digits) >= MIN_DIGITS_ALONE and not digits.endswith("00")


def always_in_digits(text: str, other: str) -> set[str]:
    """The numbers of `text` that `other` would not have in words.

    >>> always_in_digits("$4,500 for no. 10-200-30", "4 500 $") >= {"4,500", "200", "30"}
    True
    >>> always_in_digits("$4,500", "viertausendfünfhundert Dollar")
    set()
    """
    numbers = {number for number in _PART.findall(text) if int(number) > HOURS}
    if not _CURRENCY.search(other):
        numbers.update(filter(None, (number for match in MONEY.findall(text) for number in match)))
    return numbers
