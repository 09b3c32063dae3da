"""Finds lines that are in the other side's language: swapped, copied and untranslated ones.

What the languages look like is learnt from the two sides themselves, as counts of three bytes
running (Cavnar and Trenkle 1994 count characters), and each line is held against both. Sides that
are too alike to be told apart, such as two spellings of one language, are not judged.
"""

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt_cli.data.clean import CleanText, Progress, Stretch, read_side
from nmt_cli.data.pool import Pool
from nmt_cli.data.trigrams import BUCKETS, line_sums, trigram_counts
from nmt_cli.plurals import counted

# Natural logarithms of odds: a line is called wrong when it is so much likelier on the other side,
# in all and for each of its trigrams.
LEAST_EVIDENCE = 4.0
LEAST_EVIDENCE_EACH = 0.15
# So many of each side's lines must be clearly on their own side, or nothing is said.
LEAST_TOLD_APART = 0.5
LEAST_LINES = 100
# Fewer may be names and numbers, which look alike in both languages: nobody is told.
LEAST_SHARE = 2e-4
# The first stretches are all learnt from, then each so-manieth.
STRETCHES_LEARNT_FROM = 16
SWAPPED, SOURCE_WRONG, TARGET_WRONG = 1, 2, 3
WHATS = {
    SWAPPED: "have their sides swapped",
    SOURCE_WRONG: "have a source in the target's language",
    TARGET_WRONG: "have a target in the source's language",
}


class _Work(NamedTuple):
    directory: Path
    stretch: Stretch

    def side(self, side: str) -> np.ndarray:
        return np.frombuffer(read_side(self.directory, side, self.stretch), np.uint8)


class _Judged(NamedTuple):
    """kinds: (pairs,) uint8, 0 or a key of WHATS; right: lines clearly on their own side."""

    kinds: np.ndarray
    right: tuple[int, int]


@dataclass(frozen=True)
class WrongSides:
    """Which pairs are wrong: (pairs,) bool, and notes that count them."""

    pairs: np.ndarray
    notes: list[str] = field(default_factory=list)


def find_wrong_sides(text: CleanText, pool: Pool, progress: Progress) -> WrongSides:
    """Judge all pairs of the cleaned text."""
    nothing = WrongSides(np.zeros(text.pairs, bool))
    if text.pairs < LEAST_LINES:
        return nothing
    odds = _learn(text, pool)
    kinds, right, done = [], np.zeros(2), 0
    works = (_Work(text.directory, one) for one in text.stretches)
    for judged in pool.map(functools.partial(_judge, odds), works):
        kinds.append(judged.kinds)
        right += judged.right
        done += len(judged.kinds)
        progress("compare languages", done, text.pairs)
    if (right < LEAST_TOLD_APART * text.pairs).any():
        return nothing
    return WrongSides(np.concatenate(kinds) > 0, _notes(np.concatenate(kinds)))


def _learn(text: CleanText, pool: Pool) -> np.ndarray:
    """(BUCKETS,) float32, by how much each trigram is likelier on the source's side."""
    works = (
        _Work(text.directory, stretch)
        for number, stretch in enumerate(text.stretches)
        if number < STRETCHES_LEARNT_FROM or number % STRETCHES_LEARNT_FROM == 0
    )
    counts = np.ones((2, BUCKETS))
    for found in pool.map(_count, works):
        counts += found
    shares = np.log(counts / counts.sum(1, keepdims=True))
    odds: np.ndarray = (shares[0] - shares[1]).astype(np.float32)
    return odds


def _count(work: _Work) -> np.ndarray:
    return np.stack([trigram_counts(work.side(side)) for side in ("src", "tgt")])


def _judge(odds: np.ndarray, work: _Work) -> _Judged:
    src, tgt = (_verdicts(work, side, sign * odds) for side, sign in (("src", 1), ("tgt", -1)))
    kinds = np.zeros(len(src), np.uint8)
    kinds[src < 0] = SOURCE_WRONG
    kinds[tgt < 0] = TARGET_WRONG
    kinds[(src < 0) & (tgt < 0)] = SWAPPED
    return _Judged(kinds, (int((src > 0).sum()), int((tgt > 0).sum())))


def _verdicts(work: _Work, side: str, odds: np.ndarray) -> np.ndarray:
    """(lines,) 1: clearly on its own side, -1: clearly on the other's, 0: neither."""
    evidence, trigrams = line_sums(work.side(side), odds)
    clear = np.abs(evidence) > np.maximum(LEAST_EVIDENCE, LEAST_EVIDENCE_EACH * trigrams)
    return np.where(clear, np.sign(evidence), 0)


def _notes(kinds: np.ndarray) -> list[str]:
    return [
        f"{counted(int(found.sum()), 'pair')} {what}, the first of them near line "
        f"{int(found.argmax()) + 1:,} of the training text"
        for kind, what in WHATS.items()
        if (found := kinds == kind).any() and found.mean() >= LEAST_SHARE
    ]
