"""A prepared corpus, memory-mapped: the token ids of both sides, and batches of them.

Its files are described in layout.py.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmt_cli.batch import Batch, Shape, batch_streams
from nmt_cli.config import schema as settings
from nmt_cli.data.corpus.layout import (
    CONFIG,
    OFFSET_TYPE,
    ORIGIN_TYPE,
    SIDES,
    SUBWORDS,
    check_corpus_files,
    id_type,
    read_description,
)
from nmt_cli.data.corpus.text_statistics import TextStatistics
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import DataError
from nmt_cli.plurals import counted


@dataclass(frozen=True)
class CorpusSide:
    """One side of some pairs: ids (tokens,) and offsets (pairs + 1,) int64."""

    ids: np.ndarray
    offsets: np.ndarray

    def __getitem__(self, pair: int) -> np.ndarray:
        """Return the ids of one pair, (length,), with EOS last."""
        return self.ids[self.offsets[pair] : self.offsets[pair + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """(pairs,) int32, with EOS."""
        return np.diff(self.offsets).astype(np.int32)

    def gather(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the concatenated ids of some pairs, (tokens,), and their lengths, (pairs,)."""
        # A slice of a memory map is a memory map too, which takes longer to create than to read.
        ids, offsets = np.asarray(self.ids), np.asarray(self.offsets)
        starts = offsets.take(pairs)
        lengths = offsets.take(pairs + 1) - starts
        indices = (starts - lengths.cumsum() + lengths).repeat(lengths)  # (tokens,)
        indices += np.arange(len(indices))
        return ids.take(indices), lengths


class Pairs:
    """The pairs of one split; `pairs[i]` gives (src ids, tgt ids), each ending with EOS.

    src_lengths, tgt_lengths: (pairs,) int32, with EOS; origin: (pairs,) uint16, the index in
    `data.train` of the corpus that a pair came from.
    """

    def __init__(self, src: CorpusSide, tgt: CorpusSide, origin: np.ndarray) -> None:
        """Both sides hold the same number of pairs."""
        self.src = src
        self.tgt = tgt
        self.origin = origin
        self.src_lengths = src.lengths
        self.tgt_lengths = tgt.lengths

    def __len__(self) -> int:
        return len(self.src_lengths)

    def __getitem__(self, pair: int) -> tuple[np.ndarray, np.ndarray]:
        if not 0 <= pair < len(self):
            raise IndexError(f"pair {pair} of {len(self)}")
        return self.src[pair], self.tgt[pair]

    def batch(self, pairs: np.ndarray, start_id: int, shape: Shape | None = None) -> Batch:
        """Return the given pairs as a batch; the decoder input begins with `start_id`.

        With a `shape`, the streams are padded to it, also with empty sentences.
        """
        return batch_streams(self.src.gather(pairs), self.tgt.gather(pairs), pairs, start_id, shape)


@dataclass(frozen=True)
class Corpus:
    """A prepared corpus, read-only.

    valid_text: the raw lines of both sides, for BLEU; digest: a hash of the ids and subwords; text:
    what is usual in the training text, None where an older version prepared the corpus.
    """

    path: Path
    config: settings.Config
    subwords: Subwords
    train: Pairs
    valid: Pairs | None
    valid_text: tuple[list[str], list[str]] | None
    digest: str
    text: TextStatistics | None = None

    @classmethod
    def open(cls, path: Path, *, verify: bool = True) -> "Corpus":
        """Open and check a corpus; without `verify` only sizes are checked, not SHA-256.

        Raises NoInputError if there is none, DataError if it is damaged.
        """
        description = read_description(path)
        digest = check_corpus_files(path, verify=verify)
        subwords = Subwords.load(path / SUBWORDS)
        valid = valid_text = None
        if description["valid"]:
            valid = _open_pairs(path, "valid", description, subwords)
            src, tgt = (list(read_lines(path / f"valid.{side}.txt")) for side in SIDES)
            valid_text = (src, tgt)
        return cls(
            path=path,
            config=settings.load(path / CONFIG),
            subwords=subwords,
            train=_open_pairs(path, "train", description, subwords),
            valid=valid,
            valid_text=valid_text,
            digest=digest,
            text=TextStatistics.load(path),
        )


def _open_pairs(path: Path, split: str, description: dict[str, Any], subwords: Subwords) -> Pairs:
    count = description[split]
    sizes = (subwords.src_size, subwords.tgt_size)
    src, tgt = (
        _open_side(path, f"{split}.{side}", count, size)
        for side, size in zip(SIDES, sizes, strict=True)
    )
    name = path / f"{split}.origin"
    origin = _map(name, ORIGIN_TYPE) if name.exists() else np.zeros(count, ORIGIN_TYPE)
    if len(origin) != count:
        raise DataError(f"`{name}` holds {counted(len(origin), 'pair')}, not {count}")
    return Pairs(src, tgt, origin)


def _open_side(path: Path, name: str, count: int, vocab_size: int) -> CorpusSide:
    ids = _map(path / f"{name}.ids", id_type(vocab_size))
    offsets = _map(path / f"{name}.offsets", OFFSET_TYPE)
    fits = len(offsets) == count + 1 and offsets[0] == 0 and offsets[-1] == len(ids)
    if not fits or (np.diff(offsets) < 1).any():
        raise DataError(f"`{path / name}.offsets` does not fit {counted(count, 'pair')}")
    if len(ids) and ids.max() >= vocab_size:
        raise DataError(f"`{path / name}.ids` holds ids beyond the vocabulary of {vocab_size}")
    return CorpusSide(ids, offsets)


def _map(path: Path, dtype: np.dtype[Any]) -> np.ndarray:
    size = path.stat().st_size if path.is_file() else -1
    if size < 0 or size % dtype.itemsize:
        raise DataError(f"`{path}` is missing or damaged", "copy the corpus again")
    if size == 0:
        return np.zeros(0, dtype)  # An empty file cannot be mapped.
    return np.memmap(path, dtype=dtype, mode="r")
