"""The later passes of `nmt prepare`: words are counted, pairs are encoded, filtered and written."""

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain, compress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from nmt_cli.config.schema import DataConfig
from nmt_cli.data.cleaning import kinds
from nmt_cli.data.cleaning.clean import CleanText, Progress, Stretch, read_stretch
from nmt_cli.data.corpus.layout import OFFSET_TYPE, ORIGIN_TYPE, SIDES, id_type
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.storage.files import writing

Counts = dict[str, int]


class EncodeJob(NamedTuple):
    """One stretch of the cleaned text; keep: (pairs,) bool, which pairs to look at."""

    directory: Path
    stretch: Stretch
    keep: np.ndarray
    data: DataConfig

    def lines(self) -> tuple[list[str], list[str]]:
        """The wanted lines of both sides."""
        one = self.stretch
        src = read_stretch(self.directory, "src", one.src_start, one.src_end)
        tgt = read_stretch(self.directory, "tgt", one.tgt_start, one.tgt_end)
        wanted = self.keep.tolist()
        return list(compress(src, wanted)), list(compress(tgt, wanted))


def encode_jobs(text: CleanText, keep: np.ndarray, data: DataConfig) -> Iterator[EncodeJob]:
    """A job for each stretch of the text."""
    for one in text.stretches:
        yield EncodeJob(text.directory, one, keep[one.first : one.first + one.pairs], data)


def count_words(job: EncodeJob) -> tuple[Counts, Counts]:
    """How often each word, between spaces, occurs on each side."""
    src, tgt = (Counter(" ".join(lines).split()) for lines in job.lines())
    return dict(src), dict(tgt)


def count_all_words(
    text: CleanText, keep: np.ndarray, data: DataConfig, pool: ProcessPool, progress: Progress
) -> tuple[Counter[str], Counter[str]]:
    """The word counts of all pairs where `keep` is True."""
    src: Counter[str] = Counter()
    tgt: Counter[str] = Counter()
    done = 0
    work = zip(text.stretches, pool.map(count_words, encode_jobs(text, keep, data)), strict=True)
    for stretch, (src_counts, tgt_counts) in work:
        src.update(src_counts)
        tgt.update(tgt_counts)
        done += stretch.pairs
        progress("count words", done, text.pairs)
    return src, tgt


def choose_sample(keep: np.ndarray, lines: int, seed: int) -> np.ndarray:
    """(pairs,) bool: `lines` of the pairs where `keep` is True, by chance from `seed`."""
    if keep.sum() <= lines:
        return keep
    chances = np.random.Generator(np.random.PCG64(seed)).random(len(keep))
    sample: np.ndarray = keep & (chances <= np.partition(chances[keep], lines - 1)[lines - 1])
    return sample


@dataclass
class Tally:
    """What became of one side's sentences; tokens count EOS."""

    sentences: int = 0
    words: int = 0
    tokens: int = 0
    unknowns: int = 0

    def add(self, lines: Sequence[str], ids: Sequence[Sequence[int]], unk_id: int) -> None:
        """Count some more sentences."""
        self.sentences += len(lines)
        self.words += sum(len(line.split()) for line in lines)
        self.tokens += sum(map(len, ids))
        self.unknowns += sum(one.count(unk_id) for one in ids)

    def merge(self, other: "Tally") -> None:
        """Add another tally to this one."""
        self.sentences += other.sentences
        self.words += other.words
        self.tokens += other.tokens
        self.unknowns += other.unknowns

    @property
    def fertility(self) -> float:
        """Subwords (EOS not counted) for each word."""
        return (self.tokens - self.sentences) / max(1, self.words)


@dataclass
class EncodedSide:
    """Some sentences of one side: text, ids and lengths as bytes of the corpus's files."""

    text: bytes
    ids: bytes
    lengths: np.ndarray
    tally: Tally


@dataclass
class Encoded:
    """Some encoded pairs; reasons: (pairs looked at,) uint8, why each is left out, or 0."""

    src: EncodedSide
    tgt: EncodedSide
    corpus: int
    reasons: np.ndarray


