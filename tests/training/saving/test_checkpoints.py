"""Checkpoints: kept, found again, damaged ones passed over."""

import math
import threading
from concurrent.futures import wait
from copy import deepcopy
from functools import partial

import pytest
import torch
from torch import nn

from nmt_cli.errors import CannotCreateError, ConfigError, DataError, WriteError
from nmt_cli.storage import files
from nmt_cli.training.saving.average import average_weights
from nmt_cli.training.saving.checkpoints import Checkpoint, Checkpoints
from nmt_cli.training.saving.tensor_files import (
    OPTIMIZER,
    copy_weights,
    load_optimizer,
    model_weights,
    optimizer_tensors,
    read_tensors,
)
from nmt_cli.training.state import TrainState


def test_starting_weights_are_kept_beside_the_checkpoints_until_they_are_damaged(tmp_path):
    checkpoints = Checkpoints(tmp_path / "checkpoints", 1, 1)
    assert checkpoints.start_weights() is None
    model, optimizer = make_trained()
    checkpoints.save_start(start := model_weights(model, optimizer))
    train_more(model, optimizer, 3)
    for step in (3, 6, 9):
        checkpoints.save(model, optimizer, TrainState(step=step), member=True)
    assert [checkpoint.step for checkpoint in checkpoints.all()][-1] == 9
    found = checkpoints.start_weights()
    assert found is not None
    assert all(torch.equal(found[name], start[name]) for name in start)
    path = tmp_path / "checkpoints" / "start" / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert checkpoints.start_weights() is None


def test_starting_weights_that_cannot_be_written_do_not_stop_training(tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    checkpoints = Checkpoints(tmp_path / "checkpoints", 1, 1)
    monkeypatch.setattr(files.DISK, "write", fail)
    checkpoints.save_start({"a": torch.zeros(2)})
    assert checkpoints.start_weights() is None


def make_trained(seed: int = 0) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)
    train_more(model, optimizer, 3)
    return model, optimizer


