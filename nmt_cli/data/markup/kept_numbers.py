"""Finds the numbers that a translation should have as the line writes them, where that is asked.

What belongs to a number is kept with it: hyphens, spaces between its digits, and the letters or the
sign of a currency right beside an amount.
"""

import re
from collections.abc import Iterator

from nmt_cli.data.markup.html_tags import Mark
from nmt_cli.data.markup.marked_text import Placeholder

# Three groups of digits with hyphens are one number: a date, 2026-03-31, or a telephone number. It
# may have two groups if it begins with 0. Not that of an entity: &#39;. Spaces divide thousands,
# and the pairs of digits of a telephone number. Francs may stand right behind an amount.
_SPACES = "[ \u00a0\u202f\u2009]"
_NUMBER = re.compile(
    r"(?<![\w.,])(?<!&#)(?:(?<!-)(?:\d+(?:-\d+){2,}|0\d+-\d{3,})(?![\w-])"
    rf"|(?<!\d{_SPACES})(?:\+\d{{1,3}}{_SPACES}|0{_SPACES}?)?\d\d?(?:{_SPACES}\d\d){{3,}}(?!{_SPACES}?\d|\w)"
    rf"|[+\-−]?(?:\d{{1,3}}(?:{_SPACES}\d{{3}})+(?:[.,]\d+)?|\d+(?:[.,:/'’]\d+)*+)(?!\w)"
    rf"|(?:\d{{1,3}}(?:(?:[.,]|{_SPACES})\d{{3}})+|\d{{3,}})[fF](?!\w))"
)
# Two numbers that a hyphen or an en dash joins; spaces may divide the thousands of the second.
_PAIR = re.compile(
    rf"(?<![\w.,\-–—−/])(?<!&#)(\d{{1,18}})[\-–](\d{{1,18}})(?![\w\-–—/]|[.,:]\d|{_SPACES}\d{{3}}(?!\d))"
)
# Signs of currencies that stand before the amount in the languages of their countries. $, €, £ and
# ¥ stand behind it in many languages: a model moves them.
_SIGNS = "₦₵₹₱₲₡₩₭฿৳"
# Letters of currencies with small letters: shillings, rupees, rupiahs, taka. Capital letters are
# of any currency.
_SMALL = r"(?:[KTU][Ss]h|Sh|Rs|Rp|Tk)"
_DIGITS = r"\d+(?:[.,'’]\d+)*+"
# Thousands, millions and billions: N5bn, N10 million.
_ENDING = r"(?:[kKmMbB]|[bBtTmM][nN])"
_SCALE = r"[ \u00a0](?i:thousand|mill?i[oa]|mill[oó]n|mil\b|(?:mi|bi|tri)lh|(?:b|tr)ill?[ió])"
# The same signs or letters, and digits, follow the dash of a range: N400-N500.
_GOES_ON = rf"[A-Z]{{0,3}}[{_SIGNS}]?\d"
_AMOUNT = re.compile(
    r"(?<![\w.,/'’&#@+])(?<![^\W\d][\-–])"
    rf"(?:(?:[A-Z]{{0,3}}[{_SIGNS}]|{_SMALL}){_DIGITS}{_ENDING}?"
    # Fewer digits without a sign between them are those of names: A4, G20, MP3.
    rf"|[A-Z]{{1,3}}(?:\d{{3,}}|(?=\d+[.,'’]\d){_DIGITS}|\d+(?={_ENDING}|{_SCALE})){_ENDING}?"
    rf"|{_DIGITS}[{_SIGNS}])"
    rf"(?![\w'’]|[.,:]\d|[/_@&+][A-Z\d]|[\-–](?!{_GOES_ON})[A-Z\d])"
)


def find_numbers(line: str) -> Iterator[Mark]:
    """Numbers in digits, with the letters or the sign of a currency right beside an amount.

    >>> [mark.piece.raw for mark in find_numbers("Call 024-555-1734 or 030-123456, rooms 12-14.")]
    ['024-555-1734', '030-123456', '12', '14']
    >>> [mark.piece.raw for mark in find_numbers("part 4410-882, 1200-1500 rpm, 1990-91, won 2-1")]
    ['4410-882', '1200', '1500', '1990', '91', '2-1']
    >>> [mark.piece.raw for mark in find_numbers("20 22 45 67, 1 250 000,5 m, 115.000f, in 99 12")]
    ['20 22 45 67', '1 250 000,5', '115.000f', '99', '12']
    >>> [mark.piece.raw for mark in find_numbers("N4.5 billion, R500, GH₵20, ₦10m, $4.5, the G20")]
    ['N4.5', 'R500', 'GH₵20', '₦10m', '4.5']
    """
    amounts = {match.start(): match.end() for match in _AMOUNT.finditer(line)}
    begins = {match.start(): match.end() for match in _NUMBER.finditer(line)}
    end = 0
    for begin, number_end in sorted((begins | amounts).items()):
        if begin < end:
            continue
        pair = _PAIR.match(line, begin)
        end = pair.end() if pair and _is_one(pair[1], pair[2]) else number_end
        yield Mark(begin, end, Placeholder(line[begin:end]))


def is_amount(raw: str) -> bool:
    """Whether what is kept is an amount with its currency, or two numbers, such as a score.

    >>> is_amount("N4.5"), is_amount("2-1"), is_amount("A4"), is_amount("2026-03-31")
    (True, True, False, False)
    """
    return any(pattern.fullmatch(raw) for pattern in (_AMOUNT, _PAIR))


def _is_one(first: str, second: str) -> bool:
    """Whether two numbers are no range, whose dash is a word in many languages.

    A score, a vote or a code is one whose second number is not larger; 1990-91 is a range of years.
    """
    return int(second) <= int(first) and (len(first), len(second)) != (4, 2)
