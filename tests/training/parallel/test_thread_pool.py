"""Threads that work on several shards at a time: the same sums, gradients and weights as one."""

import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from corpora import reversal_corpus
from torch import nn

import nmt_cli.training.parallel.thread_pool
import nmt_cli.training.step
from nmt_cli.config.schema import with_values
from nmt_cli.data.corpus.batch_plan import BatchPlan, Position
from nmt_cli.model.dropout import Dropout, seed_masks, use_own_generator
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.gradient_accumulation import MicroBatch, accumulate_gradients
from nmt_cli.training.loop import train
from nmt_cli.training.optimizers.factory import make_optimizer
from nmt_cli.training.parallel.gradient_sync import BucketedGradientSync
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.parallel.thread_pool import MAX_THREADS, ReplicaThreadPool, thread_count
from nmt_cli.training.run import Run
from nmt_cli.training.saving.tensor_files import model_weights
from nmt_cli.training.setup import complete
from nmt_cli.training.step import take_step

real_loss = nmt_cli.training.step.shard_loss


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory):
    config, corpus = reversal_corpus(tmp_path_factory.mktemp("replicas"), pairs=90)
    return complete(config, corpus), corpus


def steps(setting, count: int, number: int = 3, dropout: float = 0.3):
    """Results of a few steps of a replicas of `count`, and the weights after them."""
    config, corpus = setting
    config = with_values(config, {"model.dropout": dropout})
    model = initialise(Transformer(config.model), 1)
    optimizer = make_optimizer(model, config)
    lengths = corpus.train.src_lengths, corpus.train.tgt_lengths
    plan = BatchPlan(*lengths, config.train.batch_tokens, 5, 1)
    replicas = ReplicaThreadPool(model, count)
    results = [
        take_step(
            model, optimizer, config, Ranks(), corpus.train, plan, Position(0, step), step + 1,
            1.0, BucketedGradientSync(Ranks(), model, replicas),
        )
        for step in range(number)
    ]  # fmt: skip
    return results, model_weights(model)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_replicas_give_the_losses_and_weights_of_one_model(setting, count):
    """With more threads than shards too; dropout's masks are those of each shard's seed."""
    alone, weights = steps(setting, 1)
    found, found_weights = steps(setting, count)
    for own, other in zip(alone, found, strict=True):
        assert other.loss == pytest.approx(own.loss, rel=1e-6)
        assert other.gradient_norm == pytest.approx(own.gradient_norm, rel=1e-5)
    for name, weight in found_weights.items():
        assert torch.allclose(weight, weights[name], atol=1e-5), name


def test_replicas_give_the_same_bits_each_time(setting):
    first, weights = steps(setting, 3)
    second, same = steps(setting, 3)
    assert first == second
    assert all(torch.equal(weight, same[name]) for name, weight in weights.items())


def test_gradients_are_added_up_by_the_threads_of_the_pool(monkeypatch):
    """Some weights by each, and the gradients of the replicas are gone afterwards."""
    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(3)))
    replicas = ReplicaThreadPool(model, 3)
    for index, replica in enumerate(replicas.models):
        for weight in replica.parameters():
            weight.grad = torch.full_like(weight, 10.0**index)
    # A replica without the gradient, and the model without it.
    model[1].weight.grad = replicas.models[2][0].bias.grad = None
    real_add, added = nmt_cli.training.parallel.thread_pool.foreach_add_, []

    def add(sums, shares):
        added.append((threading.current_thread().name.partition("_")[0], len(sums)))
        real_add(sums, shares)

    monkeypatch.setattr(nmt_cli.training.parallel.thread_pool, "foreach_add_", add)
    replicas.reduce_gradients()
    found = {name: set(weight.grad.flatten().tolist()) for name, weight in model.named_parameters()}
    expected = {name: {111.0} for name in found}
    assert found == {**expected, "1.weight": {110.0}, "0.bias": {11.0}}
    assert all(w.grad is None for other in replicas.models[1:] for w in other.parameters())
    assert {name for name, _ in added} == {"replica"}
    assert sum(count for _, count in added) == 2 * 6 - 2


