"""Memory that ends: the work is done in smaller parts, and nothing is lost or waits in vain."""

import json
import os
import resource
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords
from corpora import reversal_corpus
from faults.support.forked import ended, start
from faults.tally import fault
from ranks import in_ranks
from tight_memory import little_memory

from nmt_cli.cli.error_reporting import as_user_error
from nmt_cli.config.schema import with_values
from nmt_cli.data.corpus.batch_plan import BatchPlan, Position
from nmt_cli.errors import UnavailableError, is_out_of_memory
from nmt_cli.inference.engines import Engine, reference_engine
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.loop import train
from nmt_cli.training.optimizers.factory import make_optimizer
from nmt_cli.training.parallel.gradient_sync import gradients_of
from nmt_cli.training.parallel.heartbeat import LostRankError
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.saving.checkpoints import Checkpoints
from nmt_cli.training.saving.tensor_files import model_weights
from nmt_cli.training.setup import complete
from nmt_cli.training.step import shard_loss, take_step
from nmt_cli.translation.translator import Translator


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
    return result, model_weights(model)


@fault("N4")
@pytest.mark.parametrize("pairs", [1, 2, 3, 4])
def test_out_of_memory_step_gives_the_gradient_of_the_whole_batch(setting, monkeypatch, pairs):
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


@fault("N4")
@pytest.mark.parametrize("small", [0, 1])
def test_out_of_memory_on_one_rank_keeps_ranks_in_step(setting, monkeypatch, small):
    whole, _ = first_step(setting, Ranks())

    def work(ranks: Ranks):
        if ranks.rank == small:
            monkeypatch.setattr("nmt_cli.training.step.shard_loss", little_memory(2))
        result, weights = first_step(setting, ranks)
        return result, {name: weight.numpy() for name, weight in weights.items()}

    (first, weights), (second, same_weights) = [outcome.result for outcome in in_ranks(work)]
    assert first == second
    assert first.splits >= 1
    assert first.gradient_norm == pytest.approx(whole.gradient_norm, rel=1e-5)
    for name, weight in weights.items():
        assert np.array_equal(weight, same_weights[name]), name


@fault("N4")
def test_out_of_memory_splits_are_reported_once_and_counted(setting, tmp_path, monkeypatch):
    real = shard_loss

    def small(model, config, batch, device):
        if model.training and len(batch.pair_ids) > 8:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(model, config, batch, device)

    monkeypatch.setattr("nmt_cli.training.step.shard_loss", small)
    config, corpus = setting
    config = with_values(config, {"train.max_steps": 6, "train.validation_sentences": 0})
    reports = list(train(config, corpus, tmp_path / "model"))
    messages = [
        report.note for report in reports if "did not fit into memory and was done" in report.note
    ]
    assert len(messages) == 1
    state = Checkpoints(tmp_path / "model/checkpoints", 5, 1).all()[-1].state()
    assert state.splits > 0
    assert f"; {state.splits} shards did not fit into memory" in reports[-1].note


@fault("N5")
def test_out_of_memory_pair_is_named_and_weights_stay(setting, monkeypatch):
    monkeypatch.setattr("nmt_cli.training.step.shard_loss", little_memory(0))
    config, corpus = setting
    model = initialise(Transformer(config.model), 1)
    before = model_weights(model)
    plan = BatchPlan(corpus.train.src_lengths, corpus.train.tgt_lengths, 150, 2, 1)
    first = int(plan.epoch(0).shard(0, 0)[0])
    optimizer = make_optimizer(model, config)
    with pytest.raises(UnavailableError, match=f"single pair, {first + 1} of the corpus") as raised:
        take_step(model, optimizer, config, Ranks(), corpus.train, plan, Position(0, 0), 1)
    assert raised.value.exit_code == 69
    assert all(weight.grad is None for weight in model.parameters())
    for name, weight in model_weights(model).items():
        assert torch.equal(weight, before[name]), name


@fault("N5")
def test_out_of_memory_saves_the_steps_before(setting, tmp_path, monkeypatch):
    config, corpus = setting
    real = take_step

    def step(*arguments):
        small = little_memory(0) if arguments[7] == 4 else shard_loss
        monkeypatch.setattr("nmt_cli.training.step.shard_loss", small)
        return real(*arguments)

    monkeypatch.setattr("nmt_cli.training.run.take_step", step)
    with pytest.raises(UnavailableError, match="step 4: not enough memory for a single pair"):
        list(train(config, corpus, tmp_path / "model"))
    assert [
        checkpoint.step for checkpoint in Checkpoints(tmp_path / "model/checkpoints", 5, 1).all()
    ] == [3]


