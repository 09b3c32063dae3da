"""The later passes of `nmt prepare`: count words; encode, filter and write pairs."""

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
from nmt_cli.data.cleaning.clean import CleanText, Progress, Span, read_span
from nmt_cli.data.corpus.layout import OFFSET_TYPE, ORIGIN_TYPE, SIDES, id_type
from nmt_cli.data.languages.unspaced import spaced_words
from nmt_cli.data.preparation.unknown_characters import Places, find_unknown
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.text.sanitize import clean_words
from nmt_cli.storage.files import writing

Counts = dict[str, int]


class EncodeJob(NamedTuple):
    """One span of the cleaned text; keep: (pairs,) bool, the pairs to use."""

    directory: Path
    span: Span
    keep: np.ndarray
    data: DataConfig

    def lines(self) -> tuple[list[str], list[str]]:
        """Return the lines of both sides to use."""
        span = self.span
        src = read_span(self.directory, "src", span.src_start, span.src_end)
        tgt = read_span(self.directory, "tgt", span.tgt_start, span.tgt_end)
        wanted = self.keep.tolist()
        return list(compress(src, wanted)), list(compress(tgt, wanted))


def encode_jobs(text: CleanText, keep: np.ndarray, data: DataConfig) -> Iterator[EncodeJob]:
    """Yield a job for each span of the text."""
    for span in text.spans:
        yield EncodeJob(text.directory, span, keep[span.first : span.first + span.pairs], data)


def count_words(job: EncodeJob) -> tuple[Counts, Counts]:
    """Count what stands between spaces on each side, from which subwords are learnt.

    An Ethiopic word separator stays in it, as a character that the vocabulary must have.
    """
    src, tgt = (Counter(clean_words(" ".join(lines)).split()) for lines in job.lines())
    return dict(src), dict(tgt)


def count_all_words(
    text: CleanText, keep: np.ndarray, data: DataConfig, pool: ProcessPool, progress: Progress
) -> tuple[Counter[str], Counter[str]]:
    """Count the words of all pairs where `keep` is True."""
    src: Counter[str] = Counter()
    tgt: Counter[str] = Counter()
    done = 0
    work = zip(text.spans, pool.map(count_words, encode_jobs(text, keep, data)), strict=True)
    for span, (src_counts, tgt_counts) in work:
        src.update(src_counts)
        tgt.update(tgt_counts)
        done += span.pairs
        progress("count words", done, text.pairs)
    return src, tgt


def choose_sample(keep: np.ndarray, lines: int, seed: int) -> np.ndarray:
    """Choose `lines` of the pairs where `keep` is True at random; returns (pairs,) bool."""
    if keep.sum() <= lines:
        return keep
    chances = np.random.Generator(np.random.PCG64(seed)).random(len(keep))
    sample: np.ndarray = keep & (chances <= np.partition(chances[keep], lines - 1)[lines - 1])
    return sample


@dataclass
class Tally:
    """Counts of the sentences of one side; tokens include EOS."""

    sentences: int = 0
    words: int = 0
    tokens: int = 0
    unknowns: int = 0

    def add(self, lines: Sequence[str], ids: Sequence[Sequence[int]], unk_id: int) -> None:
        """Count more sentences."""
        self.sentences += len(lines)
        self.words += sum(len(spaced_words(line)) for line in lines)
        self.tokens += sum(map(len, ids))
        self.unknowns += sum(sentence.count(unk_id) for sentence in ids)

    def merge(self, other: "Tally") -> None:
        """Add another tally to this one."""
        self.sentences += other.sentences
        self.words += other.words
        self.tokens += other.tokens
        self.unknowns += other.unknowns

    @property
    def unknown_share(self) -> float:
        """Unknown tokens per token."""
        return self.unknowns / max(1, self.tokens)

    @property
    def fertility(self) -> float:
        """Subwords per word, without EOS."""
        return (self.tokens - self.sentences) / max(1, self.words)


@dataclass
class EncodedSide:
    """Some sentences of one side: text and ids as bytes of the files of the corpus, and lengths."""

    text: bytes
    ids: bytes
    lengths: np.ndarray
    tally: Tally


@dataclass
class Encoded:
    """Some encoded pairs; reasons: (pairs of the job,) uint8, why each is dropped, or 0.

    unknown: the characters of the kept pairs that an existing vocabulary does not know.
    """

    src: EncodedSide
    tgt: EncodedSide
    corpus: int
    reasons: np.ndarray
    unknown: Places = field(default_factory=dict)


