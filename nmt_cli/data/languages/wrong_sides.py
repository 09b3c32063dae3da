"""Finds lines that are in the other side's language: swapped, copied and untranslated ones.

What the languages look like is learnt from the two sides themselves, as counts of three bytes
running (Cavnar and Trenkle 1994 count characters), and each line is held against both. Sides that
are too alike to be told apart, such as two spellings of one language, are not judged.
"""

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt_cli.data.cleaning.clean import CleanText, Progress, Stretch, read_side
from nmt_cli.data.cleaning.kinds import SOURCE_WRONG, SWAPPED, TARGET_WRONG
from nmt_cli.data.languages.trigrams import BUCKETS, line_sums, trigram_counts
from nmt_cli.data.process_pool import ProcessPool

# Natural logarithms of odds: a line is called wrong when it is so much likelier on the other side,
# in all and for each of its trigrams.
LEAST_EVIDENCE = 4.0
LEAST_EVIDENCE_EACH = 0.15
# So many of each side's lines must be clearly on their own side, or nothing is said.
LEAST_TOLD_APART = 0.5
LEAST_LINES = 100
# The first stretches are all learnt from, then each so-manieth.
STRETCHES_LEARNT_FROM = 16


class _Work(NamedTuple):
    directory: Path
    stretch: Stretch

    def side(self, side: str) -> np.ndarray:
        return np.frombuffer(read_side(self.directory, side, self.stretch), np.uint8)


class _Judged(NamedTuple):
    """kinds: (pairs,) uint8, 0 or one of WRONG_SIDES; right: lines clearly on their own side."""

    kinds: np.ndarray
    right: tuple[int, int]


def find_wrong_sides(text: CleanText, pool: ProcessPool, progress: Progress) -> np.ndarray:
    """(pairs,) uint8, 0 or one of WRONG_SIDES, for all pairs of the cleaned text."""
    nothing = np.zeros(text.pairs, np.uint8)
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
    return np.concatenate(kinds)


def _learn(text: CleanText, pool: ProcessPool) -> np.ndarray:
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
    src, tgt = verdicts(work.side("src"), odds), verdicts(work.side("tgt"), -odds)
    kinds = np.zeros(len(src), np.uint8)
    kinds[src < 0] = SOURCE_WRONG
    kinds[tgt < 0] = TARGET_WRONG
    kinds[(src < 0) & (tgt < 0)] = SWAPPED
    return _Judged(kinds, (int((src > 0).sum()), int((tgt > 0).sum())))


def verdicts(text: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """(lines,) 1: clearly on the side that `odds` favour, -1: clearly on the other's, 0: neither.

    text: (bytes,) uint8, lines with newlines; odds: (BUCKETS,).
    """
    evidence, trigrams = line_sums(text, odds)
    clear = np.abs(evidence) > np.maximum(LEAST_EVIDENCE, LEAST_EVIDENCE_EACH * trigrams)
    return np.where(clear, np.sign(evidence), 0)
