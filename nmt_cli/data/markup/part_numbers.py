"""Finds part numbers and other codes of capital letters and digits: `AX-200/5`, `6205-2RS`.

What has a letter and a digit may also be a word: `COVID-19`, `3D`, `2ND`, `100KG`. So a code has no
small letters, several digits or parts, and no long word in it.
"""

import re
from collections.abc import Iterator

from nmt_cli.data.markup.html_tags import Mark
from nmt_cli.data.markup.marked_text import Placeholder

# Parts of ASCII letters and digits, which single marks join. No word goes on at either side. What
# letters beside a slash begin or end is a reference, whose letters have a translation: SOR/2024-10,
# 2010/35/EU.
_TOKEN = re.compile(
    r"(?<![\w.,/'’&#@+\-])(?![A-Z]+/)(?=[A-Z\d./_\-]*[A-Z])(?=[A-Z./_\-]*\d)[A-Z\d]+(?:[./_\-][A-Z\d]+)*+"
    r"(?<!/[A-Z])(?<!/[A-Z]{2})(?<!/[A-Z]{3})(?<!/[A-Z]{4})(?![\w'’])(?![/_@&+\-][\w])"
)
_RUN = re.compile(r"[A-Z]+|\d+")
# A compound of words and short numbers, as in German (U-20-WM), or an abbreviation that no space
# separates from the number before it (1908.P.C).
_COMPOUND = re.compile(r"(?:(?:[A-Z]+|\d\d?)[./_\-])+[A-Z]+|\d+(?:\.[A-Z]+)+")
# Shorter ones are names of things: A4, G20, 3D, MP3, B-52, or translated: LC50, Q1/25.
LEAST_CHARACTERS = 5
# More letters in a row are a word: COVID-19.
MOST_LETTERS = 4
# Numbers, also ranges, with an ending, a unit or a half of the day: 20TH, 10-12KG, 9-11AM.
_ENDING = re.compile(
    r"\d+(?:[./\-]\d+)*(?:[./\-]?(?:ST|ND|RD|TH|AM|PM|S|ER|E|EME|[KCM]?M|KM/H|[KM]?G|[MCK]?L|HP|PS|"
    r"[KMG]?WH?|[KMG]?HZ|[KM]?VA?|MA|AH|[KM]?PA|[KMGT]B|DPI|RPM|DB|K|C|F|H|MIN|SEC|X|D))"
)


def find_part_numbers(line: str) -> Iterator[Mark]:
    """Codes that the translation should have as the line writes them.

    >>> [mark.piece.raw for mark in find_part_numbers("GX-4410-B, 6205-2RS (AX-200/5), 100TH.")]
    ['GX-4410-B', '6205-2RS', 'AX-200/5']
    >>> list(find_part_numbers("COVID-19, the G20, U-20-WM, 2nd, mid-1990s, 10-12KG, SOR/2024-10"))
    []
    """
    for match in _TOKEN.finditer(line):
        runs = _RUN.findall(match[0])
        if (
            sum(map(len, runs)) >= LEAST_CHARACTERS
            and max(len(run) for run in runs if run.isalpha()) <= MOST_LETTERS
            and not _ENDING.fullmatch(match[0])
            and not _COMPOUND.fullmatch(match[0])
        ):
            yield Mark(match.start(), match.end(), Placeholder(match[0]))