def drop_reason(data: DataConfig, src_length: int, tgt_length: int) -> int:
    """Why a pair of so many subwords (EOS not counted) is left out; 0 where it is kept."""
    short, long = sorted((src_length, tgt_length))
    if short < data.min_length:
        return kinds.TOO_SHORT
    if long > data.max_length:
        return kinds.TOO_LONG
    if long > data.max_ratio * short:
        return kinds.RATIO
    return kinds.CLEAN


class SavedSubwords(NamedTuple):
    """Where subwords lie, and their hash: another run may use the same place for others."""

    directory: Path
    digest: str


@functools.lru_cache(maxsize=1)
def load_saved_subwords(saved: SavedSubwords) -> Subwords:
    """What `saved` names; the latest is kept, in each process."""
    return Subwords.load(saved.directory)


def encode_job(saved: SavedSubwords, job: EncodeJob) -> Encoded:
    """Encode the pairs of a job and drop those that the settings do not want."""
    subwords = load_saved_subwords(saved)
    src_lines, tgt_lines = job.lines()
    src_ids, tgt_ids = subwords.encode_source(src_lines), subwords.encode_target(tgt_lines)
    reasons = [
        drop_reason(job.data, len(one) - 1, len(other) - 1)
        for one, other in zip(src_ids, tgt_ids, strict=True)
    ]
    keep = [not reason for reason in reasons]
    src = encoded_side(src_lines, src_ids, keep, subwords.src_size, subwords.unk_id)
    tgt = encoded_side(tgt_lines, tgt_ids, keep, subwords.tgt_size, subwords.unk_id)
    return Encoded(src, tgt, job.stretch.corpus, np.array(reasons, np.uint8))


def encoded_side(
    lines: Sequence[str],
    ids: Sequence[Sequence[int]],
    keep: Sequence[bool],
    vocab_size: int,
    unk_id: int,
) -> EncodedSide:
    """The kept sentences of one side as they are written down."""
    kept_lines, kept_ids = list(compress(lines, keep)), list(compress(ids, keep))
    tally = Tally()
    tally.add(kept_lines, kept_ids, unk_id)
    stream = np.fromiter(chain.from_iterable(kept_ids), id_type(vocab_size), tally.tokens)
    return EncodedSide(
        text="".join(f"{line}\n" for line in kept_lines).encode(),
        ids=stream.tobytes(),
        lengths=np.fromiter(map(len, kept_ids), np.int64, len(kept_ids)),
        tally=tally,
    )


@dataclass
class SplitWriter:
    """Writes the files of one split, `{split}.{side}.{ids,offsets,txt}`, piece by piece."""

    directory: Path
    split: str
    src: Tally = field(default_factory=Tally)
    tgt: Tally = field(default_factory=Tally)
    pairs: int = 0

    def write(self, pieces: Iterable[Encoded]) -> Iterator[Encoded]:
        """Write all pieces; gives each back when it is written."""
        with ExitStack() as stack:
            files = {
                (side, what): stack.enter_context(
                    writing(self.directory / f"{self.split}.{side}.{what}")
                )
                for side in SIDES
                for what in ("ids", "offsets", "txt")
            }
            origin = stack.enter_context(writing(self.directory / f"{self.split}.origin"))
            for side in SIDES:
                files[side, "offsets"].write(np.zeros(1, OFFSET_TYPE).tobytes())
            for piece in pieces:
                self._write_side(files, "src", piece.src, self.src)
                self._write_side(files, "tgt", piece.tgt, self.tgt)
                count = len(piece.src.lengths)
                origin.write(np.full(count, piece.corpus, ORIGIN_TYPE).tobytes())
                self.pairs += count
                yield piece

    def _write_side(
        self,
        files: dict[tuple[str, str], BinaryIO],
        side: str,
        piece: EncodedSide,
        tally: Tally,
    ) -> None:
        offsets: np.ndarray[Any, Any] = tally.tokens + np.cumsum(piece.lengths)
        files[side, "ids"].write(piece.ids)
        files[side, "txt"].write(piece.text)
        files[side, "offsets"].write(offsets.astype(OFFSET_TYPE).tobytes())
        tally.merge(piece.tally)
