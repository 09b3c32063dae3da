"""Finds lines in the language of the other side: swapped, copied and untranslated ones.

The languages are learnt from the two sides themselves, as counts of byte trigrams (Cavnar and
Trenkle 1994 count characters), and each line is compared with both. Sides that are too similar to
be distinguished, such as two spellings of one language, are not checked.
"""

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt_cli.data.cleaning.clean import CleanText, Progress, Span, read_side
from nmt_cli.data.cleaning.kinds import SOURCE_WRONG, SWAPPED, TARGET_WRONG
from nmt_cli.data.languages.trigrams import BUCKETS, log_odds, trigram_counts, verdicts
from nmt_cli.data.process_pool import ProcessPool

# At least this share of the lines must clearly belong to their side, or nothing is reported.
MIN_DISTINCT_SHARE = 0.5
MIN_LINES = 100
# The trigrams are learnt from this many spans at the beginning, and then from each span whose index
# is a multiple of this number.
LEARNT_SPANS = 16


class _WrongSidesJob(NamedTuple):
    directory: Path
    span: Span

    def side(self, side: str) -> np.ndarray:
        return np.frombuffer(read_side(self.directory, side, self.span), np.uint8)


class _SpanVerdicts(NamedTuple):
    """The verdicts on the pairs of a span.

    kinds: (pairs,) uint8, 0 or one of WRONG_SIDES; right: lines of each side that clearly belong
    there.
    """

    kinds: np.ndarray
    right: tuple[int, int]


def find_wrong_sides(text: CleanText, pool: ProcessPool, progress: Progress) -> np.ndarray:
    """Return 0 or one of WRONG_SIDES for each pair of the cleaned text: (pairs,) uint8."""
    nothing = np.zeros(text.pairs, np.uint8)
    if text.pairs < MIN_LINES:
        return nothing
    odds = _learn(text, pool)
    kinds, right, done = [], np.zeros(2), 0
    jobs = (_WrongSidesJob(text.directory, span) for span in text.spans)
    for verdict in pool.map(functools.partial(_check_span, odds), jobs):
        kinds.append(verdict.kinds)
        right += verdict.right
        done += len(verdict.kinds)
        progress("compare languages", done, text.pairs)
    if (right < MIN_DISTINCT_SHARE * text.pairs).any():
        return nothing
    return np.concatenate(kinds)


def _learn(text: CleanText, pool: ProcessPool) -> np.ndarray:
    """Return how much likelier each trigram is on the source side: (BUCKETS,) float32 log odds."""
    jobs = (
        _WrongSidesJob(text.directory, span)
        for index, span in enumerate(text.spans)
        if index < LEARNT_SPANS or index % LEARNT_SPANS == 0
    )
    counts = np.ones((2, BUCKETS))  # (source and target, BUCKETS)
    for span_counts in pool.map(_count_trigrams, jobs):
        counts += span_counts
    return log_odds(counts)


def _count_trigrams(job: _WrongSidesJob) -> np.ndarray:
    return np.stack([trigram_counts(job.side(side)) for side in ("src", "tgt")])


def _check_span(odds: np.ndarray, job: _WrongSidesJob) -> _SpanVerdicts:
    src, tgt = verdicts(job.side("src"), odds), verdicts(job.side("tgt"), -odds)
    kinds = np.zeros(len(src), np.uint8)
    kinds[src < 0] = SOURCE_WRONG
    kinds[tgt < 0] = TARGET_WRONG
    kinds[(src < 0) & (tgt < 0)] = SWAPPED
    return _SpanVerdicts(kinds, (int((src > 0).sum()), int((tgt > 0).sum())))
