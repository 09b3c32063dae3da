"""Streams and segments: where sentences lie, and how a batch is put together."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.batch import NO_TARGET, Segments, Shape, batch_streams, make_batch

LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=8)


def test_segments_of_three_sentences() -> None:
    segments = Segments.from_lengths([2, 3, 1])
    assert segments.offsets.tolist() == [0, 2, 5, 6]
    assert segments.positions.tolist() == [0, 1, 0, 1, 2, 0]
    assert segments.rows.tolist() == [0, 0, 1, 1, 1, 2]
    assert segments.rectangle_indices.tolist() == [0, 1, 3, 4, 5, 6]
    assert segments.lengths.tolist() == [2, 3, 1]
    assert (segments.longest, segments.has_empty) == (3, False)
    assert (segments.sentences, segments.tokens, segments.max_length) == (3, 6, 3)
    assert not segments.is_rectangular
    assert segments.inside.int().tolist() == [[1, 1, 0], [1, 1, 1], [1, 0, 0]]


def test_padded_rectangle_holds_zeros_outside() -> None:
    segments = Segments.from_lengths([2, 3, 1])
    padded = segments.to_rectangle(torch.tensor([1, 2, 3, 4, 5, 6]))
    assert padded.tolist() == [[1, 2, 0], [3, 4, 5], [6, 0, 0]]


def test_segments_of_no_sentences() -> None:
    segments = Segments.from_lengths([])
    assert (segments.sentences, segments.tokens, segments.max_length) == (0, 0, 0)
    assert (segments.longest, segments.has_empty) == (0, False)
    assert segments.to_rectangle(torch.zeros(0, 4)).shape == (0, 0, 4)


def test_longest_sentence_may_be_shorter_than_the_width_of_the_rectangle() -> None:
    segments = Segments.from_lengths([2, 0, 1], size=8, width=5)
    assert (segments.longest, segments.max_length, segments.has_empty) == (2, 5, True)


@given(rows=st.integers(1, 5), length=st.integers(1, 5))
def test_segments_of_equal_lengths_are_a_rectangle(rows: int, length: int) -> None:
    rectangle = Segments.rectangle(rows, length)
    packed = Segments.from_lengths([length] * rows)
    assert rectangle.is_rectangular
    assert packed.is_rectangular
    assert rectangle.max_length == packed.max_length
    for name in ("offsets", "positions", "rows", "rectangle_indices", "lengths", "inside"):
        assert torch.equal(getattr(rectangle, name), getattr(packed, name)), name


@given(lengths=LENGTHS)
def test_each_sentence_is_a_row_of_the_rectangle(lengths: list[int]) -> None:
    segments = Segments.from_lengths(lengths)
    stream = torch.arange(segments.tokens * 3, dtype=torch.float32).view(-1, 3) + 1
    padded = segments.to_rectangle(stream)
    assert padded.shape == (len(lengths), max(lengths), 3)
    for row, (sentence, length) in enumerate(zip(stream.split(lengths), lengths, strict=True)):
        assert torch.equal(padded[row, :length], sentence)
        assert not padded[row, length:].any()
    assert torch.equal(segments.to_stream(padded), stream)


@given(lengths=LENGTHS, filler=st.integers(1, 9))
def test_filler_belongs_to_no_sentence(lengths: list[int], filler: int) -> None:
    plain = Segments.from_lengths(lengths)
    segments = Segments.from_lengths(lengths, plain.tokens + filler)
    assert (segments.tokens, segments.used) == (plain.tokens + filler, plain.tokens)
    assert segments.is_rectangular == plain.is_rectangular
    assert not segments.positions[segments.used :].any()
    stream = torch.arange(segments.tokens, dtype=torch.float32) + 1
    padded = segments.to_rectangle(stream)
    own = plain.to_rectangle(stream[: plain.tokens])
    assert torch.equal(padded[:, : plain.max_length], own)
    assert not padded[:, plain.max_length :].any()
    back = segments.to_stream(padded)
    assert torch.equal(back[: plain.tokens], stream[: plain.tokens])
    assert back.shape == stream.shape


def test_unequal_sentences_of_a_filled_stream_have_few_widths() -> None:
    widths = {Segments.from_lengths([length, 1], 64).max_length for length in range(2, 21)}
    assert widths == {4, 8, 12, 16, 20}


def test_a_given_width_is_that_of_all_batches() -> None:
    """Also of those with the longest sentence: a graph is compiled for one width."""
    widths = {Segments.from_lengths([length, 1], 64, 9).max_length for length in range(2, 10)}
    assert widths == {9}
    assert Segments.from_lengths([5, 5], 64).max_length == 5
    assert Segments.from_lengths([5, 1]).max_length == 5


def test_streams_are_filled_up_to_their_sizes() -> None:
    src = np.array([5, 3, 6, 3], np.uint16), np.array([2, 2])
    tgt = np.array([8, 3, 9, 7, 3], np.uint16), np.array([2, 3])
    batch = batch_streams(src, tgt, np.array([4, 1]), 1, Shape(6, 8, 4))
    assert batch.src.tolist() == [5, 3, 6, 3, 0, 0]
    assert batch.tgt_in.tolist() == [1, 8, 1, 9, 7, 0, 0, 0]
    assert batch.tgt_out.tolist() == [8, 3, 9, 7, 3, *[NO_TARGET] * 3]
    assert (batch.tokens, batch.src_segments.used) == (5, 4)
    assert batch.src_segments.lengths.tolist() == [2, 2, 0, 0]
    assert batch.tgt_segments.lengths.tolist() == [2, 3, 0, 0]
    assert batch.to("cpu").tgt_segments.used == 5


def test_batch_shifts_the_target_right_by_one() -> None:
    sources = [np.array([5, 3], np.uint16), np.array([6, 7, 3], np.uint16)]
    targets = [np.array([8, 9, 3], np.uint16), np.array([3], np.uint16)]
    batch = make_batch(sources, targets, [40, 2], start_id=1)
    assert batch.src.tolist() == [5, 3, 6, 7, 3]
    assert batch.tgt_out.tolist() == [8, 9, 3, 3]
    assert batch.tgt_in.tolist() == [1, 8, 9, 1]
    assert batch.src_segments.offsets.tolist() == [0, 2, 5]
    assert batch.tgt_segments.offsets.tolist() == [0, 3, 4]
    assert batch.pair_ids.tolist() == [40, 2]
    assert batch.tokens == 4
    kinds = {value.dtype for value in (batch.src, batch.tgt_in, batch.tgt_out, batch.pair_ids)}
    assert kinds == {torch.int64}


def test_moving_a_batch_moves_every_tensor() -> None:
    batch = make_batch([np.array([3])], [np.array([3, 3])], [0], start_id=2)
    moved = batch.to("meta")
    for part in (moved, moved.src_segments, moved.tgt_segments):
        for field in dataclasses.fields(part):
            value = getattr(part, field.name)
            assert not isinstance(value, torch.Tensor) or value.is_meta, field.name
    assert moved.tgt_segments.max_length == 2


def test_a_batch_cannot_be_changed() -> None:
    batch = make_batch([np.array([3])], [np.array([3])], [0], start_id=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        batch.src = batch.tgt_in  # type: ignore[misc]
