"""What data makes and the model eats: a stream of tokens, and where its sentences lie.

There is no padding in the model's arithmetic. All sentences of a batch stand one after the other in
one stream; only attention knows where one ends, and it asks `Segments`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Segments:
    """Where the sentences of a stream begin and end.

    offsets: (sentences + 1,) int64; sentence i is tokens[offsets[i]:offsets[i + 1]].
    positions: (tokens,) int64; the place of each token in its sentence, from 0.
    max_length: length of the longest sentence.
    """

    offsets: Tensor
    positions: Tensor
    max_length: int

    @classmethod
    def from_lengths(cls, lengths: Sequence[int] | np.ndarray, device: str = "cpu") -> "Segments":
        """Packed segments of sentences with the given lengths."""
        sizes = np.asarray(lengths, dtype=np.int64)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        positions = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
        longest = int(sizes.max()) if len(sizes) else 0
        return cls(
            torch.from_numpy(offsets).to(device), torch.from_numpy(positions).to(device), longest
        )

    @classmethod
    def rectangle(cls, rows: int, length: int, device: str = "cpu") -> "Segments":
        """Segments of `rows` sentences that all have `length` tokens."""
        offsets = torch.arange(rows + 1, device=device) * length
        return cls(offsets, torch.arange(length, device=device).repeat(rows), length)

    @property
    def sentences(self) -> int:
        """How many sentences there are."""
        return len(self.offsets) - 1

    @property
    def tokens(self) -> int:
        """How many tokens there are in all."""
        return len(self.positions)

    @cached_property
    def is_rectangular(self) -> bool:
        """Whether all sentences are of one length, so that the stream is a plain (rows, length)."""
        return self.tokens == self.sentences * self.max_length

    @cached_property
    def lengths(self) -> Tensor:
        """(sentences,) int64."""
        return self.offsets[1:] - self.offsets[:-1]

    @cached_property
    def rows(self) -> Tensor:
        """(tokens,) int64; the sentence that each token belongs to."""
        return torch.repeat_interleave(
            torch.arange(self.sentences, device=self.offsets.device),
            self.lengths,
            output_size=self.tokens,
        )

    @cached_property
    def places(self) -> Tensor:
        """(tokens,) int64; its place in the padded (sentences * max_length) stream."""
        return self.rows * self.max_length + self.positions

    @cached_property
    def inside(self) -> Tensor:
        """(sentences, max_length) bool; True where the padded rectangle holds a token."""
        steps = torch.arange(self.max_length, device=self.offsets.device)
        return steps[None, :] < self.lengths[:, None]

    def to_rectangle(self, stream: Tensor) -> Tensor:
        """(tokens, ...) to (sentences, max_length, ...), zeros where a sentence is shorter."""
        shape = (self.sentences, self.max_length, *stream.shape[1:])
        if self.is_rectangular:
            return stream.reshape(shape)
        padded = stream.new_zeros(self.sentences * self.max_length, *stream.shape[1:])
        return padded.index_copy(0, self.places, stream).reshape(shape)

    def to_stream(self, rectangle: Tensor) -> Tensor:
        """(sentences, max_length, ...) to (tokens, ...); the inverse of `to_rectangle`."""
        flat = rectangle.reshape(self.sentences * self.max_length, *rectangle.shape[2:])
        return flat if self.is_rectangular else flat.index_select(0, self.places)

    def to(self, device: torch.device | str) -> "Segments":
        """The same segments on another device."""
        return Segments(self.offsets.to(device), self.positions.to(device), self.max_length)


@dataclass(frozen=True)
class Batch:
    """Sentence pairs for one pass.

    src: (src tokens,) int64, each sentence ends with EOS.
    tgt_in, tgt_out: (tgt tokens,) int64; tgt_out ends with EOS, tgt_in is it moved right by one.
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
        return self.tgt_segments.tokens

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on another device."""
        return Batch(
            self.src.to(device),
            self.tgt_in.to(device),
            self.tgt_out.to(device),
            self.src_segments.to(device),
            self.tgt_segments.to(device),
            self.pair_ids.to(device),
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
) -> Batch:
    """A batch of two streams, each with the lengths (sentences,) of its sentences."""
    tgt_out = tgt[0].astype(np.int64)
    tgt_segments = Segments.from_lengths(tgt[1])
    tgt_in = np.empty_like(tgt_out)
    tgt_in[1:] = tgt_out[:-1]
    tgt_in[tgt_segments.offsets[:-1].numpy()] = start_id
    return Batch(
        torch.from_numpy(src[0].astype(np.int64)),
        torch.from_numpy(tgt_in),
        torch.from_numpy(tgt_out),
        Segments.from_lengths(src[1]),
        tgt_segments,
        torch.from_numpy(pair_ids.astype(np.int64)),
    )
