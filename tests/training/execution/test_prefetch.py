"""Batches made ahead by a thread: the same ones, in order, never further ahead than allowed."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from corpora import reversal_corpus

from nmt_cli.batch import Batch, moved
from nmt_cli.data.corpus.batch_plan import BatchPlan, Position
from nmt_cli.data.corpus.packed_plan import PackedPlan
from nmt_cli.training.execution.plan import ExecutionPlan
from nmt_cli.training.execution.prefetch import PREFETCHED, Prefetcher
from nmt_cli.training.loop import train
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.saving.checkpoints import Checkpoints

START = 2
Asked = list[tuple[str, np.ndarray]]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory):
    return reversal_corpus(tmp_path_factory.mktemp("prefetch"))[1]


@pytest.fixture
def asked(corpus, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The thread and the pairs of each training batch that is made."""
    seen: Asked = []
    real = type(corpus.train).batch

    def batch(self, pairs, *rest):
        if len(self) > 100:  # Validation makes its own.
            seen.append((threading.current_thread().name, pairs))
        return real(self, pairs, *rest)

    monkeypatch.setattr(type(corpus.train), "batch", batch)
    return seen


@pytest.fixture
def ahead(corpus) -> Iterator[Prefetcher]:
    prefetcher = Prefetcher(corpus.train, make_plan(corpus), Ranks(), START)
    yield prefetcher
    prefetcher.close()


def make_plan(corpus, kind: type[BatchPlan] = BatchPlan) -> BatchPlan:
    return kind(corpus.train.src_lengths, corpus.train.tgt_lengths, 400, 4, 1)


def settle(prefetcher: Prefetcher) -> None:
    """Wait until the thread has nothing to do."""
    for promise in prefetcher._ready:
        promise.batch.exception(timeout=10)


def tensors_of(batch: Batch) -> list[torch.Tensor]:
    sides = batch.src_segments, batch.tgt_segments
    return [
        batch.src, batch.tgt_in, batch.tgt_out, batch.pair_ids,
        *(tensor for side in sides for tensor in (side.offsets, side.positions, side.tiles)),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [BatchPlan, PackedPlan])
@pytest.mark.parametrize("rank", [0, 1])
def test_prefetched_batches_are_those_of_the_pairs(corpus, asked, kind, rank) -> None:
    """A rank's shards over two epochs, from the midst of the first one."""
    plan = make_plan(corpus, kind)
    prefetcher = Prefetcher(corpus.train, plan, Ranks(rank, 2), START)
    expected, found = [], []
    for epoch in (0, 1):
        for index in range(2 * (1 - epoch), plan.epoch(epoch).batches):
            prefetcher.begin(Position(epoch, index))
            for shard in range(rank, plan.shards, 2):
                ids = plan.epoch(epoch).shard(index, shard)
                if len(ids):
                    shape = plan.shape_of(ids)
                    found.append(prefetcher.batch(ids, START, shape))
                    expected.append((ids, shape))
    prefetcher.close()
    assert len(found) > 10
    assert {name for name, _ in asked} == {"prefetch_0"}
    assert len(asked) == len(found)
    for batch, (ids, shape) in zip(found, expected, strict=True):
        same = corpus.train.batch(ids, START, shape)
        assert all(map(torch.equal, tensors_of(batch), tensors_of(same)))


