"""What memory has no room for is done in parts: the same gradient, nothing lost, nobody waits."""

import numpy as np
import pytest
import torch
from corpora import reversal_corpus
from ranks import in_ranks
from tight_memory import little_memory
from torch import nn

from nmt_cli.config import with_values
from nmt_cli.data.plan import BatchPlan, Position
from nmt_cli.errors import UnavailableError
from nmt_cli.model.transformer import Transformer, initialise
from nmt_cli.training.crew import Crew
from nmt_cli.training.distributed import Ranks
from nmt_cli.training.memory import Part, accumulate, is_out_of_memory
from nmt_cli.training.optimizer import make_optimizer
from nmt_cli.training.setup import complete
from nmt_cli.training.step import take_step
from nmt_cli.training.tensors import weights_of
from nmt_cli.training.watch import LostRankError


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory):
    config, corpus = reversal_corpus(tmp_path_factory.mktemp("memory"), pairs=60)
    values = {"model.dropout": 0.0, "train.batch_tokens": 150}
    return with_values(complete(config, corpus), values), corpus


def first_step(setting, ranks: Ranks, shards: int = 2):
    """The result of one step, and the weights after it."""
    config, corpus = setting
    model = initialise(Transformer(config.model), 1)
    optimizer = make_optimizer(model, config)
    lengths = corpus.train.src_lengths, corpus.train.tgt_lengths
    plan = BatchPlan(*lengths, config.train.batch_tokens, shards, 1)
    result = take_step(model, optimizer, config, ranks, corpus.train, plan, Position(0, 0), 1)
    return result, weights_of(model)


@pytest.mark.parametrize("pairs", [2, 4])
def test_a_step_without_room_gives_the_gradient_of_one_with_room(setting, monkeypatch, pairs):
    """Memory ends in the backward pass, when some gradients are added up and some are not."""
    whole, weights = first_step(setting, Ranks())
    monkeypatch.setattr("nmt_cli.training.step.shard_loss", little_memory(pairs))
    split, split_weights = first_step(setting, Ranks())
    assert whole.splits == 0
    assert split.splits >= 2
    assert split.loss == pytest.approx(whole.loss, rel=1e-6)
    assert split.gradient_norm == pytest.approx(whole.gradient_norm, rel=1e-5)
    for name, weight in split_weights.items():
        assert torch.allclose(weight, weights[name], atol=1e-6), name


def test_a_pair_that_does_not_fit_by_itself_is_named_and_nothing_is_changed(setting, monkeypatch):
    monkeypatch.setattr("nmt_cli.training.step.shard_loss", little_memory(0))
    config, corpus = setting
    model = initialise(Transformer(config.model), 1)
    before = weights_of(model)
    plan = BatchPlan(corpus.train.src_lengths, corpus.train.tgt_lengths, 150, 2, 1)
    first = int(plan.epoch(0).shard(0, 0)[0])
    optimizer = make_optimizer(model, config)
    with pytest.raises(UnavailableError, match=f"single pair, {first + 1} of the corpus"):
        take_step(model, optimizer, config, Ranks(), corpus.train, plan, Position(0, 0), 1)
    assert all(weight.grad is None for weight in model.parameters())
    for name, weight in weights_of(model).items():
        assert torch.equal(weight, before[name]), name


def test_two_ranks_stay_in_step_when_one_has_too_little_memory(setting, monkeypatch):
    whole, _ = first_step(setting, Ranks())

    def work(ranks: Ranks):
        if ranks.rank == 1:
            monkeypatch.setattr("nmt_cli.training.step.shard_loss", little_memory(2))
        result, weights = first_step(setting, ranks)
        return result, {name: weight.numpy() for name, weight in weights.items()}

    (first, weights), (second, same_weights) = [one.result for one in in_ranks(work)]
    assert first == second
    assert first.splits >= 1
    assert first.gradient_norm == pytest.approx(whole.gradient_norm, rel=1e-5)
    for name, weight in weights.items():
        assert np.array_equal(weight, same_weights[name]), name


def test_all_ranks_end_when_a_pair_does_not_fit_on_one(setting, monkeypatch):
    def work(ranks: Ranks):
        if ranks.rank == 1:
            monkeypatch.setattr("nmt_cli.training.step.shard_loss", little_memory(0))
        first_step(setting, ranks)

    other, own = in_ranks(work)
    assert isinstance(own.error, UnavailableError)
    assert "single pair" in str(own.error)
    assert isinstance(other.error, LostRankError)
    assert "another rank ran out of memory in step 1" in str(other.error)


def test_parts_keep_their_order_and_the_seed_of_their_shard():
    """Only the first part of a shard sets the seed: its halves go on with the same stream."""
    model = nn.Linear(1, 1)
    done: list[tuple[list[int], int | None]] = []

    def backward(model: nn.Module, part: Part) -> torch.Tensor:
        if len(part.ids) > 2:
            raise MemoryError
        done.append((part.ids.tolist(), part.seed))
        return torch.tensor([1.0, float(part.ids.sum())])

    parts = [Part(np.arange(2), 7), Part(np.arange(2, 7), 8)]
    found = accumulate(Crew(model), parts, backward, torch.device("cpu"))
    assert done[-5:] == [([0, 1], 7), ([2, 3], 8), ([4], None), ([5], None), ([6], None)]
    assert found.sums.tolist() == [5.0, 21.0]
    assert found.splits == 3


def test_other_errors_are_not_taken_for_a_lack_of_memory():
    def backward(model: nn.Module, part: Part) -> torch.Tensor:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1"):
        accumulate(Crew(nn.Linear(1, 1)), [Part(np.arange(4), 1)], backward, torch.device("cpu"))


def test_what_the_allocator_of_the_cpu_says_is_recognised():
    with pytest.raises(RuntimeError) as raised:
        torch.empty(1 << 60, dtype=torch.uint8)
    assert is_out_of_memory(raised.value)
    assert is_out_of_memory(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"))