def test_map_runs_items_in_parallel():
    """Each waits for the other: one after the other they would wait for ever."""
    meeting = threading.Barrier(2, timeout=20)
    results = ReplicaThreadPool(nn.Linear(1, 1), 2).map(
        lambda model, item: meeting.wait() + item, [10, 20]
    )
    assert sorted(results) in ([10, 21], [11, 20])


def test_map_gives_each_thread_a_model_and_every_nth_item():
    model = nn.Linear(1, 1)
    replicas = ReplicaThreadPool(model, 2)
    results = replicas.map(lambda model, item: (id(model), item), [0, 1, 2, 3, 4])
    own, other = map(id, replicas.models)
    assert results == [(own, 0), (other, 1), (own, 2), (other, 3), (own, 4)]
    assert own == id(model) != other


def test_a_thread_stops_at_its_first_result_that_is_none():
    replicas = ReplicaThreadPool(nn.Linear(1, 1), 2)
    results = replicas.map(lambda model, item: None if item == 2 else item, range(6))
    assert results == [0, 1, None, 3, None, 5]
    one_by_one = replicas.map(
        lambda model, item: None if item == 1 else item, range(3), parallel=False
    )
    assert one_by_one == [0, None, None]


def test_map_raises_an_error_after_all_threads_have_ended():
    begun, go_on, ended = threading.Event(), threading.Event(), []

    def work(model: nn.Module, item: int) -> int:
        if item == 0:
            begun.wait(20)
            raise ValueError("of the first item")
        begun.set()
        go_on.wait(0.3)
        ended.append(item)
        return item

    with pytest.raises(ValueError, match="of the first item"):
        ReplicaThreadPool(nn.Linear(1, 1), 2).map(work, [0, 1])
    assert ended == [1]


def test_replicas_share_the_weights_of_the_model():
    model = nn.Linear(2, 2)
    replicas = ReplicaThreadPool(model, 2)
    with torch.no_grad():
        model.weight.copy_(torch.eye(2))
    assert torch.equal(replicas.models[1].weight, torch.eye(2))


def test_reduce_gradients_adds_those_that_only_a_replica_has():
    model = nn.Linear(2, 1)
    replicas = ReplicaThreadPool(model, 3)
    for index, each in enumerate(replicas.models):
        each.weight.grad = torch.full((1, 2), float(index + 1))
    replicas.models[2].bias.grad = torch.ones(1)
    replicas.reduce_gradients()
    assert model.weight.grad.tolist() == [[6.0, 6.0]]
    assert model.bias.grad.tolist() == [1.0]
    assert all(
        weight.grad is None for replica in replicas.models[1:] for weight in replica.parameters()
    )
    replicas.models[1].bias.grad = torch.ones(1)
    replicas.zero_gradients()
    assert all(weight.grad is None for each in replicas.models for weight in each.parameters())


def test_a_step_is_the_same_when_one_thread_runs_out_of_memory(setting, monkeypatch):
    def shard_loss(model, config, batch, device):
        if len(batch.pair_ids) > 7:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return real_loss(model, config, batch, device)

    (whole,), weights = steps(setting, 2, number=1, dropout=0.0)
    monkeypatch.setattr("nmt_cli.training.step.shard_loss", shard_loss)
    (split,), split_weights = steps(setting, 2, number=1, dropout=0.0)
    assert whole.splits == 0
    assert split.splits > 0
    assert split.loss == pytest.approx(whole.loss, rel=1e-6)
    for name, weight in split_weights.items():
        assert torch.allclose(weight, weights[name], atol=1e-6), name


