"""Numbers that a translation changes: written as digits on both sides, and not the same ones.

Rather too few pairs are found than too many: `1,000` is `1.000` and `1 000`, `3 pm` may be 15 Uhr,
and a small or round number may be written out on one side.
"""

import re

_DIGITS = re.compile(r"\d+")
_NUMBER = re.compile(r"\d+(?:[.,'’٫٬ \u00a0\u202f\u2009]\d+)*")
# Shorter ones are often written out, or are a part of a time or a date.
LEAST_DIGITS = 2
# On one side only a number may be written out on the other: but hardly a year.
LEAST_DIGITS_ALONE = 4
HOURS = 12


def numbers_differ(src: str, tgt: str) -> bool:
    """Whether the digits of two sides contradict each other.

    >>> numbers_differ("It costs 1,000 dollars.", "Es kostet 1.000 Dollar.")
    False
    >>> numbers_differ("We met in 1989.", "Wir trafen uns 1998.")
    True
    >>> numbers_differ("At 3:30 pm, on 5/12", "Um 15.30 Uhr, am 12. 5.")
    False
    """
    parts = set(_DIGITS.findall(src)), set(_DIGITS.findall(tgt))
    if parts[0] == parts[1]:
        return False
    only_src = _missing(src, parts[0] - parts[1], tgt)
    only_tgt = _missing(tgt, parts[1] - parts[0], src)
    if only_src and only_tgt:
        sides = [set().union(*only.values()) for only in (only_src, only_tgt)]
        return _some_long(*sides) and not _may_be_times(*sides)
    return any(_is_never_written_out(number) for number in only_src or only_tgt)


def _missing(text: str, parts: set[str], other: str) -> dict[str, set[str]]:
    """The numbers of `text` that `other` does not hold in any form, with the digits it lacks."""
    if not parts:
        return {}
    others = _DIGITS.findall(other)
    held = "".join(others)
    missing = {}
    for number in _NUMBER.findall(text):
        groups = _DIGITS.findall(number)
        if "".join(groups).strip("0") in held:
            continue
        # 1990-91, the 60s: of a year the end may be enough.
        lacking = {
            one
            for one in parts.intersection(groups)
            if one.strip("0") not in held and not (len(one) == 4 and one[2:] in others)
        }
        if lacking:
            missing[number] = lacking
    return missing


def _is_never_written_out(number: str) -> bool:
    first, *others = _DIGITS.findall(number)
    digits = "".join([first, *others])
    grouped = all(len(one) == 3 for one in others)
    return grouped and len(digits) >= LEAST_DIGITS_ALONE and not digits.endswith("00")


def _some_long(*sides: set[str]) -> bool:
    return all(any(len(one) >= LEAST_DIGITS for one in side) for side in sides)


def _may_be_times(src: set[str], tgt: set[str]) -> bool:
    """Whether the numbers of one side are those of the other with twelve hours more."""
    longest = max(map(len, src | tgt))
    if longest > LEAST_DIGITS:
        return False
    return any(abs(int(one) - int(other)) == HOURS for one in src for other in tgt)
