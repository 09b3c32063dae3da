"""Finds the columns, fields and segments of a language by the label that a file gives them."""

import re
from collections.abc import Sequence

from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.languages.names import code_of_name

# What labels have beside a language, in English, German, French and Spanish.
_HEADING_WORDS = {
    "column", "entry", "example", "examples", "gloss", "headword", "lang", "language", "lemma",
    "meaning", "original", "phrase", "reference", "segment", "sent", "sentence", "sentences",
    "side", "source", "src", "str", "string", "target", "term", "text", "texts", "tgt", "title",
    "translated", "translation", "word", "words", "beispiel", "beispielsatz", "bedeutung",
    "quelle", "satz", "sprache", "ziel", "übersetzung", "wort", "cible", "exemple", "langue",
    "mot", "texte", "traduction", "ejemplo", "frase", "idioma", "palabra", "texto", "traducción",
    # Types of tiers: free translation, text, gloss, reference, ...
    "free", "ft", "gl", "gls", "ref", "tier", "transcription", "tx", "txt", "utterance",
}  # fmt: skip
_LABEL_WORD = re.compile(r"[^\W_]+")
# ELAN names a tier by its type and its speaker.
SPEAKER_MARK = "@"


def is_named(label: str, language: str) -> bool:
    """Whether a label names this language, by a code or a name, alone or beside a usual word.

    >>> [is_named(label, "en") for label in ("en-GB", "Englisch", "text_en", "Lemma (English)")]
    [True, True, True, True]
    >>> is_named("English-ft@Ama", "en")
    True
    >>> is_named("English Channel", "en"), is_named("in it", "it"), is_named("English", "de")
    (False, False, False)
    """
    return _is_alone(label, language) or _is_beside_words(label, language)


def _is_alone(label: str, language: str) -> bool:
    cleaned = label.strip().lower()
    return base_code(language) in (code_of_name(cleaned), base_code(cleaned))


def _is_beside_words(label: str, language: str) -> bool:
    kind, speaker_mark, _ = label.partition(SPEAKER_MARK)
    words = _LABEL_WORD.findall(kind)
    others = [word for word in words if not _is_alone(word, language)]
    if len(others) == len(words) or not (others or speaker_mark):
        return False
    # Two capitals are those of a country.
    return all(
        word.lower() in _HEADING_WORDS or word.isdecimal() or (len(word) == 2 and word.isupper())
        for word in others
    )


def place_of(labels: Sequence[str], language: str) -> int | None:
    """The index of the label that is this code or names its language, or None.

    The same code goes before another one of the same language.

    >>> place_of(["id", "pt-PT", "pt-BR"], "pt_BR"), place_of(["No", "English"], "en")
    (2, 1)
    >>> place_of(["swh", "swc"], "sw"), place_of(["en-US"], "en"), place_of(["en", "zul"], "zu")
    (None, 0, 1)
    """
    cleaned = [label.strip().lower().replace("_", "-") for label in labels]
    wanted, base = language.lower().replace("_", "-"), base_code(language)
    if wanted in cleaned:
        return cleaned.index(wanted)
    for index, label in enumerate(cleaned):
        if base in (code_of_name(label), base_code(label)):
            return index
    return None


def in_given_order(
    labels: Sequence[str], chosen: tuple[int, int], languages: Sequence[str]
) -> tuple[int, int]:
    """The indices of source and target; languages: their codes, or none if they are not known.

    chosen: the indices that are taken, in this order, where the labels do not name the languages.
    A label that is a language goes before one that has other words, too, and of these one that is
    chosen; if there are several, none is taken.

    >>> in_given_order(["id", "Ndara", "English"], (1, 2), ("en", "xnd"))
    (2, 1)
    >>> in_given_order(["en", "fr", "de"], (0, 1), ("de", "en")), in_given_order(["a"], (0, 1), ())
    ((2, 0), (0, 1))
    >>> in_given_order(["word xnd", "word en", "gloss en"], (0, 1), ("en", "xnd"))
    (1, 0)
    """
    if not languages:
        return chosen
    src, tgt = (place_of_language(labels, chosen, language) for language in languages)
    if src is not None and tgt is not None and src != tgt:
        return src, tgt
    if (src, tgt) in ((chosen[1], None), (None, chosen[0])):
        return chosen[1], chosen[0]
    return chosen


def place_of_language(labels: Sequence[str], chosen: tuple[int, int], language: str) -> int | None:
    """The index of the label that names the language, as in `in_given_order`, or None.

    chosen: indices that go before others with such a label.

    >>> place_of_language(["id", "word (English)"], (0, 1), "en")
    1
    """
    place = place_of(labels, language)
    if place is not None:
        return place
    places = [index for index, label in enumerate(labels) if _is_beside_words(label, language)]
    among = [index for index in places if index in chosen] or places
    return among[0] if len(among) == 1 else None
