"""The first pass of `nmt prepare`: text is read, cleaned, and written down for the later passes.

Pairs with an empty side are left out here; equal pairs are found when the digests of all are
known. On the way it is noted where files seem misaligned, and which held-out sentences occur.
"""

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt_cli.config import Config
from nmt_cli.data.alignment import Profile, find_misalignment
from nmt_cli.data.lines import LinePairs, clean_line, read_pairs
from nmt_cli.data.pool import Pool
from nmt_cli.files import writing
from nmt_cli.plurals import agreeing, counted

CHUNK_PAIRS = 8_192
PAIR_DIGEST = np.dtype([("high", "<u8"), ("low", "<u8")])
SENTENCE_DIGEST = np.dtype("<u8")

Progress = Callable[[str, int, int | None], None]


class Cleaning(NamedTuple):
    """How lines are cleaned: with Moses-style normalisation of punctuation or not, by language."""

    normalize: bool
    src: str
    tgt: str

    @classmethod
    def of(cls, config: Config) -> "Cleaning":
        """As `config` asks."""
        return cls(config.data.normalize, config.languages.src, config.languages.tgt)

    def clean(self, side: str, lines: Sequence[str]) -> list[str]:
        """`lines` of `side` as subwords are made of them, without spaces at their ends."""
        if not self.normalize:
            return [clean_line(line).strip() for line in lines]
        normalize = _normalizer(self.src if side == "src" else self.tgt)
        return [clean_line(normalize(clean_line(line))).strip() for line in lines]


@functools.lru_cache(maxsize=2)
def _normalizer(language: str) -> Callable[[str], str]:
    from sacremoses import MosesPunctNormalizer

    normalize: Callable[[str], str] = MosesPunctNormalizer(lang=language).normalize
    return normalize


class RawChunk(NamedTuple):
    """Some pairs as they were read, all of one corpus."""

    cleaning: Cleaning
    corpus: int
    src: list[str]
    tgt: list[str]


class CleanChunk(NamedTuple):
    """Some pairs cleaned: each side's lines with newlines, and digests of pairs and sources."""

    corpus: int
    read: int
    src: bytes
    tgt: bytes
    pair_digests: bytes
    src_digests: bytes


def clean_chunk(chunk: RawChunk) -> CleanChunk:
    """The cleaned pairs of a chunk of which neither side is empty."""
    src = chunk.cleaning.clean("src", chunk.src)
    tgt = chunk.cleaning.clean("tgt", chunk.tgt)
    kept = [(one, other) for one, other in zip(src, tgt, strict=True) if one and other]
    return CleanChunk(
        chunk.corpus,
        len(src),
        "".join(f"{one}\n" for one, _ in kept).encode(),
        "".join(f"{other}\n" for _, other in kept).encode(),
        b"".join(_digest(f"{one}\n{other}", PAIR_DIGEST.itemsize) for one, other in kept),
        b"".join(_digest(one, SENTENCE_DIGEST.itemsize) for one, _ in kept),
    )


def _digest(text: str, size: int) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=size).digest()


class Stretch(NamedTuple):
    """Where some pairs lie in the cleaned text: bytes of each side, first pair and number."""

    corpus: int
    src_start: int
    src_end: int
    tgt_start: int
    tgt_end: int
    first: int
    pairs: int


class HeldOut:
    """The source sentences of a validation or test set, looked for in the training text."""

    def __init__(self, name: str, sentences: Sequence[str]) -> None:
        """`sentences` are cleaned; empty ones are not looked for."""
        self.name = name
        digests = [_digest(one, SENTENCE_DIGEST.itemsize) for one in sentences if one]
        self._digests = np.frombuffer(b"".join(digests), SENTENCE_DIGEST)
        self._found = np.zeros(len(digests), bool)

    def look(self, src_digests: bytes) -> None:
        """Look among some training sentences."""
        self._found |= np.isin(self._digests, np.frombuffer(src_digests, SENTENCE_DIGEST))

    @property
    def sentences(self) -> int:
        """How many sentences are looked for."""
        return len(self._found)

    @property
    def found(self) -> int:
        """How many of the sentences occur in what was looked at."""
        return int(self._found.sum())


@dataclass
class CleanText:
    """The cleaned text of all training pairs: `clean.src` and `clean.tgt` in `directory`.

    duplicate: (pairs,) bool, True for a pair that came before; notes: what was suspicious.
    """

    directory: Path
    stretches: list[Stretch] = field(default_factory=list)
    read: int = 0
    empty: int = 0
    duplicate: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    notes: list[str] = field(default_factory=list)

    @property
    def pairs(self) -> int:
        """Pairs that are written down."""
        return self.read - self.empty

    def add(self, chunk: CleanChunk) -> None:
        """Take down where a chunk lies that was written."""
        pairs = len(chunk.pair_digests) // PAIR_DIGEST.itemsize
        src_start, tgt_start = (
            (self.stretches[-1].src_end, self.stretches[-1].tgt_end) if self.stretches else (0, 0)
        )
        src_end, tgt_end = src_start + len(chunk.src), tgt_start + len(chunk.tgt)
        self.stretches.append(
            Stretch(chunk.corpus, src_start, src_end, tgt_start, tgt_end, self.pairs, pairs)
        )
        self.read += chunk.read
        self.empty += chunk.read - pairs


