"""Whether one number may be another one in another form: in short, as a time, before a word."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from nmt_cli.data.cleaning.numbers.notation import DIGITS, value_of

HOURS = 12
# A time has no longer numbers.
LONGEST_TIME = 2
# Powers of ten that have words: thousand, lakh, million, crore, billion, trillion.
SCALES = (3, 5, 6, 7, 9, 12)
# What shows that numbers may be times, and that two digits may be the last ones of a year, in
# English, German, French and Spanish.
_TIME = re.compile(
    r"\d[ \u00a0\u202f]?(?:[ap]\.? ?m(?![^\W\d_])|h(?![^\W\d_]))|\b(?:uhr|hours?|heures?|horas?)\b"
    r"|o.clock|\bnoon\b|\bmidi\b|mediod[ií]a|(?<!\d)\d\d?[:.]\d\d(?![\d.:])"
    r"|\b(?:morning|afternoon|evening|night|matin|soir|apr[eè]s-midi|morgens|abends|nachmittags?"
    r"|mañana|tarde|noche)\b",
    re.IGNORECASE,
)
_SHORT_YEAR = re.compile(
    r"['’]\d\d(?!\d)|(?<!\d)\d\d(?:['’]?s|er)\b|[-/–.]\d\d(?!\d)|\b(?:years?|ann[ée]es?|ans?|años?)\b"
    r"|(?:1[5-9]|20)\d\d (?:to|and|or|bis|und|oder|à|et|ou|a|y|o) \d\d(?!\d)"
    r"|jahr|d[ée]cad|d[ée]cennie|jahrzehnt|\bclass\b|siècle|centur",
    re.IGNORECASE,
)


class NumberForms(NamedTuple):
    """Which other forms of a number count as the same.

    scales: before a word such as million; hours: after noon; years: in two digits.
    """

    scales: bool = True
    hours: bool = True
    years: bool = True

    def has_form_in(self, number: str, others: Sequence[str]) -> bool:
        """Whether one of the other numbers may be this one."""
        digits = "".join(DIGITS.findall(number))
        return any(
            self.is_form_of(value_of(number), value_of(other))
            or self.is_short_form(digits, "".join(DIGITS.findall(other)))
            for other in others
        )

    def is_short_form(self, digits: str, other: str) -> bool:
        """Whether one is the other in short, as a decade or an hour is.

        The decimals of a number below one may be in groups: 0.095 724.
        """
        if digits == other and digits.startswith("0"):
            return True
        short, long = sorted((digits, other), key=len)
        is_decade = len(short) == 2 and len(long) == 4 and long.endswith(short)
        return (self.years and is_decade) or self.may_be_times({short}, {long})

    def is_form_of(self, value: Fraction, other: Fraction) -> bool:
        """Whether one is the other, or a word such as million makes it the other."""
        small, large = sorted((value, other))
        if small == large or not self.scales:
            return small == large
        # People write 5 thousand and 1,500 million, but not 5,000 thousand.
        scales = (10**power for power in SCALES)
        return any(small * scale == large and small < scale for scale in scales)

    def may_be_times(self, src: set[str], tgt: set[str]) -> bool:
        """Return whether a number of one side is one of the other plus or minus twelve hours."""
        longest = max(map(len, src | tgt))
        if longest > LONGEST_TIME or not self.hours:
            return False
        return any(abs(int(hour) - int(other)) == HOURS for hour in src for other in tgt)


ALL_FORMS = NumberForms()


def shown_forms(src: str, tgt: str, *, scales: bool) -> NumberForms:
    """The forms that something in one of the texts shows, of languages whose words are known.

    scales: whether one of them may have a word such as million.

    >>> shown_forms("within 12 days", "dans les 24 jours", scales=False)
    NumberForms(scales=False, hours=False, years=False)
    >>> shown_forms("at 3 p.m. in the 90s", "à 15 h, dans les années 1990", scales=True)
    NumberForms(scales=True, hours=True, years=True)
    """
    return NumberForms(
        scales,
        *(any(pattern.search(text) for text in (src, tgt)) for pattern in (_TIME, _SHORT_YEAR)),
    )
