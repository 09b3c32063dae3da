"""What data makes and the model eats: a stream of tokens, and where its sentences lie.

There is no padding in the model's arithmetic. All sentences of a batch stand one after the other in
one stream; only attention knows where one ends, and it asks `Segments`. At its end a stream may
hold filler, tokens of no sentence, that bring it to one of few sizes: kernels are made for each.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

# Target of a filler token: the loss passes over it.
NO_TARGET = -1
# Tokens of one sentence that a GPU's program takes at a time.
TILE = 32
# Rectangles of unequal sentences are this much wider at most, so that there are few widths.
WIDTH_STEP = 4


class Shape(NamedTuple):
    """What a batch is filled up to: tokens of each side, and sentence pairs.

    width: bound of the lengths of sentences, where it has to be the same in every batch.
    """

    src: int
    tgt: int
    pairs: int
    width: int = 0


@dataclass(frozen=True)
class Segments:
    """Where the sentences of a stream begin and end.

    offsets: (sentences + 1,) int64; sentence i is tokens[offsets[i]:offsets[i + 1]].
    positions: (tokens,) int64; the place of each token in its sentence, from 0; 0 for filler.
    max_length: length of the longest sentence, or a little more.
    used: tokens of sentences; those after it are filler.
    tiles: the `tile_table` of TILE tokens.
    """

    offsets: Tensor
    positions: Tensor
    max_length: int
    used: int
    tiles: Tensor

    @classmethod
    def from_lengths(
        cls, lengths: Sequence[int] | np.ndarray, size: int = 0, width: int = 0
    ) -> "Segments":
        """Packed segments of sentences with the given lengths, in a stream of `size` or more.

        width: what max_length is at least.
        """
        sizes = np.asarray(lengths, dtype=np.int64)
        offsets = np.zeros(len(sizes) + 1, np.int64)
        sizes.cumsum(out=offsets[1:])
        used = int(offsets[-1])
        positions = np.zeros(max(used, size), np.int64)
        np.subtract(np.arange(used), offsets[:-1].repeat(sizes), out=positions[:used])
        longest = int(sizes.max()) if len(sizes) else 0
        if size and used < len(sizes) * longest:
            longest += -longest % WIDTH_STEP
        longest = max(longest, width)
        tiles = tile_table(sizes, len(positions), TILE)
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
        """How many sentences there are."""
        return len(self.offsets) - 1

    @property
    def tokens(self) -> int:
        """How many tokens there are in all, with filler."""
        return len(self.positions)

    @cached_property
    def is_rectangular(self) -> bool:
        """Whether all sentences are of one length: the stream is (rows, length), then filler."""
        return self.used == self.sentences * self.max_length

    @cached_property
    def lengths(self) -> Tensor:
        """(sentences,) int64."""
        return self.offsets[1:] - self.offsets[:-1]

    @cached_property
    def rows(self) -> Tensor:
        """(used,) int64; the sentence that each token belongs to."""
        return torch.repeat_interleave(
            torch.arange(self.sentences, device=self.offsets.device),
            self.lengths,
            output_size=self.used,
        )

    @cached_property
    def places(self) -> Tensor:
        """(tokens,) int64; its place in the padded (sentences * max_length) stream; filler's: 0."""
        places = torch.zeros_like(self.positions)
        places[: self.used] = self.rows * self.max_length + self.positions[: self.used]
        return places

    @cached_property
    def inside(self) -> Tensor:
        """(sentences, max_length) bool; True where the padded rectangle holds a token."""
        steps = torch.arange(self.max_length, device=self.offsets.device)
        return steps[None, :] < self.lengths[:, None]

    def to_rectangle(self, stream: Tensor) -> Tensor:
        """(tokens, ...) to (sentences, max_length, ...), zeros where a sentence is shorter."""
        shape = (self.sentences, self.max_length, *stream.shape[1:])
        own = stream[: self.used]
        if self.is_rectangular:
            return own.reshape(shape)
        padded = stream.new_zeros(self.sentences * self.max_length, *stream.shape[1:])
        return padded.index_copy(0, self.places[: self.used], own).reshape(shape)

    def to_stream(self, rectangle: Tensor) -> Tensor:
        """(sentences, max_length, ...) to (tokens, ...): undoes `to_rectangle`.

        Filler holds what the first token does.
        """
        flat = rectangle.reshape(self.sentences * self.max_length, *rectangle.shape[2:])
        if self.is_rectangular and self.used == self.tokens:
            return flat
        return flat.index_select(0, self.places)

    def to(self, device: torch.device | str) -> "Segments":
        """The same segments on another device."""
        offsets, positions, tiles = (
            moved(one, device) for one in (self.offsets, self.positions, self.tiles)
        )
        return Segments(offsets, positions, self.max_length, self.used, tiles)


def moved(tensor: Tensor, device: torch.device | str) -> Tensor:
    """The tensor on another device; what a GPU has still to do is not waited for."""
    if tensor.device.type == "cpu" and torch.device(device).type == "cuda":
        # A copy from other memory would wait until the GPU has done all its work.
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def tile_table(lengths: np.ndarray, tokens: int, size: int) -> Tensor:
    """Sentences cut into tiles of up to `size` tokens, for programs that each take one.

    lengths: (sentences,); a sentence of no tokens has no tile. tokens: of the stream, with filler.
    Returns (tokens // size + sentences + 1, 4) int32, as many rows for any lengths: first token
    and end, sentence (-1: filler), place of the first token in its sentence. Unused rows come last
    and hold no token.
    """
    sizes = np.append(lengths, tokens - lengths.sum())
    counts = -(-sizes // size)
    owners = np.arange(len(sizes)).repeat(counts)
    first = (np.arange(len(owners)) - (counts.cumsum() - counts).repeat(counts)) * size
    starts = (sizes.cumsum() - sizes)[owners]
    table = np.zeros((tokens // size + len(sizes), 4), np.int32)
    table[:, 2] = -1
    used = table[: len(owners)]
    used[:, 0] = starts + first
    used[:, 1] = starts + np.minimum(first + size, sizes[owners])
    used[:, 2] = np.where(owners < len(lengths), owners, -1)
    used[:, 3] = first
    return torch.from_numpy(table)


@dataclass(frozen=True)
class Batch:
    """Sentence pairs for one pass.

    src: (src tokens,) int64, each sentence ends with EOS.
    tgt_in, tgt_out: (tgt tokens,) int64; tgt_out ends with EOS, tgt_in is it moved right by one.
    Filler is id 0, and NO_TARGET in tgt_out.
    pair_ids: (sentences,) int64; which pairs of the corpus these are.
    """

    src: Tensor
    tgt_in: Tensor
    tgt_out: Tensor
    src_segments: Segments
    tgt_segments: Segments
    pair_ids: Tensor

    @property
    def tokens(self) -> int:
        """Target tokens, what a loss is divided by."""
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
        (np.concatenate(sources), np.array([len(one) for one in sources])),
        (np.concatenate(targets), np.array([len(one) for one in targets])),
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

    With a `shape`, filler brings the streams up to it, and empty sentences their number.
    """
    room = shape or Shape(0, 0, 0)
    empty = np.zeros(max(0, room.pairs - len(pair_ids)), np.int64)
    src_segments = Segments.from_lengths(np.append(src[1], empty), room.src, room.width)
    tgt_segments = Segments.from_lengths(np.append(tgt[1], empty), room.tgt, room.width)
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
