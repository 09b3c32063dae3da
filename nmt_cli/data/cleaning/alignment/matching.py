"""Finds pairs whose sides are not translations of each other, such as shuffled pairs.

Each half of the pairs is scored with the word table learnt from the other half, so that no pair
supports itself. How well the lengths of the sides fit each other is added, since few pairs teach
the meaning of few words. Sides combined at random show the scores of wrong pairs. Comparing both
distributions gives the number of wrong pairs and the score from which on most pairs are right.
Pairs with other marks, such as shifted lines, take no part: many are wrong, and would raise this
number, and with it the score that right pairs need. Pairs whose sides share a rare word, such as a
name or a year, count as translations whatever their score, since wrong pairs hardly ever do.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import safetensors.numpy

from nmt_cli.data.cleaning.alignment.cooccurrence import (
    BITS,
    MIN_COUNT,
    WORDS,
    Table,
    learn,
    rarest_first,
    scores,
    select_words,
    split_words,
)
from nmt_cli.data.cleaning.alignment.length_fit import (
    LengthFit,
    Lengths,
    learn_lengths,
    log_lengths,
)
from nmt_cli.data.cleaning.clean import CleanText, Progress, Span, read_side
from nmt_cli.data.cleaning.signs import joined_lines
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.storage.files import write_bytes

MIN_PAIRS = 2_000
# So many pairs show whether the sides are related at all: the difference between the mean scores of
# pairs and of pairs at random, in standard errors. In 581 texts of 500 to 2,000 pairs it was 22 or
# more, and 2 or less once they were shuffled. Lists of words without sentences show nothing: each
# side has so many words in a line, on average, that occur MIN_COUNT times.
MIN_PAIRS_RELATED, LEAST_ERRORS, LEAST_RECURRING = 500, 5.0, 1.5
# Pairs to learn from, in whole spans at even distances; more if all pairs are judged.
LEARNT_FROM = 32_768
LEARNT_FROM_FOR_ALL = 65_536
# The scores of random pairs are divided into this many bins of equal size.
BINS = 50
# The lowest bins, in which right pairs are hardly ever found.
LOW_BINS = 10
# Pairs are accepted from the first bin on that holds this many times more pairs than wrong ones.
ACCEPTED_RATIO = 3.0
# If a larger share of the pairs seems wrong, the word table is not reliable.
MAX_WRONG_SHARE = 0.5
NAME = "matching.safetensors"
_Words = tuple[np.ndarray, np.ndarray]


class _MatchingJob(NamedTuple):
    """A span of the cleaned text; used: (pairs,) bool, the pairs to learn from and to score."""

    directory: Path
    span: Span
    used: np.ndarray

    @property
    def indices(self) -> np.ndarray:
        """The indices of the used pairs in the whole text, ascending."""
        return self.span.first + np.flatnonzero(self.used)


class _WordTables(NamedTuple):
    """What was learnt: the words of each side from the rarest on, and the tables of both halves.

    rare: (WORDS,) bool, the words that one of the sides has fewer than MIN_COUNT times.
    """

    orders: tuple[np.ndarray, np.ndarray]
    tables: tuple[Table, Table]
    rare: np.ndarray


class _SpanSides(NamedTuple):
    """The sides of a span: their words and the lines of these, and the log length of each line."""

    words: tuple[_Words, _Words]
    lengths: Lengths


class _UsedPairs(NamedTuple):
    """The used pairs of a span.

    src, tgt: (pairs, KEPT_WORDS), the words that are compared; lengths: of both sides;
    random_order: (pairs,), the target that each source has at random; shares_rare_word: (pairs,)
    bool, whether both sides have the same rare word.
    """

    src: np.ndarray
    tgt: np.ndarray
    lengths: Lengths
    random_order: np.ndarray
    shares_rare_word: np.ndarray

    @property
    def random_lengths(self) -> Lengths:
        """The lengths of the sides combined at random."""
        return Lengths(self.lengths.src, self.lengths.tgt[self.random_order])


class _ScoredSpan(NamedTuple):
    """The used pairs of a span: their scores, (pairs,) float32, and which share a rare word."""

    scores: np.ndarray
    shares_rare_word: np.ndarray


class Matcher(NamedTuple):
    """Scores the pairs of other texts with what was learnt from the training pairs.

    gap: by how much the mean score of training pairs is above that of sides combined at random.
    """

    learnt: _WordTables
    gap: float

    def words(self, src: Sequence[str], tgt: Sequence[str]) -> _Words:
        """Return the words of both sides of cleaned pairs that are compared."""
        selected = []
        for lines, order in zip((src, tgt), self.learnt.orders, strict=True):
            words = split_words(np.frombuffer(joined_lines(lines).encode(), np.uint8))
            selected.append(select_words(*words, len(lines), order))
        return selected[0], selected[1]

    def scores(self, words: _Words, offset: int = 0) -> np.ndarray:
        """Return the scores of each source with the target `offset` lines later: (pairs,) float32.

        Behind the last target comes the first.
        """
        src, tgt = words[0], np.roll(words[1], -offset, axis=0)
        first, second = (scores(table, src, tgt) for table in self.learnt.tables)
        mean: np.ndarray = (first + second) / 2
        return mean


@dataclass(frozen=True)
class Unmatched:
    """The pairs that do not match, (pairs,) bool, and how many pairs were scored.

    share: the estimated share of pairs that are not translations; None: unknown; matcher: scores
    pairs of other texts; None: there are too few training pairs, or too many of them seem wrong;
    is_unrelated: whether the words of pairs are as unrelated as those of sides combined at random.
    """

    pairs: np.ndarray
    scored: int
    share: float | None
    matcher: Matcher | None = None
    is_unrelated: bool = False


def find_unmatched(
    text: CleanText, marked: np.ndarray, pool: ProcessPool, progress: Progress, *, every: bool
) -> Unmatched:
    """Score all pairs of the cleaned text, or without `every` only those learnt from.

    marked: (pairs,) bool, pairs that are neither learnt from nor scored.
    """
    unmatched = np.zeros(text.pairs, bool)
    count = text.pairs - int(marked.sum())
    if count < MIN_PAIRS_RELATED:
        return Unmatched(unmatched, 0, None)
    jobs = [
        _MatchingJob(text.directory, span, ~marked[span.first : span.first + span.pairs])
        for span in text.spans
    ]
    sample = _sample(jobs, LEARNT_FROM_FOR_ALL if every else LEARNT_FROM)
    progress("match words", 0, text.pairs)
    learnt, used = _learn(sample)
    by_words = [_scores(learnt, pairs.src, pairs.tgt) for pairs in used]
    random_by_words = [_scores(learnt, pairs.src, pairs.tgt[pairs.random_order]) for pairs in used]
    word_scores = np.concatenate(by_words), np.concatenate(random_by_words)
    is_unrelated = _is_unrelated(learnt, *word_scores)
    if count < MIN_PAIRS:
        return Unmatched(unmatched, 0, None, is_unrelated=is_unrelated)
    lengths = learn_lengths(
        _joined([pairs.lengths for pairs in used]),
        _joined([pairs.random_lengths for pairs in used]),
    )
    scored = [
        (job, _ScoredSpan(values + lengths.scores(pairs.lengths), pairs.shares_rare_word))
        for job, values, pairs in zip(sample, by_words, used, strict=True)
    ]
    random_scores = np.concatenate(
        [
            values + lengths.scores(pairs.random_lengths)
            for values, pairs in zip(random_by_words, used, strict=True)
        ]
    )
    del used
    if every:
        sampled = {job.span.first for job in sample}
        others = [job for job in jobs if job.span.first not in sampled]
        scored += _other_scores(text, learnt, lengths, others, pool, progress)
    pair_scores = np.concatenate([span.scores for _, span in scored])
    limit, share = threshold(pair_scores, random_scores)
    matcher = None
    if share <= MAX_WRONG_SHARE:
        matcher = Matcher(learnt, float(word_scores[0].mean() - word_scores[1].mean()))
        for job, span in scored:
            unmatched[job.indices[(span.scores < limit) & ~span.shares_rare_word]] = True
    return Unmatched(unmatched, len(pair_scores), share, matcher, is_unrelated)


def _is_unrelated(learnt: _WordTables, values: np.ndarray, random: np.ndarray) -> bool:
    """Whether pairs have no better scores than sides combined at random, and their words tell it.

    values, random: (pairs,) scores of the pairs that were learnt from, and of such sides.
    """
    recurring = min(
        float(seen[seen >= MIN_COUNT].sum()) / table.pairs
        for table in learnt.tables
        for seen in (table.src, table.tgt)
    )
    error = float(np.sqrt((values.var() + random.var()) / len(values)))
    difference = float(values.mean() - random.mean())
    return recurring >= LEAST_RECURRING and difference < LEAST_ERRORS * error


def threshold(values: np.ndarray, random: np.ndarray) -> tuple[float, float]:
    """Return the score below which a pair is wrong, and the estimated share of wrong pairs.

    values: (pairs,) scores; random: (others,) scores of sides combined at random.
    """
    limits = np.quantile(random, np.linspace(0, 1, BINS + 1)[1:-1])
    counts = np.bincount(np.searchsorted(limits, values, side="right"), minlength=BINS)
    # Wrong pairs are spread evenly over the bins.
    wrong = float(counts[:LOW_BINS].mean())
    accepted = np.flatnonzero(_rising(counts) > ACCEPTED_RATIO * wrong)
    first = int(accepted[0]) if len(accepted) else BINS - 1
    limit = float(limits[first - 1]) if first else -np.inf
    return limit, wrong * BINS / len(values)


def _rising(counts: np.ndarray) -> np.ndarray:
    """The counts with bins joined where they fall, since right pairs have high scores.

    Pools adjacent violators (isotonic regression), so that a few pairs by chance in a low bin are
    no sign that it holds right pairs.

    >>> _rising(np.array([1, 5, 0, 7])).tolist()
    [1.0, 2.5, 2.5, 7.0]
    """
    pools: list[tuple[float, int]] = []
    for count in counts.tolist():
        mean, size = float(count), 1
        while pools and pools[-1][0] > mean:
            earlier_mean, earlier_size = pools.pop()
            total = earlier_mean * earlier_size + mean * size
            size += earlier_size
            mean = total / size
        pools.append((mean, size))
    return np.repeat([mean for mean, _ in pools], [size for _, size in pools])


def _sample(jobs: list[_MatchingJob], pairs: int) -> list[_MatchingJob]:
    """Return whole spans at even distances with about this many pairs."""
    jobs = [job for job in jobs if job.used.any()]
    largest = max(len(job.indices) for job in jobs)
    count = max(1, pairs // largest)
    if len(jobs) <= count:
        return jobs
    return [jobs[index * len(jobs) // count] for index in range(count)]


def _read(job: _MatchingJob) -> _SpanSides:
    """Return the words and lengths of both sides of all pairs of a span."""
    src, tgt = (
        np.frombuffer(read_side(job.directory, side, job.span), np.uint8) for side in ("src", "tgt")
    )
    return _SpanSides(
        (split_words(src), split_words(tgt)), Lengths(log_lengths(src), log_lengths(tgt))
    )


def _shares_rare_word(job: _MatchingJob, sides: _SpanSides, rare: np.ndarray) -> np.ndarray:
    """Return which of the used pairs of a span have a rare word on both sides: (pairs,) bool."""
    keys = []
    for words, lines in sides.words:
        chosen = rare[words]
        keys.append(lines[chosen].astype(np.int64) << BITS | words[chosen])
    shares = np.zeros(job.span.pairs, bool)
    shares[np.intersect1d(*keys) >> BITS] = True
    used: np.ndarray = shares[job.used]
    return used


def _select(
    job: _MatchingJob, sides: _SpanSides, orders: tuple[np.ndarray, np.ndarray], rare: np.ndarray
) -> _UsedPairs:
    """Return what is compared of the used pairs of a span."""
    src, tgt = (
        select_words(*side, job.span.pairs, order)[job.used]
        for side, order in zip(sides.words, orders, strict=True)
    )
    lengths = Lengths(*(side[job.used] for side in sides.lengths))
    shares = _shares_rare_word(job, sides, rare)
    return _UsedPairs(src, tgt, lengths, _random_order(len(src)), shares)


def _joined(spans: list[Lengths]) -> Lengths:
    """Return the lengths of several spans together."""
    src, tgt = (np.concatenate(sides) for sides in zip(*spans, strict=True))
    return Lengths(src, tgt)


def _random_order(count: int) -> np.ndarray:
    """Return an order of the targets, (count,), in which each remains in its half of the pairs.

    Targets a fixed distance away would not be at random in text that is sorted, as by length.
    """
    chance, order = np.random.default_rng(count), np.arange(count)
    for half in (0, 1):
        order[half::2] = chance.permutation(order[half::2])
    return order


def _learn(sample: list[_MatchingJob]) -> tuple[_WordTables, list[_UsedPairs]]:
    """Learn word tables from some spans; also return what is compared of these."""
    counts = np.zeros((2, WORDS), np.int64)
    read = []
    for job in sample:
        read.append(_read(job))
        for side, (words, lines) in enumerate(read[-1].words):
            counts[side] += np.bincount(words[job.used[lines]], minlength=WORDS)
    orders, rare = (rarest_first(counts[0]), rarest_first(counts[1])), counts.min(0) < MIN_COUNT
    used = [_select(job, sides, orders, rare) for job, sides in zip(sample, read, strict=True)]
    first, second = (
        learn(
            np.concatenate([pairs.src[half::2] for pairs in used]),
            np.concatenate([pairs.tgt[half::2] for pairs in used]),
        )
        for half in (0, 1)
    )
    return _WordTables(orders, (first, second), rare), used


def _scores(learnt: _WordTables, src: np.ndarray, tgt: np.ndarray) -> np.ndarray:
    """Return the scores of the words of the pairs of a span: (pairs,) float32."""
    values = np.zeros(len(src), np.float32)
    for half in (0, 1):
        values[half::2] = scores(learnt.tables[1 - half], src[half::2], tgt[half::2])
    return values


def _other_scores(
    text: CleanText,
    learnt: _WordTables,
    lengths: LengthFit,
    others: list[_MatchingJob],
    pool: ProcessPool,
    progress: Progress,
) -> Iterator[tuple[_MatchingJob, _ScoredSpan]]:
    """Yield the spans that were not learnt from, each with the scores of its used pairs."""
    path = text.directory / NAME
    if others:
        tables = (array for table in learnt.tables for array in table)
        arrays = (*learnt.orders, learnt.rare, *tables)
        named = {str(index): np.atleast_1d(array) for index, array in enumerate(arrays)}
        write_bytes(path, safetensors.numpy.save(named))
    _load.cache_clear()
    spans = pool.map(functools.partial(_score_span, path, lengths), iter(others))
    for job, span in zip(others, spans, strict=True):
        yield job, span
        progress("match words", job.span.first + job.span.pairs, text.pairs)
    _load.cache_clear()


def _score_span(path: Path, lengths: LengthFit, job: _MatchingJob) -> _ScoredSpan:
    learnt = _load(path)
    pairs = _select(job, _read(job), learnt.orders, learnt.rare)
    values = _scores(learnt, pairs.src, pairs.tgt) + lengths.scores(pairs.lengths)
    return _ScoredSpan(values, pairs.shares_rare_word)


@functools.lru_cache(maxsize=1)
def _load(path: Path) -> _WordTables:
    """Load what was learnt, once per process: it is too large to be sent with each span."""
    named = safetensors.numpy.load(path.read_bytes())
    arrays = [named[str(index)] for index in range(len(named))]
    src_order, tgt_order, rare, *counts = arrays
    tables = [Table(int(pairs[0]), *rest) for pairs, *rest in (counts[:4], counts[4:])]
    return _WordTables((src_order, tgt_order), (tables[0], tables[1]), rare)
