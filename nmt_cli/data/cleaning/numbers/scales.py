"""Finds amounts such as 40 million that are on one side only, or with another word for the scale.

An amount is found on the other side in digits (40,000,000), with another word (0.04 billion), in
words, and as a part of a range or of a table (`30 to 40 million`, `in millions: 40`).
"""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from nmt_cli.data.cleaning.numbers.notation import AMOUNT, DIGITS, value_of
from nmt_cli.data.cleaning.numbers.words import LANGUAGES, has_loose_words, numbers_in_words
from nmt_cli.data.languages.codes import base_code

# An English billion is a German Milliarde, and an old English one a German Billion.
_MILLION = (
    r"milli?on|mio\b|mil[ji]oo?n|milh[oõ]|miljoen|мил+ион|мільйон|εκατομμ[υύ]ρι|مليون|百万"
    # Of African languages: miliyan, miliyɔn, miliɔn, milyoŋ, milyõ, mamiriyoni, dimilione, mílíọ̀nù,
    # ẹgbẹẹgbẹ̀rún, obukadde, yezigidi, ɔpepem.
    r"|\w{0,9}mil+iy[aoɔ][ny]|mil+iɔ|mily[oõ]|\w{0,3}miriyoni|dimii?li?one"
    r"|m[ií]l[ií][oóọ][\u0300\u0301\u0323]*n|ẹgbẹẹgbẹ\u0300rún"
    r"|\w{0,3}kadde|\w{0,6}[sz]igidi(?:ni)?\b|ɔpepem\b|ሚሊ[ዮየ]ን|ሚልዮን"
)
_MILLIARD = (
    r"mil+iard|miljard|mrd\b|mil millones|мил+иард|мільярд|δισεκατομμ[υύ]ρι|مليار|十億|十亿"
    # Miliyari, miliyaar, milyaar, miliar, obuwumbi, ɔpepepem.
    r"|mil+iyaa?r|milyaa?r|mil+iar?\b|\w{0,3}wuu?mbi|ɔpepem?pem"
)
_BILLION = (
    r"b[ií]l+ion|b[ií]ll[oó]n|bn\b|bilh"
    # Biliyan, biliyoni, biliɔn, emabhiriyoni, yeebhiliyoni, dibilione, bílíọ̀nù, izigidigidi.
    r"|bil+iy[aoɔ][ny]|bil+iɔ|\w{0,6}bh?i[rl]iyoni|dibii?li?one|\w{0,6}[sz]igidigidi"
    r"|b[ií]l[ií][oóọ][\u0300\u0301\u0323]*n|ቢሊ[ዮየ]ን"
)
_TRILLION = r"tr[ií]l+[io]|bili?ard|трил+ион|трильйон|تريليون"
_THOUSAND = r"thousand|tausend|mille\b|milliers?\b|mil\b(?! mill)|тысяч|тисяч"
THOUSANDS = re.compile(_THOUSAND, re.IGNORECASE)
# Beside those whose number words are known, languages whose words for millions are among these.
_SCALE_LANGUAGES = LANGUAGES | {
    "ak", "am", "bm", "ee", "ha", "lg", "mos", "ny", "pcm", "rw", "sn", "sw", "tn", "tw",
    "wo", "xh", "yo", "zu",
}  # fmt: skip
# In short: 5M, € 5m, 5 Md$, 5 mill., 5tn. The letters may be something else.
_LETTERS = r"(?:m(?:n|ln|ill|r?d)?|bn?|g|tn)(?![^\W\d_])"
_SCALE_LETTER = re.compile(rf"\d[ \u00a0\u202f]?(?:{_LETTERS}|k(?![^\W\d_]))", re.IGNORECASE)
# The words for scales, and the powers of ten that they may stand for.
_SCALES = {
    "million": (_MILLION, (6,)),
    "milliard": (_MILLIARD, (9,)),
    "billion": (_BILLION, (9, 12)),
    "trillion": (_TRILLION, (12, 15, 18)),
    "thousand": (_THOUSAND, (3,)),
    "letter": (_LETTERS, (6, 9, 12)),
}
# The other side must have these. A word for thousand may be left out in favour of digits.
_DEMANDED = ("million", "milliard", "billion")
# A milliard first: mil millones.
_SCALE = "|".join(
    f"(?P<{name}>{_SCALES[name][0]})"
    for name in ("milliard", "trillion", "billion", "million", "thousand", "letter")
)
_NUMBER = re.compile(
    rf"(?<!\d)(?P<number>{AMOUNT})(?:[ \u00a0\u202f\u2009-]{{0,2}}(?:{_SCALE}))?", re.IGNORECASE
)
SCALE_WORD = re.compile(rf"(?<![^\W\d_])(?!{_LETTERS})(?:{_SCALE})\w*", re.IGNORECASE)
# These alone say no other number than the scale, as a half or a dozen may.
_SCALE_OR_HUNDRED = re.compile(rf"{SCALE_WORD.pattern}|\bhundert\b", re.IGNORECASE)
# Between two numbers of one scale: `5 to 7 million`, `$5 and $7 million`. Not `5 % of 7 million`.
_SAME_SCALE = re.compile(
    r"[^\w%٪°]{0,4}(?:(?!per ?cent|prozent|por|pour|per)[^\W\d_]{1,8}[^\w%٪°]{1,4}){0,4}",
    re.IGNORECASE,
)
# Other languages divide numbers in another way: 4000万 is 40 million, 4 करोड़, too. Words for
# scales that follow one another, as in French 40 mille milliards, are not read.
_UNREAD = re.compile(
    r"\d[ \u00a0]?(?:[十百千万萬億亿兆만억조]|लाख|करोड़|lakh|crore)"
    r"|(?:thousand|tausend|mille) (?:milli|billi)",
    re.IGNORECASE,
)
# 0.095 724: a number of thousands does not begin with zero.
_DECIMALS = re.compile(r"0[.,]\d")
# Either 3.125 or 3,125.
_THREE_DECIMALS = re.compile(r"(\d{1,3})[.,](\d{3})")
_GROUPED = re.compile(r"\d{1,3}(?:\D\d{3})*(?:\D\d+)?")


