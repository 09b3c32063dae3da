"""How numbers are written: their digits, the signs that divide them, and what they say."""

import re
import unicodedata
from fractions import Fraction

DIGITS = re.compile(r"\d+")
_OTHER_DIGIT = re.compile(r"[^\D0-9]")
SEPARATOR = "[.,'’٫٬ \u00a0\u202f\u2009]"
# One number, such as 1,250.50.
NUMBER = re.compile(rf"\d+(?:{SEPARATOR}\d+)*")
# The same within other patterns, where the bounds keep the time linear.
AMOUNT = rf"\d{{1,15}}(?:{SEPARATOR}\d{{1,15}}){{0,5}}"
GAP = "[ \u00a0\u202f\u2009]?"
# An amount before a unit or another word.
AMOUNT_BEFORE = rf"(?<!\d)({AMOUNT}){GAP}"
CURRENCY = "[$€£]"
MONEY_BEHIND = rf"{AMOUNT_BEFORE}{CURRENCY}"
MONEY = re.compile(rf"{CURRENCY}{GAP}({AMOUNT})|{MONEY_BEHIND}")
# A hundredth of a sum of money, in English, German, French and Spanish.
CENTS = re.compile(
    r"(?<![\d.,])(\d{1,3})[ \u00a0\u202f-]?"
    r"(?:¢|(?:cents?|ct|centimes?|centavos?|céntimos?)(?![^\W_]))",
    re.IGNORECASE,
)
PERCENT = re.compile(rf"{AMOUNT_BEFORE}[%٪]")


def value_of(number: str) -> Fraction:
    """The value of a number; groups of three digits are thousands.

    >>> [float(value_of(number)) for number in ("1.000", "3,50", "1,234,567", "1.234,5")]
    [1000.0, 3.5, 1234567.0, 1234.5]
    """
    first, *groups = DIGITS.findall(number)
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
