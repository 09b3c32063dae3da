"""Reads sums of money that are counted in units of five francs, as in Bambara and Wolof."""

import re

from nmt_cli.data.cleaning.numbers.notation import NUMBER, value_of

FRANCS = 5
_UNIT = re.compile(r"(?<![^\W\d_])(?:dɔrɔm[ɛɔe]w?|dërëm)(?![^\W\d_])", re.IGNORECASE)


def with_francs(text: str, other: str) -> str:
    """The text with sums in units of five francs as the other side writes them in francs.

    >>> with_francs("dɔrɔmɛ 23 000", "115.000f"), with_francs("dɔrɔmɛ 380", "à 400 f")
    ('dɔrɔmɛ 115.000', 'dɔrɔmɛ 380')
    >>> with_francs("siman 23 000", "115.000f"), with_francs("dɔrɔmɛ 5 n° 25", "5 n° 25")
    ('siman 23 000', 'dɔrɔmɛ 5 n° 25')
    """
    if not _UNIT.search(text):
        return text
    sums = {value_of(number): number for number in NUMBER.findall(other)}

    def read(match: re.Match[str]) -> str:
        value = value_of(match[0])
        return match[0] if value in sums else sums.get(FRANCS * value, match[0])

    return NUMBER.sub(read, text)
