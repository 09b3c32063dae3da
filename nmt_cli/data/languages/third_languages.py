"""Finds lines in a third language, or that end with a sentence in one, by the commonest words."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.languages.later_sentences import later_sentences
from nmt_cli.data.languages.words import WORDS

LanguagesOf = Mapping[str, Sequence[str]]

# Without what an apostrophe cuts off: `A's` has no Slovene `s`.
_WHOLE_WORD = re.compile(r"(?<![\w'’])[^\W\d_]+(?!['’])")
# A line is in a third language if it has so many different words of it, which are this share of
# its words, and so many times more than words of a language of the text.
MIN_WORDS_OF_LINE, MIN_SHARE_OF_LINE, MIN_RATIO_OF_LINE = 3, 0.25, 2.0
# So many are enough where the line is known not to be in the language of its side.
MIN_WORDS_OF_WRONG_LINE = 2
# A word belongs to the unknown language of a text if this share of its lines has it. A language is
# similar to the unknown one if this share of its words do.
MIN_SHARE_OF_USUAL_WORD, MIN_SHARE_OF_SIMILAR = 0.02, 0.2


def third_languages(lines: Iterable[str], known: Sequence[str]) -> dict[str, list[int]]:
    """Find lines that are clearly in a language beside those of a text: their indices by language.

    So are lines that end with sentences in one, of a text that a side has in several languages.

    known: the codes of the languages of the text. Nothing is found if one of them is not known to
    this module: it may be similar to one that is.

    >>> third_languages(["Le chien de la voisine est dans le jardin.", "Ja."], ("en", "de"))
    {'fr': [0]}
    >>> third_languages(["The dog of the neighbour is in the garden."], ("en", "de"))
    {}
    >>> third_languages(["The dog is in the garden. Le chien est dans le jardin."], ("en", "de"))
    {'fr': [0]}
    """
    codes = [base_code(code) for code in known]
    return _found(lines, _LANGUAGES_OF, codes) if WORDS.keys() >= set(codes) else {}


def third_languages_beside_unknown(
    lines: Iterable[str], languages_of: LanguagesOf
) -> dict[str, list[int]]:
    """Find lines that are clearly not in the unknown language of their text, as `third_languages`.

    languages_of: the words that show another language (`words_of_other_languages`).
    """
    return _found(lines, languages_of, ())


def count_function_words(lines: Iterable[str]) -> Counter[str]:
    """Count how many of some lines have each word that is a function word of a known language."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(_LANGUAGES_OF.keys() & set(_WHOLE_WORD.findall(line.lower())))
    return counts


def words_of_other_languages(
    counts: Mapping[str, int], lines: int, known: Sequence[str]
) -> LanguagesOf:
    """Return the words that show another language in text of an unknown one, and their languages.

    They are the function words that are not usual in the text, and not those of a language that is
    similar to that of the text.

    counts: how many of `lines` lines have each function word. known: codes of languages whose words
    show nothing.

    >>> usual = {"la": 40, "de": 60, "los": 5, "el": 30, "y": 50, "en": 20, "a": 50, "que": 30}
    >>> words = words_of_other_languages(usual, 1_000, ["en"])
    >>> "la" in words, "dans" in words, words.get("los"), "the" in words
    (False, True, None, False)
    """
    usual = {word for word, count in counts.items() if count >= MIN_SHARE_OF_USUAL_WORD * lines}
    left_out = {base_code(code) for code in known} | {
        code
        for code, words in WORDS.items()
        if len(words & usual) >= MIN_SHARE_OF_SIMILAR * len(words)
    }
    return {
        word: others
        for word, codes in _LANGUAGES_OF.items()
        if word not in usual and (others := [code for code in codes if code not in left_out])
    }


def is_third_language(line: str, known: Sequence[str]) -> bool:
    """Whether a line that is not in the language of its side is in none of the known ones, either.

    known: the codes of languages that nmt knows, at least one. Other signs must have shown that
    the line is not in the language of its side, so fewer words are enough than usually.

    >>> is_third_language("Le chien dans le jardin.", ["en"])
    True
    >>> is_third_language("The dog in the garden.", ["en"]), is_third_language("Rex!", ["en"])
    (False, False)
    """
    codes = [base_code(code) for code in known]
    words = set(_WHOLE_WORD.findall(line.lower()))
    _, most, own = _language_of_words(words, _LANGUAGES_OF, codes)
    return most >= MIN_WORDS_OF_WRONG_LINE and most > MIN_RATIO_OF_LINE * own


def _found(
    lines: Iterable[str], languages_of: LanguagesOf, own_codes: Sequence[str]
) -> dict[str, list[int]]:
    own_words = frozenset().union(*(WORDS[code] for code in own_codes))
    words_of_others = languages_of.keys() - own_words
    found: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        lowered = line.lower()
        # Most lines have almost no words of other languages; these are not counted exactly.
        if len(words_of_others.intersection(lowered.split())) < MIN_WORDS_OF_LINE - 1:
            continue
        for start in chain([0], later_sentences(lowered)):
            words = set(_WHOLE_WORD.findall(lowered, start))
            best, most, own = _language_of_words(words, languages_of, own_codes)
            enough = max(MIN_WORDS_OF_LINE, MIN_SHARE_OF_LINE * len(words))
            if most >= enough and most > MIN_RATIO_OF_LINE * own:
                found.setdefault(best, []).append(index)
                break
    return found


def _language_of_words(
    words: Iterable[str], languages_of: LanguagesOf, codes: Iterable[str]
) -> tuple[str, int, int]:
    """The language with most of these words, their number, and the most of one of `codes`.

    Of several languages with as many words, it is the first in the order of their codes.
    """
    counts = Counter(code for word in words for code in languages_of.get(word, ()))
    # The words come from sets, whose order differs from process to process.
    best, most = max(sorted(counts.items()), key=lambda item: item[1], default=("", 0))
    return best, most, max((counts[code] for code in codes), default=0)


def _languages_of_words() -> dict[str, list[str]]:
    languages_of: dict[str, list[str]] = {}
    for code, words in WORDS.items():
        for word in words:
            languages_of.setdefault(word, []).append(code)
    return languages_of


_LANGUAGES_OF = _languages_of_words()