def clean_training_text(
    config: Config, directory: Path, pool: Pool, held_out: Sequence[HeldOut], progress: Progress
) -> CleanText:
    """Read all of `data.train` once and write the cleaned text into `directory`."""
    text = CleanText(directory)
    digests = bytearray()
    reader = _Reader(config)
    with ExitStack() as files:
        src_file = files.enter_context(writing(directory / "clean.src"))
        tgt_file = files.enter_context(writing(directory / "clean.tgt"))
        for chunk in pool.map(clean_chunk, reader.chunks()):
            src_file.write(chunk.src)
            tgt_file.write(chunk.tgt)
            text.add(chunk)
            digests += chunk.pair_digests
            for one in held_out:
                one.look(chunk.src_digests)
            progress("read", text.read, reader.estimate(text.read))
    text.duplicate = find_duplicates(bytes(digests))
    text.notes = reader.notes
    return text


class _Reader:
    """Reads the training files one after the other, and looks at how they fit."""

    def __init__(self, config: Config) -> None:
        self._cleaning = Cleaning.of(config)
        self._train = config.data.train
        self._strict = config.data.strict
        files = [Path(paths[0]) for paths in self._train]
        known = all(file.is_file() for file in files)
        self._size = sum(file.stat().st_size for file in files) if known else 0
        self._finished = 0
        self._pairs: LinePairs | None = None
        self.notes: list[str] = []

    def estimate(self, done: int) -> int | None:
        """About how many pairs there are in all, when `done` are read."""
        if not self._size or self._pairs is None:
            return None
        read = self._finished + self._pairs.src.bytes_read
        return max(done, round(done * self._size / read)) if read else None

    def chunks(self) -> Iterator[RawChunk]:
        for corpus, paths in enumerate(self._train):
            self._pairs = read_pairs(paths, strict=self._strict)
            profiles = (Profile(), Profile())
            chunk = RawChunk(self._cleaning, corpus, [], [])
            for src, tgt in self._pairs:
                chunk.src.append(src)
                chunk.tgt.append(tgt)
                profiles[0].add(src)
                profiles[1].add(tgt)
                if len(chunk.src) == CHUNK_PAIRS:
                    yield chunk
                    chunk = RawChunk(self._cleaning, corpus, [], [])
            if chunk.src:
                yield chunk
            self._finished += self._pairs.src.size
            self._note(self._pairs, find_misalignment(*profiles))

    def _note(self, pairs: LinePairs, place: int | None) -> None:
        for lines in dict.fromkeys((pairs.src, pairs.tgt)):
            if lines.invalid:
                self.notes.append(
                    f"`{lines.name}`: {counted(lines.invalid, 'line')} "
                    f"{agreeing(lines.invalid, 'is', 'are')} not UTF-8, the first at line:byte"
                    f" {lines.first_invalid}; the wrong bytes became U+FFFD"
                )
        if place is not None:
            self.notes.append(
                f"`{pairs.src.name}` and `{pairs.tgt.name}` seem shifted against each other near"
                f" line {place:,}: is a line missing there?"
            )


def find_duplicates(digests: bytes) -> np.ndarray:
    """(pairs,) bool, True where the same 16-byte digest stands further in front.

    >>> find_duplicates(b"a" * 16 + b"b" * 16 + b"a" * 16).tolist()
    [False, False, True]
    """
    values = np.frombuffer(digests, PAIR_DIGEST)
    order = np.lexsort((values["low"], values["high"]))
    ordered = values[order]
    duplicate = np.zeros(len(values), bool)
    duplicate[order[1:]] = ordered[1:] == ordered[:-1]
    return duplicate


def read_stretch(directory: Path, side: str, start: int, end: int) -> list[str]:
    """The cleaned lines between two bytes of one side."""
    return _read_part(directory, side, start, end).decode("utf-8").split("\n")[:-1]


def read_side(directory: Path, side: str, stretch: Stretch) -> bytes:
    """The cleaned text of one side of a stretch."""
    if side == "src":
        return _read_part(directory, side, stretch.src_start, stretch.src_end)
    return _read_part(directory, side, stretch.tgt_start, stretch.tgt_end)


def _read_part(directory: Path, side: str, start: int, end: int) -> bytes:
    with (directory / f"clean.{side}").open("rb") as file:
        file.seek(start)
        return file.read(end - start)
