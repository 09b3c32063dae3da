"""Finds sums of money and percentages that say another number on each side."""

import re
from collections.abc import Sequence
from fractions import Fraction

from nmt_cli.data.cleaning.numbers.notation import (
    CENTS,
    CURRENCY,
    GAP,
    MONEY,
    NUMBER,
    PERCENT,
    value_of,
)
from nmt_cli.data.cleaning.numbers.scales import (
    are_scales_read,
    may_have_scale,
    readings,
    values_of,
)
from nmt_cli.data.cleaning.numbers.words import LANGUAGES
from nmt_cli.data.languages.codes import base_code

# The number says something else: `$20K`, `20 k$`, `20 ct`, `2 1/2 %`, `2½ %`, `.5 %`.
_OTHER_NOTATION = re.compile(
    r"\d[ \u00a0\u202f]?(?:k|c|ct|¢)(?![^\W\d_])|\d[/⁄]\d|[¼-¾⅐-⅞]|(?<!\d)[.,]\d", re.IGNORECASE
)
_SIGN = re.compile(
    f"{CURRENCY}(?={GAP}[-−–]?\\d)|(?<=\\d){CURRENCY}|(?<=\\d[ \u00a0\u202f\u2009]){CURRENCY}"
)
# Words and codes of currencies, whose signs the translation may have.
_CURRENCY_WORD = re.compile(
    r"euro|dol+[aá]r|dól+ar|pound|pfund|livre|libra|sterlin|peso|bucks|рубл|евро|долл|ευρώ|δολ"
    r"|\b(?:EUR|USD|CAD|AUD|NZD|GBP)\b|欧元|美元|元|円|ユーロ|ドル|유로|달러|يورو|دولار",
    re.IGNORECASE,
)
# The percentages that words such as `all` and `half` often say.
_IN_WORDS = frozenset((50, 100))
_ANY_CURRENCY, _ANY_PERCENT = re.compile(r"[$€£¢¥]"), re.compile(r"[%٪‰]")
_PERCENT_WORD = re.compile(
    r"cent|prozent|v\. ?h\.|p\. ?(?:100|c\.)|pct|hund[er]+[dt]|por cien", re.IGNORECASE
)
# No sum of money has three zeros as decimals.
_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,3})[.,]000(?![.,]?\d)")


def amounts_differ(src: str, tgt: str, languages: Sequence[str]) -> bool:
    """Return whether each side has a sum of money, or a percentage, that the other does not have.

    On the other side the number may stand in any notation, in words, and without the sign.

    >>> [amounts_differ("$490.25 within 30 days", tgt, ("en", "fr")) for tgt in (
    ...     "49 025 $ dans les 30 jours", "490,25 $ dans les 30 jours", "490 dollars et 25 cents")]
    [True, False, False]
    >>> [amounts_differ("$5 each", tgt, ("en", "de")) for tgt in ("5.000 $", "5,00 $", "fünf $")]
    [True, False, False]
    >>> amounts_differ("$1.5 million", "1 500 000 $", ("en", "fr"))
    False
    """
    if _OTHER_NOTATION.search(src) or _OTHER_NOTATION.search(tgt):
        return False
    for pattern in (PERCENT, MONEY):
        if pattern is MONEY:
            src, tgt = (_THOUSANDS.sub(r"\g<1>000", side) for side in (src, tgt))
        in_src, in_tgt = (_amounts(pattern, side) for side in (src, tgt))
        if not in_src or not in_tgt or not are_scales_read(src, tgt, languages):
            continue
        src_values, tgt_values = values_of(src, languages[0]), values_of(tgt, languages[1])
        if any(map(tgt_values.isdisjoint, in_src)) and any(map(src_values.isdisjoint, in_tgt)):
            return True
    return False


def signs_are_lost(src: str, tgt: str, languages: Sequence[str]) -> bool:
    """Return whether a side has sums of money or percentages, and the other no sign or word of one.

    False unless the words of both languages are known. A percentage of 50 or 100 may be in words.

    >>> [signs_are_lost("$200 or 5%", tgt, ("en", "fr")) for tgt in (
    ...     "200 ou 5 %", "200 dollars ou 5", "200 euros ou 5 p. 100", "200 $ ou 5 pour cent")]
    [True, True, False, False]
    """
    if not all(base_code(language) in LANGUAGES for language in languages):
        return False
    if may_have_scale(src) or may_have_scale(tgt):
        # Of `$5.3tn a day` the currency may be left out.
        return False
    return any(
        any(amount.isdisjoint(in_words) for amount in _amounts(pattern, side))
        and not (sign.search(other) or word.search(other))
        for pattern, sign, word, in_words in (
            (MONEY, _ANY_CURRENCY, _CURRENCY_WORD, frozenset[int]()),
            (PERCENT, _ANY_PERCENT, _PERCENT_WORD, _IN_WORDS),
        )
        for side, other in ((src, tgt), (tgt, src))
    )


def _amounts(pattern: re.Pattern[str], text: str) -> list[set[Fraction]]:
    """The possible values of each amount, without a word such as million behind it."""
    numbers = (next(filter(None, match.groups())) for match in pattern.finditer(text))
    return [set(readings(number)) for number in numbers]


def currencies_differ(src: str, tgt: str, language: str) -> bool:
    """Return whether the translation has a currency sign that nothing in the source stands for.

    In the source there is another sign, a percentage or, in a language whose words for currencies
    are known, the same number alone.

    >>> [currencies_differ("It owes $688.50 or 4%.", tgt, "en") for tgt in (
    ...     "Il doit 688,50 € ou 4 %.", "Il doit 688,50 dollars ou 4 $", "Il doit 688,50 £.")]
    [True, False, True]
    >>> currencies_differ("EUR 5 and $6", "5 € et 6 $", "en"), currencies_differ("4%", "4 $", "en")
    (False, True)
    >>> [currencies_differ(src, "425 $", "en") for src in ("425 units", "425 dollars")]
    [True, False]
    """
    in_src, in_tgt = (set(_SIGN.findall(side)) for side in (src, tgt))
    if not in_tgt - in_src or _CURRENCY_WORD.search(src):
        return False
    if in_src or PERCENT.search(src):
        return True
    if base_code(language) not in LANGUAGES:
        return False
    numbers = {value_of(number) for number in NUMBER.findall(src)}
    return any(value_of(match[1] or match[2]) in numbers for match in MONEY.finditer(tgt))


def cents_are_lost(src: str, tgt: str) -> bool:
    """Return whether so many cents of one side are as many dollars, euros or pounds on the other.

    >>> [cents_are_lost("50 cents", tgt) for tgt in ("50 $", "0,50 $", "50 ¢", "50 $ ou 50 ¢")]
    [True, False, False, False]
    """
    for side, other in ((src, tgt), (tgt, src)):
        cents = {Fraction(number) for number in CENTS.findall(side)}
        if not cents or CENTS.search(other):
            continue
        sums, other_sums = (
            {value_of(match[1] or match[2]) for match in MONEY.finditer(text)}
            for text in (side, other)
        )
        if cents & (other_sums - sums):
            return True
    return False
