"""Finds the numbers of one side that are not on the other, in any of their forms."""

import re
from collections.abc import Callable, Sequence

from nmt_cli.data.cleaning.numbers.forms import NumberForms
from nmt_cli.data.cleaning.numbers.notation import DIGITS, NUMBER, value_of

# Groups of digits that may be one number in another text, which those of a time may not.
_DIVIDED = re.compile(r"\d+(?:[^\w\n:]{1,2}\d+)+")
# A number is divided into so many groups at most.
MAX_DIVIDED = 5
# Longer groups of digits are dates, telephone numbers and the like.
LONGEST_PLAIN = 5
# Shorter numbers may be a part of another one.
LONGEST_PART = 2
YEAR_DIGITS = 4


def missing_numbers(
    text: str, candidates: set[str], other: str, forms: NumberForms | None = None
) -> dict[str, set[str]]:
    """Return the numbers of `text` that `other` lacks, with the missing groups of digits.

    candidates: the groups of digits that are in `text` alone. forms: the forms of a number that
    count as the same; None: its digits may be anywhere in those of `other`, as 5 is in 15.
    """
    if not candidates:
        return {}
    others = DIGITS.findall(other)
    is_held = _held_in_part(other) if forms is None else _held_as_number(text, other, forms)
    has_short_years = forms is None or forms.years
    missing = {}
    for number in NUMBER.findall(text):
        groups = DIGITS.findall(number)
        if is_held(number):
            continue
        lacking = {
            group
            for group in candidates.intersection(groups)
            if not is_held(group)
            and not (has_short_years and len(group) == YEAR_DIGITS and group[2:] in others)
        }
        if lacking:
            missing[number] = lacking
    return missing


def _held_in_part(text: str) -> Callable[[str], bool]:
    """Return a test whether the digits of a number are anywhere in the numbers of a text."""
    groups = DIGITS.findall(text)
    joined = "".join(groups)
    whole = {"".join(DIGITS.findall(number)).strip("0") for number in NUMBER.findall(text)}
    whole.update(group.strip("0") for group in groups)
    # The last two digits of a year may be enough: 1990-91, the 60s.
    whole.update(group[2:].strip("0") for group in groups if len(group) == YEAR_DIGITS)

    def is_held(number: str) -> bool:
        digits = "".join(DIGITS.findall(number)).strip("0")
        return digits in whole or digits in joined

    return is_held


def _held_as_number(text: str, other: str, forms: NumberForms) -> Callable[[str], bool]:
    """Return a test whether a number of `text` is one of `other`, or a group of its digits."""
    groups = DIGITS.findall(other)
    values = set(map(value_of, NUMBER.findall(other)))
    short = {group.lstrip("0") for group in groups}
    if forms.years:
        short.update(group[2:].lstrip("0") for group in groups if len(group) == YEAR_DIGITS)
    # Numbers may be divided in another way, such as 12345 and 12-345, and 20200123 may be a date.
    short.update(group for run, parts in _runs(text).items() if run in groups for group in parts)
    long = {run.lstrip("0") for run in _runs(other)}

    def is_held(number: str) -> bool:
        digits = "".join(DIGITS.findall(number)).lstrip("0")
        if digits in short or any(forms.is_form_of(value_of(number), value) for value in values):
            return True
        # Not the 1 of 1,250 for 10.
        return len(digits) > LONGEST_PART and (
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
        for groups in map(DIGITS.findall, _DIVIDED.findall(text))
        for first in range(len(groups))
        for last in range(first + 2, min(first + MAX_DIVIDED, len(groups)) + 1)
    }
