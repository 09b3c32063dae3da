"""The batch, which data loading produces and the model consumes: token streams with segments.

The model computes without padding. All sentences of a batch are concatenated into one stream, and
only attention, through `Segments`, knows where a sentence ends. A stream may end with filler:
tokens of no sentence that bring it to one of few sizes, for which kernels are compiled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

# Target of a filler token, which the loss ignores.
NO_TARGET = -1
# Tokens of one sentence that a GPU program processes at a time.
TILE = 32
# Rectangles of unequal sentences are padded to a multiple of this, so that there are few widths.
WIDTH_STEP = 4


class Shape(NamedTuple):
    """The size that a batch is filled up to: tokens of each side, and sentence pairs.

    width: the greatest length of a sentence, where it has to be the same in every batch; else 0.
    """

    src: int
    tgt: int
    pairs: int
    width: int = 0


@dataclass(frozen=True)
class Segments:
    """The boundaries of the sentences of a stream.

    offsets: (sentences + 1,) int64; sentence i is tokens[offsets[i]:offsets[i + 1]].
    positions: (tokens,) int64; the position of each token in its sentence, from 0; 0 for filler.
    max_length: the length of the longest sentence, or a little more.
    used: the number of tokens of sentences; the tokens after them are filler.
    tiles: the `tile_table` for tiles of TILE tokens, which knows the other side of the batch too if
    these segments were made with it.
    """

    offsets: Tensor
    positions: Tensor
    max_length: int
    used: int
    tiles: Tensor

    @classmethod
    def from_lengths(
        cls,
        lengths: Sequence[int] | np.ndarray,
        size: int = 0,
        width: int = 0,
        other: Sequence[int] | np.ndarray | None = None,
    ) -> "Segments":
        """Segments of sentences with the given lengths, in a stream of at least `size` tokens.

        width: the least value of max_length. other: the lengths on the other side of the batch, for
        cross-attention in tiles.
        """
        sizes = np.asarray(lengths, dtype=np.int64)
        offsets = np.zeros(len(sizes) + 1, np.int64)
        sizes.cumsum(out=offsets[1:])
        used = int(offsets[-1])
        positions = np.zeros(max(used, size), np.int64)
        np.subtract(np.arange(used), offsets[:-1].repeat(sizes), out=positions[:used])
        longest = int(sizes.max()) if len(sizes) else 0
        if size and not width and used < len(sizes) * longest:
            longest += -longest % WIDTH_STEP
        longest = max(longest, width)
        tiles = tile_table(sizes, len(positions), TILE, other)
        streams = torch.from_numpy(offsets), torch.from_numpy(positions)
        return cls(*streams, longest, used, tiles)

    @classmethod
    def rectangle(cls, rows: int, length: int, device: str = "cpu") -> "Segments":
        """Segments of `rows` sentences that all have `length` tokens."""
        offsets = torch.arange(rows + 1, device=device) * length
        positions = torch.arange(length, device=device).repeat(rows)
        tiles = tile_table(np.full(rows, length), rows * length, TILE).to(device)
        return cls(offsets, positions, length, rows * length, tiles)

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return len(self.offsets) - 1

    @property
    def tokens(self) -> int:
        """The number of tokens, filler included."""
        return len(self.positions)

    @cached_property
    def is_rectangular(self) -> bool:
        """Whether all sentences have one length: the stream is (sentences, length), then filler."""
        return self.used == self.sentences * self.max_length

    @cached_property
    def lengths(self) -> Tensor:
        """(sentences,) int64; the length of each sentence."""
        return self.offsets[1:] - self.offsets[:-1]

    @cached_property
    def longest(self) -> int:
        """The length of the longest sentence, 0 without sentences; waits for a GPU."""
        return int(self.lengths.max()) if self.sentences else 0

    @cached_property
    def has_empty(self) -> bool:
        """Whether a sentence has no tokens; waits for a GPU."""
        return bool((self.lengths == 0).any())

    @cached_property
    def rows(self) -> Tensor:
        """(used,) int64; the index of the sentence of each token."""
        return torch.repeat_interleave(
            torch.arange(self.sentences, device=self.offsets.device),
            self.lengths,
            output_size=self.used,
        )

    @cached_property
    def rectangle_indices(self) -> Tensor:
        """(tokens,) int64; each token's index in the flattened rectangle; 0 for filler."""
        rectangle_indices = torch.zeros_like(self.positions)
        rectangle_indices[: self.used] = self.rows * self.max_length + self.positions[: self.used]
        return rectangle_indices

    @cached_property
    def inside(self) -> Tensor:
        """(sentences, max_length) bool; True where the padded rectangle has a token."""
        steps = torch.arange(self.max_length, device=self.offsets.device)
        return steps[None, :] < self.lengths[:, None]

    def to_rectangle(self, stream: Tensor) -> Tensor:
        """(tokens, ...) to (sentences, max_length, ...), zeros where a sentence is shorter."""
        shape = (self.sentences, self.max_length, *stream.shape[1:])
        own = stream[: self.used]
        if self.is_rectangular:
            return own.reshape(shape)
        padded = stream.new_zeros(self.sentences * self.max_length, *stream.shape[1:])
        return padded.index_copy(0, self.rectangle_indices[: self.used], own).reshape(shape)

    def to_stream(self, rectangle: Tensor) -> Tensor:
        """(sentences, max_length, ...) to (tokens, ...): the inverse of `to_rectangle`.

        Filler gets the values of the first token.
        """
        flat = rectangle.reshape(self.sentences * self.max_length, *rectangle.shape[2:])
        if self.is_rectangular and self.used == self.tokens:
            return flat
        return flat.index_select(0, self.rectangle_indices)

    def to(self, device: torch.device | str) -> "Segments":
        """The same segments on another device."""
        offsets, positions, tiles = (
            moved(tensor, device) for tensor in (self.offsets, self.positions, self.tiles)
        )
        return Segments(offsets, positions, self.max_length, self.used, tiles)


