"""Which target subwords translate a source subword, learnt from pairs: IBM model 1.

Brown et al. 1993: each target token comes from one source token of its pair, P(t | s) is estimated
by expectation maximisation. EOS of the source is the empty word of that model: all pairs hold it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from nmt_cli.data.corpus.corpus import CorpusSide, Pairs

# Called with a stage, how much of it is done, and how much there is.
Progress = Callable[[str, int, int | None], None]

ITERATIONS = 4
# Links (a source token and a target token of one pair) that are looked at in an iteration; of a
# larger corpus as many pairs as that, at even distances.
MOST_LINKS = 1_000_000_000
# Candidates of a source subword that are kept between iterations.
KEPT = 500
# Pairs that are worked on at a time.
CHUNK = 4_096


@dataclass(frozen=True)
class Lexicon:
    """Expected counts of links: row s has places [offsets[s], offsets[s + 1]).

    offsets: (source vocabulary + 1,) int64; ids: (entries,) int64, ascending in a row; counts:
    (entries,) float64; pairs: how many they were learnt from.
    """

    offsets: np.ndarray
    ids: np.ndarray
    counts: np.ndarray
    pairs: int


def learn_lexicon(
    pairs: Pairs,
    sizes: tuple[int, int],
    *,
    iterations: int = ITERATIONS,
    most_links: int = MOST_LINKS,
    progress: Progress | None = None,
) -> Lexicon:
    """The lexicon of some pairs; sizes: of both vocabularies.

    The same pairs give the same bytes. Memory grows with the target tokens looked at, time with
    their links.
    """
    chosen = _choose(pairs, most_links)
    links = _Links(pairs.src, pairs.tgt, chosen, sizes)
    found: Lexicon | None = None
    for number in range(iterations):
        totals = links.totals(found)
        found = links.count(found, totals, f"iteration {number + 1}", progress or _silent)
    assert found is not None
    return found


def _silent(stage: str, done: int, total: int | None) -> None:
    """Nobody looks."""


def _choose(pairs: Pairs, most_links: int) -> np.ndarray:
    """Numbers of the pairs to look at, ascending."""
    links = int(pairs.src_lengths.astype(np.int64) @ pairs.tgt_lengths.astype(np.int64))
    count = len(pairs) if links <= most_links else max(1, len(pairs) * most_links // links)
    return np.arange(count) * len(pairs) // count


class _Links:
    """Chosen pairs, ordered by the source subwords they hold."""

    def __init__(
        self, src: CorpusSide, tgt: CorpusSide, chosen: np.ndarray, sizes: tuple[int, int]
    ) -> None:
        self.pairs = len(chosen)
        self._src_size, self._tgt_size = sizes
        ids, lengths = src.gather(chosen)
        of_pair = np.arange(self.pairs).repeat(lengths)
        # Each source subword once a pair, however often it stands there.
        keys = np.unique(ids.astype(np.int64) * self.pairs + of_pair)
        self._of_pair = (keys % self.pairs).astype(np.int32)
        self._starts = np.searchsorted(keys, np.arange(self._src_size + 1) * self.pairs)
        tokens, lengths = tgt.gather(chosen)
        self._tokens = tokens.astype(np.int32)
        self._offsets = np.concatenate([[0], lengths.cumsum()])

    def totals(self, lexicon: Lexicon | None) -> np.ndarray:
        """(target tokens,) the sum of P(t | s) over the source of each; all 1 at the beginning."""
        if lexicon is None:
            sources = np.bincount(self._of_pair, minlength=self.pairs)
            return sources.repeat(np.diff(self._offsets)).astype(np.float32)
        totals = np.zeros(len(self._tokens), np.float32)
        for _, row, places in self._visits(lexicon):
            totals[places] += row[self._tokens[places]]
        return totals

    def count(
        self, lexicon: Lexicon | None, totals: np.ndarray, stage: str, progress: Progress
    ) -> Lexicon:
        """Expected counts of each source subword, its best candidates only."""
        rows: list[tuple[np.ndarray, np.ndarray]] = []
        counts = np.zeros(self._tgt_size)
        empty = np.zeros(0, np.int64), np.zeros(0)
        held, done = -1, 0
        for one, row, places in self._visits(lexicon):
            if one != held:
                rows += [_best(counts)] if held >= 0 else []
                rows += [empty] * (one - len(rows))
                held, counts = one, np.zeros(self._tgt_size)
                progress(stage, done, len(self._of_pair))
            tokens = self._tokens[places]
            # What has no candidate left has a total of 0, and nothing to share.
            shares = row[tokens] / np.maximum(totals[places], np.float32(1e-30))
            counts += np.bincount(tokens, shares, self._tgt_size)
            done = int(self._starts[one + 1])
        rows += [_best(counts)] if held >= 0 else []
        rows += [empty] * (self._src_size - len(rows))
        offsets = np.concatenate([[0], np.cumsum([len(ids) for ids, _ in rows])])
        ids, values = (np.concatenate(kind) for kind in zip(*rows, strict=True))
        return Lexicon(offsets, ids, values, self.pairs)

    def _visits(self, lexicon: Lexicon | None) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Of each source subword P(t | s) by t, and the target tokens it meets, in chunks."""
        row = np.ones(self._tgt_size, np.float32) if lexicon is None else None
        for one in range(self._src_size):
            first, last = int(self._starts[one]), int(self._starts[one + 1])
            if first == last:
                continue
            probable = _probabilities(lexicon, one, self._tgt_size) if lexicon else row
            assert probable is not None
            for begin in range(first, last, CHUNK):
                yield one, probable, self._places(begin, min(begin + CHUNK, last))

    def _places(self, begin: int, end: int) -> np.ndarray:
        """Places of the target tokens of some pairs."""
        pairs = self._of_pair[begin:end]
        starts = self._offsets[pairs]
        lengths = self._offsets[pairs + 1] - starts
        places: np.ndarray = (starts - lengths.cumsum() + lengths).repeat(lengths)
        places += np.arange(len(places))
        return places


def _best(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ids, ascending, and counts of the best candidates; of equals the lowest ids."""
    ids = counts.nonzero()[0]
    if len(ids) > KEPT:
        ids = np.sort(ids[np.argsort(-counts[ids], kind="stable")[:KEPT]])
    return ids, counts[ids]


def _probabilities(lexicon: Lexicon, one: int, size: int) -> np.ndarray:
    row = np.zeros(size, np.float32)
    places = slice(lexicon.offsets[one], lexicon.offsets[one + 1])
    counts = lexicon.counts[places]
    row[lexicon.ids[places]] = counts / max(counts.sum(), 1e-30)
    return row
