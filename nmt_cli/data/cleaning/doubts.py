"""Finds pairs that look wrong by themselves: web addresses, lost letters, scripts, repetition.

Each check scans the text of many lines at once, and checks single pairs only if a sign was found.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby

import numpy as np

from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.alternatives import SEPARATOR, has_alternatives
from nmt_cli.data.cleaning.comments import COMMENT, has_one_comment
from nmt_cli.data.cleaning.letters.code_pages import CODE_PAGE_SIGN, has_cut_code_page_letters
from nmt_cli.data.cleaning.letters.lost_letters import (
    DIGIT_FOR_LETTER,
    QUESTION_MARK,
    REST_OF_MARK,
    has_lost_letters,
)
from nmt_cli.data.cleaning.letters.mojibake import CUT_SIGN, has_cut_letters
from nmt_cli.data.cleaning.letters.scripts import lines_in_other_script
from nmt_cli.data.cleaning.numbers.amounts import amounts_differ
from nmt_cli.data.cleaning.numbers.comparison import Difference, number_difference
from nmt_cli.data.cleaning.numbers.left_out import usually_left_out
from nmt_cli.data.cleaning.numbers.scales import scales_differ
from nmt_cli.data.cleaning.one_sided_placeholders import (
    PLACEHOLDER_SIGN,
    has_one_sided_placeholder,
)
from nmt_cli.data.cleaning.repairs import strip_tags
from nmt_cli.data.cleaning.shared_passages import has_shared_passage
from nmt_cli.data.cleaning.signs import joined_lines, lines_with
from nmt_cli.data.languages.third_languages import third_languages
from nmt_cli.data.languages.unspaced import ETHIOPIC_SPACE, spaced_words

_ADDRESS = r"(?:(?:https?://|ftp://|www\.)[^\s]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
_ONLY_ADDRESSES = re.compile(rf"[\W\d_]*(?:{_ADDRESS}[\W\d_]*)+", re.IGNORECASE)
_ADDRESSES = re.compile(_ADDRESS, re.IGNORECASE)
_ADDRESS_SIGN = re.compile(r"://|www\.|@", re.IGNORECASE)
# What may be an address without `www.`, as example.org; then the other side does not lack it.
_MAYBE_ADDRESS = re.compile(r"[^\W\d_]\.[^\W\d_]{2}|@|www\b", re.IGNORECASE)
_PRIVATE_USE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
# More repetitions than these are not emphasis.
MAX_LETTER_RUN = 9
MAX_WORD_RUN = 5
# The longest sequence of words whose repetition is detected.
MAX_PERIOD = 4
# A copy of fewer words may be a name.
MIN_WORDS_OF_COPY = 4
# `?` may translate `What?`, but not a sentence.
MOST_MARKS, MIN_LETTERS_BESIDE_MARKS = 16, 8
_LETTER_RUNS = np.zeros(256, bool)
_LETTER_RUNS[[*range(65, 91), *range(97, 123), ord("!"), ord("?")]] = True
# A random number for each digit and the character before it, by which the digits of a line are
# hashed. Their sums in float64 are exact.
_DIGIT_HASHES = np.random.Generator(np.random.PCG64(1)).integers(1, 1 << 36, 110).astype(np.float64)
_NEWLINE = ord("\n")
_BEYOND_ASCII, _LENGTHS_IN_BYTES = 0x80, (2, 3, 4)


def find_doubts(
    src: Sequence[str],
    tgt: Sequence[str],
    languages: Sequence[str],
    *,
    invalid: Collection[int] = (),
) -> np.ndarray:
    """Return the kind of noise of each cleaned pair, 0 for none: (pairs,) uint8.

    Of several kinds, that of the first check that finds one counts.

    languages: the codes of source and target. invalid: the indices of pairs with bytes that were
    not UTF-8, which U+FFFD replaces; elsewhere it was in the text.
    """
    doubts = np.zeros(len(src), np.uint8)
    for kind, indices in _checks(src, tgt, languages):
        for index in indices:
            if not doubts[index]:
                doubts[index] = kind
    doubts[[index for index in invalid if doubts[index] == kinds.REPLACEMENT]] = kinds.NOT_UTF8
    return doubts


def _checks(
    src: Sequence[str], tgt: Sequence[str], languages: Sequence[str]
) -> Iterator[tuple[int, Iterator[int]]]:
    pairs = list(zip(src, tgt, strict=True))
    sides = [(joined_lines(side), side) for side in (src, tgt)]
    for kind, sign, check in _LINE_CHECKS:
        yield (
            kind,
            (
                index
                for text, side in sides
                for index in lines_with(sign, text, side)
                if check(side[index])
            ),
        )
    yield kinds.ADDRESS, (index for index, pair in enumerate(pairs) if _has_only_marks(*pair))
    codes = [np.frombuffer(text.encode(), np.uint8) for text, _ in sides]
    yield kinds.OTHER_SCRIPT, (index for text, _ in sides for index in lines_in_other_script(text))
    signs = {index for code in codes for index in _maybe_repeated(code)}
    yield kinds.REPEATED, (index for index in sorted(signs) if any(map(is_repeated, pairs[index])))
    for kind, sign, differ in _PAIR_CHECKS:
        signs = {index for text, side in sides for index in lines_with(sign, text, side)}
        yield kind, (index for index in sorted(signs) if differ(*pairs[index]))
    yield kinds.NUMBERS, _pairs_with_different_numbers(pairs, codes, languages)
    yield kinds.COPIED, (i for i, (a, b) in enumerate(pairs) if a == b and _is_sentence(a))
    yield kinds.PASSAGE, (i for i, pair in enumerate(pairs) if has_shared_passage(*pair))
    for side in (src, tgt):
        for indices in third_languages(side, languages).values():
            yield kinds.THIRD_LANGUAGE, iter(indices)


def _is_markup(line: str) -> bool:
    return not strip_tags(line).strip()


# Kind of noise, the sign that a doubtful line contains, and the check of such a line.
_LINE_CHECKS: tuple[tuple[int, re.Pattern[str], Callable[[str], object]], ...] = (
    (kinds.ADDRESS, re.compile(r"://|www\.|@"), _ONLY_ADDRESSES.fullmatch),
    (kinds.ADDRESS, re.compile("<"), _is_markup),
    (kinds.REPLACEMENT, re.compile("\ufffd"), str),
    (kinds.PRIVATE_USE, _PRIVATE_USE, str),
    (kinds.LOST_LETTERS, DIGIT_FOR_LETTER, str),
    (kinds.LOST_LETTERS, REST_OF_MARK, str),
    (kinds.LOST_LETTERS, CUT_SIGN, has_cut_letters),
    (kinds.LOST_LETTERS, CODE_PAGE_SIGN, has_cut_code_page_letters),
)


def _has_one_address(src: str, tgt: str) -> bool:
    """Return whether a side has a web or e-mail address, and the other one certainly has none.

    >>> _has_one_address("See http://a.org/12", "Siehe"), _has_one_address("www.a.org", "a.org")
    (True, False)
    """
    return any(
        _ADDRESSES.search(side) and not _MAYBE_ADDRESS.search(other)
        for side, other in ((src, tgt), (tgt, src))
    )


# Kind of noise, the sign that one of the sides contains, and the check of both.
_PAIR_CHECKS: tuple[tuple[int, re.Pattern[str], Callable[[str, str], bool]], ...] = (
    (kinds.LOST_LETTERS, QUESTION_MARK, has_lost_letters),
    (kinds.ONE_ADDRESS, _ADDRESS_SIGN, _has_one_address),
    (kinds.ONE_PLACEHOLDER, PLACEHOLDER_SIGN, has_one_sided_placeholder),
    (kinds.ONE_COMMENT, COMMENT, has_one_comment),
    (kinds.CUT_SHORT, SEPARATOR, has_alternatives),
)


def _has_only_marks(src: str, tgt: str) -> bool:
    """Return whether a side has neither letter nor digit, and the other one has several letters.

    >>> _has_only_marks("???", "Where is it?"), _has_only_marks("Where is it?", "-")
    (True, True)
    >>> _has_only_marks("?", "What?"), _has_only_marks("...", "---")
    (False, False)
    """
    marks, words = sorted((src, tgt), key=len)
    if len(marks) > MOST_MARKS or any(map(str.isalnum, marks)):
        return False
    return sum(map(str.isalpha, words)) >= MIN_LETTERS_BESIDE_MARKS


def _is_sentence(line: str) -> bool:
    words = line.split()
    return sum(word.islower() and word.isalpha() for word in words) >= MIN_WORDS_OF_COPY


def _lines_of(positions: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the lines, each once, that contain the bytes at some positions."""
    return np.flatnonzero(np.bincount(np.searchsorted(ends, positions), minlength=len(ends)))


