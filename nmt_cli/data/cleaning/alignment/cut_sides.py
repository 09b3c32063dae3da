"""Finds pairs of which one side was cut short, as by a faulty export of a translation memory.

Such a side is far shorter than the lengths of the text let expect, and stops within a sentence,
while the other side ends with the mark of one; or it ends with a sentence, and has fewer of them.
"""

import functools
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt_cli.data.cleaning.clean import CleanText, Span, lines_at, read_side
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.data.sentences.splitter import SentenceSplitter

MIN_PAIRS = 500
# What is usual is learnt from so many pairs, for classes of lengths with so many pairs each.
LEARNT_PAIRS, CLASSES, LEAST_IN_CLASS = 100_000, 10, 50
# A cut side is at most so long, as a share of the usual length beside the other side, and its log
# ratio is below the median by so many standard deviations, estimated from the median deviation.
LONGEST_SHARE, LEAST_DEVIATIONS, DEVIATIONS = 0.55, 4.0, 1.4826
# The other side has so many characters: short ones differ more in their lengths.
LEAST_LENGTH = 30
# If a larger share of so many pairs of usual lengths has a side that stops within a sentence beside
# one that ends it, this says nothing: Thai has no full stops, and English lists have `; and`.
MOST_DISAGREEING, COMPARED_PAIRS = 0.1, 2_000
_CLOSERS = "\"'”’»«)]}›“‘」』） \u00a0\u202f"
_CLAUSE_ENDS = (";", "；", "؛")
_CONTINUING = ",،、"
# A capitalised word that is no function word: the splitter begins a sentence with it only if the
# text before it has ended one.
_NEXT_WORD = "Xx"

Pair = tuple[str, str]


def find_cut_sides(
    text: CleanText, used: np.ndarray, languages: tuple[str, str], pool: ProcessPool
) -> np.ndarray:
    """Return whether a side of each pair was cut short: (pairs,) bool.

    used: (pairs,) bool, the pairs that show what is usual, and are judged; languages: the codes of
    source and target.
    """
    found = np.zeros(text.pairs, bool)
    indices = np.flatnonzero(used)
    if len(indices) < MIN_PAIRS:
        return found
    lengths = np.concatenate(
        list(pool.map(functools.partial(_lengths, text.directory), iter(text.spans))), axis=1
    )
    splitters = SentenceSplitter(languages[0]), SentenceSplitter(languages[1])
    for cut in (0, 1):
        ends = _Ends(splitters[1 - cut], splitters[cut])
        order: Callable[[Pair], Pair] = _swapped if cut == 0 else _as_is
        short = indices[too_short(lengths[1 - cut, indices], lengths[cut, indices])]
        others = np.setdiff1d(indices, short, assume_unique=True)
        usual = lines_at(text, others[:: max(1, len(others) // COMPARED_PAIRS)])
        agrees = ends.agree([order(pair) for pair in usual.values()])
        for index, pair in lines_at(text, short).items():
            found[index] |= ends.is_cut(*order(pair), ends_agree=agrees)
    return found


def _as_is(pair: Pair) -> Pair:
    return pair


def _swapped(pair: Pair) -> Pair:
    return pair[1], pair[0]


def _lengths(directory: Path, span: Span) -> np.ndarray:
    """Return the lengths of both sides in characters: (2, pairs) int32."""
    sides = []
    for side in ("src", "tgt"):
        text = np.frombuffer(read_side(directory, side, span), np.uint8)
        # In UTF-8 all bytes of a character but the first begin with the bits 10.
        characters = np.cumsum((text & 0xC0) != 0x80, dtype=np.int32)[text == ord("\n")]
        sides.append(np.diff(characters, prepend=0) - 1)
    return np.array(sides, np.int32)


def too_short(whole: np.ndarray, cut: np.ndarray) -> np.ndarray:
    """Return the indices of the pairs whose second side is far too short, ascending.

    whole, cut: (pairs,) lengths of both sides, in characters.
    """
    logs = np.log1p(whole.astype(np.float64))
    ratios = np.log1p(cut.astype(np.float64)) - logs
    learnt = slice(None, None, max(1, len(whole) // LEARNT_PAIRS))
    classes = max(1, min(CLASSES, len(ratios[learnt]) // LEAST_IN_CLASS))
    limits = np.unique(np.quantile(logs[learnt], np.linspace(0, 1, classes + 1)[1:-1]))
    members = np.searchsorted(limits, logs, side="right")
    deviations, allowed = np.zeros(len(ratios)), np.zeros(len(ratios))
    for member in range(len(limits) + 1):
        inside = members == member
        sample = ratios[learnt][members[learnt] == member]
        if not len(sample):
            continue
        median = np.median(sample)
        deviations[inside] = ratios[inside] - median
        spread = DEVIATIONS * float(np.median(np.abs(sample - median)))
        allowed[inside] = min(np.log(LONGEST_SHARE), -LEAST_DEVIATIONS * spread)
    found: np.ndarray = np.flatnonzero((deviations < allowed) & (whole >= LEAST_LENGTH))
    return found


class _Ends(NamedTuple):
    """Judges by the ends of sentences; whole, cut: the splitters of the two sides."""

    whole: SentenceSplitter
    cut: SentenceSplitter

    def agree(self, pairs: Sequence[Pair]) -> bool:
        """Whether the second sides of usual pairs nearly always end where the first ones do."""
        stops = [
            self._stops_earlier(whole, cut)
            for whole, cut in pairs
            if _ends_clause(whole) or _ends_sentence(self.whole, whole)
        ]
        return sum(stops) <= MOST_DISAGREEING * len(stops)

    def is_cut(self, whole: str, cut: str, *, ends_agree: bool) -> bool:
        """Whether a second side that is far too short stops before the first one ends.

        ends_agree: whether the ends of the lines of this text say something.
        """
        if _ends_sentence(self.whole, whole) and _ends_sentence(self.cut, cut):
            return len(self.cut.split(cut)) < len(self.whole.split(whole))
        return ends_agree and self._stops_earlier(whole, cut)

    def _stops_earlier(self, whole: str, cut: str) -> bool:
        """Whether the first side ends a sentence or clause, and the second stops within one."""
        # French has commas between the items of a list that end with semicolons in English.
        but = _CONTINUING if _ends_clause(whole) else ""
        ends = bool(but) or _ends_sentence(self.whole, whole)
        return ends and _stops_within(cut, but)


def _ends_clause(line: str) -> bool:
    return line.rstrip(_CLOSERS).endswith(_CLAUSE_ENDS)


def _ends_sentence(splitter: SentenceSplitter, line: str) -> bool:
    """Whether a line ends a sentence, and not with an abbreviation.

    >>> [_ends_sentence(SentenceSplitter("en"), line) for line in ("Yes.", "dogs, etc.", "a dog")]
    [True, False, False]
    """
    return splitter.split(f"{line.rstrip()} {_NEXT_WORD}")[-1].text == _NEXT_WORD


def _stops_within(line: str, but: str = "") -> bool:
    """Whether a line ends with a letter, a digit or a comma; but: marks that do not count.

    >>> [_stops_within(line) for line in ("the old", "the old,", "the old.", "(see above).")]
    [True, True, False, False]
    """
    last = line.rstrip(_CLOSERS)[-1:]
    return (
        bool(last)
        and last not in but
        and (last.isalnum() or last in _CONTINUING or unicodedata.category(last)[0] == "M")
    )
