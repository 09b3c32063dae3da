"""The first pass of `nmt prepare`: text is read, cleaned, and written down for the later passes.

Empty pairs are left out here; equal pairs are found by their digests when all are known.
"""

import functools
import hashlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nmt_cli.config import Data
from nmt_cli.data.lines import clean_line, read_pairs
from nmt_cli.data.pool import Pool
from nmt_cli.files import writing

CHUNK_PAIRS = 8_192
DIGEST_BYTES = 16
DIGEST_TYPE = np.dtype([("high", "<u8"), ("low", "<u8")])
LONGEST_RECORDED = (1 << 16) - 1

Progress = Callable[[str, int, int | None], None]


class Cleaning(NamedTuple):
    """How lines are cleaned: Moses-style normalisation of punctuation or not, by language."""

    normalize: bool
    src: str
    tgt: str


class RawChunk(NamedTuple):
    """Some pairs as they were read, all of one corpus."""

    cleaning: Cleaning
    corpus: int
    src: list[str]
    tgt: list[str]


class CleanChunk(NamedTuple):
    """Some pairs cleaned: lines joined by newlines; one digest a pair."""

    corpus: int
    src: bytes
    tgt: bytes
    digests: bytes
    read: int


class Stretch(NamedTuple):
    """Where some pairs lie in the cleaned text: bytes of each side, first pair and number."""

    corpus: int
    src_start: int
    src_end: int
    tgt_start: int
    tgt_end: int
    first: int
    pairs: int


@dataclass
class CleanText:
    """The cleaned text of all training pairs, in a directory.

    lengths: characters of each pair read, by corpus and side, for finding misaligned files;
    duplicate: (pairs,) bool, True for each pair that came before.
    """

    directory: Path
    stretches: list[Stretch] = field(default_factory=list)
    read: int = 0
    empty: int = 0
    duplicate: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    lengths: "list[tuple[array[int], array[int]]]" = field(default_factory=list)

    @property
    def pairs(self) -> int:
        """Pairs that are written down."""
        return self.read - self.empty


def clean_sentence(cleaning: Cleaning, side: str, text: str) -> str:
    """One line as subwords are made of it, without spaces at its ends."""
    text = clean_line(text).strip()
    if cleaning.normalize:
        text = clean_line(_normalizer(cleaning.src if side == "src" else cleaning.tgt)(text))
    return text


@functools.lru_cache(maxsize=2)
def _normalizer(language: str) -> Callable[[str], str]:
    from sacremoses import MosesPunctNormalizer

    normalize: Callable[[str], str] = MosesPunctNormalizer(lang=language).normalize
    return normalize


def digest_of(src: str, tgt: str) -> bytes:
    """16 bytes that tell a pair from all others."""
    text = f"{src}\n{tgt}".encode()
    return hashlib.blake2b(text, digest_size=DIGEST_BYTES).digest()


def clean_chunk(chunk: RawChunk) -> CleanChunk:
    """The cleaned pairs of a chunk of which neither side is empty."""
    src = [clean_sentence(chunk.cleaning, "src", line) for line in chunk.src]
    tgt = [clean_sentence(chunk.cleaning, "tgt", line) for line in chunk.tgt]
    kept = [(one, other) for one, other in zip(src, tgt, strict=True) if one and other]
    return CleanChunk(
        chunk.corpus,
        "".join(f"{one}\n" for one, _ in kept).encode(),
        "".join(f"{other}\n" for _, other in kept).encode(),
        b"".join(digest_of(one, other) for one, other in kept),
        len(src),
    )


def clean_training_text(
    data: Data, cleaning: Cleaning, directory: Path, pool: Pool, progress: Progress
) -> CleanText:
    """Read all of `data.train` once; write `clean.src` and `clean.tgt` into `directory`."""
    text = CleanText(directory)
    digests = bytearray()
    src_end = tgt_end = 0
    with ExitStack() as files:
        src_file = files.enter_context(writing(directory / "clean.src"))
        tgt_file = files.enter_context(writing(directory / "clean.tgt"))
        for chunk in pool.map(clean_chunk, _raw_chunks(data, cleaning, text)):
            pairs = len(chunk.digests) // DIGEST_BYTES
            src_start, tgt_start = src_end, tgt_end
            src_end += src_file.write(chunk.src)
            tgt_end += tgt_file.write(chunk.tgt)
            first = text.pairs
            text.stretches.append(
                Stretch(chunk.corpus, src_start, src_end, tgt_start, tgt_end, first, pairs)
            )
            text.read += chunk.read
            text.empty += chunk.read - pairs
            digests += chunk.digests
            progress("read", text.read, None)
    text.duplicate = find_duplicates(bytes(digests))
    return text


def _raw_chunks(data: Data, cleaning: Cleaning, text: CleanText) -> Iterator[RawChunk]:
    for corpus, paths in enumerate(data.train):
        lengths = (array("H"), array("H"))
        text.lengths.append(lengths)
        chunk = RawChunk(cleaning, corpus, [], [])
        for src, tgt in read_pairs(paths):
            chunk.src.append(src)
            chunk.tgt.append(tgt)
            lengths[0].append(min(len(src), LONGEST_RECORDED))
            lengths[1].append(min(len(tgt), LONGEST_RECORDED))
            if len(chunk.src) == CHUNK_PAIRS:
                yield chunk
                chunk = RawChunk(cleaning, corpus, [], [])
        if chunk.src:
            yield chunk


def find_duplicates(digests: bytes) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """(pairs,) True where the same 16-byte digest stands further in front.

    >>> find_duplicates(b"a" * 16 + b"b" * 16 + b"a" * 16).tolist()
    [False, False, True]
    """
    values = np.frombuffer(digests, DIGEST_TYPE)
    order = np.lexsort((values["low"], values["high"]))
    ordered = values[order]
    duplicate = np.zeros(len(values), bool)
    duplicate[order[1:]] = ordered[1:] == ordered[:-1]
    return duplicate


def read_stretch(directory: Path, side: str, start: int, end: int) -> list[str]:
    """The cleaned lines between two bytes of one side."""
    with (directory / f"clean.{side}").open("rb") as file:
        file.seek(start)
        return file.read(end - start).decode("utf-8").split("\n")[:-1]


def select(lines: Sequence[str], keep: np.ndarray) -> list[str]:
    """The lines where `keep` is True."""
    return [line for line, wanted in zip(lines, keep.tolist(), strict=True) if wanted]