def train_more(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
    for step in range(steps):
        model(torch.full((1, 3), float(step + 1))).pow(2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def steps_of(found: list[Checkpoint]) -> list[int]:
    return [checkpoint.step for checkpoint in found]


def test_a_saved_checkpoint_can_be_loaded(tmp_path):
    model, optimizer = make_trained()
    checkpoints = Checkpoints(tmp_path, keep_last=3, keep_best=1)
    state = TrainState(
        step=7, epoch=1, batch=2, shards=4, digest="d", scores={"5": 1.5}, seconds=2.5
    )
    checkpoints.save(model, optimizer, state, member=True)
    latest, problems = checkpoints.latest()
    assert latest is not None
    assert problems == []
    assert latest.state() == state
    for name, weight in latest.weights().items():
        assert torch.equal(weight, model.state_dict()[name])


def test_optimiser_state_is_restored_exactly(tmp_path):
    model, optimizer = make_trained()
    checkpoints = Checkpoints(tmp_path, keep_last=3, keep_best=1)
    saved = checkpoints.save(model, optimizer, TrainState(step=3), member=True)
    checkpoints.flush()
    other = nn.Linear(3, 2)
    other_optimizer = torch.optim.AdamW(other.parameters(), lr=0.1, fused=True)
    copy_weights(other, saved.weights())
    load_optimizer(other, other_optimizer, saved.optimizer_directory)
    for trained in ((model, optimizer), (other, other_optimizer)):
        train_more(*trained, 4)
    for name, weight in model_weights(model).items():
        assert torch.equal(weight, model_weights(other)[name])
    for name, value in optimizer_tensors(model, optimizer).items():
        assert torch.equal(value, optimizer_tensors(other, other_optimizer)[name])


def test_last_best_and_newest_are_kept(tmp_path):
    model, optimizer = make_trained()
    checkpoints = Checkpoints(tmp_path, keep_last=2, keep_best=1)
    state = TrainState()
    for step, score in ((10, 1.0), (20, 9.0), (30, 2.0), (40, 3.0), (50, 4.0)):
        state.step = step
        checkpoints.save(model, optimizer, state, member=True)
        state.scores[str(step)] = score
        checkpoints.update(state)
    state.step = 55
    checkpoints.save(model, optimizer, state, member=False)
    assert steps_of(checkpoints.all()) == [20, 40, 50, 55]
    assert steps_of(checkpoints.members()) == [20, 40, 50]
    with_optimizer = [
        checkpoint.step
        for checkpoint in checkpoints.all()
        if checkpoint.optimizer_directory.exists()
    ]
    assert with_optimizer == [40, 50, 55]


def test_a_new_best_checkpoint_replaces_the_old_one_at_once(tmp_path):
    model, optimizer = make_trained()
    checkpoints = Checkpoints(tmp_path, keep_last=1, keep_best=1)
    state = TrainState()
    for step, score, kept in ((1, 5.0, [1]), (2, 4.0, [1, 2]), (3, 9.0, [2, 3])):
        state.step = step
        checkpoints.save(model, optimizer, state, member=True)
        state.scores[str(step)] = score
        checkpoints.update(state)
        assert steps_of(checkpoints.all()) == kept


def test_a_checkpoint_without_manifest_does_not_count(tmp_path):
    model, optimizer = make_trained()
    checkpoints = Checkpoints(tmp_path, keep_last=3, keep_best=1)
    saved = checkpoints.save(model, optimizer, TrainState(step=1), member=True)
    checkpoints.flush()
    (saved.directory / "manifest.json").unlink()
    assert checkpoints.latest() == (None, [])


def test_best_steps_are_ranked_and_ties_go_to_the_earlier():
    state = TrainState(scores={"10": 1.0, "20": 3.0, "30": 3.0, "40": 2.0})
    assert state.best_steps(3) == [20, 30, 40]


def test_start_of_a_fine_tuning_is_no_best_step():
    state = TrainState(scores={"0": 9.0, "10": 1.0, "20": 3.0})
    assert state.best_steps(2) == [20, 10]


def test_weights_of_another_model_are_refused(tmp_path):
    model, optimizer = make_trained()
    checkpoints = Checkpoints(tmp_path, 1, 1)
    saved = checkpoints.save(model, optimizer, TrainState(step=3), member=True)
    checkpoints.flush()
    with pytest.raises(DataError, match="belongs to another model"):
        load_optimizer(nn.Linear(3, 2, bias=False), optimizer, saved.optimizer_directory)
    with pytest.raises(DataError, match="bias"):
        copy_weights(nn.Linear(3, 2, bias=False), model_weights(model))
    with pytest.raises(DataError, match="weight"):
        copy_weights(nn.Linear(4, 2), model_weights(model))


def test_average_is_the_mean_of_each_weight(tmp_path):
    members = {
        tmp_path / "a": {"w": torch.tensor([1.0, 2.0]), "b": torch.tensor(0.0)},
        tmp_path / "b": {"w": torch.tensor([2.0, 4.0]), "b": torch.tensor(1.0)},
        tmp_path / "c": {"w": torch.tensor([6.0, 0.0]), "b": torch.tensor(2.0)},
    }
    mean = average_weights(list(members), members.__getitem__)
    assert mean["w"].tolist() == [3.0, 2.0]
    assert mean["b"].item() == 1.0
    assert mean["w"].dtype == torch.float32


def test_average_refuses_other_models_and_nan_weights(tmp_path):
    members = {
        tmp_path / "a": {"w": torch.zeros(2)},
        tmp_path / "b": {"w": torch.zeros(3)},
        tmp_path / "c": {"w": torch.tensor([0.0, math.inf])},
    }
    with pytest.raises(ConfigError, match=r"`.*b` holds another model"):
        average_weights([tmp_path / "a", tmp_path / "b"], members.__getitem__)
    with pytest.raises(DataError, match=r"`.*c`: `w`"):
        average_weights([tmp_path / "a", tmp_path / "c"], members.__getitem__)


def test_a_checkpoint_is_a_copy_of_the_moment_it_was_saved(tmp_path, monkeypatch):
    """The writing thread is held up while the run goes on."""
    model, optimizer = make_trained()
    checkpoints = Checkpoints(tmp_path, keep_last=3, keep_best=1)
    state, go_on, make = (
        TrainState(step=4, scores={"2": 1.0}),
        threading.Event(),
        files.make_directory,
    )

    def wait_and_make(path):
        assert go_on.wait(60)
        make(path)

    monkeypatch.setattr(files, "make_directory", wait_and_make)
    weights, tensors = deepcopy((model_weights(model), optimizer_tensors(model, optimizer)))
    checkpoints.save(model, optimizer, state, member=True)
    train_more(model, optimizer, 2)
    state.step, state.scores["6"] = 6, 2.0
    go_on.set()
    latest, _ = checkpoints.latest()
    assert latest.state() == TrainState(step=4, scores={"2": 1.0})
    saved = read_tensors(latest.optimizer_directory / OPTIMIZER)
    for found, expected in ((latest.weights(), weights), (saved, tensors)):
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[name], tensor) for name, tensor in expected.items())


@pytest.mark.parametrize("when", ["poll", "flush", "save"])
def test_a_write_failure_is_noted_once(tmp_path, monkeypatch, when):
    model, optimizer = make_trained()
    checkpoints = Checkpoints(tmp_path, keep_last=3, keep_best=1)

    def refuse(path):
        raise CannotCreateError(f"`{path}`: the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(files, "make_directory", refuse)
        checkpoints.save(model, optimizer, TrainState(step=1), member=True)
        wait([checkpoints._pending_write])
    ask = getattr(checkpoints, when)
    if when == "save":
        ask = partial(ask, model, optimizer, TrainState(step=2), member=True)
    ask()
    (note,) = checkpoints.write_failures.take_notes()
    assert "the disk is full" in note
    assert checkpoints.has_failed == (when != "save")
    assert checkpoints.write_failures.take_notes() == []
    checkpoints.save(model, optimizer, TrainState(step=3), member=True)
    assert steps_of(checkpoints.all())[-1] == 3
    assert not checkpoints.has_failed


def test_a_model_directory_that_is_gone_is_not_made_again(tmp_path):
    checkpoints = Checkpoints(tmp_path / "model" / "checkpoints", keep_last=3, keep_best=1)
    checkpoints.save(*make_trained(), TrainState(step=3), member=True)
    with pytest.raises(WriteError, match="was moved or deleted while it was trained"):
        checkpoints.flush()
    assert not (tmp_path / "model").exists()


def test_average_is_summed_in_float64(tmp_path) -> None:
    """In float32, one of the two large numbers would absorb the small one."""
    weights = {
        tmp_path / name: {"w": torch.tensor([each])}
        for name, each in zip("abc", (1e9, 1.0, -1e9), strict=True)
    }
    mean = average_weights(list(weights), lambda path: weights[path])["w"]
    assert (mean.item(), mean.dtype) == (pytest.approx(1 / 3), torch.float32)
