"""Reads hours of the day that are counted from six o'clock, as in Swahili: `saa 1:45` is 7:45.

They are counted so in much of East Africa. The words beside them show it: Swahili and Kinyarwanda
`saa`, Luganda `ssaawa`, Oromo `sa'aatii`, Amharic and Tigrinya `ሰዓት`.
"""

import re

FROM_SIX, DAY = 6, 12
_HOUR_WORD = r"(?:saa|ssaawa|sa['’ʼ]aatii|ሰዓት)"
_LOCAL = re.compile(
    rf"(?<![^\W\d_]){_HOUR_WORD} ?@?(?P<after>\d\d?)(?!\d)"
    r"|(?<![\d.,:])(?P<before>\d\d?)(?:[:.]\d\d)? ?ሰዓት",
    re.IGNORECASE,
)
# A time of another language: 7:45, 7.45 p.m., 19h45, 7 am, 8 o'clock.
_TIME = re.compile(
    r"(?<![\d.,:])(\d\d?)(?: ?[:.h] ?\d\d(?!\d)| ?(?:[ap]\. ?m\b|[ap]m\b|h\b|o.clock|uhr\b))",
    re.IGNORECASE,
)


def with_local_hours(text: str, other: str) -> str:
    """The text with hours that are counted from six o'clock as the other side writes them.

    >>> with_local_hours("saa 1:45 jioni", "at 7:45 p.m."), with_local_hours("saa 1", "at 1 pm")
    ('saa 7:45 jioni', 'saa 1')
    >>> with_local_hours("kwa saa 24", "for 24 hours"), with_local_hours("saa 4:30", "at 22:30")
    ('kwa saa 24', 'saa 22:30')
    """
    if "aa" not in text.lower() and "ሰዓት" not in text:
        return text
    hours = [found[1] for found in _TIME.finditer(other)]

    def read(match: re.Match[str]) -> str:
        group = "after" if match["after"] else "before"
        local = int(match[group])
        own = [hour for hour in hours if (int(hour) - local) % DAY == FROM_SIX]
        if not own or local > DAY or any(int(hour) == local for hour in hours):
            return match[0]
        begin, end = (place - match.start() for place in match.span(group))
        return match[0][:begin] + own[0] + match[0][end:]

    return _LOCAL.sub(read, text)
