"""Learns the abbreviations of a language from the full stops of training text."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

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
    or a digit, or anything else. ending: words before the full stop that ends a line. plain: words
    without a full stop. lines: of the text; several: lines that seem to have several sentences.
    """

    before_lower: Counter[str] = field(default_factory=Counter)
    before_upper: Counter[str] = field(default_factory=Counter)
    ending: Counter[str] = field(default_factory=Counter)
    plain: Counter[str] = field(default_factory=Counter)
    lines: int = 0

    def add(self, lines: Iterable[str]) -> None:
        """Count the full stops of more lines."""
        for line in lines:
            self.lines += 1
            words = line.split()
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
            self.plain.update(word.lower() for word in words if not word.endswith("."))

    def merge(self, other: "StopCounts") -> None:
        """Add other counts to these."""
        for name in ("before_lower", "before_upper", "ending", "plain"):
            getattr(self, name).update(getattr(other, name))
        self.lines += other.lines

    def splitter(self, language: str) -> SentenceSplitter:
        """The splitter that these counts give; where they are few, the common lists decide."""
        abbreviations, titles = set(), set()
        for key in {*self.before_lower, *self.before_upper}:
            if key == _NUMBER or len(key) > LONGEST_ABBREVIATION:
                continue
            within = self.before_lower[key] + self.before_upper[key]
            total = within + self.ending[key] + self.plain[key]
            if within < MIN_ABBREVIATION_COUNT:
                continue
            if (
                self.before_upper[key] >= MIN_ABBREVIATION_COUNT
                and within >= MIN_TITLE_SHARE * total
                and len(key) <= LONGEST_TITLE
            ):
                titles.add(key)
            elif (
                self.before_lower[key] >= MIN_ABBREVIATION_COUNT
                and self.before_lower[key] >= MIN_ABBREVIATION_SHARE * total
            ):
                abbreviations.add(key)
        within = self.before_lower[_NUMBER] + self.before_upper[_NUMBER]
        stops = within + self.ending[_NUMBER]
        ordinals = None
        if stops >= MIN_ORDINAL_COUNT:
            ordinals = within >= MIN_ORDINAL_COUNT and within >= MIN_ORDINAL_SHARE * stops
        return SentenceSplitter(language, frozenset(abbreviations), frozenset(titles), ordinals)


# The key of all short numbers.
_NUMBER = "0"


def _key(word: str) -> str:
    """The word before a full stop, in lower case; one key for all short numbers."""
    key = word[:-1].lstrip(OPENERS).lower()
    return _NUMBER if ORDINAL.fullmatch(key) else key
