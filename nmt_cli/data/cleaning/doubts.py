"""Pairs that look wrong by themselves: web addresses, lost letters, other scripts, repetition.

Each check looks at the text of many lines at once, and at single pairs only where there is a sign.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np

from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.numbers import numbers_differ
from nmt_cli.data.cleaning.signs import joined_lines, lines_with

_ADDRESS = r"(?:(?:https?://|ftp://|www\.)[^\s]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
_ONLY_ADDRESSES = re.compile(rf"[\W\d_]*(?:{_ADDRESS}[\W\d_]*)+", re.IGNORECASE)
_LOST_LETTER = re.compile(r"\?(?<=[^\W\d_]\?)(?=[a-zß-ÿ])")
_LIKE_ADDRESS = re.compile(r"://|www\.|\w\.\w+/|[?&]\w+=")
# So many times running is no emphasis any more.
MOST_LETTERS_RUNNING = 9
MOST_WORDS_RUNNING = 5
MOST_WORDS_OF_A_PERIOD = 4
# A copy of fewer words may be a name.
LEAST_WORDS_OF_A_COPY = 4
LEAST_FOREIGN_LETTERS = 4
# So much of a side is in one script, or nothing is said of others.
LEAST_SHARE_OF_SCRIPT = 0.9
_LATIN, _LETTER_RUNS = 1, np.zeros(256, bool)
_LETTER_RUNS[[*range(65, 91), *range(97, 123), ord("!"), ord("?")]] = True
# A number for each digit and what stands in front of it; sums of them are exact.
_FOLLOWING = np.random.Generator(np.random.PCG64(1)).integers(1, 1 << 36, 110).astype(np.float64)
_NEWLINE = ord("\n")


def _scripts() -> np.ndarray:
    """(256,) the script that the first byte of a letter tells; 0: none."""
    scripts = np.zeros(256, np.uint8)
    spans = [(65, 90), (97, 122), (0xC3, 0xC9), (0xCE, 0xCF), (0xD0, 0xD3), (0xD7, 0xD7),
             (0xD8, 0xDB), (0xE4, 0xE9), (0xEA, 0xED)]  # fmt: skip
    names = [_LATIN, _LATIN, _LATIN, 2, 3, 4, 5, 6, 7]
    for (first, last), name in zip(spans, names, strict=True):
        scripts[first : last + 1] = name
    # Devanagari to Thai and Georgian share their first byte: they count as one. So do kana and Han.
    scripts[0xE0], scripts[0xE1] = 8, 9
    return scripts


_SCRIPTS = _scripts()


def find_doubts(src: Sequence[str], tgt: Sequence[str]) -> np.ndarray:
    """(pairs,) uint8, the kind of dirt of each cleaned pair; of several the gravest."""
    found = np.zeros(len(src), np.uint8)
    for kind, numbers in _checks(src, tgt):
        for number in numbers:
            if not found[number]:
                found[number] = kind
    return found


def _checks(src: Sequence[str], tgt: Sequence[str]) -> Iterator[tuple[int, Iterator[int]]]:
    pairs = list(zip(src, tgt, strict=True))
    sides = [(joined_lines(side), side) for side in (src, tgt)]
    for kind, sign, check in _SIGNS:
        yield (
            kind,
            (
                number
                for text, side in sides
                for number in lines_with(sign, text, side)
                if check(side[number])
            ),
        )
    codes = [np.frombuffer(text.encode(), np.uint8) for text, _ in sides]
    yield kinds.OTHER_SCRIPT, (number for code in codes for number in _other_script(code))
    signs = {number for code in codes for number in _maybe_repeated(code)}
    yield kinds.REPEATED, (one for one in sorted(signs) if any(map(is_repeated, pairs[one])))
    yield kinds.NUMBERS, _different_numbers(pairs, codes)
    yield kinds.COPIED, (one for one, (a, b) in enumerate(pairs) if a == b and _is_sentence(a))


def _has_lost_letters(line: str) -> bool:
    return _LOST_LETTER.search(line) is not None and not _LIKE_ADDRESS.search(line)


# Kind, what a doubtful line holds, and whether it is one.
_SIGNS: tuple[tuple[int, re.Pattern[str], Callable[[str], object]], ...] = (
    (kinds.ADDRESS, re.compile(r"://|www\.|@"), _ONLY_ADDRESSES.fullmatch),
    (kinds.NOT_UTF8, re.compile("\ufffd"), str),
    (kinds.LOST_LETTERS, _LOST_LETTER, _has_lost_letters),
)


def _is_sentence(line: str) -> bool:
    words = line.split()
    return sum(word.islower() and word.isalpha() for word in words) >= LEAST_WORDS_OF_A_COPY


def _lines_of(places: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The lines, each once, in which some bytes lie."""
    return np.flatnonzero(np.bincount(np.searchsorted(ends, places), minlength=len(ends)))