def _maybe_repeated(text: np.ndarray) -> list[int]:
    """Return the lines in which a letter, or words of equal lengths, repeat several times."""
    positions = [np.zeros(0, np.int64)]
    if len(text) > MAX_LETTER_RUN:
        same = (text[1:] == text[:-1]) & _LETTER_RUNS[text[1:]]
        positions.append(_runs(same, MAX_LETTER_RUN))
    # The bytes of other letters repeat at the distance of their number.
    is_beyond_ascii = text >= _BEYOND_ASCII
    for length in _LENGTHS_IN_BYTES if is_beyond_ascii.any() else ():
        same = (text[length:] == text[:-length]) & is_beyond_ascii[length:]
        positions.append(_runs(same, MAX_LETTER_RUN * length) + length - 1)
    is_space = (text == ord(" ")) | (text == _NEWLINE)
    if is_beyond_ascii.any():
        is_space[2:] |= _is_at(text, ETHIOPIC_SPACE.encode())
    spaces = np.flatnonzero(is_space)
    # A number for the length and the first byte of each word.
    gaps = np.diff(spaces) * 256 + text[spaces[:-1] + 1]
    for period in range(1, MAX_PERIOD + 1):
        if len(gaps) > period:
            runs = _runs(gaps[period:] == gaps[:-period], MAX_WORD_RUN * period - period)
            positions.append(spaces[runs])
    lines: list[int] = _lines_of(
        np.concatenate(positions), np.flatnonzero(text == _NEWLINE)
    ).tolist()
    return lines


