"""Whether one number may be another one in another form: in short, as a time, before a word."""

from collections.abc import Sequence
from fractions import Fraction

from nmt_cli.data.cleaning.numbers.notation import DIGITS, value_of

HOURS = 12
# A time has no longer numbers.
LONGEST_TIME = 2
# Powers of ten that have words: thousand, lakh, million, crore, billion, trillion.
SCALES = (3, 5, 6, 7, 9, 12)


def has_form_in(number: str, others: Sequence[str]) -> bool:
    """Whether one of the other numbers may be this one."""
    digits = "".join(DIGITS.findall(number))
    return any(
        is_form_of(value_of(number), value_of(other))
        or is_short_form(digits, "".join(DIGITS.findall(other)))
        for other in others
    )


def is_short_form(digits: str, other: str) -> bool:
    """Whether one is the other in short, as a decade or an hour is."""
    short, long = sorted((digits, other), key=len)
    is_decade = len(short) == 2 and len(long) == 4 and long.endswith(short)
    return is_decade or may_be_times({short}, {long})


def is_form_of(value: Fraction, other: Fraction) -> bool:
    """Whether one is the other, or a word such as million makes it the other."""
    small, large = sorted((value, other))
    # People write 5 thousand and 1,500 million, but not 5,000 thousand.
    scales = (10**power for power in SCALES)
    return small == large or any(small * scale == large and small < scale for scale in scales)


def may_be_times(src: set[str], tgt: set[str]) -> bool:
    """Return whether a number of one side is one of the other plus or minus twelve hours."""
    longest = max(map(len, src | tgt))
    if longest > LONGEST_TIME:
        return False
    return any(abs(int(hour) - int(other)) == HOURS for hour in src for other in tgt)
