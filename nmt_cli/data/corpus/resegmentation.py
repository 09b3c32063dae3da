"""The training text is segmented anew, by chance, for each epoch.

An epoch is segmented as a whole, before its first batch, because its plan needs the lengths. It
depends on (seed, epoch) only: that keeps a resume exact.
"""

import functools
from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from nmt_cli.data.corpus.corpus import Corpus, CorpusSide, Pairs
from nmt_cli.data.corpus.layout import OFFSET_TYPE, SIDES, SUBWORDS, id_type
from nmt_cli.data.preparation.encode import SavedSubwords, load_saved_subwords
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.data.subwords.bpe_dropout import BpeDropout
from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import DataError
from nmt_cli.plurals import counted
from nmt_cli.storage.manifest import check_entry, read_manifest

CHUNK_LINES = 4_096


class SampledPairs(Pairs):
    """The training pairs of `corpus`, with the subwords of the epoch that was asked for last."""

    def __init__(self, corpus: Corpus, share: float, seed: int, workers: int) -> None:
        """`share` of the merges is left out. Before the first epoch the pairs are as prepared.

        Raises DataError where the corpus's text is damaged.
        """
        super().__init__(corpus.train.src, corpus.train.tgt, corpus.train.origin)
        self.corpus = corpus
        self.share = share
        self.seed = seed
        self.workers = workers
        entries = read_manifest(corpus.path)
        for side in SIDES:
            name = f"train.{side}.txt"
            check_entry(corpus.path, name, entries[name])

    def segment(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw the subwords of `epoch`; (pairs,) int64 lengths of source and target, EOS counted.

        What would become longer than the longest of its side in the corpus stays as it was.
        """
        with ProcessPool(self.workers) as pool:
            self.src, self.tgt = (self._side(side, epoch, pool) for side in SIDES)
        self.src_lengths, self.tgt_lengths = self.src.lengths, self.tgt.lengths
        return self.src_lengths.astype(np.int64), self.tgt_lengths.astype(np.int64)

    def _side(self, side: str, epoch: int, pool: ProcessPool) -> CorpusSide:
        corpus = self.corpus
        saved = SavedSubwords(corpus.path / SUBWORDS, corpus.digest)
        plain = corpus.train.src if side == "src" else corpus.train.tgt
        longest = int(plain.lengths.max(initial=0))
        draw = functools.partial(_draw, saved, self.share, longest)
        ids, lengths = [], [np.zeros(1, OFFSET_TYPE)]
        for chunk in pool.map(draw, self._jobs(side, f"{self.seed}/{epoch}")):
            ids.append(chunk[0])
            lengths.append(chunk[1])
        offsets = np.concatenate(lengths).cumsum()
        if len(offsets) != len(self) + 1:
            name = corpus.path / f"train.{side}.txt"
            raise DataError(f"`{name}` has {counted(len(offsets) - 1, 'line')}, not {len(self):,}")
        return CorpusSide(np.concatenate(ids), offsets)

    def _jobs(self, side: str, seed: str) -> "Iterator[_Job]":
        with read_lines(self.corpus.path / f"train.{side}.txt") as lines:
            number = 0
            while chunk := list(islice(lines, CHUNK_LINES)):
                yield _Job(side, chunk, seed, number)
                number += 1


class _Job(NamedTuple):
    side: str
    lines: list[str]
    seed: str
    number: int


@functools.lru_cache(maxsize=1)
def _encoders(saved: SavedSubwords, share: float) -> dict[str, BpeDropout]:
    return dict(zip(SIDES, load_saved_subwords(saved).with_dropout(share), strict=True))


def _draw(
    saved: SavedSubwords, share: float, longest: int, job: _Job
) -> tuple[np.ndarray, np.ndarray]:
    """The ids of a chunk of lines one after the other, and the length of each, EOS counted."""
    subwords = load_saved_subwords(saved)
    encoder = _encoders(saved, share)[job.side]
    drawn = encoder.encode(job.lines, job.seed, f"{job.side}/{job.number}")
    is_source = job.side == "src"
    plain = subwords.encode_source if is_source else subwords.encode_target
    for number, ids in enumerate(drawn):
        if len(ids) > longest:
            drawn[number] = plain([job.lines[number]])[0]
    lengths = np.fromiter(map(len, drawn), OFFSET_TYPE, len(drawn))
    kind = id_type(subwords.src_size if is_source else subwords.tgt_size)
    return np.fromiter(chain.from_iterable(drawn), kind, int(lengths.sum())), lengths
