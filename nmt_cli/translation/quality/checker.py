"""Flags of doubtful translations: what differs from the training text, and from the source.

Every check compares a source sentence with its translation. Checks that need the statistics of the
training text are left out for models that have none.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nmt_cli.data.cleaning.numbers.comparison import numbers_changed
from nmt_cli.data.cleaning.numbers.enumerations import is_enumeration_lost
from nmt_cli.data.corpus.text_statistics import TextStatistics
from nmt_cli.data.languages.trigrams import verdict
from nmt_cli.data.languages.word_characters import JOINERS, MARK
from nmt_cli.data.markup.inline import has_marks, mark_spans
from nmt_cli.data.markup.kept import MARKS_ONLY
from nmt_cli.data.sentences.splitter import SentenceSplitter
from nmt_cli.translation.quality.flags import NEED_STATISTICS
from nmt_cli.translation.quality.placeholders import is_placeholder_lost
from nmt_cli.translation.result import WRONG_BYTES

# Names and numbers may stay as they are: a copy has at least this many words of letters.
MIN_COPIED_WORDS = 3
WORDS = re.compile(rf"[^\W\d_](?:[^\W\d_]|{MARK}|[{JOINERS}](?=[^\W\d_]))*")


class Confidence(NamedTuple):
    """The lowest usual log-probabilities: of the mean of a translation's tokens, of its lowest."""

    mean: float
    lowest: float

    def __str__(self) -> str:
        return f"{self.mean:.4f} {self.lowest:.4f}"

    @classmethod
    def parse(cls, text: str) -> "Confidence | None":
        """The inverse of `str`; None if `text` is something else.

        >>> Confidence.parse("-1.5000 -6.0000"), Confidence.parse("")
        (Confidence(mean=-1.5, lowest=-6.0), None)
        """
        try:
            mean, lowest = map(float, text.split())
        except ValueError:
            return None
        return cls(mean, lowest) if math.isfinite(mean + lowest) else None

    @classmethod
    def measured(cls, token_scores: Sequence[Sequence[float]], share: float) -> "Confidence | None":
        """The values that all but a `share` (0 to 1) of some translations exceed; None if none.

        token_scores: the log-probabilities of the tokens of each translation.
        """
        scored = [scores for scores in token_scores if scores]
        if not scored:
            return None
        means = [sum(scores) / len(scores) for scores in scored]
        mean, lowest = (
            float(np.quantile(values, share)) for values in (means, list(map(min, scored)))
        )
        return cls(mean, lowest)


class CheckedSentence(NamedTuple):
    """A sentence with its translation; token_scores: the log-probability of each token."""

    source: str
    text: str
    token_scores: Sequence[float] = ()


@dataclass(frozen=True)
class QualityChecker:
    """Finds the flags of translations.

    text: what is usual in the training text; confidence: what is usual in the validation; None:
    not known.
    """

    languages: tuple[str, str]
    text: TextStatistics | None = None
    confidence: Confidence | None = None
    _splitters: tuple[SentenceSplitter, SentenceSplitter] = field(init=False)

    def __post_init__(self) -> None:
        splitters = tuple(map(SentenceSplitter, self.languages))
        if self.text is not None:
            splitters = (self.text.src.splitter, self.text.tgt.splitter)
        object.__setattr__(self, "_splitters", splitters)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The flags that are never given, because the statistics for them are missing."""
        missing = {
            "untranslated": self.text is None or not len(self.text.language_odds),
            "length_outlier": self.text is None,
            "low_confidence": self.confidence is None,
        }
        return tuple(name for name in NEED_STATISTICS if missing[name])

    def flags(self, sentences: Sequence[CheckedSentence]) -> set[str]:
        """The flags of a line by its sentences."""
        flags = {flag for sentence in sentences for flag in self._flags_of(sentence)}
        src_splitter, tgt_splitter = self._splitters
        before = sum(len(src_splitter.split(sentence.source)) for sentence in sentences)
        after = sum(len(tgt_splitter.split(sentence.text)) for sentence in sentences)
        return flags | {"sentences_lost"} if after < before else flags

    def _flags_of(self, sentence: CheckedSentence) -> Iterator[str]:
        source, text = sentence.source, sentence.text
        if numbers_changed(source, text, self.languages) or is_enumeration_lost(source, text):
            yield "number_mismatch"
        if is_placeholder_lost(source, text):
            yield "placeholder_lost"
        if _has_more_marks(source, text):
            yield "markup_moved"
        if _is_copy(source, text):
            yield "copied"
        if WRONG_BYTES in text and WRONG_BYTES not in source:
            yield "unknown_words"
        if self.text is not None:
            if len(self.text.language_odds) and self._is_source_language(text):
                yield "untranslated"
            low, high = self.text.lengths_of(len(source))
            if not low <= len(text) <= high:
                yield "length_outlier"
        scores, usual = sentence.token_scores, self.confidence
        if usual is not None and scores:
            mean = sum(scores) / len(scores)
            if mean < usual.mean or min(scores) < usual.lowest:
                yield "low_confidence"

    def _is_source_language(self, text: str) -> bool:
        assert self.text is not None
        first_line = text.partition("\n")[0].encode("utf-8", "replace")
        return verdict(first_line, self.text.language_odds) > 0


def _has_more_marks(source: str, text: str) -> bool:
    """Whether a translation has tags or placeholders that its source has not, or not as often.

    >>> _has_more_marks("The dog", "Der <b>Hund</b>"), _has_more_marks("<i>a</i>", "<i>b</i>")
    (True, False)
    """
    if not has_marks(text, MARKS_ONLY):
        return False
    before, after = (
        Counter(line[mark.begin : mark.end] for mark in mark_spans(line, MARKS_ONLY))
        for line in (source, text)
    )
    return not after <= before


def _is_copy(source: str, text: str) -> bool:
    """Whether a translation has the same words as its source, of which there are several.

    >>> _is_copy("The dog sleeps here.", "the dog sleeps here"), _is_copy("IBM 5100", "IBM 5100")
    (True, False)
    """
    words = _words(source)
    return len(words) >= MIN_COPIED_WORDS and words == _words(text)


def _words(text: str) -> list[str]:
    return [word.casefold() for word in WORDS.findall(text)]
