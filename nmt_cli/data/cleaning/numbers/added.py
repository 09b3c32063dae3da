"""Finds numbers that a translation has besides those of its source: said twice, or made up."""

import re
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from nmt_cli.data.cleaning.numbers.forms import HOURS
from nmt_cli.data.cleaning.numbers.notation import AMOUNT, DIGITS, NUMBER, value_of
from nmt_cli.data.cleaning.numbers.raised import with_plain_digits
from nmt_cli.data.cleaning.numbers.references import referred_numbers
from nmt_cli.data.cleaning.numbers.scales import SCALE_WORD, THOUSANDS
from nmt_cli.data.cleaning.numbers.words import LANGUAGES, numbers_in_words
from nmt_cli.data.languages.codes import base_code

# `40 dollars 40 dollars`, `7 to 7`, with a word between both at most.
_TWICE = re.compile(
    rf"(?<![\w.,:/(-])({AMOUNT})((?:[ \u00a0\u202f]?[^\W\d_]+)?)[,;]?[ \u00a0\u202f]"
    rf"(?:[^\W\d_]{{1,5}}[ \u00a0\u202f])?\1\2(?![\w/]|[.,:(-]\d)"
)
# Digits behind a word, in scripts that divide words by spaces: II5. Those of units and formulas may
# stand for words: m2, CO2, MP3.
_GLUED = re.compile(r"(?<![\w-])([A-Za-z\u00c0-\u024f\u0370-\u052f]+)(\d{1,9})(?![\w-])")
_SYMBOL = re.compile(r"(?![IVX]{2,}[23])[^\W\d_]{1,3}[23]")
# Groups of zeros with no other digit before them, as a model writes behind a placeholder: `000 $`.
_ZEROS = re.compile(
    r"(?<![\w.,:/-])(?<!\d['’ \u00a0\u202f\u2009])000(?:[.,'’ \u00a0\u202f\u2009]000)*"
    r"(?![\w/]|[.,:-]\d)"
)
# The number in digits, which ends right before a word; so many characters are searched for it.
_DIGITS_BEFORE = re.compile(rf"({AMOUNT})[ \u00a0\u202f]\Z")
_SEARCHED_BEFORE = 30
# A smaller number is often said once more: `larger than 5 m in width or height`.
LEAST_LONG = 100
# The number of something that has a capital letter: `Lot 520 863`.
_NAME = re.compile(rf"(?<!\w)([A-Z]\w*)[ \u00a0]({AMOUNT})")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


def numbers_are_added(src: str, tgt: str, languages: Sequence[str]) -> bool:
    """Return whether a translation says a number more often, or has one of its own in a word.

    Numbers from a hundred on are compared wherever they stand, others only twice in a row.

    >>> [numbers_are_added("for 40 dollars", tgt, ("en", "fr")) for tgt in (
    ...     "pour 40 dollars 40 dollars", "pour 40 dollars II5", "pour 40 dollars, 40 m2")]
    [True, True, False]
    >>> numbers_are_added("the seven of 40", "die G7 von 40", ("en", "de"))
    False
    >>> numbers_are_added("177 units", "177 $ pour 177 unités", ("en", "fr"))
    True
    >>> numbers_are_added("He owes dollars.", "Il doit 000 $.", ("en", "fr"))
    True
    """
    if (
        _are_zeros_added(src, tgt)
        or _is_long_number_repeated(src, tgt)
        or _are_words_added(src, tgt, languages)
    ):
        return True
    twice, glued = _TWICE.findall(tgt), _GLUED.findall(tgt)
    if not twice and not glued:
        return False
    in_src = Counter(map(int, DIGITS.findall(with_plain_digits(src))))
    in_src.update(number.value for number in numbers_in_words(src, languages[0]))
    in_tgt = Counter(map(int, DIGITS.findall(tgt)))
    for number, _ in twice:
        if all(0 < in_src[group] < in_tgt[group] for group in map(int, DIGITS.findall(number))):
            return True
    # In a language whose words are not known, a small number may be one.
    least = 0 if base_code(languages[0]) in LANGUAGES else HOURS
    return any(
        int(number) not in in_src and int(number) > least and not _SYMBOL.fullmatch(word + number)
        for word, number in glued
    )


def _are_zeros_added(src: str, tgt: str) -> bool:
    """Whether the translation has thousands without the number before them."""
    return bool(_ZEROS.search(tgt)) and not _ZEROS.search(src) and not THOUSANDS.search(src)


def _are_words_added(src: str, tgt: str, languages: Sequence[str]) -> bool:
    """Whether a number in words stands right behind one in digits, and is the same or a new one.

    >>> [_are_words_added("within 30 days", tgt, ("en", "fr")) for tgt in (
    ...     "dans les 30 trente jours", "dans les 30 (trente) jours", "30 vingt jours", "30 mille")]
    [True, False, True, False]
    """
    if not all(base_code(language) in LANGUAGES for language in languages):
        return False
    for number in numbers_in_words(tgt, languages[1]):
        before = _DIGITS_BEFORE.search(tgt, max(0, number.begin - _SEARCHED_BEFORE), number.begin)
        # Not `60 secondes`, which is read as an ordinal.
        if not before or number.value < 3 or SCALE_WORD.match(tgt, number.begin):
            continue
        src_values = {src_number.value for src_number in numbers_in_words(src, languages[0])}
        if value_of(before[1]) == number.value or number.value not in src_values:
            return True
    return False


def _is_long_number_repeated(src: str, tgt: str) -> bool:
    """Whether a long number is more often in the translation, though both have the same numbers.

    >>> [_is_long_number_repeated("177 units for 5 men", tgt) for tgt in (
    ...     "177 $ pour 177 hommes et 5", "177 unités pour 5 hommes, 5", "177 et 177")]
    [True, False, False]
    """
    in_tgt = Counter(map(value_of, NUMBER.findall(tgt)))
    repeated = {number for number, count in in_tgt.items() if count > 1 and number >= LEAST_LONG}
    if not repeated:
        return False
    # These stand for a pronoun, or for a name: `section 313 ... that section`, `Lot 520 863`.
    repeated -= set(map(Fraction, [*referred_numbers(tgt), *_YEAR.findall(tgt)]))
    names = Counter(_NAME.findall(tgt))
    repeated -= {value_of(number) for (_, number), count in names.items() if count > 1}
    in_src = Counter(map(value_of, NUMBER.findall(src)))
    # Where other numbers differ, too, the sentence may have been put in another way.
    return in_src.keys() == in_tgt.keys() and any(
        in_src[number] < in_tgt[number] for number in repeated
    )
