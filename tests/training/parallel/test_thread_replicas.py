"""Threads that work on several shards at a time: the same sums, gradients and weights as one."""

import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from corpora import reversal_corpus
from torch import nn

import nmt_cli.training.step
from nmt_cli.config.schema import with_values
from nmt_cli.data.corpus.batch_plan import BatchPlan, Position
from nmt_cli.model.dropout import Dropout, seed_masks, use_own_generator
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.gradient_accumulation import MicroBatch, accumulate_gradients
from nmt_cli.training.loop import train
from nmt_cli.training.optimizers.factory import make_optimizer
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.parallel.threads import MOST, ThreadReplicas, thread_count
from nmt_cli.training.run import Run
from nmt_cli.training.saving.tensor_files import model_weights
from nmt_cli.training.setup import complete
from nmt_cli.training.step import take_step

real_loss = nmt_cli.training.step.shard_loss


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory):
    config, corpus = reversal_corpus(tmp_path_factory.mktemp("crew"), pairs=90)
    return complete(config, corpus), corpus


def steps(setting, count: int, number: int = 3, dropout: float = 0.3):
    """Results of a few steps of a crew of `count`, and the weights after them."""
    config, corpus = setting
    config = with_values(config, {"model.dropout": dropout})
    model = initialise(Transformer(config.model), 1)
    optimizer = make_optimizer(model, config)
    lengths = corpus.train.src_lengths, corpus.train.tgt_lengths
    plan = BatchPlan(*lengths, config.train.batch_tokens, 5, 1)
    crew = ThreadReplicas(model, count)
    results = [
        take_step(
            model, optimizer, config, Ranks(), corpus.train, plan, Position(0, step), step + 1,
            1.0, crew,
        )
        for step in range(number)
    ]  # fmt: skip
    return results, model_weights(model)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_a_crew_gives_the_losses_and_weights_of_one(setting, count):
    """With more threads than shards too; dropout's masks are those of each shard's seed."""
    alone, weights = steps(setting, 1)
    found, found_weights = steps(setting, count)
    for one, other in zip(alone, found, strict=True):
        assert other.loss == pytest.approx(one.loss, rel=1e-6)
        assert other.gradient_norm == pytest.approx(one.gradient_norm, rel=1e-5)
    for name, weight in found_weights.items():
        assert torch.allclose(weight, weights[name], atol=1e-5), name


def test_a_crew_repeats_itself_to_the_bit(setting):
    first, weights = steps(setting, 3)
    second, same = steps(setting, 3)
    assert first == second
    assert all(torch.equal(weight, same[name]) for name, weight in weights.items())


def test_the_parts_are_done_side_by_side():
    """Each waits for the other: one after the other they would wait for ever."""
    meeting = threading.Barrier(2, timeout=20)
    found = ThreadReplicas(nn.Linear(1, 1), 2).do(
        [10, 20], lambda model, part: meeting.wait() + part
    )
    assert sorted(found) in ([10, 21], [11, 20])


def test_each_thread_has_a_model_and_takes_every_nth_part():
    model = nn.Linear(1, 1)
    crew = ThreadReplicas(model, 2)
    found = crew.do([0, 1, 2, 3, 4], lambda model, part: (id(model), part))
    own, twin = (id(one) for one in crew.models)
    assert found == [(own, 0), (twin, 1), (own, 2), (twin, 3), (own, 4)]
    assert own == id(model) != twin


def test_no_more_parts_are_done_by_a_thread_after_the_one_that_gave_nothing():
    crew = ThreadReplicas(nn.Linear(1, 1), 2)
    found = crew.do(list(range(6)), lambda model, part: None if part == 2 else part)
    assert found == [0, 1, None, 3, None, 5]
    alone = crew.do(list(range(3)), lambda model, part: None if part == 1 else part, together=False)
    assert alone == [0, None, None]


def test_an_error_is_raised_when_all_threads_have_ended():
    begun, go_on, ended = threading.Event(), threading.Event(), []

    def work(model: nn.Module, part: int) -> int:
        if part == 0:
            begun.wait(20)
            raise ValueError("of the first part")
        begun.set()
        go_on.wait(0.3)
        ended.append(part)
        return part

    with pytest.raises(ValueError, match="of the first part"):
        ThreadReplicas(nn.Linear(1, 1), 2).do([0, 1], work)
    assert ended == [1]


