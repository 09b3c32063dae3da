"""Several processes (gloo on this machine) give the losses and the weights of one."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import torch
from corpora import reversal_corpus
from processes import is_alive, wait_until

from nmt_cli.cli.environment import quiet_torch
from nmt_cli.config.schema import dump
from nmt_cli.training.parallel.ranks import Ranks, quiet_launcher
from nmt_cli.training.saving.checkpoints import Checkpoints


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
    return [(r["step"], r["loss"], r["gradient_norm"]) for r in records if r["tokens"]]


@pytest.mark.slow
def test_two_processes_give_the_losses_of_one(project, tmp_path):
    """Started as a user would, with --gpus 2 on a machine without a GPU; dropout is on."""
    outs = {}
    for processes in (1, 2):
        outs[processes] = tmp_path / str(processes)
        # Few steps: sums in another order, and Adam makes whole steps of what they differ by.
        options = "--gpus", str(processes), "--max-steps", "6"
        command = train_command(project, outs[processes], *options)
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
    single, two = (losses(outs[processes]) for processes in (1, 2))
    assert len(single) == 6
    for (step, loss, norm), (other_step, other_loss, other_norm) in zip(single, two, strict=True):
        assert step == other_step
        assert loss == pytest.approx(other_loss, rel=1e-5)
        assert norm == pytest.approx(other_norm, rel=1e-3)
    weights = [Checkpoints(out / "checkpoints", 5, 1).all()[-1].weights() for out in outs.values()]
    for name in weights[0]:
        assert torch.allclose(weights[0][name], weights[1][name], atol=1e-4), name


@pytest.mark.slow
def test_exit_code_of_a_failing_rank_is_that_of_the_run(project, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    command = train_command(project, tmp_path / "mine", "--gpus", "2")
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 73
    assert "is not a model directory" in done.stderr


@contextmanager
def endless_training(project: Path, out: Path) -> Iterator[tuple[subprocess.Popen, list[int]]]:
    """`nmt train --gpus 2` after its first report, and the ids of its two ranks."""
    options = ["--gpus", "2", "--max-steps", "1000000", "--set", "train.log_every=1"]
    command = train_command(project, out, *options, "--set", "train.checkpoint_every=1000000")
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    ranks: list[int] = []
    try:
        wait_until(lambda: process.poll() is None and (out / "log.jsonl").is_file())
        wait_until(lambda: (out / "log.jsonl").stat().st_size > 0)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        environments = {
            int(process_id): Path(f"/proc/{process_id}/environ").read_bytes()
            for process_id in children
        }
        ranks = [
            next(
                process_id
                for process_id, variables in environments.items()
                if b"\0RANK=%d\0" % rank in variables
            )
            for rank in range(2)
        ]
        yield process, ranks
    finally:
        for process_id in (process.pid, *filter(is_alive, ranks)):
            with suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)
        process.communicate()


def saved_and_logged(out: Path) -> tuple[int, int]:
    """The step of the only checkpoint, and that of the last line of the log."""
    (saved,) = Checkpoints(out / "checkpoints", 5, 1).all()
    return saved.step, json.loads((out / "log.jsonl").read_text().splitlines()[-1])["step"]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGUSR1, 75), (signal.SIGTERM, 143)])
def test_launcher_forwards_signals_and_waits_for_the_save(project, tmp_path, number, code):
    out = tmp_path / "model"
    with endless_training(project, out) as (process, ranks):
        process.send_signal(number)
        _, errors = process.communicate(timeout=100)
        assert process.returncode == code, errors
        assert not any(map(is_alive, ranks))
    saved, last = saved_and_logged(out)
    assert saved == last > 0


def test_single_rank_sends_no_messages():
    ranks = Ranks()
    assert ranks.is_first
    assert ranks.all_reduce_max(7) == 7


@pytest.mark.parametrize(
    ("variable", "name", "usual"),
    [("TORCH_CPP_LOG_LEVEL", None, "ERROR"), ("LOGLEVEL", "torch.distributed.elastic.test", None)],
)
def test_torch_logs_little_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, variable: str, name: str | None, usual: str | None
) -> None:
    """Errors only in C++, which reads its variable when it is loaded; nothing in its launcher."""
    for value in (None, "INFO"):
        monkeypatch.setattr(os, "environ", {} if value is None else {variable: value})
        if name is None:
            quiet_torch()
            assert os.environ == {variable: value or usual}
        else:
            logger = logging.getLogger(name)
            logger.setLevel(logging.WARNING)
            quiet_launcher()
            assert logger.isEnabledFor(logging.WARNING) == (value is not None)
            assert logger.isEnabledFor(logging.ERROR) == (value is not None)


def test_the_device_of_ranks_has_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch.cuda.set_device needs one, and the current GPU is a property of each thread."""
    monkeypatch.setattr("torch.cuda.current_device", lambda: 3)
    assert Ranks(device=torch.device("cuda")).device == torch.device("cuda", 3)
    assert Ranks(device=torch.device("cuda:1")).device == torch.device("cuda", 1)
    assert Ranks().device == torch.device("cpu")