class _Amounts(NamedTuple):
    """The amounts of a side.

    demanded: the possible values of each number in digits before a word for a million or more.
    numbers: the values of the numbers in digits, without their scales. values: those of all
    numbers, in digits and in words, with their scales and alone.
    """

    demanded: list[set[Fraction]]
    numbers: set[Fraction]
    values: set[Fraction]

    def has_in_digits(self, amount: set[Fraction]) -> bool:
        """Whether the number before the word is there, so that no dozen or half is meant."""
        return any(value / scale in self.numbers for value in amount for scale in (10**6, 10**9))


def scales_differ(src: str, tgt: str, languages: Sequence[str]) -> bool:
    """Whether so many millions, or thousand millions, of one side are not on the other.

    >>> [scales_differ("$3.5 billion", tgt, ("en", "fr")) for tgt in (
    ...     "3,5 millions", "3,5 milliards", "3 500 millions", "3 500 000 000 $")]
    [True, False, False, False]
    >>> [scales_differ("40 million, 100 per cent", tgt, ("en", "fr")) for tgt in (
    ...     "40 millions, 100 millions", "milliards, 100 pour cent", "quarante millions, 100 %")]
    [True, True, False]
    >>> scales_differ("from 5 to 7 million", "de 5 millions à 7 millions", ("en", "fr"))
    False
    """
    sides = list(zip((src, tgt), languages, strict=True))
    if not any(SCALE_WORD.search(side) for side, _ in sides):
        return False
    if not are_scales_read(src, tgt, languages):
        return False
    amounts = [_amounts(*side) for side in sides]
    # Numbers in words are not found in languages whose words are not known.
    is_exact = all(base_code(language) in LANGUAGES for language in languages) and not any(
        has_loose_words(_SCALE_OR_HUNDRED.sub("", side), language) for side, language in sides
    )
    return any(
        amount.isdisjoint(there.values) and (is_exact or there.has_in_digits(amount))
        for here, there in (amounts, amounts[::-1])
        for amount in here.demanded
    )