def test_twins_have_the_weights_of_the_model_whoever_changes_them():
    model = nn.Linear(2, 2)
    crew = ThreadReplicas(model, 2)
    with torch.no_grad():
        model.weight.copy_(torch.eye(2))
    assert torch.equal(crew.models[1].weight, torch.eye(2))


def test_gradients_are_gathered_where_only_a_twin_has_them_and_dropped():
    model = nn.Linear(2, 1)
    crew = ThreadReplicas(model, 3)
    for number, one in enumerate(crew.models):
        one.weight.grad = torch.full((1, 2), float(number + 1))
    crew.models[2].bias.grad = torch.ones(1)
    crew.gather()
    assert model.weight.grad.tolist() == [[6.0, 6.0]]
    assert model.bias.grad.tolist() == [1.0]
    assert all(weight.grad is None for twin in crew.models[1:] for weight in twin.parameters())
    crew.models[1].bias.grad = torch.ones(1)
    crew.drop()
    assert all(weight.grad is None for one in crew.models for weight in one.parameters())


def test_memory_that_ends_in_one_thread_gives_the_step_of_one_with_room(setting, monkeypatch):
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


def test_where_memory_ended_the_parts_are_done_one_at_a_time():
    """Side by side they would want the same memory again."""
    threads: list[str] = []

    def backward(model: nn.Module, part: MicroBatch) -> torch.Tensor:
        if len(part.ids) > 2:
            raise MemoryError
        threads.append(threading.current_thread().name)
        return torch.ones(2)

    parts = [MicroBatch(np.arange(4), 1), MicroBatch(np.arange(4, 8), 2)]
    found = accumulate_gradients(
        ThreadReplicas(nn.Linear(1, 1), 2), parts, backward, torch.device("cpu")
    )
    assert found.sums.tolist() == [4.0, 4.0]
    assert threads == ["MainThread"] * 4


def test_masks_of_a_thread_with_a_generator_of_its_own_are_those_of_torch_s():
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


def test_the_size_of_a_crew(monkeypatch):
    monkeypatch.setattr("torch.get_num_threads", lambda: 6)
    assert thread_count("auto", 25_000) == 6
    assert thread_count("auto", 1_000) == 3
    assert thread_count("auto", 10) == 1
    assert thread_count(2, 10) == 2
    assert thread_count(9, 25_000) == 6
    monkeypatch.setattr("torch.get_num_threads", lambda: 64)
    assert thread_count("auto", 25_000) == MOST


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
def test_a_run_has_as_many_shards_as_its_crew(
    setting, tmp_path: Path, monkeypatch, values, expected
):
    monkeypatch.setattr("torch.get_num_threads", lambda: 2)
    monkeypatch.setattr("torch.set_num_threads", lambda count: None)
    config, corpus = setting
    run = Run(with_values(config, {"train.batch_tokens": 600, **values}), corpus, tmp_path, Ranks())
    assert len(run.crew.models) == expected
    assert run.plan.shards == expected


def test_the_steps_of_a_run_are_taken_by_its_crew(setting, tmp_path: Path):
    config, corpus = setting
    run = Run(config, corpus, tmp_path, Ranks())
    taken = []
    run.crew.do = lambda parts, work, together: taken.append(parts) or []  # type: ignore[method-assign]
    run.step(run.position)
    assert len(taken) == 1


def test_passes_of_a_crew_share_the_memory_of_one(setting, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("torch.get_num_threads", lambda: 2)
    monkeypatch.setattr("torch.set_num_threads", lambda count: None)
    config, corpus = setting
    run = Run(with_values(config, {"train.batch_tokens": 9_000}), corpus, tmp_path, Ranks())
    # 9,000 / 2,048, and a multiple of 2
    assert run.plan.shards == 6


def test_a_run_with_a_crew_that_is_continued_ends_with_the_same_bits(
    setting, tmp_path: Path, monkeypatch
):
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
