"""The composed form of a text (NFC), in which the same letters are the same characters."""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from nmt_cli.data.text.letters import is_combining

# Vowels and final consonants of Hangul, which join the syllable before them.
_HANGUL = range(0x1160, 0x1200)


class Composed(NamedTuple):
    """A text in the form NFC; places: where each character, and the end, is in the text given."""

    text: str
    places: Sequence[int]

    def is_whole(self, begin: int, end: int) -> bool:
        r"""Whether the part from `begin` to `end` stands for whole characters of the text given.

        begin is less than end. NFC writes some single characters as two, such as U+0958.

        >>> [composed("\u0958").is_whole(*part) for part in ((0, 1), (1, 2), (0, 2))]
        [False, False, True]
        """
        places = self.places
        return places[end - 1] < places[end] and (not begin or places[begin - 1] < places[begin])


def composed(text: str) -> Composed:
    r"""A text in the form NFC.

    >>> composed("e\u0301t")
    Composed(text='ét', places=[0, 2, 3])
    """
    if unicodedata.is_normalized("NFC", text):
        return Composed(text, range(len(text) + 1))
    begins = [index for index, letter in enumerate(text) if not index or not _joins(letter)]
    parts, places = [], []
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        part = unicodedata.normalize("NFC", text[begin:end])
        parts.append(part)
        places += [min(begin + offset, end - 1) for offset in range(len(part))]
    return Composed("".join(parts), [*places, len(text)])


def _joins(letter: str) -> bool:
    """Whether a character may change together with the one before it."""
    return is_combining(letter) or ord(letter) in _HANGUL
