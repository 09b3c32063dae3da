"""How subwords normalise text: by NFKC, but for characters whose sense NFKC would change.

NFKC makes one character of a letter and its accent, and plain characters of ligatures, full-width
letters and unusual spaces, so that a model reads them although its training text lacked them. It
also makes m2 of m², kw of kʷ, No of №, two letters of a Thai or Lao one, other punctuation of that
of Chinese, and two words of one with a zero-width non-joiner. So these characters are kept where
the training text has them.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, cached_property
from typing import Any

import sentencepiece

# The normalisation of sentencepiece where no character is kept.
NORMALIZER = "nmt_nfkc"
ZERO_WIDTH_NON_JOINER = "\u200c"
# It separates words in text of these scripts: Thai, Lao, Myanmar and Khmer.
ZERO_WIDTH_SPACE = "\u200b"
_WITHOUT_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
# With it sentencepiece shows what is not in the vocabulary.
UNKNOWN_SHOWN = "\u2047"
_KEPT_FORMS = ("<super>", "<sub>", "<fraction>", "<circle>", "<square>")
# Characters that only look other than plain letters: digraphs of Latin (ĳ, ǆ), radicals of Chinese,
# ligatures, and the forms of Arabic letters.
_FORMS_ONLY = (
    range(0x132, 0x14A),
    range(0x1C4, 0x1F4),
    range(0x2E80, 0x2FE0),
    range(0xFB00, 0xFF00),
)
# Characters of these categories whose NFKC form has a space, such as ´ and ﷺ, are kept.
_KEPT_CATEGORIES = ("Sk", "Lm", "Lo", "Po")
# The first of the private characters that stand for the kept ones while the others are normalised.
_STAND_INS = 0x100000
_NO_LOG = 4


class Normalizer:
    """Normalises lines of text, but for the characters `kept`."""

    def __init__(self, kept: str = "", *, marks_words: bool = False) -> None:
        """marks_words: whether each word begins with U+2581, instead of a space between words."""
        self._kept, self._marks_words = kept, marks_words
        self._plain = sentencepiece.SentencePieceNormalizer(
            rule_name=NORMALIZER, add_dummy_prefix=marks_words, escape_whitespaces=marks_words
        )
        stand_ins = [chr(_STAND_INS + index) for index in range(len(kept))]
        self._hidden = str.maketrans(dict(zip(kept, stand_ins, strict=True)))
        self._shown = str.maketrans(dict(zip(stand_ins, kept, strict=True)))

    def normalize(self, line: str) -> str:
        """The normalised line.

        >>> Normalizer().normalize("１ m² ﬁt"), Normalizer("²").normalize("１ m² ﬁt")
        ('1 m2 fit', '1 m² fit')
        """
        if not self._kept:
            return str(self._plain.normalize(line))
        if not self._shown.keys().isdisjoint(map(ord, line)):
            return str(self._exact.normalize(line))
        hidden = line.translate(self._hidden)
        return str(self._plain.normalize(hidden)).translate(self._shown)

    @cached_property
    def _exact(self) -> sentencepiece.SentencePieceNormalizer:
        """What normalises lines that have stand-ins; it takes about a second to make."""
        return _without(self._kept, marks_words=self._marks_words)


def kept_characters(texts: Iterable[str]) -> str:
    """The characters of texts that are kept, in their order in Unicode.

    >>> kept_characters(["kʷa ½", "m² № ﬁ １"])
    '²½ʷ№'
    """
    characters = set().union(*texts)
    if not _WITHOUT_SPACES.search("".join(characters)):
        characters -= {ZERO_WIDTH_SPACE}
    return "".join(filter(_is_kept, sorted(characters)))


def are_kept_characters(text: str) -> bool:
    """Whether this is a result of `kept_characters`."""
    return text == "".join(filter(_is_kept, sorted(set(text))))


@cache
def _is_kept(character: str) -> bool:
    if character.isascii() or character == UNKNOWN_SHOWN:
        return False
    plain = str(_single().normalize(character))
    if plain == character:
        return False
    form, category = unicodedata.decomposition(character), unicodedata.category(character)
    return (
        character in (ZERO_WIDTH_NON_JOINER, ZERO_WIDTH_SPACE)
        or form.startswith(_KEPT_FORMS)
        or (
            form.startswith("<compat>")
            and category != "Zs"
            and not any(ord(character) in forms for forms in _FORMS_ONLY)
        )
        or (form.startswith("<wide>") and category[0] in "PS")
        or (" " in plain and category in _KEPT_CATEGORIES)
    )


@cache
def _single() -> sentencepiece.SentencePieceNormalizer:
    """What normalises single characters, and keeps spaces."""
    return sentencepiece.SentencePieceNormalizer(
        rule_name=NORMALIZER, add_dummy_prefix=False, escape_whitespaces=False,
        remove_extra_whitespaces=False,
    )  # fmt: skip


def learning_options(kept: str) -> dict[str, Any]:
    """The argument with which sentencepiece learns a model that normalises text in this way."""
    if not kept:
        return {"normalization_rule_name": NORMALIZER}
    return {"normalizer": _without(kept, marks_words=True)}


def _without(kept: str, *, marks_words: bool) -> sentencepiece.SentencePieceNormalizer:
    """The normaliser of sentencepiece without the characters `kept`."""
    hidden = set(kept)
    forms = sentencepiece.SentencePieceNormalizer(rule_name=NORMALIZER).Decompile()
    # It would write what it does to stderr.
    sentencepiece.SetMinLogLevel(_NO_LOG)
    return sentencepiece.SentencePieceNormalizer(
        norm_map=[(text, form) for text, form in forms if hidden.isdisjoint(text)],
        add_dummy_prefix=marks_words, escape_whitespaces=marks_words,
        remove_extra_whitespaces=True,
    )  # fmt: skip