def test_two_batches_are_prefetched(ahead, asked) -> None:
    ahead.begin(Position(0, 0))
    settle(ahead)
    assert len(asked) == PREFETCHED == 2
    for taken in range(1, 5):
        epoch = ahead.plan.epoch(0)
        shard = taken - 1
        if shard % 4 == 0:
            ahead.begin(Position(0, shard // 4))
        ahead.batch(epoch.shard(shard // 4, shard % 4), START)
        settle(ahead)
        assert len(asked) == taken + PREFETCHED


def test_an_unexpected_batch_is_made_at_once(ahead, asked) -> None:
    """Halves of a shard that memory has no room for; then the next step finds its own."""
    epoch = ahead.plan.epoch(0)
    ahead.begin(Position(0, 0))
    settle(ahead)
    half = epoch.shard(0, 0)[:3]
    assert ahead.batch(half, START).pair_ids.tolist() == half.tolist()
    assert asked[-1][0] == threading.current_thread().name
    ahead.begin(Position(0, 1))
    batch = ahead.batch(epoch.shard(1, 0), START, ahead.plan.shape_of(epoch.shard(1, 0)))
    assert batch.pair_ids.tolist() == epoch.shard(1, 0).tolist()
    settle(ahead)
    assert [name for name, _ in asked[3:]] == ["prefetch_0"] * 3


def test_an_earlier_position_restarts_prefetching(ahead) -> None:
    epoch = ahead.plan.epoch(0)
    for number in (2, 0):
        ahead.begin(Position(0, number))
        ids = epoch.shard(number, 0)
        assert ahead.batch(ids, START).pair_ids.tolist() == ids.tolist()
        assert ahead._ready[0].position == Position(0, number)


def test_prefetching_stops_at_the_end_of_an_epoch(ahead, asked, monkeypatch) -> None:
    """The plan of another epoch may change lengths and pairs under a batch of this one."""
    planned = []
    real = ahead.plan.epoch
    monkeypatch.setattr(ahead.plan, "epoch", lambda number: planned.append(number) or real(number))
    last = real(0).batches - 1
    ahead.begin(Position(0, last))
    shards = [ids for ids in (real(0).shard(last, shard) for shard in range(4)) if len(ids)]
    for ids in shards:
        ahead.batch(ids, START)
    settle(ahead)
    assert set(planned) == {0}
    assert len(asked) == len(shards)


def test_an_error_of_the_thread_is_raised_by_batch(ahead, corpus, monkeypatch) -> None:
    def broken(*_: object) -> Batch:
        raise OSError("the disk is gone")

    monkeypatch.setattr(type(corpus.train), "batch", broken)
    ahead.begin(Position(0, 0))
    settle(ahead)
    with pytest.raises(OSError, match="the disk is gone"):
        ahead.batch(ahead.plan.epoch(0).shard(0, 0), START)


def test_close_ends_the_thread_and_cancels_batches(corpus, monkeypatch) -> None:
    made: list[int] = []
    real = type(corpus.train).batch

    def slow(self, pairs, *rest):
        made.append(len(pairs))
        time.sleep(0.2)
        return real(self, pairs, *rest)

    monkeypatch.setattr(type(corpus.train), "batch", slow)
    prefetcher = Prefetcher(corpus.train, make_plan(corpus), Ranks(), START)
    prefetcher.begin(Position(0, 0))
    while not made:
        time.sleep(0.001)
    prefetcher.close()
    assert len(made) == 1
    assert not threads()


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("prefetch")]


def always_prefetch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs on a CPU prefetch, too."""
    of = ExecutionPlan.of
    monkeypatch.setattr(ExecutionPlan, "of", lambda *args: replace(of(*args), prefetched=True))


def weights_after(config, corpus, out: Path, stop_after: int = 0) -> dict[str, torch.Tensor]:
    steps = iter(range(1, 1_000))
    list(train(config, corpus, out, stop=lambda: next(steps) > stop_after > 0))
    return Checkpoints(out / "checkpoints", 5, 1).all()[-1].weights()


def test_training_with_prefetching_gives_the_same_weights(tmp_path, monkeypatch, asked) -> None:
    """As on a GPU, over two epochs and a stop in between; no thread outlives its run."""
    config, corpus = reversal_corpus(tmp_path, train_validation_sentences=0, train_max_steps=12)
    expected = weights_after(config, corpus, tmp_path / "plain")
    assert {name for name, _ in asked} == {threading.current_thread().name}
    asked.clear()
    always_prefetch(monkeypatch)
    weights_after(config, corpus, tmp_path / "ahead", stop_after=5)
    found = weights_after(config, corpus, tmp_path / "ahead")
    made_elsewhere = [name for name, _ in asked if not name.startswith("prefetch")]
    assert len(asked) > 12
    assert not made_elsewhere
    assert not threads()
    for name, weight in found.items():
        assert torch.equal(weight, expected[name]), name


@pytest.mark.parametrize("how", ["closed", "failed"])
def test_no_thread_outlives_a_run_that_ends_early(tmp_path, monkeypatch, how) -> None:
    config, corpus = reversal_corpus(tmp_path, train_validation_sentences=0, train_log_every=1)
    always_prefetch(monkeypatch)
    reports = train(config, corpus, tmp_path / "model")
    next(reports)
    assert threads()
    if how == "closed":
        reports.close()
    else:
        monkeypatch.setattr(Prefetcher, "batch", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            list(reports)
    assert not threads()


def test_a_copy_to_a_gpu_comes_from_pinned_memory() -> None:
    calls: list[object] = []

    class Recorded(torch.Tensor):
        def pin_memory(self, *_):
            calls.append("pinned")
            return self

        def to(self, device, **settings):
            calls.append((device, settings))
            return self

    tensor = torch.zeros(3).as_subclass(Recorded)
    moved(tensor, "cuda")
    moved(tensor, "cpu")
    assert calls == ["pinned", ("cuda", {"non_blocking": True}), ("cpu", {})]
