"""Segments the training text at random, anew for each epoch (subword dropout).

An epoch is segmented as a whole before its first batch, because the batch plan needs the lengths.
The segmentation depends on (seed, epoch) only, which makes a resume exact.
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
    """The training pairs of `corpus` in the segmentation of the epoch segmented last."""

    def __init__(self, corpus: Corpus, share: float, seed: int, workers: int) -> None:
        """Skip a `share` of the merges. Before the first epoch the pairs are as prepared.

        Raises DataError if the text of the corpus is damaged.
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
        """Draw the segmentation of `epoch`; return the lengths of source and target with EOS.

        The lengths are (pairs,) int64. A sentence that would become longer than the longest one of
        its side in the corpus keeps its prepared segmentation.
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
        segment_chunk = functools.partial(_segment_chunk, saved, self.share, longest)
        ids, lengths = [], [np.zeros(1, OFFSET_TYPE)]
        for chunk in pool.map(segment_chunk, self._jobs(side, f"{self.seed}/{epoch}")):
            ids.append(chunk[0])
            lengths.append(chunk[1])
        offsets = np.concatenate(lengths).cumsum()
        if len(offsets) != len(self) + 1:
            name = corpus.path / f"train.{side}.txt"
            raise DataError(f"`{name}` has {counted(len(offsets) - 1, 'line')}, not {len(self):,}")
        return CorpusSide(np.concatenate(ids), offsets)

    def _jobs(self, side: str, seed: str) -> Iterator["_SegmentationJob"]:
        with read_lines(self.corpus.path / f"train.{side}.txt") as lines:
            index = 0
            while chunk := list(islice(lines, CHUNK_LINES)):
                yield _SegmentationJob(side, chunk, seed, index)
                index += 1


class _SegmentationJob(NamedTuple):
    side: str
    lines: list[str]
    seed: str
    chunk_index: int


@functools.lru_cache(maxsize=1)
def _encoders(saved: SavedSubwords, share: float) -> dict[str, BpeDropout]:
    return dict(zip(SIDES, load_saved_subwords(saved).with_dropout(share), strict=True))


def _segment_chunk(
    saved: SavedSubwords, share: float, longest: int, job: _SegmentationJob
) -> tuple[np.ndarray, np.ndarray]:
    """Return the concatenated ids of a chunk of lines, and the length of each line with EOS."""
    subwords = load_saved_subwords(saved)
    encoder = _encoders(saved, share)[job.side]
    drawn = encoder.encode(job.lines, job.seed, f"{job.side}/{job.chunk_index}")
    is_source = job.side == "src"
    plain = subwords.encode_source if is_source else subwords.encode_target
    for index, ids in enumerate(drawn):
        if len(ids) > longest:
            drawn[index] = plain([job.lines[index]])[0]
    lengths = np.fromiter(map(len, drawn), OFFSET_TYPE, len(drawn))
    dtype = id_type(subwords.src_size if is_source else subwords.tgt_size)
    return np.fromiter(chain.from_iterable(drawn), dtype, int(lengths.sum())), lengths
