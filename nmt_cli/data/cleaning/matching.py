"""Finds pairs whose sides are no translations of each other, such as shuffled ones.

Each half of the pairs is judged by words that the other half teaches, so that no pair speaks for
itself. Sides put together at random show how pairs look that are none: among the pairs that match
as badly as those, their number is known, and with it from where on most pairs are right.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import safetensors.numpy

from nmt_cli.data.cleaning.clean import CleanText, Progress, Stretch, read_side
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

LEAST_PAIRS = 2_000
# So many are learnt from, in whole stretches at even distances; more where all are judged.
LEARNT_FROM = 32_768
LEARNT_FROM_FOR_ALL = 65_536
# Pairs put together at random are divided into so many equal parts by their scores.
PARTS = 50
# The lowest of them, in which right pairs are rare.
LOW_PARTS = 30
# From the part on that holds so many times more pairs than random ones, they are believed.
BELIEVED_RATIO = 3.0
# Where more pairs than that seem wrong, the words were not understood.
MOST_WRONG = 0.5
NAME = "matching.safetensors"
_Words = tuple[np.ndarray, np.ndarray]


class _Work(NamedTuple):
    directory: Path
    stretch: Stretch


class _Learnt(NamedTuple):
    """Words from the rarest on, by side, and the tables of both halves."""

    orders: tuple[np.ndarray, np.ndarray]
    tables: tuple[Table, Table]


@dataclass(frozen=True)
class Unmatched:
    """What was found: (pairs,) bool, and how many pairs were looked at.

    share: about how many of the pairs are no translations, found ones and others; None: unknown.
    """

    pairs: np.ndarray
    looked_at: int
    share: float | None


def find_unmatched(
    text: CleanText, pool: ProcessPool, progress: Progress, *, every: bool
) -> Unmatched:
    """Judge all pairs of the cleaned text, or, without `every`, as many as are learnt from."""
    found = np.zeros(text.pairs, bool)
    if text.pairs < LEAST_PAIRS:
        return Unmatched(found, 0, None)
    sample = _sample(text, LEARNT_FROM_FOR_ALL if every else LEARNT_FROM)
    progress("match words", 0, text.pairs)
    learnt, words = _learn(text.directory, sample)
    random = np.concatenate([_scores(learnt, *sides, at_random=True) for sides in words])
    known = {one.first: _scores(learnt, *sides) for one, sides in zip(sample, words, strict=True)}
    del words
    if every:
        known |= _other_scores(text, learnt, known, pool, progress)
    value = np.concatenate(list(known.values()))
    limit, share = threshold(value, random)
    if share <= MOST_WRONG:
        places = [first + np.flatnonzero(score < limit) for first, score in known.items()]
        found[np.concatenate(places)] = True
    return Unmatched(found, len(value), share)


def threshold(values: np.ndarray, random: np.ndarray) -> tuple[float, float]:
    """The score below which a pair is no translation, and about what share of all pairs is none.

    values: (pairs,) scores; random: (others,) scores of sides put together at random.
    """
    limits = np.quantile(random, np.linspace(0, 1, PARTS + 1)[1:-1])
    counts = np.bincount(np.searchsorted(limits, values, side="right"), minlength=PARTS)
    # Pairs that are none are equally many in each part.
    wrong = float(counts[:LOW_PARTS].mean())
    believed = np.flatnonzero(counts > BELIEVED_RATIO * wrong)
    first = int(believed[0]) if len(believed) else PARTS - 1
    limit = float(limits[first - 1]) if first else -np.inf
    return limit, wrong * PARTS / len(values)


def _sample(text: CleanText, pairs: int) -> list[Stretch]:
    whole = [one for one in text.stretches if one.pairs]
    largest = max(one.pairs for one in whole)
    count = max(1, pairs // largest)
    if len(whole) <= count:
        return whole
    return [whole[number * len(whole) // count] for number in range(count)]


def _words(work: _Work) -> list[tuple[np.ndarray, np.ndarray]]:
    sides = (read_side(work.directory, side, work.stretch) for side in ("src", "tgt"))
    return [split_words(np.frombuffer(side, np.uint8)) for side in sides]


def _select(
    sides: list[tuple[np.ndarray, np.ndarray]], pairs: int, orders: tuple[np.ndarray, np.ndarray]
) -> _Words:
    src, tgt = (select_words(*side, pairs, one) for side, one in zip(sides, orders, strict=True))
    return src, tgt


def _learn(directory: Path, sample: list[Stretch]) -> tuple[_Learnt, list[_Words]]:
    """What some stretches teach, and their words."""
    seen = np.zeros((2, WORDS), np.int64)
    read = []
    for stretch in sample:
        read.append(_words(_Work(directory, stretch)))
        for number, (words, _) in enumerate(read[-1]):
            seen[number] += np.bincount(words, minlength=WORDS)
    orders = rarest_first(seen[0]), rarest_first(seen[1])
    selected = [_select(sides, one.pairs, orders) for one, sides in zip(sample, read, strict=True)]
    first, second = (
        learn(*(np.concatenate([sides[side][half::2] for sides in selected]) for side in (0, 1)))
        for half in (0, 1)
    )
    return _Learnt(orders, (first, second)), selected


def _scores(
    learnt: _Learnt, src: np.ndarray, tgt: np.ndarray, *, at_random: bool = False
) -> np.ndarray:
    """(pairs,) float32 the scores of a stretch; with `at_random` each source has another target."""
    found = np.zeros(len(src), np.float32)
    for half in (0, 1):
        other = tgt[half::2]
        if at_random:
            other = np.roll(other, len(other) // 2, axis=0)
        found[half::2] = scores(learnt.tables[1 - half], src[half::2], other)
    return found


def _other_scores(
    text: CleanText,
    learnt: _Learnt,
    known: dict[int, np.ndarray],
    pool: ProcessPool,
    progress: Progress,
) -> dict[int, np.ndarray]:
    """The scores of all stretches that are not `known`, by their first pairs."""
    others = [one for one in text.stretches if one.pairs and one.first not in known]
    path = text.directory / NAME
    if others:
        arrays = (*learnt.orders, *(part for table in learnt.tables for part in table))
        named = {str(index): np.atleast_1d(array) for index, array in enumerate(arrays)}
        write_bytes(path, safetensors.numpy.save(named))
    _load.cache_clear()
    works = (_Work(text.directory, one) for one in others)
    found = {}
    for one, score in zip(others, pool.map(functools.partial(_judge, path), works), strict=True):
        found[one.first] = score
        progress("match words", one.first + one.pairs, text.pairs)
    _load.cache_clear()
    return found


def _judge(path: Path, work: _Work) -> np.ndarray:
    learnt = _load(path)
    return _scores(learnt, *_select(_words(work), work.stretch.pairs, learnt.orders))


@functools.lru_cache(maxsize=1)
def _load(path: Path) -> _Learnt:
    """What was learnt, once in each process: it is too large to be sent with each stretch."""
    named = safetensors.numpy.load(path.read_bytes())
    arrays = [named[str(index)] for index in range(len(named))]
    tables = [Table(int(pairs[0]), *rest) for pairs, *rest in (arrays[2:6], arrays[6:])]
    return _Learnt((arrays[0], arrays[1]), (tables[0], tables[1]))
