"""Repairs combining marks: the same one twice on a letter, and lines below it in place of dots."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

_DOT, _LINE = "\u0323", "\u0329"
# The marks of Latin, Greek, Cyrillic, Hebrew, Arabic, Thai, Lao and Japanese letters, and the
# nuktas of India, of which two look like one. Missing on purpose, since two of them may be right:
# Arabic vowels (two may stand for tanwin), viramas, tones of the Vedas, contractions of Tibetan,
# letters above letters, lines of Roman numerals, and signs of mathematics and music.
_MARKS = (
    "\u0300-\u0304\u0306-\u0331\u0339-\u033e\u0340-\u034e\u0350-\u035b\u05b0-\u05bd\u05bf\u05c1"
    "\u05c2\u05c7\u064b-\u064d\u0651-\u0655\u0670\u093c\u09bc\u0a3c\u0abc\u0b3c\u0e38\u0e39"
    "\u0e48-\u0e4b\u0eb8\u0eb9\u0ec8-\u0ecb\u3099\u309a"
)
# What a line in NFC has that may need a repair: in NFC, the first of two marks may be part of a
# letter. It begins with one set of characters, so that it is searched fast.
MARK_SIGN = re.compile(
    rf"([{_MARKS}])(?:\1|(?<={_LINE})|(?<=[^\0-\x7f][\u0300-\u035b\u0653-\u0655\u3099\u309a]))"
)
# In NFD, the same marks of a letter are neighbours.
_REPEATED = re.compile(rf"([{_MARKS}])\1+")
# Below consonants but s, the line marks syllables in phonetic transcriptions (n̩), and a dot
# other sounds.
_BELOW = re.compile(rf"([AEIOSUaeiosu])([{_DOT}{_LINE}]+)")
# A letter has a dot at least so often where a line below it stands for one, and all such letters
# together have dots so many times as often as lines.
MIN_COUNT, MIN_RATIO = 5, 4


def without_repeated_marks(text: str) -> str:
    r"""The text in NFC with each mark once on its letter; `text` itself if none is there twice.

    >>> without_repeated_marks("\u1ecd\u0323\u0301") == "\u1ecd\u0301"
    True
    >>> without_repeated_marks("e\u0301") == "e\u0301"
    True
    """
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFD", text)
    new = _REPEATED.sub(r"\1", decomposed)
    return text if new == decomposed else unicodedata.normalize("NFC", new)


def mark_repair_of(text: str) -> Callable[[str], str]:
    r"""The repair of the marks of lines of a side, whose whole text this is, in any Unicode form.

    Repeated marks become one. A line below (U+0329) a vowel or s becomes a dot below (U+0323) where
    the text has the same letter with a dot at least five times, and such letters with dots at least
    four times as often as with lines. Other lines are returned as they are, repaired ones in NFC.

    >>> repair = mark_repair_of("\u1eb9\u1eb8 \u1eb9\u1eb8 \u1eb9\u1eb8 e\u0329")
    >>> repair("e\u0329\u0300 o\u0329") == "\u1eb9\u0300 o\u0329"
    True
    """
    dotted = _dotted_letters(text)

    def with_dots(match: re.Match[str]) -> str:
        is_wrong = _LINE in match[2] and match[1].lower() in dotted
        return match[1] + _DOT if is_wrong else match[0]

    def repair(line: str) -> str:
        if _LINE not in line or not dotted:
            return without_repeated_marks(line)
        decomposed = unicodedata.normalize("NFD", line)
        new = _BELOW.sub(with_dots, decomposed)
        if new == decomposed:
            return without_repeated_marks(line)
        return without_repeated_marks(unicodedata.normalize("NFC", new))

    return repair


def mark_change(lines: Sequence[str]) -> Callable[[str], str]:
    """The repair of the marks of lines of a text that begins with these lines."""
    return mark_repair_of("\n".join(lines))


def _dotted_letters(text: str) -> set[str]:
    """The small letters with lines below them that stand for dots; see `mark_repair_of`."""
    if _LINE not in text:
        return set()
    dots, lines = Counter[str](), Counter[str]()
    for letter, marks in _BELOW.findall(unicodedata.normalize("NFD", text)):
        (lines if _LINE in marks else dots)[letter.lower()] += 1
    dotted = {letter for letter in lines if dots[letter] >= MIN_COUNT}
    # All letters are decided together, so that no word is repaired in part.
    most = sum(dots[letter] for letter in dotted) >= MIN_RATIO * lines.total()
    return dotted if most else set()
