"""Writes the numbers of a text as its other side has them, where both say the same.

Numbers in words become digits; hours after noon, cents and units of time get those of the other
side: `5 p.m.` and `17 h`, `10 cents` and `$0.10`, `12 months` and `un an`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from nmt_cli.data.cleaning.numbers.forms import HOURS
from nmt_cli.data.cleaning.numbers.notation import CENTS, DIGITS, MONEY, NUMBER, value_of
from nmt_cli.data.cleaning.numbers.references import referred_numbers
from nmt_cli.data.cleaning.numbers.scales import scaled_numbers
from nmt_cli.data.cleaning.numbers.words import NumberInWords, numbers_in_words
from nmt_cli.data.cleaning.numbers.written_out import always_in_digits
from nmt_cli.data.languages.codes import base_code

_GAP = "[ \u00a0\u202f\u2009-]?"
_HOUR_AFTER_NOON = re.compile(
    rf"(?<![\d.,:/])(\d\d?)(?=(?:{_GAP}(?:[:.h]|heures?|uhr){_GAP}\d\d)?(?:{_GAP}(?:h|heures?|uhr"
    rf"|o['’]clock))?,?{_GAP}(?:p\.?{_GAP}m(?![^\W_])|(?:in the )?(?:afternoon|evening)|at night"
    r"|nachmittags|abends|am (?:nachmittag|abend)|de l['’]apr[èe]s-midi|du soir|de la (?:tarde"
    r"|noche)))",
    re.IGNORECASE,
)
_CENTS_OF_SUM = 100
# Units of time in English, German, French and Spanish, each with how many make the next one.
_TIMES = {
    "second": (r"seconds?|sekunden?|secondes?|segundos?", 60, "minute"),
    "minute": (r"minutes?|minuten?|minutos?", 60, "hour"),
    "hour": (r"hours?|stunden?|heures?|horas?", 24, "day"),
    "day": (r"days?|tag(?:e[ns]?)?|jours?|días?", 7, "week"),
    "week": (r"weeks?|wochen?|semaines?|semanas?", 0, ""),
    "month": (r"months?|monat(?:e[ns]?|s)?|mois|mes(?:es)?", 12, "year"),
    "year": (r"years?|jahr(?:e[ns]?|s)?|ans?|années?|años?", 0, ""),
}
# French and Spanish count the first day twice: quinze jours are two weeks.
_DAYS_OF_WEEKS = (8, 15)
_TIME = re.compile(
    f"{_GAP}(?:" + "|".join(f"(?P<{name}>{time[0]})" for name, time in _TIMES.items())
    + r")(?![^\W_])",
    re.IGNORECASE,
)  # fmt: skip
_ARTICLE = re.compile(r"(?<![\w-])an?(?= )", re.IGNORECASE)
# Between the parts of one number: `one billion, two hundred million`.
_COMMA = re.compile(r",[ \u00a0\u202f](?:and )?", re.IGNORECASE)
_MILLION = 10**6


class _Duration(NamedTuple):
    """A number before a unit of time, and its part of the text, without the unit."""

    value: int
    unit: str
    begin: int
    end: int


def respelled(text: str, other: str, languages: Sequence[str]) -> str:
    """The text with its numbers as the other side has them, where both say the same.

    languages: of the text and of the other side.

    >>> respelled("The 2 meet at 2 p.m.", "Les 2 se rencontrent à 14 h.", ("en", "fr"))
    'The 2 meet at 14 p.m.'
    >>> respelled("10 cents for two", "0,10 $ pour 2", ("en", "fr"))
    '0.10 $ for 2'
    >>> respelled("of 12 months", "d’un an", ("en", "fr"))
    'of un months'
    """
    text = _with_hours(text, other)
    text = _with_sums(text, other)
    text = _with_durations(text, other, languages)
    return _with_digits(text, other, languages[0])


def _with_hours(text: str, other: str) -> str:
    """Hours after noon as the other side counts them, up to 24."""
    hours = set(DIGITS.findall(other))

    def as_other(match: re.Match[str]) -> str:
        hour = str(int(match[1]) + HOURS)
        return hour if int(match[1]) < HOURS and hour in hours else match[0]

    return _HOUR_AFTER_NOON.sub(as_other, text)


def _with_sums(text: str, other: str) -> str:
    """Cents as the sum of money that the other side has in place of them."""
    if not (sums := {value_of(match[1] or match[2]) for match in MONEY.finditer(other)}):
        return text

    def as_other(match: re.Match[str]) -> str:
        cents = int(match[1])
        is_sum = Fraction(cents, _CENTS_OF_SUM) in sums
        return f"{cents // _CENTS_OF_SUM}.{cents % _CENTS_OF_SUM:02} $" if is_sum else match[0]

    return CENTS.sub(as_other, text)


def _with_durations(text: str, other: str, languages: Sequence[str]) -> str:
    """Times with the number that the other side has of a longer unit."""
    if not _TIME.search(text) or not _TIME.search(other):
        return text
    others = {
        (duration.value, duration.unit): other[duration.begin : duration.end]
        for duration in _durations(other, languages[1])
    }
    parts, end = [], 0
    for duration in _durations(text, languages[0]):
        _, factor, unit = _TIMES[duration.unit]
        value = duration.value
        if not factor or (value, duration.unit) in others:
            continue
        if unit == "week" and value in _DAYS_OF_WEEKS and base_code(languages[0]) in ("fr", "es"):
            value -= 1
        if value % factor == 0 and (number := others.get((value // factor, unit))):
            parts += [text[end : duration.begin], number]
            end = duration.end
    return "".join([*parts, text[end:]])


def _durations(text: str, language: str) -> Iterator[_Duration]:
    """The numbers before units of time, in the order of the text."""
    numbers = [(int(match[0]), *match.span()) for match in DIGITS.finditer(text)]
    numbers += [(word.value, word.begin, word.end) for word in numbers_in_words(text, language)]
    if base_code(language) == "en":
        numbers += [(1, *match.span()) for match in _ARTICLE.finditer(text)]
    for value, begin, end in sorted(numbers, key=lambda number: number[1]):
        if (match := _TIME.match(text, end)) and match.lastgroup:
            yield _Duration(value, match.lastgroup, begin, end)


def _with_digits(text: str, other: str, language: str) -> str:
    """The text with digits for the words that say numbers which only `other` has in digits.

    >>> _with_digits("vingt et un hommes et un chien", "21 men and a dog", "fr")
    '21 hommes et un chien'
    >>> _with_digits("one billion, two hundred and fifty million", "1,25 milliard", "en")
    '1,25 milliard'
    """
    missing = _values(other)
    missing.subtract(_values(text))
    missing.subtract(map(value_of, referred_numbers(other)))
    missing.subtract(map(value_of, always_in_digits(other, text)))
    scaled = scaled_numbers(other)
    parts, end = [], 0
    for number in _joined(numbers_in_words(text, language), text):
        if missing[Fraction(number.value)] > 0:
            missing[Fraction(number.value)] -= 1
            digits = str(number.value)
        else:
            digits = scaled.get(Fraction(number.value), "")
        # A word for one may be an article.
        if number.value > 1 and digits:
            parts += [text[end : number.begin], digits]
            end = number.end
    return "".join([*parts, text[end:]])


def _joined(numbers: Sequence[NumberInWords], text: str) -> Iterator[NumberInWords]:
    """The numbers, where those that a comma divides into thousands or millions are one."""
    before: NumberInWords | None = None
    for number in numbers:
        if (
            before
            and _are_parts(before.value, number.value)
            and _COMMA.fullmatch(text, before.end, number.begin)
        ):
            before = NumberInWords(before.value + number.value, before.begin, number.end)
            continue
        if before:
            yield before
        before = number
    if before:
        yield before


def _are_parts(first: int, second: int) -> bool:
    """Whether the second number may go on after the first one.

    >>> _are_parts(10**9, 250 * 10**6), _are_parts(2 * 10**6, 5), _are_parts(2, 10**6)
    (True, False, False)
    """
    scale = _MILLION if first % 10**9 else 10**9
    return first % scale == 0 and scale // 1000 <= second < scale


def _values(text: str) -> Counter[Fraction]:
    """How often a text has each number in digits, as a whole or a part: 15.30 is 15, 30 as well."""
    return Counter(
        value
        for number in NUMBER.findall(text)
        for value in {value_of(number), *map(Fraction, DIGITS.findall(number))}
    )
