"""The batch plan: it uses every pair once per epoch, within the budget, and never changes."""

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.data.corpus.batch_plan import SIZES, BatchPlan, Position, count_shards

LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=200)


def make_plan(pairs: int = 3_000, batch_tokens: int = 2_000, shards: int = 4, seed: int = 1):
    random = np.random.default_rng(0)
    src = random.integers(2, 50, pairs)
    tgt = np.maximum(1, src + random.integers(-5, 6, pairs))
    return BatchPlan(src, tgt, batch_tokens, shards, seed)


@given(LENGTHS, st.integers(1, 400), st.integers(1, 5), st.integers(0, 3))
def test_every_pair_is_used_once_an_epoch(lengths, batch_tokens, shards, epoch_index):
    src, tgt = np.array(lengths).T
    epoch = BatchPlan(src, tgt, batch_tokens, shards, seed=3).epoch(epoch_index)
    used = np.concatenate([epoch.pairs(batch) for batch in range(epoch.batches)])
    assert np.array_equal(np.sort(used), np.arange(len(lengths)))


@given(LENGTHS, st.integers(1, 400), st.integers(1, 5))
def test_shard_stays_within_its_budget_or_is_one_pair(lengths, batch_tokens, shards):
    src, tgt = np.array(lengths).T
    plan = BatchPlan(src, tgt, batch_tokens, shards, seed=3)
    epoch = plan.epoch(0)
    for batch in range(epoch.batches):
        for shard in range(shards):
            ids = epoch.shard(batch, shard)
            if len(ids) > 1:
                assert max(src[ids].sum(), tgt[ids].sum()) <= max(1, batch_tokens // shards)


@given(LENGTHS, st.integers(1, 400))
def test_streams_have_few_sizes_and_little_padding(lengths, capacity):
    src, tgt = np.array(lengths).T
    plan = BatchPlan(src, tgt, capacity, 1, seed=3)
    epoch = plan.epoch(0)
    for batch in range(epoch.batches):
        ids = epoch.shard(batch, 0)
        assert plan.shape_of(ids).pairs == len(ids)
        for size, tokens in zip(
            plan.shape_of(ids)[:2], (src[ids].sum(), tgt[ids].sum()), strict=True
        ):
            sizes = [math.ceil(capacity * size / SIZES[-1]) for size in SIZES]
            if tokens <= sizes[-1]:
                assert size == min(size for size in sizes if size >= tokens)
            else:
                step = math.ceil(capacity / SIZES[-1])
                assert 0 <= size - tokens < step
                assert size % step == 0


@given(LENGTHS, st.integers(1, 400), st.integers(0, 2))
def test_stream_sizes_are_those_of_all_shards_of_an_epoch_or_a_batch(lengths, capacity, index):
    src, tgt = np.array(lengths).T
    plan = BatchPlan(src, tgt, 2 * capacity, 2, seed=3)
    epoch = plan.epoch(index)
    together: set[int] = set()
    for batch in range(epoch.batches):
        shards = [epoch.shard(batch, shard) for shard in (0, 1)]
        shapes = [plan.shape_of(shard) for shard in shards if len(shard)]
        sizes = {size for shape in shapes for size in (shape.src, shape.tgt)}
        sizes = {size for size in sizes if size <= plan.capacity}
        assert plan.batch_stream_sizes(index, batch) == sizes
        together |= sizes
    assert plan.stream_sizes(index) == together


def test_padding_is_at_most_five_per_cent():
    plan = make_plan(pairs=50_000, batch_tokens=16_000)
    epoch = plan.epoch(0)
    shards = [epoch.shard(batch, shard) for batch in range(epoch.batches - 1) for shard in range(4)]
    filled = sum(sum(plan.shape_of(ids)[:2]) for ids in shards)
    used = sum(plan.src_lengths[ids].sum() + plan.tgt_lengths[ids].sum() for ids in shards)
    assert used / filled > 0.95
    assert len({plan.shape_of(ids)[:2] for ids in shards}) <= 2 * len(SIZES)


def test_batch_tokens_are_nearly_reached():
    plan = make_plan(pairs=20_000)
    sizes = [plan.tokens(0, batch) for batch in range(plan.epoch(0).batches - 1)]
    assert 0.9 * 2_000 < np.mean(sizes) <= 2_000


def test_shards_hold_similar_lengths_so_that_padding_is_rare():
    plan = make_plan(pairs=50_000)
    epoch = plan.epoch(0)
    padded = used = 0
    for batch in range(epoch.batches):
        for shard in range(plan.shards):
            ids = epoch.shard(batch, shard)
            if len(ids):
                for side in (plan.src_lengths[ids], plan.tgt_lengths[ids]):
                    padded += side.max() * len(ids)
                    used += side.sum()
    assert used / padded > 0.95


def test_plan_is_a_pure_function_of_seed_and_epoch():
    def digest(plan, index):
        epoch = plan.epoch(index)
        ids = np.concatenate([epoch.pairs(batch) for batch in range(epoch.batches)])
        return hashlib.sha256(ids.astype(np.int64).tobytes()).hexdigest()

    straight, skipping = make_plan(), make_plan()
    in_order = [digest(straight, index) for index in (0, 1, 2)]
    assert digest(skipping, 2) == in_order[2]
    assert len(set(in_order)) == 3
    assert digest(make_plan(seed=2), 0) != in_order[0]
    # The digest is fixed because a run of an earlier version must continue with the same data.
    assert in_order[0].startswith("cffb1b3216ad7194")


def test_positions_continue_into_the_next_epoch():
    plan = make_plan()
    batches = plan.epoch(0).batches
    positions = plan.positions(Position(0, batches - 1))
    assert [next(positions) for _ in range(2)] == [Position(0, batches - 1), Position(1, 0)]


def test_order_does_not_depend_on_the_number_of_ranks():
    plan = make_plan(shards=4)
    epoch = plan.epoch(0)
    for world_size in (1, 2, 3, 4):
        ranks = [
            epoch.shard(0, shard)
            for rank in range(world_size)
            for shard in range(rank, plan.shards, world_size)
        ]
        assert np.array_equal(np.sort(np.concatenate(ranks)), np.sort(epoch.pairs(0)))


@pytest.mark.parametrize(
    ("batch_tokens", "micro", "world_size", "shards"),
    [(25_000, 4_096, 1, 7), (25_000, 4_096, 8, 8), (1_200, 4_096, 1, 1), (25_000, 25_000, 3, 3)],
)
def test_count_shards_from_tokens_and_ranks(batch_tokens, micro, world_size, shards):
    assert count_shards(batch_tokens, micro, world_size) == shards