def moved(tensor: Tensor, device: torch.device | str) -> Tensor:
    """The tensor on another device; does not wait for the GPU's pending work."""
    if tensor.device.type == "cpu" and torch.device(device).type == "cuda":
        # A copy from memory that is not pinned would wait until the GPU has done all its work.
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def tile_table(
    lengths: np.ndarray,
    tokens: int,
    size: int,
    other: Sequence[int] | np.ndarray | None = None,
) -> Tensor:
    """Sentences cut into tiles of up to `size` tokens, for GPU programs that each take one tile.

    lengths: (sentences,); a sentence of no tokens has no tile. tokens: of the stream, with filler.
    Returns (1, tokens // size + sentences + 1, 4) int32, whatever the lengths. The columns are the
    first token, the token after the last, and the same of the range that these tokens attend to, or
    are attended to from: their sentence in this stream. With `other`, the lengths (sentences,) of
    the other side, a second table has the ranges of the sentences there. The range of filler is
    empty. Unused rows come last and have no tokens.
    """
    # The last one is the filler.
    sizes = np.append(lengths, tokens - lengths.sum())
    counts = -(-sizes // size)
    ends = sizes.cumsum()
    tile_ends = counts.cumsum()
    # A sentence's tiles begin at these plus `size` times their index in the table.
    origins = ends - sizes - (tile_ends - counts) * size
    starts = np.arange(tile_ends[-1]) * size + origins.repeat(counts)
    stops = np.minimum(starts + size, ends.repeat(counts))
    sides = [lengths] if other is None else [lengths, other]
    table = np.zeros((len(sides), tokens // size + len(sizes), 4), np.int32)
    for side, rows in zip(sides, table[:, : len(starts)], strict=True):
        side_ends = np.append(np.cumsum(side), 0)
        rows[:, 0] = starts
        rows[:, 1] = stops
        rows[:, 2] = (side_ends - np.append(side, 0)).repeat(counts)
        rows[:, 3] = side_ends.repeat(counts)
    return torch.from_numpy(table)


@dataclass(frozen=True)
class Batch:
    """Sentence pairs for one forward and backward pass.

    src: (src tokens,) int64, each sentence ends with EOS.
    tgt_in, tgt_out: (tgt tokens,) int64; in tgt_out each sentence ends with EOS;
    tgt_in is tgt_out shifted right by one, from the start symbol.
    Filler is id 0, and NO_TARGET in tgt_out.
    pair_ids: (sentences,) int64; the index of each pair in the corpus.
    """

    src: Tensor
    tgt_in: Tensor
    tgt_out: Tensor
    src_segments: Segments
    tgt_segments: Segments
    pair_ids: Tensor

    @property
    def tokens(self) -> int:
        """The number of target tokens, by which the loss is divided."""
        return self.tgt_segments.used

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on another device."""
        return Batch(
            moved(self.src, device),
            moved(self.tgt_in, device),
            moved(self.tgt_out, device),
            self.src_segments.to(device),
            self.tgt_segments.to(device),
            moved(self.pair_ids, device),
        )


def make_batch(
    sources: Sequence[np.ndarray],
    targets: Sequence[np.ndarray],
    pair_ids: Sequence[int] | np.ndarray,
    start_id: int,
) -> Batch:
    """A batch of id sequences, each ending with EOS; the decoder's input starts with `start_id`."""
    return batch_streams(
        (np.concatenate(sources), np.array([len(source) for source in sources])),
        (np.concatenate(targets), np.array([len(target) for target in targets])),
        np.asarray(pair_ids, dtype=np.int64),
        start_id,
    )


def batch_streams(
    src: tuple[np.ndarray, np.ndarray],
    tgt: tuple[np.ndarray, np.ndarray],
    pair_ids: np.ndarray,
    start_id: int,
    shape: Shape | None = None,
) -> Batch:
    """A batch of two streams, each with the lengths (sentences,) of its sentences.

    With a `shape`, streams are filled up with filler, and the sentences with empty ones.
    """
    minimum = shape or Shape(0, 0, 0)
    empty = np.zeros(max(0, minimum.pairs - len(pair_ids)), np.int64)
    lengths = [np.append(side[1], empty) for side in (src, tgt)]
    src_segments = Segments.from_lengths(lengths[0], minimum.src, minimum.width, lengths[1])
    tgt_segments = Segments.from_lengths(lengths[1], minimum.tgt, minimum.width, lengths[0])
    tgt_out = _fill(tgt[0], tgt_segments, NO_TARGET)
    tgt_in = _fill(tgt[0], tgt_segments, 0)
    tgt_in[1 : tgt_segments.used] = tgt_out[: tgt_segments.used - 1]
    tgt_in[tgt_segments.offsets[: len(pair_ids)].numpy()] = start_id
    return Batch(
        torch.from_numpy(_fill(src[0], src_segments, 0)),
        torch.from_numpy(tgt_in),
        torch.from_numpy(tgt_out),
        src_segments,
        tgt_segments,
        torch.from_numpy(pair_ids.astype(np.int64)),
    )


def _fill(ids: np.ndarray, segments: Segments, filler: int) -> np.ndarray:
    stream = np.empty(segments.tokens, np.int64)
    stream[: segments.used] = ids
    stream[segments.used :] = filler
    return stream
