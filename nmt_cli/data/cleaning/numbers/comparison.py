"""Finds pairs whose sides contain different numbers, written as digits.

In doubt a pair is not reported: `1,000` equals `1.000` and `1 000`, `3 pm` may be 15 Uhr, and a
small or round number may be written out on one side. Digits of all scripts are compared by value.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from nmt_cli.data.cleaning.numbers.added import numbers_are_added
from nmt_cli.data.cleaning.numbers.centuries import with_centuries
from nmt_cli.data.cleaning.numbers.contexts import contexts_differ
from nmt_cli.data.cleaning.numbers.forms import ALL_FORMS, NumberForms, shown_forms
from nmt_cli.data.cleaning.numbers.local_amounts import with_francs
from nmt_cli.data.cleaning.numbers.local_hours import with_local_hours
from nmt_cli.data.cleaning.numbers.missing import missing_numbers
from nmt_cli.data.cleaning.numbers.mistaken import numbers_are_mistaken
from nmt_cli.data.cleaning.numbers.notation import DIGITS, NUMBER, value_of, with_ascii_digits
from nmt_cli.data.cleaning.numbers.numerals import has_unread_numerals, with_ethiopic_read
from nmt_cli.data.cleaning.numbers.raised import raised_numbers_differ
from nmt_cli.data.cleaning.numbers.references import references_are_lost, with_divided_verses
from nmt_cli.data.cleaning.numbers.respelled import respelled
from nmt_cli.data.cleaning.numbers.roman import as_roman, romans
from nmt_cli.data.cleaning.numbers.scales import may_have_scale
from nmt_cli.data.cleaning.numbers.units import unit_is_another, units_are_lost
from nmt_cli.data.cleaning.numbers.words import LANGUAGES, unmatched_number_words
from nmt_cli.data.cleaning.numbers.written_out import (
    MIN_DIGITS,
    always_in_digits,
    is_never_written_out,
    is_rarely_left_out,
    is_rarely_written_out,
    may_be_in_words,
)
from nmt_cli.data.languages.codes import base_code

# The 1960s, which other languages write out (the sixties), or the 1800s (the 19th century).
_DECADE = re.compile(r"\b(\d{2}\d?0)['’]?s\b")
# What contradicts: each side has numbers that the other lacks, or only one has.
Difference = Literal["other numbers", "only in source", "only in target"]
# The missing groups of digits of each number.
_Missing = dict[str, set[str]]
# A sentence has no more numbers, and no longer ones.
MOST_NUMBERS = 100
MOST_DIGITS = 40


def number_difference(src: str, tgt: str) -> Difference | None:
    """Return how the digits of two sides contradict each other; None if they may be the same.

    >>> number_difference("It costs 1,000 dollars.", "Es kostet 1.000 Dollar.")
    >>> number_difference("We met in 1989.", "Wir trafen uns 1998.")
    'other numbers'
    >>> number_difference("We met in 1989.", "Wir trafen uns."), number_difference("Yes", "1989")
    ('only in source', 'only in target')
    >>> others = "Im 19. Jahrhundert", "Um 1700", "Im 17. Jahrhundert", "Einst"
    >>> [bool(number_difference("In the 1800s", other)) for other in others]
    [False, True, True, False]
    >>> number_difference("At 3:30 pm, on 5/12", "Um 15.30 Uhr, am 12. 5.")
    >>> number_difference("In 2015", "२०१५ में"), number_difference("In 2015", "२०१६ में")
    (None, 'other numbers')
    >>> others = "፵፱፻፵፯ ሰዎች", "፵፱፻፵፰ ሰዎች", "௪௲௯௱௪௰௮"
    >>> [bool(number_difference("4947 men", other)) for other in others]
    [False, True, False]
    """
    src, tgt = _with_all_read(src, tgt)
    if has_unread_numerals(src) or has_unread_numerals(tgt):
        return None
    missing = _on_one_side(src, tgt)
    only_src = _without_decades(missing[0], src, missing[1])
    only_tgt = _without_decades(missing[1], tgt, missing[0])
    if only_src and only_tgt:
        sides = _groups_of(only_src), _groups_of(only_tgt)
        differ = _have_long_numbers(*sides) and not ALL_FORMS.may_be_times(*sides)
        return "other numbers" if differ else None
    if any(is_never_written_out(number) for number in only_src):
        return "only in source"
    return "only in target" if any(map(is_never_written_out, only_tgt)) else None


def numbers_differ(src: str, tgt: str) -> bool:
    """Return whether the digits of two sides contradict each other.

    >>> numbers_differ("We met in 1989.", "Wir trafen uns 1998.")
    True
    """
    return number_difference(src, tgt) is not None


def numbers_changed(src: str, tgt: str, languages: tuple[str, str] = ("", "")) -> bool:
    """Return whether a translation has other numbers than its source.

    Unlike `numbers_differ`, which must not doubt the work of people, this also reports short
    numbers, and letters of references. A number up to twelve, or a round one, may be written out on
    one side; others, too, in languages whose number words are known.

    >>> numbers_changed("I have 3 dogs.", "Ich habe 5 Hunde.")
    True
    >>> numbers_changed("I have 3 dogs.", "Ich habe drei Hunde.")
    False
    >>> numbers_changed("They came with 47 men.", "Sie kamen mit Leuten.")
    True
    >>> german = "Sie kamen mit siebenundvierzig Leuten."
    >>> numbers_changed("They came with 47 men.", german, ("en", "de"))
    False
    """
    src, tgt = _with_all_read(src, tgt)
    if has_unread_numerals(src) or has_unread_numerals(tgt):
        return False
    if any(_is_no_prose(side) for side in (src, tgt)):
        return numbers_differ(src, tgt)
    src, tgt = with_divided_verses(src, tgt), with_divided_verses(tgt, src)
    if set(DIGITS.findall(src)) != set(DIGITS.findall(tgt)):
        src, tgt = respelled(src, tgt, languages), respelled(tgt, src, languages[::-1])
    return (
        numbers_differ(src, tgt)
        or contexts_differ(src, tgt, languages)
        or _short_numbers_differ(src, tgt, languages)
        or numbers_are_added(src, tgt, languages)
        or numbers_are_mistaken(src, tgt)
        or units_are_lost(src, tgt, languages)
        or unit_is_another(src, tgt)
    )


def numbers_repeated(src: str, tgt: str) -> bool:
    """Whether digits that the source has are more often in the translation.

    >>> numbers_repeated("Sections 4 to 7 apply.", "Les articles 4 à 7 à 7.")
    True
    >>> numbers_repeated("two dogs", "2 Hunde"), numbers_repeated("1 and 2", "1 und 2")
    (False, False)
    """
    before, after = (Counter(DIGITS.findall(_with_numbers_read(side))) for side in (src, tgt))
    return any(count < after[digits] for digits, count in before.items())


def _with_all_read(src: str, tgt: str) -> tuple[str, str]:
    """Both sides, with numbers read, and centuries and hours as the other side has them.

    So are sums of money in other units.
    """
    src, tgt = _with_numbers_read(src), _with_numbers_read(tgt)
    src, tgt = with_local_hours(src, tgt), with_local_hours(tgt, src)
    src, tgt = with_francs(src, tgt), with_francs(tgt, src)
    return with_centuries(src, tgt), with_centuries(tgt, src)


def _with_numbers_read(text: str) -> str:
    """The text with 0 to 9 in place of the digits of other scripts, and of Ethiopic numbers."""
    return text if text.isascii() else with_ethiopic_read(with_ascii_digits(text))


def _short_numbers_differ(src: str, tgt: str, languages: tuple[str, str]) -> bool:
    """Whether a number that may be short is on one side only, and not in words on the other."""
    forms = _forms(src, tgt, languages)
    only_src, only_tgt = _on_one_side(src, tgt, forms)
    if only_src and only_tgt:
        return not forms.may_be_times(_groups_of(only_src), _groups_of(only_tgt))
    if references_are_lost(src, tgt) or raised_numbers_differ(src, tgt):
        return True
    missing = only_src or only_tgt
    side, other = (src, tgt) if only_src else (tgt, src)
    if len(NUMBER.findall(src)) == len(NUMBER.findall(tgt)):
        # None is in words, so that others stand in the place of the missing ones.
        other_numbers = NUMBER.findall(other)
        if any(not forms.has_form_in(number, other_numbers) for number in missing):
            return True
    in_digits, roman = always_in_digits(side, other), romans(other)
    if any(
        (is_rarely_written_out(number, groups) and as_roman(number) not in roman)
        or number in in_digits
        for number, groups in missing.items()
    ):
        return True
    if _all_numbers_differ(src, tgt, forms):
        return True
    side_language, other_language = languages if only_src else languages[::-1]
    not_roman = {
        number: groups for number, groups in missing.items() if as_roman(number) not in roman
    }
    words = unmatched_number_words(other, other_language, side, side_language)
    return words is not None and any(
        is_rarely_left_out(side, {number: groups}) and not may_be_in_words(number, words, side)
        for number, groups in not_roman.items()
    )


def _forms(src: str, tgt: str, languages: Sequence[str]) -> NumberForms:
    """The forms in which the sides may have the same number."""
    if not all(base_code(language) in LANGUAGES for language in languages):
        return ALL_FORMS
    return shown_forms(src, tgt, scales=any(may_have_scale(side) for side in (src, tgt)))


def _on_one_side(src: str, tgt: str, forms: NumberForms | None = None) -> tuple[_Missing, _Missing]:
    """The numbers of each side that the other lacks; forms: as of `missing_numbers`."""
    src_groups, tgt_groups = set(DIGITS.findall(src)), set(DIGITS.findall(tgt))
    return (
        missing_numbers(src, src_groups - tgt_groups, tgt, forms),
        missing_numbers(tgt, tgt_groups - src_groups, src, forms),
    )


def _without_decades(missing: _Missing, side: str, other: _Missing) -> _Missing:
    """The missing numbers of a side, without decades if the other side lacks none or a century."""
    decades = {number for number in _DECADE.findall(side) if number in missing}
    centuries = {str(int(decade[:-2]) + 1) for decade in decades}
    if not decades or not _groups_of(other) <= centuries:
        return missing
    return {number: groups for number, groups in missing.items() if number not in decades}


def _groups_of(missing: _Missing) -> set[str]:
    return set().union(*missing.values())


def _is_no_prose(text: str) -> bool:
    """Whether there are more or longer numbers than a sentence has.

    >>> _is_no_prose("7" * 50), _is_no_prose("7 dogs and 3 cats")
    (True, False)
    """
    numbers = DIGITS.findall(text)
    return len(numbers) > MOST_NUMBERS or any(len(number) > MOST_DIGITS for number in numbers)


def _all_numbers_differ(src: str, tgt: str, forms: NumberForms = ALL_FORMS) -> bool:
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
        {value_of(number): "".join(DIGITS.findall(number)) for number in NUMBER.findall(side)}
        for side in (src, tgt)
    )
    if not src_numbers or len(src_numbers) != len(tgt_numbers):
        return False
    return not any(
        forms.is_form_of(src_value, tgt_value) or forms.is_short_form(src_digits, tgt_digits)
        for src_value, src_digits in src_numbers.items()
        for tgt_value, tgt_digits in tgt_numbers.items()
    )


def _have_long_numbers(*sides: set[str]) -> bool:
    return all(any(len(group) >= MIN_DIGITS for group in side) for side in sides)
