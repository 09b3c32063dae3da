"""Splits a line into sentences, with the help of abbreviations learnt from training text.

A full stop ends a sentence unless the word before it is an abbreviation, an initial or an ordinal
number, or the text goes on in lower case. Marks of other scripts (。 ؟ । and others) are known too.
Where a full stop after an abbreviation may also end the sentence (`at 5 p.m. The`), the next word
decides: a capitalised function word begins a sentence.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from nmt_cli.data.languages.codes import base_code
from nmt_cli.data.languages.words import FUNCTION_WORDS
from nmt_cli.data.sentences.abbreviations import (
    ORDINALS,
    OTHER_ABBREVIATIONS,
    REFERENCE_ENDS,
    REFERENCES,
    TITLES,
    words_of,
)

OPENERS = "\"'«»“”„‚‘’›‹([{¿¡*_#–—-"
# Marks that end a sentence where a space follows, with what closes quotes and brackets. A match
# begins only at the first mark of a run, so that a hundred thousand dots are scanned once.
_END = re.compile(
    r"(?<![.!?…؟۔।॥։።။])(?P<marks>[.!?…؟۔।॥։።။]++)"
    r"(?P<closers>(?:[\u00a0\u202f ]?[»”]|[\"'»«”“’‘›‹)\]}])*+)(?P<gap>\s+)(?=\S)"
    r"|(?P<wide>[。！？｡．]++[」』”’）】》〉]*+)(?P<wide_gap>\s*)(?=\S)"
)
_LAST_WORD = re.compile(r"[^\s\"'«»“”„‚‘’()\[\]{}¿¡/–—]+$")
_FIRST_WORD = re.compile(r"\W{0,8}?(\w+)")
ORDINAL = re.compile(r"\d{1,2}")
_INITIALS = re.compile(r"(?:\w\.)*[^\W\d_]", re.UNICODE)
_ROMAN = re.compile(r"[IVXLC]{1,6}")
# A sentence with quoted speech continues after these: 「はい。」と言った.
_WIDE_OPENERS = "「『“‘（【《〈"


_WIDE_PAIRS = (("「", "」"), ("『", "』"), ("（", "）"), ("《", "》"), ("【", "】"))
LONGEST_QUOTE = 1_000
# This many characters on each side of a full stop are looked at.
REACH = 80


class Sentence(NamedTuple):
    """A sentence of a line; gap: the white space between it and the next one."""

    text: str
    gap: str


@dataclass(frozen=True)
class SentenceSplitter:
    """Splits lines of one language.

    language: its code, or "" if it is not known. abbreviations, titles: learnt ones, in lower case
    and without the last full stop; titles never end a sentence. ordinals: whether the language
    writes ordinal numbers with a full stop; None: as ORDINALS has it.
    """

    language: str = ""
    abbreviations: frozenset[str] = frozenset()
    titles: frozenset[str] = frozenset()
    ordinals: bool | None = None

    def split(self, line: str) -> list[Sentence]:
        """The sentences of a line; all texts and gaps together are the line.

        >>> SentenceSplitter("en").split("Dr. Lee left at 5 p.m. The end.  Good!")
        [Sentence(text='Dr. Lee left at 5 p.m.', gap=' '), Sentence(text='The end.', gap='  '), \
Sentence(text='Good!', gap='')]
        """
        sentences = []
        begin = 0
        lower = line == line.lower()
        for match in _END.finditer(line):
            gap = match["gap"] if match["wide"] is None else match["wide_gap"]
            end = match.end() - len(gap)
            if self._is_end(line, begin, match, all_lower=lower):
                sentences.append(Sentence(line[begin:end], gap))
                begin = match.end()
        rest = line[begin:]
        text = rest.rstrip()
        return [*sentences, Sentence(text, rest[len(text) :])] if rest else sentences

    def _is_end(self, line: str, begin: int, match: re.Match[str], *, all_lower: bool) -> bool:
        following = line[match.end() : match.end() + REACH]
        if match["wide"] is not None:
            quoted = line[max(begin, match.end() - LONGEST_QUOTE) : match.end()]
            return _ends_wide(match, following) and not _is_quoted(quoted)
        first = _FIRST_WORD.match(following)
        if first is None:
            return False
        next_word = first[1]
        if next_word[0].islower() and not (all_lower and not match["closers"]):
            return False
        marks = match["marks"]
        if marks != ".":
            return not self._continues(line, begin, match, next_word)
        before = _LAST_WORD.search(line, max(begin, match.start() - REACH), match.start())
        if before is None:
            # A full stop after a quotation mark or a bracket.
            return True
        is_first = not _has_text(line, begin, before.start())
        return self._ends_sentence(before[0], next_word, is_first=is_first)

    def _continues(self, line: str, begin: int, match: re.Match[str], next_word: str) -> bool:
        """Whether the sentence continues after marks that are not a single full stop."""
        is_ellipsis = set(match["marks"]) <= {".", "…"}
        is_first = not _has_text(line, begin, match.start())
        return is_first or (is_ellipsis and next_word == "I")

    def _ends_sentence(self, word: str, next_word: str, *, is_first: bool) -> bool:
        """Whether the full stop after `word`, which may be the first one, ends a sentence."""
        key = word.lower()
        starts = next_word.lower() in self._function_words and not next_word.islower()
        if is_first and (word.isdigit() or _ROMAN.fullmatch(word) or len(word) == 1):
            # The number of an item: `1. Der Hund`.
            return False
        if word.isdigit():
            return starts or not (self._has_ordinals and ORDINAL.fullmatch(word))
        if not self._titles.isdisjoint((word, key)) or key in self.titles:
            return False
        if _is_number(next_word) and (key in REFERENCES or key.endswith(REFERENCE_ENDS)):
            return False
        if key in self._abbreviations or self._is_initials(word):
            return starts
        return True

    def _is_initials(self, word: str) -> bool:
        """Whether a word is of initials: `J`, `U.S`, `e.g`, `non-U.S`."""
        word = word.rsplit("-", 1)[-1]
        if not _INITIALS.fullmatch(word):
            return False
        # In English, `I` is a pronoun.
        return word != "I" or base_code(self.language) not in ("", "en")

    @cached_property
    def _titles(self) -> frozenset[str]:
        return words_of(TITLES, self.language)

    @cached_property
    def _abbreviations(self) -> frozenset[str]:
        return self.abbreviations | words_of(OTHER_ABBREVIATIONS, self.language)

    @cached_property
    def _has_ordinals(self) -> bool:
        return base_code(self.language) in ORDINALS if self.ordinals is None else self.ordinals

    @cached_property
    def _function_words(self) -> frozenset[str]:
        """Words that begin a sentence if capitalised; of all languages if it is unknown."""
        code = base_code(self.language)
        texts = [FUNCTION_WORDS[code]] if code in FUNCTION_WORDS else FUNCTION_WORDS.values()
        return frozenset(word for text in texts for word in text.split() if len(word) > 1)


def _ends_wide(match: re.Match[str], following: str) -> bool:
    """Whether a mark of Chinese or Japanese ends a sentence, by what comes after it."""
    if match["wide_gap"]:
        return True
    if match["wide"].startswith("．"):
        # As in a number.
        return False
    is_closed = match["wide"][-1] not in "。！？｡．"
    return not is_closed or following[0] in _WIDE_OPENERS


def _is_quoted(text: str) -> bool:
    """Whether a quotation or a bracket of Chinese or Japanese is still open after `text`."""
    return any(text.count(opener) > text.count(closer) for opener, closer in _WIDE_PAIRS)


def _is_number(word: str) -> bool:
    return word[0].isdigit() or (_ROMAN.fullmatch(word) is not None and word != "I")


def _has_text(line: str, begin: int, end: int) -> bool:
    """Whether there are letters or digits in a part of a line."""
    return end - begin > REACH or bool(line[begin:end].strip(OPENERS + " "))