def _other_script(text: np.ndarray) -> list[int]:
    """The lines of which most letters are in another script than nearly all of the text."""
    scripts = _SCRIPTS[text]
    counts = np.bincount(scripts, minlength=10)
    counts[0] = 0
    own = int(counts.argmax())
    if counts[own] < LEAST_SHARE_OF_SCRIPT * counts.sum() or counts[own] == counts.sum():
        return []
    ends = np.flatnonzero(text == _NEWLINE)
    foreign = np.bincount(
        np.searchsorted(ends, np.flatnonzero((scripts != own) & (scripts > 0))),
        minlength=len(ends),
    )
    wrong = []
    for number in np.flatnonzero(foreign >= LEAST_FOREIGN_LETTERS).tolist():
        start = ends[number - 1] + 1 if number else 0
        if foreign[number] > 2 * (scripts[start : ends[number]] == own).sum():
            wrong.append(number)
    return wrong


def _maybe_repeated(text: np.ndarray) -> list[int]:
    """The lines in which a letter, or words of equal lengths, come several times running."""
    places = [np.zeros(0, np.int64)]
    if len(text) > MOST_LETTERS_RUNNING:
        same = (text[1:] == text[:-1]) & _LETTER_RUNS[text[1:]]
        places.append(_runs(same, MOST_LETTERS_RUNNING))
    spaces = np.flatnonzero((text == ord(" ")) | (text == _NEWLINE))
    # Of each word its length and its first byte.
    gaps = np.diff(spaces) * 256 + text[spaces[:-1] + 1]
    for period in range(1, MOST_WORDS_OF_A_PERIOD + 1):
        if len(gaps) > period:
            runs = _runs(gaps[period:] == gaps[:-period], MOST_WORDS_RUNNING * period - period)
            places.append(spaces[runs])
    lines: list[int] = _lines_of(np.concatenate(places), np.flatnonzero(text == _NEWLINE)).tolist()
    return lines


def _runs(flags: np.ndarray, least: int) -> np.ndarray:
    """Where runs of at least so many True end."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2]
    found: np.ndarray = ends[ends - starts >= least]
    return found


def is_repeated(line: str) -> bool:
    """Whether a letter, or one to four words, are repeated without end.

    >>> is_repeated("aaaaaaaaaaaa"), is_repeated("ha ha ha ha ha ha"), is_repeated("very very good")
    (True, True, False)
    """
    for one, run in groupby(line):
        if (one.isalpha() or one in "!?") and sum(1 for _ in run) > MOST_LETTERS_RUNNING:
            return True
    words = line.lower().rstrip(".!?").replace(",", "").split()
    for period in range(1, MOST_WORDS_OF_A_PERIOD + 1):
        same = [
            a == b and not a.isdigit() and a[0].isalpha()
            for a, b in zip(words, words[period:], strict=False)
        ]
        for value, equal in groupby(same):
            if value and sum(1 for _ in equal) >= (MOST_WORDS_RUNNING - 1) * period:
                return True
    return False


def _different_numbers(
    pairs: Sequence[tuple[str, str]], codes: Sequence[np.ndarray]
) -> Iterator[int]:
    src, tgt = (_digit_sums(text) for text in codes)
    return (
        number for number in np.flatnonzero(src != tgt).tolist() if numbers_differ(*pairs[number])
    )


def _digit_sums(text: np.ndarray) -> np.ndarray:
    """(lines,) a number that is the same for lines of which the same digits follow each other."""
    digits = text - np.uint8(ord("0"))
    digits[digits > 9] = 10
    places = np.flatnonzero(digits < 10)
    before = np.where(places > 0, digits[places - 1], 10)
    ends = np.flatnonzero(text == _NEWLINE)
    values = _FOLLOWING[digits[places].astype(np.int64) * 11 + before]
    return np.bincount(np.searchsorted(ends, places), values, len(ends))
