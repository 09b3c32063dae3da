"""Finds pairs whose sides are not translations of each other, such as shuffled pairs.

Each half of the pairs is scored with the word table learnt from the other half, so that no pair
supports itself. Sides combined at random show the scores of wrong pairs. Comparing both
distributions gives the number of wrong pairs and the score from which on most pairs are right.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import safetensors.numpy

from nmt_cli.data.cleaning.clean import CleanText, Progress, Span, read_side
from nmt_cli.data.cleaning.cooccurrence import (
    WORDS,
    Table,
    learn,
    rarest_first,
    scores,
    select_words,
    split_words,
)
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.storage.files import write_bytes

MIN_PAIRS = 2_000
# Pairs to learn from, in whole spans at even distances; more if all pairs are judged.
LEARNT_FROM = 32_768
LEARNT_FROM_FOR_ALL = 65_536
# The scores of random pairs are divided into this many bins of equal size.
BINS = 50
# The lowest bins, in which right pairs are rare.
LOW_BINS = 30
# Pairs are accepted from the first bin on that holds this many times more pairs than wrong ones.
ACCEPTED_RATIO = 3.0
# If a larger share of the pairs seems wrong, the word table is not reliable.
MAX_WRONG_SHARE = 0.5
NAME = "matching.safetensors"
_Words = tuple[np.ndarray, np.ndarray]


class _MatchingJob(NamedTuple):
    directory: Path
    span: Span


class _Learnt(NamedTuple):
    """The words of each side from the rarest on, and the word tables of both halves."""

    orders: tuple[np.ndarray, np.ndarray]
    tables: tuple[Table, Table]


@dataclass(frozen=True)
class Unmatched:
    """The pairs that do not match, (pairs,) bool, and how many pairs were scored.

    share: the estimated share of pairs that are not translations; None: unknown.
    """

    pairs: np.ndarray
    scored: int
    share: float | None


def find_unmatched(
    text: CleanText, pool: ProcessPool, progress: Progress, *, every: bool
) -> Unmatched:
    """Score all pairs of the cleaned text, or without `every` only those learnt from."""
    unmatched = np.zeros(text.pairs, bool)
    if text.pairs < MIN_PAIRS:
        return Unmatched(unmatched, 0, None)
    sample = _sample(text, LEARNT_FROM_FOR_ALL if every else LEARNT_FROM)
    progress("match words", 0, text.pairs)
    learnt, words = _learn(text.directory, sample)
    random = np.concatenate([_scores(learnt, *sides, at_random=True) for sides in words])
    known = {span.first: _scores(learnt, *sides) for span, sides in zip(sample, words, strict=True)}
    del words
    if every:
        known |= _other_scores(text, learnt, known, pool, progress)
    values = np.concatenate(list(known.values()))
    limit, share = threshold(values, random)
    if share <= MAX_WRONG_SHARE:
        indices = [first + np.flatnonzero(score < limit) for first, score in known.items()]
        unmatched[np.concatenate(indices)] = True
    return Unmatched(unmatched, len(values), share)


def threshold(values: np.ndarray, random: np.ndarray) -> tuple[float, float]:
    """Return the score below which a pair is wrong, and the estimated share of wrong pairs.

    values: (pairs,) scores; random: (others,) scores of sides combined at random.
    """
    limits = np.quantile(random, np.linspace(0, 1, BINS + 1)[1:-1])
    counts = np.bincount(np.searchsorted(limits, values, side="right"), minlength=BINS)
    # Wrong pairs are spread evenly over the bins.
    wrong = float(counts[:LOW_BINS].mean())
    accepted = np.flatnonzero(counts > ACCEPTED_RATIO * wrong)
    first = int(accepted[0]) if len(accepted) else BINS - 1
    limit = float(limits[first - 1]) if first else -np.inf
    return limit, wrong * BINS / len(values)


def _sample(text: CleanText, pairs: int) -> list[Span]:
    """Return whole spans at even distances with about this many pairs."""
    spans = [span for span in text.spans if span.pairs]
    largest = max(span.pairs for span in spans)
    count = max(1, pairs // largest)
    if len(spans) <= count:
        return spans
    return [spans[index * len(spans) // count] for index in range(count)]


def _words(job: _MatchingJob) -> list[tuple[np.ndarray, np.ndarray]]:
    sides = (read_side(job.directory, side, job.span) for side in ("src", "tgt"))
    return [split_words(np.frombuffer(side, np.uint8)) for side in sides]


def _select(
    sides: list[tuple[np.ndarray, np.ndarray]], pairs: int, orders: tuple[np.ndarray, np.ndarray]
) -> _Words:
    src, tgt = (
        select_words(*side, pairs, order) for side, order in zip(sides, orders, strict=True)
    )
    return src, tgt


def _learn(directory: Path, sample: list[Span]) -> tuple[_Learnt, list[_Words]]:
    """Learn word tables from some spans; also return the words of the spans."""
    counts = np.zeros((2, WORDS), np.int64)
    read = []
    for span in sample:
        read.append(_words(_MatchingJob(directory, span)))
        for side, (words, _) in enumerate(read[-1]):
            counts[side] += np.bincount(words, minlength=WORDS)
    orders = rarest_first(counts[0]), rarest_first(counts[1])
    selected = [
        _select(sides, span.pairs, orders) for span, sides in zip(sample, read, strict=True)
    ]
    first, second = (
        learn(*(np.concatenate([sides[side][half::2] for sides in selected]) for side in (0, 1)))
        for half in (0, 1)
    )
    return _Learnt(orders, (first, second)), selected


def _scores(
    learnt: _Learnt, src: np.ndarray, tgt: np.ndarray, *, at_random: bool = False
) -> np.ndarray:
    """Return the scores of the pairs of a span, (pairs,) float32.

    With `at_random` each source is scored with the target of another pair.
    """
    values = np.zeros(len(src), np.float32)
    for half in (0, 1):
        other = tgt[half::2]
        if at_random:
            other = np.roll(other, len(other) // 2, axis=0)
        values[half::2] = scores(learnt.tables[1 - half], src[half::2], other)
    return values


def _other_scores(
    text: CleanText,
    learnt: _Learnt,
    known: dict[int, np.ndarray],
    pool: ProcessPool,
    progress: Progress,
) -> dict[int, np.ndarray]:
    """Return the scores of all spans that are not `known`, by their first pair."""
    others = [span for span in text.spans if span.pairs and span.first not in known]
    path = text.directory / NAME
    if others:
        arrays = (*learnt.orders, *(array for table in learnt.tables for array in table))
        named = {str(index): np.atleast_1d(array) for index, array in enumerate(arrays)}
        write_bytes(path, safetensors.numpy.save(named))
    _load.cache_clear()
    jobs = (_MatchingJob(text.directory, span) for span in others)
    scored = {}
    for span, score in zip(
        others, pool.map(functools.partial(_score_span, path), jobs), strict=True
    ):
        scored[span.first] = score
        progress("match words", span.first + span.pairs, text.pairs)
    _load.cache_clear()
    return scored


def _score_span(path: Path, job: _MatchingJob) -> np.ndarray:
    learnt = _load(path)
    return _scores(learnt, *_select(_words(job), job.span.pairs, learnt.orders))


@functools.lru_cache(maxsize=1)
def _load(path: Path) -> _Learnt:
    """Load what was learnt, once per process: it is too large to be sent with each span."""
    named = safetensors.numpy.load(path.read_bytes())
    arrays = [named[str(index)] for index in range(len(named))]
    tables = [Table(int(pairs[0]), *rest) for pairs, *rest in (arrays[2:6], arrays[6:])]
    return _Learnt((arrays[0], arrays[1]), (tables[0], tables[1]))