def test_micro_batches_are_retried_one_at_a_time_when_memory_runs_out():
    """Side by side they would want the same memory again."""
    threads: list[str] = []

    def backward(model: nn.Module, part: MicroBatch) -> torch.Tensor:
        if len(part.ids) > 2:
            raise MemoryError
        threads.append(threading.current_thread().name)
        return torch.ones(2)

    parts = [MicroBatch(np.arange(4), 1), MicroBatch(np.arange(4, 8), 2)]
    found = accumulate_gradients(
        ReplicaThreadPool(nn.Linear(1, 1), 2), parts, backward, torch.device("cpu")
    )
    assert found.sums.tolist() == [4.0, 4.0]
    assert threads == ["MainThread"] * 4


def test_dropout_masks_of_a_thread_are_those_of_the_main_thread():
    dropout = Dropout(0.5).train()
    x = torch.ones(64)
    seed_masks(7)
    expected = dropout(x)

    def masks() -> None:
        use_own_generator()
        seed_masks(7)
        # What others draw does not count.
        torch.rand(10)
        found.append(dropout(x))

    found: list[torch.Tensor] = []
    thread = threading.Thread(target=masks)
    thread.start()
    thread.join()
    assert torch.equal(found[0], expected)
    assert not torch.equal(found[0], dropout(x))


def test_thread_count_follows_from_cores_and_tokens(monkeypatch):
    monkeypatch.setattr("torch.get_num_threads", lambda: 6)
    assert thread_count("auto", 25_000) == 6
    assert thread_count("auto", 1_000) == 3
    assert thread_count("auto", 10) == 1
    assert thread_count(2, 10) == 2
    assert thread_count(9, 25_000) == 6
    monkeypatch.setattr("torch.get_num_threads", lambda: 64)
    assert thread_count("auto", 25_000) == MAX_THREADS


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, 2),
        ({"train.parallel_shards": 1}, 1),
        ({"train.deterministic": True}, 1),
        ({"train.compile": "on"}, 1),
        ({"train.batch_tokens": 300}, 1),
    ],
)
def test_a_run_has_as_many_shards_as_replicas(
    setting, tmp_path: Path, monkeypatch, values, expected
):
    monkeypatch.setattr("torch.get_num_threads", lambda: 2)
    monkeypatch.setattr("torch.set_num_threads", lambda count: None)
    config, corpus = setting
    run = Run(with_values(config, {"train.batch_tokens": 600, **values}), corpus, tmp_path, Ranks())
    assert len(run.replicas.models) == expected
    assert run.plan.shards == expected


def test_steps_of_a_run_use_its_replicas(setting, tmp_path: Path):
    config, corpus = setting
    run = Run(config, corpus, tmp_path, Ranks())
    taken = []
    run.replicas.map = lambda work, items, parallel: taken.append(items) or []  # type: ignore[method-assign]
    run.step(run.position)
    assert len(taken) == 1


def test_replicas_share_the_memory_of_one_pass(setting, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("torch.get_num_threads", lambda: 2)
    monkeypatch.setattr("torch.set_num_threads", lambda count: None)
    config, corpus = setting
    run = Run(with_values(config, {"train.batch_tokens": 9_000}), corpus, tmp_path, Ranks())
    # 9,000 / 2,048, and a multiple of 2
    assert run.plan.shards == 6


def test_a_resumed_run_with_replicas_gives_the_same_bits(setting, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("torch.get_num_threads", lambda: 2)
    monkeypatch.setattr("torch.set_num_threads", lambda count: None)
    config, corpus = setting
    values = {"train.batch_tokens": 600, "train.max_steps": 7, "train.validation_sentences": 0}
    config = with_values(config, values)

    def final(out: Path, *stops: int | None) -> dict[str, torch.Tensor]:
        for stop in stops:
            taken = iter(range(1_000))
            list(
                train(
                    config, corpus, out, stop=lambda s=stop, t=taken: s is not None and next(t) >= s
                )
            )
        return Run(config, corpus, out, Ranks()).checkpoints.all()[-1].weights()

    whole = final(tmp_path / "whole", None)
    halves = final(tmp_path / "halves", 3, None)
    assert all(torch.equal(weight, halves[name]) for name, weight in whole.items())