def may_have_scale(text: str) -> bool:
    """Whether a text has a word for a scale, or a letter behind a number that may be one.

    >>> [may_have_scale(text) for text in ("5 thousand", "5M", "$20K", "5 men")]
    [True, True, True, False]
    """
    return bool(SCALE_WORD.search(text) or _UNREAD.search(text) or _SCALE_LETTER.search(text))


def are_scales_read(src: str, tgt: str, languages: Sequence[str]) -> bool:
    """Whether the words for scales of both sides would be found."""
    return all(map(_is_read, (src, tgt), languages))


def values_of(text: str, language: str) -> set[Fraction]:
    """The possible values of the numbers of a text, in digits and in words, with their scales."""
    return _amounts(text, language).values


def scaled_numbers(text: str) -> dict[Fraction, str]:
    """What the numbers in digits before words for scales may say, and how they are written.

    >>> {float(value): words for value, words in scaled_numbers("1,25 milliard of 40").items()}
    {1250000000.0: '1,25 milliard'}
    """
    return {
        value * 10**power: match[0]
        for match in _NUMBER.finditer(text)
        for name in _DEMANDED
        if match[name]
        for value in readings(match["number"])
        for power in _SCALES[name][1]
    }


def _is_read(text: str, language: str) -> bool:
    """Whether the words for scales of a text would be found."""
    return not _UNREAD.search(text) and (
        base_code(language) in _SCALE_LANGUAGES or bool(SCALE_WORD.search(text))
    )


def _amounts(text: str, language: str) -> _Amounts:
    demanded: list[set[Fraction]] = []
    numbers: set[Fraction] = set()
    in_words = [Fraction(number.value) for number in numbers_in_words(text, language)]
    # One billion, two hundred million.
    values = {*in_words, *(first + second for first, second in pairwise(in_words))}
    powers: tuple[int, ...] = ()
    next_begin = len(text)
    for match in reversed(list(_NUMBER.finditer(text))):
        unscaled = set(readings(match["number"]))
        scale = next((name for name in _SCALES if match[name]), "")
        if scale:
            powers = _SCALES[scale][1]
        elif not _SAME_SCALE.fullmatch(text, match.end(), next_begin):
            powers = ()
        next_begin = match.start()
        scaled = {value * 10**power for value in unscaled for power in powers}
        if scale in _DEMANDED:
            demanded.append(scaled)
        numbers |= unscaled
        values |= scaled if scale else scaled | unscaled
    for power in _powers_of_table(text, language):
        values.update(number * 10**power for number in numbers)
    return _Amounts(demanded, numbers, values)


def readings(number: str) -> Iterator[Fraction]:
    """The possible values of a number whose separators can be read in several ways.

    >>> [[float(value) for value in readings(number)] for number in ("3.125", "2015 40", "5 000")]
    [[3125.0, 3.125], [2015.4, 40.0], [5000.0]]
    """
    yield value_of(number)
    if _DECIMALS.match(number):
        whole, decimals = number[0], "".join(DIGITS.findall(number[2:]))
        yield Fraction(int(whole + decimals), 10 ** len(decimals))
    if match := _THREE_DECIMALS.fullmatch(number):
        yield Fraction(int(match[1] + match[2]), 1000)
    if not _GROUPED.fullmatch(number):
        # Two numbers: `in 2015 40 million`.
        yield value_of(number.split()[-1])


def _powers_of_table(text: str, language: str) -> set[int]:
    """The powers of ten of words that may belong to all numbers: `in millions of dollars`."""
    taken = [match.span() for match in _NUMBER.finditer(text)]
    taken += [
        (number.begin, number.end)
        for number in numbers_in_words(text, language)
        if not SCALE_WORD.fullmatch(text, number.begin, number.end)
    ]
    return {
        power
        for match in SCALE_WORD.finditer(text)
        if not any(begin <= match.start() < end for begin, end in taken)
        for name, (_, powers) in _SCALES.items()
        if match[name]
        for power in powers
    }
