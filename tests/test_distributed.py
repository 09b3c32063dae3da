"""Several processes (gloo on this machine) give the losses and the weights of one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from corpora import reversal_corpus

from nmt_cli.config import dump
from nmt_cli.errors import UnavailableError
from nmt_cli.training.checkpoints import Checkpoints
from nmt_cli.training.distributed import Ranks, count_devices


def train_command(folder: Path, out: Path, *options: str) -> list[str]:
    return [
        sys.executable, "-m", "nmt_cli", "train", "--config", str(folder / "nmt.toml"),
        "--corpus", str(folder / "corpus"), "--out", str(out), "--quiet", *options,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    # Four shards a step: two for each of two ranks.
    config, _ = reversal_corpus(folder, train_micro_batch_tokens=75, train_max_steps=10)
    (folder / "nmt.toml").write_text(dump(config))
    return folder


def losses(out: Path) -> list[tuple[int, float, float]]:
    records = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [(r["step"], r["loss"], r["gradient_norm"]) for r in records if r["loss"] > 0]


@pytest.mark.slow
def test_two_processes_give_the_losses_of_one(project, tmp_path):
    """Started as a user would, with --gpus 2 on a machine without a GPU; dropout is on."""
    outs = {}
    for processes in (1, 2):
        outs[processes] = tmp_path / str(processes)
        command = train_command(project, outs[processes], "--gpus", str(processes))
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
    one, two = (losses(outs[processes]) for processes in (1, 2))
    assert len(one) >= 10
    for (step, loss, norm), (other_step, other_loss, other_norm) in zip(one, two, strict=True):
        assert step == other_step
        assert loss == pytest.approx(other_loss, rel=1e-5)
        assert norm == pytest.approx(other_norm, rel=1e-3)
    weights = [Checkpoints(out / "checkpoints", 5, 1).all()[-1].weights() for out in outs.values()]
    for name in weights[0]:
        assert torch.allclose(weights[0][name], weights[1][name], atol=1e-4), name


@pytest.mark.slow
def test_the_exit_code_of_a_failing_rank_is_that_of_all(project, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    command = train_command(project, tmp_path / "mine", "--gpus", "2")
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 73
    assert "is not a model directory" in done.stderr


def test_more_gpus_than_there_are_is_an_error(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert count_devices(None) == 2
    assert count_devices(1) == 1
    with pytest.raises(UnavailableError, match="--gpus 3: this machine shows 2"):
        count_devices(3)


def test_without_a_gpu_processes_take_their_place(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert count_devices(None) == 1
    assert count_devices(2) == 2


def test_a_rank_alone_needs_no_messages():
    ranks = Ranks()
    tensors = [torch.ones(2), torch.ones(3)]
    ranks.add_up(tensors)
    assert ranks.is_first
    assert ranks.agree(7) == 7
    assert [tensor.sum().item() for tensor in tensors] == [2.0, 3.0]