@fault("N5")
@pytest.mark.parametrize("small", [0, 1])
def test_out_of_memory_pair_on_one_rank_ends_all_ranks(setting, monkeypatch, small):
    def work(ranks: Ranks):
        if ranks.rank == small:
            monkeypatch.setattr("nmt_cli.training.step.shard_loss", little_memory(0))
        first_step(setting, ranks)

    ends = in_ranks(work)
    assert isinstance(ends[small].error, UnavailableError)
    assert "single pair" in str(ends[small].error)
    assert isinstance(ends[1 - small].error, LostRankError)
    assert "another rank ran out of memory in step 1" in str(ends[1 - small].error)


@fault("N6")
def test_cpu_allocator_error_is_recognised_as_out_of_memory():
    with pytest.raises(RuntimeError) as raised:
        torch.empty(1 << 60, dtype=torch.uint8)
    assert is_out_of_memory(raised.value)


@fault("N6")
@pytest.mark.parametrize(
    "error",
    [
        MemoryError(), MemoryError("std::bad_alloc"), torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"),
    ],
)  # fmt: skip
def test_out_of_memory_is_never_reported_as_bug(error):
    user_error = as_user_error(error)
    assert user_error is not None
    assert user_error.exit_code == 69
    assert user_error.message.startswith("memory is full")


@fault("N6")
def test_out_of_memory_of_any_batch_size_is_a_user_error(setting, tmp_path, monkeypatch):
    """What was done until then is saved."""
    calls = iter(range(1, 100))

    def full(model) -> list[torch.Tensor]:
        if next(calls) == 4:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return gradients_of(model)

    monkeypatch.setattr("nmt_cli.training.step.gradients_of", full)
    config, corpus = setting
    with pytest.raises(UnavailableError, match="step 4: out of memory with a batch of any size"):
        list(train(config, corpus, tmp_path / "model"))
    assert [
        checkpoint.step for checkpoint in Checkpoints(tmp_path / "model/checkpoints", 5, 1).all()
    ] == [3]


@fault("N6")
@pytest.mark.slow
def test_training_respects_rlimit_of_memory(tmp_path):
    """RLIMIT_AS: what one pass over the whole batch would need is not there; halves fit."""
    values = {"model.dropout": 0.0, "model.d_ff": 4_096, "train.batch_tokens": 24_000}
    config, corpus = reversal_corpus(
        tmp_path, pairs=6_000, train_micro_batch_tokens=24_000, data_drop_duplicates=False,
        train_max_steps=2, train_validation_sentences=0,
    )  # fmt: skip
    config = with_values(complete(config, corpus), values)
    setting = config, corpus

    def work(megabytes: int, name: str) -> NoReturn:
        first_step((with_values(config, {"train.batch_tokens": 150}), corpus), Ranks(), 1)
        own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        limit = own + (megabytes << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        result, _ = first_step(setting, Ranks(), 1)
        (tmp_path / name).write_text(json.dumps(result._asdict()))
        os._exit(0)

    assert ended(start(lambda: work(100_000, "wide"))) == 0
    assert ended(start(lambda: work(500, "narrow"))) == 0
    wide, narrow = (json.loads((tmp_path / name).read_text()) for name in ("wide", "narrow"))
    assert wide["splits"] == 0
    assert narrow["splits"] > 0
    assert narrow["loss"] == pytest.approx(wide["loss"], rel=1e-5)
    assert narrow["gradient_norm"] == pytest.approx(wide["gradient_norm"], rel=1e-4)


def room_for(slots: int, asked: list[int]):
    """An engine whose memory has room for so many sources at a time; how many were asked for."""

    def make(model) -> Engine:
        real = reference_engine(model)

        def decoder(wanted: int, rows: int):
            asked.append(wanted)
            if wanted > slots:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return real.decoder(wanted, rows)

        return real._replace(decoder=decoder)

    return make


@fault("N6")
@pytest.mark.parametrize("room", [1, 3, 8])
def test_out_of_memory_while_translating_halves_the_batch(room):
    """And goes on so; the words are the same."""
    config = byte_config()
    model, subwords = byte_model(config), byte_subwords()
    lines = [f"line {'x' * (index % 7)} {index}" for index in range(20)]
    expected = [
        translation.text for translation in Translator(model, config, subwords).translate(lines)
    ]
    asked: list[int] = []
    translator = Translator(model, config, subwords, room_for(room, asked))
    assert [translation.text for translation in translator.translate(lines)] == expected
    assert asked[0] == 20
    assert asked[-1] <= room
    tries = len(asked)
    assert [translation.text for translation in translator.translate(lines)] == expected
    assert len(asked) == tries + 1


@fault("N6")
@pytest.mark.timeout(20)
def test_out_of_memory_for_a_single_line_is_an_error():
    config = byte_config()
    translator = Translator(byte_model(config), config, byte_subwords(), room_for(0, []))
    with pytest.raises(torch.OutOfMemoryError):
        list(translator.translate(["abc", "def", "ghi"]))
