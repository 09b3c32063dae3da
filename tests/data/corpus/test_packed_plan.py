"""Packed batches have one shape and little padding, and contain every pair once."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.batch import Shape
from nmt_cli.data.corpus.packed_plan import PackedPlan

LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=200)


def sentence_lengths(pairs: int, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Return lengths distributed as in news text: log-normal, with correlated sides."""
    random = np.random.default_rng(0)
    common, own = random.normal(size=(2, pairs))
    src = np.exp(3.2 + 0.6 * common)
    tgt = np.exp(3.2 + 0.6 * (0.93 * common + 0.36 * own)) * ratio
    return tuple(side.clip(2, 128).astype(np.int64) for side in (src, tgt))


def shards_of(plan: PackedPlan, epoch_index: int = 0) -> list[np.ndarray]:
    epoch = plan.epoch(epoch_index)
    shards = [epoch.shard(batch, i) for batch in range(epoch.batches) for i in range(plan.shards)]
    return [ids for ids in shards if len(ids)]


@given(LENGTHS, st.integers(1, 400), st.integers(1, 5), st.integers(0, 3))
def test_every_pair_is_used_once_and_fits(lengths, batch_tokens, shards, epoch_index):
    src, tgt = np.array(lengths).T
    plan = PackedPlan(src, tgt, batch_tokens, shards, seed=3)
    assert min(plan.shape[:3]) >= 1
    assert max(plan.shape.src, plan.shape.tgt) <= max(1, batch_tokens // shards)
    packed = shards_of(plan, epoch_index)
    assert np.array_equal(np.sort(np.concatenate(packed)), np.arange(len(lengths)))
    for ids in packed:
        needed = Shape(src[ids].sum(), tgt[ids].sum(), len(ids))
        fits = all(size <= room for size, room in zip(needed[:3], plan.shape, strict=False))
        assert fits or len(ids) == 1
        assert plan.shape_of(ids) == (plan.shape if fits else needed)


@pytest.mark.parametrize("ratio", [1.0, 1.3, 0.8])
def test_at_most_one_per_cent_is_padding(ratio: float) -> None:
    src, tgt = sentence_lengths(200_000, ratio)
    plan = PackedPlan(src, tgt, 25_000, 1, seed=1)
    packed = shards_of(plan)[:-1]
    assert {plan.shape_of(ids) for ids in packed} == {plan.shape}
    for side, room in ((src, plan.shape.src), (tgt, plan.shape.tgt)):
        assert sum(side[ids].sum() for ids in packed) / (room * len(packed)) > 0.99
    # Empty sentences cost very little, but there should not be many.
    assert sum(map(len, packed)) / (plan.shape.pairs * len(packed)) > 0.8
    # The number of tokens limits a shard, never the number of sentences.
    assert max(map(len, packed)) < plan.shape.pairs


def test_pair_too_long_for_the_buffer_has_its_own_shape() -> None:
    plan = PackedPlan(np.array([3, 50, 3]), np.array([3, 4, 3]), 20, 1, seed=1)
    shapes = {plan.shape_of(ids) for ids in shards_of(plan)}
    assert Shape(50, 4, 1) in shapes
    # The longest sentence bounds every batch, because the bound is a constant in the CUDA graph.
    assert plan.shape.width == 50


def test_shard_of_too_many_pairs_has_its_own_shape() -> None:
    """A plan does not contain them, but shards made with the lengths of another epoch may."""
    plan = PackedPlan(np.full(50, 5), np.full(50, 5), 100, 1, seed=1)
    many = np.zeros(plan.shape.pairs + 1, np.int64)
    plan.src_lengths = plan.tgt_lengths = np.ones(50, np.int64)
    assert plan.shape_of(many) == Shape(len(many), len(many), len(many))
    assert plan.shape_of(many[:-1]) == plan.shape


def test_large_buffers_are_whole_tiles() -> None:
    """A small buffer is not cut, because it would lose too much."""
    src, tgt = sentence_lengths(2_000, 1.3)
    for batch_tokens, whole in ((25_000, True), (500, False)):
        shape = PackedPlan(src, tgt, batch_tokens, 1, seed=1).shape
        assert all(side % 64 == 0 for side in shape[:2]) == whole


def test_epochs_differ_and_are_repeatable() -> None:
    src, tgt = sentence_lengths(2_000, 1.0)
    orders = [
        PackedPlan(src, tgt, 3_000, 2, seed).epoch(index).order.tolist()
        for seed, index in ((1, 0), (1, 0), (1, 1), (2, 0))
    ]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert orders[0] != orders[3]


def test_plan_of_a_seed_is_frozen() -> None:
    """A run of an earlier version must continue with the same data."""
    plan = PackedPlan(*np.random.default_rng(0).integers(2, 50, (2, 2_000)), 3_000, 2, seed=1)
    ids = np.concatenate([np.append(ids, -1) for ids in shards_of(plan, 3)])
    assert hashlib.sha256(ids.astype("<i8").tobytes()).hexdigest().startswith("e90cb5be2ea6c47b")


def test_no_pairs_make_no_batches() -> None:
    none = np.zeros(0, np.int64)
    assert PackedPlan(none, none, 100, 2, seed=1).epoch(0).batches == 0