def drop_reason(data: DataConfig, src_length: int, tgt_length: int) -> int:
    """Return why a pair of these lengths in subwords without EOS is dropped; 0: it is kept."""
    short, long = sorted((src_length, tgt_length))
    if short < data.min_length:
        return kinds.TOO_SHORT
    if long > data.max_length:
        return kinds.TOO_LONG
    if long > data.max_ratio * short:
        return kinds.RATIO
    return kinds.CLEAN


def drop_reasons(
    data: DataConfig, src: Sequence[Sequence[int]], tgt: Sequence[Sequence[int]]
) -> list[int]:
    """Return why each pair of encoded sentences, with EOS, is dropped; 0: it is kept."""
    return [
        drop_reason(data, len(src_ids) - 1, len(tgt_ids) - 1)
        for src_ids, tgt_ids in zip(src, tgt, strict=True)
    ]


class SavedSubwords(NamedTuple):
    """The directory of subwords and their hash, because another run may replace them."""

    directory: Path
    digest: str


@functools.lru_cache(maxsize=1)
def load_saved_subwords(saved: SavedSubwords) -> Subwords:
    """Load subwords; each process caches the latest ones."""
    return Subwords.load(saved.directory)


def encode_job(saved: SavedSubwords, job: EncodeJob) -> Encoded:
    """Encode the pairs of a job and drop those that the settings exclude."""
    subwords = load_saved_subwords(saved)
    src_lines, tgt_lines = job.lines()
    src_ids, tgt_ids = subwords.encode_source(src_lines), subwords.encode_target(tgt_lines)
    reasons = drop_reasons(job.data, src_ids, tgt_ids)
    keep = [not reason for reason in reasons]
    unknown: Places = {}
    if job.data.subwords_from:
        numbers = job.span.lines()[job.keep][keep]
        for side, lines, ids in (("src", src_lines, src_ids), ("tgt", tgt_lines, tgt_ids)):
            kept_lines, kept_ids = list(compress(lines, keep)), list(compress(ids, keep))
            unknown |= find_unknown(subwords, side, kept_lines, kept_ids, numbers)
    return Encoded(
        encoded_side(src_lines, src_ids, keep, subwords.src_size, subwords.unk_id),
        encoded_side(tgt_lines, tgt_ids, keep, subwords.tgt_size, subwords.unk_id),
        job.span.corpus,
        np.array(reasons, np.uint8),
        unknown,
    )


def encoded_side(
    lines: Sequence[str],
    ids: Sequence[Sequence[int]],
    keep: Sequence[bool],
    vocab_size: int,
    unk_id: int,
) -> EncodedSide:
    """Return the kept sentences of one side as they are written to files."""
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
    """Writes the files of one split, `{split}.{side}.{ids,offsets,txt}`, chunk by chunk."""

    directory: Path
    split: str
    src: Tally = field(default_factory=Tally)
    tgt: Tally = field(default_factory=Tally)
    pairs: int = 0

    def write(self, chunks: Iterable[Encoded]) -> Iterator[Encoded]:
        """Write all chunks; yields each one after it was written."""
        with ExitStack() as stack:
            files = {
                (side, suffix): stack.enter_context(
                    writing(self.directory / f"{self.split}.{side}.{suffix}")
                )
                for side in SIDES
                for suffix in ("ids", "offsets", "txt")
            }
            origin = stack.enter_context(writing(self.directory / f"{self.split}.origin"))
            for side in SIDES:
                files[side, "offsets"].write(np.zeros(1, OFFSET_TYPE).tobytes())
            for chunk in chunks:
                self._write_side(files, "src", chunk.src, self.src)
                self._write_side(files, "tgt", chunk.tgt, self.tgt)
                count = len(chunk.src.lengths)
                origin.write(np.full(count, chunk.corpus, ORIGIN_TYPE).tobytes())
                self.pairs += count
                yield chunk

    def _write_side(
        self,
        files: dict[tuple[str, str], BinaryIO],
        side: str,
        chunk: EncodedSide,
        tally: Tally,
    ) -> None:
        offsets: np.ndarray[Any, Any] = tally.tokens + np.cumsum(chunk.lengths)
        files[side, "ids"].write(chunk.ids)
        files[side, "txt"].write(chunk.text)
        files[side, "offsets"].write(offsets.astype(OFFSET_TYPE).tobytes())
        tally.merge(chunk.tally)
