"""Finds numbers that are written as words in English, German, French or Spanish."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from nmt_cli.data.languages.codes import base_code

# The words of 0 to 19, and of 20 to 90; a word's other forms stand behind slashes.
_ONES = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
          "fifteen sixteen seventeen eighteen nineteen",
    "de": "null ein/eins/eine/einen/einem/einer/eines zwei drei vier fünf sechs sieben acht neun "
          "zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn",
    "fr": "zéro un/une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze "
          "quinze seize",
    "es": "cero un/uno/una/ún dos/dós tres/trés cuatro cinco seis/séis siete ocho nueve diez once "
          "doce trece catorce quince dieciséis diecisiete dieciocho diecinueve",
}  # fmt: skip
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreißig/dreissig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "fr": "vingt/vingts trente quarante cinquante soixante septante huitante/octante nonante",
    "es": "veinte/veinti treinta cuarenta cincuenta sesenta setenta ochenta noventa",
}
_SPANISH_HUNDREDS = (
    "cien/ciento quinientos/quinientas setecientos/setecientas novecientos/novecientas"
)
# What multiplies the words before it. An English billion is a thousand millions.
_FACTORS = {
    "en": {"hundred": 2, "hundreds": 2, "thousand": 3, "thousands": 3, "million": 6,
           "millions": 6, "billion": 9, "billions": 9},
    "de": {"hundert": 2, "tausend": 3, "million": 6, "millionen": 6, "milliarde": 9,
           "milliarden": 9},
    "fr": {"cent": 2, "cents": 2, "mille": 3, "millier": 3, "milliers": 3, "million": 6,
           "millions": 6, "milliard": 9, "milliards": 9},
    "es": {"cientos": 2, "cientas": 2, "mil": 3, "miles": 3, "millón": 6, "millones": 6},
}  # fmt: skip
_JOINERS = {"en": "and", "de": "und", "fr": "et", "es": "y"}
# Endings of ordinals and of cases; what changes before those of ordinals; whole words.
_ORDINAL_ENDINGS = {"en": "th", "de": "s?te[mnrs]?", "fr": "ièmes?"}
_CASE_ENDINGS = {"de": "en?"}
_CHANGED = {
    "en": {"fif": 5, "eigh": 8, "nin": 9, "twelf": 12},
    "de": {"ers": 1, "drit": 3, "sieb": 7, "ach": 8},
    "fr": {"cinqu": 5, "neuv": 9},
}
_ORDINALS = {
    "en": "first second third",
    "fr": "premier/première/premiers/premières second/seconde/secondes",
    "es": "primero/primera/primer segundo/segunda tercero/tercera/tercer cuarto/cuarta "
          "quinto/quinta sexto/sexta séptimo/séptima octavo/octava noveno/novena décimo/décima",
}  # fmt: skip
# Other words that may stand for a number: dozen, half, twice, thirties, zwanzigjährig.
_LOOSE = {
    "en": r"dozens?|both|half|halves|quarters?|pairs?|couples?|twice|doubles?|noon|midnight"
          r"|fortnight|\w+ties|decades?|centur(?:y|ies)",
    "de": r"dutzend\w*|beide\w*|\w*h[aä]lb\w*|h[aä]lfte|\w*viertel\w*|paare?|doppel\w*"
          r"|mittags?|mitternacht|jahrzehnt\w*|jahrhundert\w*",
    "fr": r"\w+aines?|demie?s?|moitié|quarts?|paires?|couples?|doubles?|midi|minuit"
          r"|décennies?|siècles?",
    "es": r"\w+enas?|ambos|ambas|medi[oa]s?|mitad|cuartos?|par(?:es)?|dobles?|mediodía"
          r"|medianoche|décadas?|siglos?",
}  # fmt: skip
# Compounds that begin as a number word does, of which those that are numbers are read.
_COMPOUNDS = {
    "de": r"(?:zwei|zwanzig|drei|vier|fünf|sech|sieb|acht|neun|zehn|elf|zwölf|hundert|tausend"
          r"|million)\w*",
}  # fmt: skip
_AFTER_DIGIT = re.compile(r"\d[\s\u00a0\u202f\u2009-]?\Z")
# Before the hundred of a percentage: 5 pour cent, cinq pour cent, fünf vom Hundert.
_PER = re.compile(r"[\s\u00a0](?:pour|per|por|vom|p\.)[\s\u00a0]", re.IGNORECASE)
_PER_BEHIND_DIGIT = re.compile(rf"\d{_PER.pattern}\Z", re.IGNORECASE)
_LONGEST_PER = len("5 pour ")
_NEVER = "(?!)"
HUNDRED = 100
LANGUAGES = frozenset(_ONES)


class NumberInWords(NamedTuple):
    """A number, and the part of a text that says it in words."""

    value: int
    begin: int
    end: int


class _Vocabulary(NamedTuple):
    """The number words of a language.

    numbers: the values of words that are added; factors: those of words that multiply; alone:
    ordinals that are no part of a longer number, as in `trente premiers jours` or `soixante
    secondes`; word: the pattern of a number word; run: that of several in a row.
    """

    language: str
    numbers: dict[str, int]
    factors: dict[str, int]
    alone: frozenset[str]
    word: re.Pattern[str]
    run: re.Pattern[str]


@cache
def _vocabulary(language: str) -> _Vocabulary:
    numbers = {}
    for words, first, step in (
        (_ORDINALS.get(language, ""), 1, 1), (_ONES[language], 0, 1), (_TENS[language], 20, 10)
    ):  # fmt: skip
        for index, forms in enumerate(words.split()):
            numbers.update(dict.fromkeys(forms.split("/"), first + index * step))
    if language == "es":
        for forms, value in zip(_SPANISH_HUNDREDS.split(), (100, 500, 700, 900), strict=True):
            numbers.update(dict.fromkeys(forms.split("/"), value))
    factors = {word: 10**power for word, power in _FACTORS[language].items()}
    whole = "|".join(sorted({*numbers, *factors}, key=len, reverse=True))
    changed = dict(_CHANGED.get(language, {}))
    if language == "en":
        changed |= {f"{word[:-1]}ie": value for word, value in numbers.items() if word[-1] == "y"}
    if language == "fr":
        changed |= {word[:-1]: value for word, value in numbers.items() if word[-1] == "e"}
        factors["mill"] = factors["mille"]
    stems = "|".join(sorted({*changed, "mill"}, key=len, reverse=True))
    ordinal_ending = _ORDINAL_ENDINGS.get(language, _NEVER)
    ending = f"{ordinal_ending}|{_CASE_ENDINGS.get(language, _NEVER)}"
    word = f"(?:(?:{stems})(?={ordinal_ending})|{whole})"
    between = rf"[\s\u00a0-]{{0,2}}(?:{_JOINERS[language]}[\s\u00a0-]{{0,2}})?"
    run = rf"(?<![^\W_]){word}(?:{between}{word})*(?:{ending})?(?![^\W_])"
    word_pattern, run_pattern = (re.compile(pattern, re.IGNORECASE) for pattern in (word, run))
    alone = frozenset(re.split("[ /]", _ORDINALS["fr"] if language == "fr" else ""))
    return _Vocabulary(language, changed | numbers, factors, alone, word_pattern, run_pattern)


def numbers_in_words(text: str, language: str) -> list[NumberInWords]:
    """The numbers that a text has in words; none where the words of its language are not known.

    >>> [number.value for number in numbers_in_words("vingt et un hommes, mille deux cents", "fr")]
    [21, 1200]
    >>> [number.value for number in numbers_in_words("einundzwanzig, die achte, hundert", "de")]
    [21, 8, 100]
    >>> [number.value for number in numbers_in_words("5 pour cent, cinq pour cent", "fr")]
    [5]
    >>> [number.value for number in numbers_in_words("trente premiers jours, 5 secondes", "fr")]
    [30, 1, 2]
    """
    language = base_code(language)
    if language not in LANGUAGES:
        return []
    vocabulary = _vocabulary(language)
    found: list[NumberInWords] = []
    end_before = 0
    for run in vocabulary.run.finditer(text):
        numbers = list(_numbers_of_run(text, run, vocabulary))
        is_percent = _PER.fullmatch(text, end_before, run.start()) or _PER_BEHIND_DIGIT.search(
            text, max(0, run.start() - _LONGEST_PER), run.start()
        )
        if not is_percent or [number.value for number in numbers] != [HUNDRED]:
            found += numbers
        end_before = run.end()
    return found


def cardinals_in_words(text: str, language: str) -> list[NumberInWords]:
    """The same without ordinals.

    >>> [number.value for number in cardinals_in_words("the fifth of twenty-one dogs", "en")]
    [21]
    >>> [text for text in ("acht", "achte", "zweiter", "drei") if cardinals_in_words(text, "de")]
    ['acht', 'drei']
    """
    ordinals = _ordinals(base_code(language))
    return [
        number
        for number in numbers_in_words(text, language)
        if not ordinals.search(text, number.begin, number.end)
    ]


@cache
def _ordinals(language: str) -> re.Pattern[str]:
    whole = "|".join(re.split("[ /]", _ORDINALS[language])) if language in _ORDINALS else _NEVER
    ending = _ORDINAL_ENDINGS.get(language, _NEVER)
    return re.compile(rf"(?:(?:{ending})|\b(?:{whole}))\Z", re.IGNORECASE)


@cache
def _loose_words(language: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?:{_LOOSE[language]})(?![^\W_])", re.IGNORECASE)


def has_loose_words(text: str, language: str) -> bool:
    """Whether a text has words such as dozen or half; False where they are not known."""
    language = base_code(language)
    if language not in LANGUAGES:
        return False
    return bool(_loose_words(language).search(text)) or _has_unread_compounds(text, language)


def _has_unread_compounds(text: str, language: str) -> bool:
    """Whether a compound with a number in it says no number: zweijährig.

    >>> [_has_unread_compounds(text, "de") for text in ("zweijährig", "zwei", "zweiundzwanzigste")]
    [True, False, False]
    """
    if language not in _COMPOUNDS:
        return False
    spans = [(number.begin, number.end) for number in numbers_in_words(text, language)]
    return any(
        not any(begin <= match.start() and match.end() <= end for begin, end in spans)
        for match in _compounds(language).finditer(text)
    )


@cache
def _compounds(language: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![^\W_])(?:{_COMPOUNDS[language]})(?![^\W_])", re.IGNORECASE)


def unmatched_number_words(
    text: str, language: str, source: str = "", source_language: str = ""
) -> list[int] | None:
    """The numbers but 1 that a text has in words and its source does not have, in their order.

    None where the words of its language are not known, or others may stand for a number.

    >>> [unmatched_number_words(text, "fr") for text in ("des juges", "un juge", "deux juges")]
    [[], [], [2]]
    >>> unmatched_number_words("deux juges", "fr", "40 of two judges", "en")
    []
    >>> unmatched_number_words("une douzaine", "fr"), unmatched_number_words("tuomarit", "fi")
    (None, None)
    """
    if base_code(language) not in LANGUAGES or has_loose_words(text, language):
        return None
    said = Counter(number.value for number in numbers_in_words(source, source_language))
    left = []
    for number in numbers_in_words(text, language):
        if said[number.value] > 0:
            said[number.value] -= 1
        elif number.value != 1:
            left.append(number.value)
    return left


class _NumberWord(NamedTuple):
    text: str
    begin: int
    end: int


def _numbers_of_run(
    text: str, run: re.Match[str], vocabulary: _Vocabulary
) -> Iterator[NumberInWords]:
    """The numbers that words in a row say; without a comma there may be several: `two or three`."""
    words = [
        _NumberWord(match[0].lower(), *match.span())
        for match in vocabulary.word.finditer(text, run.start(), run.end())
    ]
    begin = 0
    while begin < len(words):
        value, next_begin = _first_number(words, begin, text, vocabulary)
        end = run.end() if next_begin == len(words) else words[next_begin - 1].end
        first = words[begin]
        is_scale = first.text in vocabulary.factors
        # Not the million of `5 million`.
        if not is_scale or not _AFTER_DIGIT.search(text[max(0, first.begin - 2) : first.begin]):
            yield NumberInWords(value, first.begin, end)
        begin = next_begin


def _first_number(
    words: Sequence[_NumberWord], begin: int, text: str, vocabulary: _Vocabulary
) -> tuple[int, int]:
    """The value of the number that begins at `begin`, and the index of the word behind it.

    `one thousand and two thousand` and `one hundred and two hundred` are two numbers each.
    """
    total, scale, group = 0, 0, begin
    # Below a thousand: what the words since the last thousand or million say.
    current: int | None = None
    for index in range(begin, len(words)):
        word = words[index]
        factor = vocabulary.factors.get(word.text)
        if factor is None:
            value = vocabulary.numbers[word.text]
            if index > begin and word.text in vocabulary.alone:
                return total + (current or 0), index
            between = text[words[index - 1].end : word.begin] if index > begin else ""
            added = _added(current, value, between.strip(" \u00a0-").lower(), vocabulary.language)
            if added is None:
                return total + (current or 0), index
            current = added
        elif factor == HUNDRED:
            last = vocabulary.numbers.get(words[index - 1].text, 0) if index > begin else 0
            if current is not None and not 0 < current < HUNDRED:
                if 0 < last < current:
                    return total + current - last, index - 1
                return total + current, index
            current = (current or 1) * HUNDRED
        elif factor == scale:
            return (total, group) if group > begin else (total + (current or 0), index)
        else:
            if scale < factor:
                total = (total + (current or 0) or 1) * factor
            else:
                total += (1 if current is None else current) * factor
            current, scale, group = None, factor, index + 1
    return total + (current or 0), len(words)


def _added(before: int | None, value: int, between: str, language: str) -> int | None:
    """The number below a thousand that `before` and the next word make; None: two numbers.

    >>> _added(100, 20, "", "en"), _added(20, 1, "", "en"), _added(2, 3, "", "en")
    (120, 21, None)
    >>> _added(1, 20, "und", "de"), _added(4, 20, "", "fr"), _added(80, 19, "", "fr")
    (21, 80, 99)
    """
    if before is None:
        return value
    rest = before % HUNDRED
    is_ten = rest >= 20 and not rest % 10
    if not before or not value or value >= HUNDRED:
        fits = False
    elif not rest:
        fits = True
    elif language == "de":
        fits = rest < 10 and value >= 20 and between == "und"
    elif language == "fr":
        if rest == 4 and value == 20:
            return before + 76
        fits = (
            (is_ten and value < 10)
            or (rest in (60, 80) and value < 20)
            or (rest in (10, 70, 90) and 7 <= value <= 9)
        )
    else:
        fits = is_ten and value < 10
    return before + value if fits else None
