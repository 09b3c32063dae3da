"""Finds references to parts of a text, such as 12(3)(a) or [1], that are on one side only."""

import re

from nmt_cli.data.cleaning.numbers.notation import DIGITS

# Of a reference such as 12(3) or [1], no number is written out.
_REFERENCE = re.compile(r"\d+(?=\(\d)|(?<=\()\d+(?=\))|(?<=\[)\d+(?=\])")
_FOOTNOTE = re.compile(r"\[(\d{1,4})\]")
# Of a reference such as 7(1)(e)(ii)(A) or 7(1)e), the letters; they may stand alone: Absatz 1
# Buchstabe e.
_LETTER_REFERENCE = re.compile(r"(?<=[\d)])\(?([a-z]|[ivx]{2,}|[A-Z])\)")
_LETTER = re.compile(r"(?<![^\W\d_])(?:[a-z]|[ivx]{2,}|[A-Z])(?![^\W_])")


def references_are_lost(src: str, tgt: str) -> bool:
    """Whether one side refers to a number or letter, as in 1(e), that the other does not have.

    >>> [references_are_lost("under 12(3)", tgt) for tgt in ("12(1)", "(3) de 12", "douze, (3)")]
    [True, False, True]
    >>> [references_are_lost("the fee [1]", tgt) for tgt in ("les droits", "les droits (1)")]
    [True, False]
    >>> references_are_lost("the fee[1] of 8(1)", "les droits de 8(1)")
    True
    >>> [references_are_lost("7(1)(e)", tgt) for tgt in ("7(1)a)", "7(1)e)", "7 (1) Buchstabe e")]
    [True, False, False]
    """
    return any(
        not {*reference.findall(side)} <= {*anywhere.findall(other)}
        for reference, anywhere in ((_REFERENCE, DIGITS), (_LETTER_REFERENCE, _LETTER))
        for side, other in ((src, tgt), (tgt, src))
    ) or any(
        _REFERENCE.findall(side).count(number) > DIGITS.findall(other).count(number)
        for side, other in ((src, tgt), (tgt, src))
        for number in _FOOTNOTE.findall(side)
    )
