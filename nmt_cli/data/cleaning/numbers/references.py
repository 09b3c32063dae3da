"""Finds references to parts of a text, such as 12(3)(a) or [1], that are on one side only."""

import re

from nmt_cli.data.cleaning.numbers.notation import DIGITS
from nmt_cli.data.cleaning.numbers.roman import NUMERAL

# Of a reference such as 12(3) or [1], no number is written out.
_REFERENCE = re.compile(r"\d+(?=\(\d)|(?<=\()\d+(?=\))|(?<=\[)\d+(?=\])")
_FOOTNOTE = re.compile(r"\[(\d{1,4})\]")
# Of a reference such as 7(1)(e)(ii)(A) or 7(1)e), the letters; they may stand alone: Absatz 1
# Buchstabe e.
_LETTER_REFERENCE = re.compile(r"(?<=[\d)])\(?([a-z]|[ivx]{2,}|[A-Z])\)")
_LETTER = re.compile(r"(?<![^\W\d_])(?:[a-z]|[ivx]{2,}|[A-Z])(?![^\W_])")

# Numbers that are never in words: of parts of a text, and in codes (K1A 0N5).
OF_PART = re.compile(
    r"(?<![^\W_])(?:(?:sub)?sections?|(?:sub)?paragraphs?|articles?|clauses?|chapters?|tables?"
    r"|figures?|pages?|artikels?|abschnitts?|absatz|kapitels?|tabellen?|abbildung|seite"
    r"|paragraphes?|chapitres?|tableaux?|artículos?|secci[oó]n|capítulos?|tablas?|figuras?"
    r"|páginas?|§§?) ?(\d{1,6})(?![^\W_]|[.,]\d)",
    re.IGNORECASE,
)
# The first of them has a word in some languages: l’article premier, der erste Abschnitt.
_PART_NAME = r"(?:articles?|artículo|artikel|chapitre|capítulo|paragraphe|sección|abschnitt|absatz)"
_FIRST_WORD = r"(?:premi[eè]re?|primer[oa]?|first|one|un[oae]?|erste[mnrs]?)"
FIRST_PART = re.compile(
    rf"(?<!\w)(?:{_PART_NAME}[ \u00a0]{_FIRST_WORD}|{_FIRST_WORD}[ \u00a0]{_PART_NAME})(?!\w)",
    re.IGNORECASE,
)
# Parts that have Roman numerals, in English, German, French and Spanish.
_WITH_NUMERAL = re.compile(
    r"(?<!\w)(?i:parts?|part(?:ie|e)s?|schedules?|annex(?:es?)?|appendi(?:x|ces)|anexos?"
    r"|titles?|titres?|títulos?|titels?|volumes?|tom[eo]s?|books?|livres?|libros?|band|bandes"
    r"|chap(?:ters?|itres?)|capítulos?|kapitels?|sections?|secci[oó]n|abschnitts?|divisions?"
    r"|articles?|artículos?|artikels?|tables?|tableaux?|tablas?|tabellen?|forms?|formulaires?"
    r"|groups?|groupes?|grupos?|gruppen?|class(?:es)?|clases?|klassen?|columns?|colonnes?"
    rf"|columnas?|spalten?|stages?|phases?|fases?|teils?|teile[sn]?|anlagen?|anhangs?)[ \u00a0]"
    rf"({NUMERAL})"
)
_ANY_NUMERAL = re.compile(NUMERAL)
CODE = re.compile(
    r"(?<!\w)(?:[A-Z]{1,4}\d{2,6}[A-Z]{0,3}|[A-Z]\d[A-Z]|\d[A-Z]\d|\d{2,4}[A-Z]{1,3}\d{1,6})(?![^\W_])"
)
# Chapter and verse, Mk 1:4, which may be Mk 1,4 or Mk 1.4 in another language.
_VERSE = re.compile(r"(?<![\d:.,])(\d{1,3}):(\d{1,3})(?![\d:])")
_VERSE_WITH_COMMA = re.compile(r"(?<![\d:.,])(\d{1,3})[.,](\d{1,3})(?!\d)")


def referred_numbers(text: str) -> list[str]:
    """The groups of digits of references, parts of a text and codes, which are never in words.

    >>> referred_numbers("Under section 7 and 12(3) the fee [1] of 20 goes to K1A.")
    ['12', '3', '1', '7', '1']
    """
    patterns = (_REFERENCE, OF_PART, CODE)
    references = [number for pattern in patterns for number in pattern.findall(text)]
    return DIGITS.findall(" ".join(references))


def with_divided_verses(text: str, other: str) -> str:
    """The text with a comma in place of a colon where the other side has the same verse so.

    >>> with_divided_verses("Mk 4:4, at 4:30", "Mk 4,4, um 4 Uhr 30")
    'Mk 4,4, at 4:30'
    """
    if ":" not in text:
        return text
    verses = {match.groups() for match in _VERSE_WITH_COMMA.finditer(other)}
    return _VERSE.sub(
        lambda match: ",".join(match.groups()) if match.groups() in verses else match[0], text
    )


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


def numerals_differ(src: str, tgt: str) -> bool:
    """Return whether parts of a text have other Roman numerals on each side, but as many.

    >>> [numerals_differ("Part IV of Schedule II", tgt) for tgt in (
    ...     "la partie VI de l’annexe II", "la partie IV de l’annexe II", "la partie 4, annexe II")]
    [True, False, False]
    """
    in_src, in_tgt = (set(_WITH_NUMERAL.findall(side)) for side in (src, tgt))
    if not in_src or len(in_src) != len(in_tgt):
        return False
    return not (
        in_src <= set(_ANY_NUMERAL.findall(tgt)) and in_tgt <= set(_ANY_NUMERAL.findall(src))
    )
