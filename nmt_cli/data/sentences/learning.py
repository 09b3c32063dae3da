"""Learns the abbreviations of a language from the full stops of training text."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from nmt_cli.data.languages.unspaced import spaced_words
from nmt_cli.data.sentences.splitter import OPENERS, ORDINAL, SentenceSplitter

# A word counts as an abbreviation from this many occurrences within sentences on, if they are at
# least this share of its occurrences.
MIN_ABBREVIATION_COUNT, MIN_ABBREVIATION_SHARE = 3, 0.2
LONGEST_ABBREVIATION = 8
# A word before a capitalised one is an abbreviation if it nearly always has its full stop.
MIN_TITLE_SHARE, LONGEST_TITLE = 0.9, 5
# Ordinal numbers: this share of the full stops after short numbers lies within sentences.
MIN_ORDINAL_COUNT, MIN_ORDINAL_SHARE = 3, 0.3


@dataclass
class StopCounts:
    """Counts of full stops in training text, from which abbreviations are learnt.

    before_lower, before_upper: words before a full stop within a line, by what follows: lower case
    or a digit, or anything else. ending: words before the full stop that ends a line.
    """

    before_lower: Counter[str] = field(default_factory=Counter)
    before_upper: Counter[str] = field(default_factory=Counter)
    ending: Counter[str] = field(default_factory=Counter)

    def add(self, lines: Iterable[str]) -> None:
        """Count the full stops of more lines."""
        for line in lines:
            words = spaced_words(line)
            for word, following in pairwise(words):
                if not word.endswith(".") or word.endswith(".."):
                    continue
                key = _key(word)
                if not key:
                    continue
                first = following.lstrip(OPENERS)[:1]
                counts = (
                    self.before_lower if first.islower() or first.isdigit() else self.before_upper
                )
                counts[key] += 1
            if words and words[-1].endswith("."):
                self.ending[_key(words[-1])] += 1

    def merge(self, other: "StopCounts") -> None:
        """Add other counts to these."""
        for name in ("before_lower", "before_upper", "ending"):
            getattr(self, name).update(getattr(other, name))

    def splitter(self, language: str, words: Mapping[str, int]) -> SentenceSplitter:
        """The splitter that these counts give.

        words: the counts of all words of the text, with the punctuation that is attached to them.
        """
        abbreviations, titles = set(), set()
        for key in {*self.before_lower, *self.before_upper} - {_NUMBER}:
            lower, upper = self.before_lower[key], self.before_upper[key]
            within = lower + upper
            if len(key) > LONGEST_ABBREVIATION:
                continue
            plain = sum(words.get(form, 0) for form in {key, key.capitalize(), key.upper()})
            total = within + self.ending[key] + plain
            is_short = len(key) <= LONGEST_TITLE
            if upper >= MIN_ABBREVIATION_COUNT and within >= MIN_TITLE_SHARE * total and is_short:
                titles.add(key)
            elif lower >= MIN_ABBREVIATION_COUNT and lower >= MIN_ABBREVIATION_SHARE * total:
                abbreviations.add(key)
        return SentenceSplitter(
            language, frozenset(abbreviations), frozenset(titles), self._has_ordinals()
        )

    def _has_ordinals(self) -> bool | None:
        """Whether short numbers before a full stop are ordinals; None where there are few."""
        within = self.before_lower[_NUMBER] + self.before_upper[_NUMBER]
        stops = within + self.ending[_NUMBER]
        if stops < MIN_ORDINAL_COUNT:
            return None
        return within >= MIN_ORDINAL_COUNT and within >= MIN_ORDINAL_SHARE * stops


# The key of all short numbers.
_NUMBER = "0"


def _key(word: str) -> str:
    """The word before a full stop, in lower case; one key for all short numbers."""
    key = word[:-1].lstrip(OPENERS).lower()
    return _NUMBER if ORDINAL.fullmatch(key) else key