def _is_at(text: np.ndarray, sign: bytes) -> np.ndarray:
    """Return whether `sign` ends at each byte of `text[len(sign) - 1 :]`: (bytes,) bool."""
    length = len(text) - len(sign) + 1
    parts = [text[place : place + length] == byte for place, byte in enumerate(sign)]
    ends: np.ndarray = np.logical_and.reduce(parts)
    return ends


def _runs(flags: np.ndarray, least: int) -> np.ndarray:
    """Return where runs of at least `least` True values end."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2]
    long_enough: np.ndarray = ends[ends - starts >= least]
    return long_enough


def is_repeated(line: str) -> bool:
    """Return whether a letter, or one to four words, are repeated too often.

    >>> is_repeated("aaaaaaaaaaaa"), is_repeated("ha ha ha ha ha ha"), is_repeated("very very good")
    (True, True, False)
    >>> is_repeated("ሰላም፡" * 6 + "ሰላም።"), is_repeated("ሰላም፡ለዓለም።")
    (True, False)
    >>> is_repeated("क" + 15 * "ा"), is_repeated("اسم: " + 15 * "ـ")
    (True, False)
    """
    for character, run in groupby(line):
        if sum(1 for _ in run) > MAX_LETTER_RUN and _is_letter_or_mark(character):
            return True
    words = spaced_words(line.lower().rstrip(".!?።").replace(",", ""))
    for period in range(1, MAX_PERIOD + 1):
        same = [
            a == b and not a.isdigit() and a[0].isalpha()
            for a, b in zip(words, words[period:], strict=False)
        ]
        for is_same, equal in groupby(same):
            if is_same and sum(1 for _ in equal) >= (MAX_WORD_RUN - 1) * period:
                return True
    return False


def _is_letter_or_mark(character: str) -> bool:
    """Whether a character is a letter, a combining mark, `!` or `?`.

    Modifier letters are not, such as the Arabic kashida, which is repeated to draw a line.
    """
    category = unicodedata.category(character)
    return character in "!?" or (category[0] in "LM" and category != "Lm")


def without_addresses(line: str) -> str:
    """Return a line without its addresses, whose numbers are not numbers of the text.

    >>> without_addresses("In 1989: http://a.org/123 or me7@b.org.")
    'In 1989:  or .'
    """
    return _ADDRESSES.sub("", line) if _ADDRESS_SIGN.search(line) else line


def _pairs_with_different_numbers(
    pairs: Sequence[tuple[str, str]], codes: Sequence[np.ndarray], languages: Sequence[str]
) -> Iterator[int]:
    src, tgt = (_digit_sums(text) for text in codes)
    found = {
        index: difference
        for index in np.flatnonzero(src != tgt).tolist()
        if (difference := _number_difference(pairs[index], languages))
    }
    usual = usually_left_out(
        [src for src, _ in pairs], [tgt for _, tgt in pairs], list(found.values())
    )
    return (index for index, difference in found.items() if difference not in usual)


def _number_difference(pair: tuple[str, str], languages: Sequence[str]) -> Difference | None:
    src, tgt = map(without_addresses, pair)
    if difference := number_difference(src, tgt):
        return difference
    if scales_differ(src, tgt, languages) or amounts_differ(src, tgt, languages):
        return "other numbers"
    return None


def _digit_sums(text: np.ndarray) -> np.ndarray:
    """Return a number for each line, (lines,), that is equal for equal sequences of digits."""
    digits = text - np.uint8(ord("0"))
    digits[digits > 9] = 10
    positions = np.flatnonzero(digits < 10)
    before = np.where(positions > 0, digits[positions - 1], 10)
    ends = np.flatnonzero(text == _NEWLINE)
    values = _DIGIT_HASHES[digits[positions].astype(np.int64) * 11 + before]
    return np.bincount(np.searchsorted(ends, positions), values, len(ends))
