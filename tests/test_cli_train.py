"""`nmt train`, `nmt average` and the road between them, in this process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from corpora import reversal_corpus

from nmt_cli.cli import main
from nmt_cli.config import dump
from nmt_cli.model_dir import load_model
from nmt_cli.training.checkpoints import Checkpoints


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with nmt.toml, a corpus and a trained model."""
    folder = tmp_path_factory.mktemp("project")
    config, _ = reversal_corpus(folder)
    (folder / "nmt.toml").write_text(dump(config))
    assert main(["train", "--config", str(folder / "nmt.toml"), "--quiet"]) == 0
    return folder


@pytest.fixture
def inside(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project)
    return project


def test_train_without_a_corpus_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train"]) == 66
    said = capsys.readouterr().err
    assert "there is no prepared corpus at `corpus`" in said
    assert "nmt prepare" in said
    assert list(tmp_path.iterdir()) == []


def test_reports_as_json_go_to_stdout(inside, tmp_path, capsys):
    options = ["--max-steps", "6", "--set", "train.checkpoint_every=3", "--json", "--quiet"]
    assert main(["train", "--out", str(tmp_path / "m"), *options]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert records[-1]["step"] == 6
    assert all(record["schema"] == 1 for record in records)
    assert [r["step"] for r in records if "validation" in r] == [3, 6]


def test_what_is_seen_without_a_terminal(inside, tmp_path, capsys):
    assert main(["train", "--out", str(tmp_path / "m"), "--max-steps", "5"]) == 0
    said = capsys.readouterr().err
    assert "step 5" in said
    assert "validation perplexity" in said
    assert "BLEU" in said
    assert "finished: 5 steps are done" in said
    assert "\r" not in said


def test_a_second_run_says_that_it_is_finished(inside, capsys):
    assert main(["train"]) == 0
    assert "already finished: 20 steps are done" in capsys.readouterr().err


def test_other_settings_are_refused_with_the_difference(inside, capsys):
    assert main(["train", "--set", "model.heads=4"]) == 78
    assert "model.heads was 2, now 4" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "steps"), [([], [5, 10, 15, 20]), (["--last", "2"], [15, 20])])
def test_average_of_the_last_checkpoints(inside, tmp_path, options, steps):
    import torch

    assert main(["average", "model", *options, "--out", str(tmp_path / "mean"), "--quiet"]) == 0
    members = [m.weights() for m in Checkpoints(inside / "model/checkpoints", 5, 1).members()]
    members = members[-len(steps) :]
    for name, weight in load_model(tmp_path / "mean").model.named_parameters():
        expected = torch.stack([member[name] for member in members]).mean(dim=0)
        assert torch.allclose(weight, expected, atol=1e-6)


def test_average_of_named_checkpoints_and_of_the_best(inside, tmp_path, capsys):
    first, second = "model/checkpoints/step-000000005", "model/checkpoints/step-000000010"
    assert main(["average", first, second, "--out", str(tmp_path / "two")]) == 0
    assert "averaged 2" in capsys.readouterr().err
    assert main(["average", "--best", "1", "--out", str(tmp_path / "best")]) == 0
    members = Checkpoints(inside / "model/checkpoints", 5, 1).members()
    (best,) = members[-1].state().best_steps(1)
    assert f"step-{best:09d}" in capsys.readouterr().err


def test_average_refuses_what_does_not_fit(inside, tmp_path, capsys):
    assert main(["average", "--out", "model"]) == 73
    assert "`model` exists already" in capsys.readouterr().err
    assert main(["average", "--last", "1", "--best", "1"]) == 2
    assert main(["average", "nothing", "--out", str(tmp_path / "x")]) == 66
    assert not (tmp_path / "x").exists()


def test_average_of_models_of_different_shapes_names_both(inside, tmp_path, capsys):
    other = str(tmp_path / "other")
    options = ["--set", "model.d_ff=32", "--max-steps", "2", "--quiet"]
    assert main(["train", "--out", other, *options]) == 0
    assert main(["average", "model", other, "--out", str(tmp_path / "x")]) == 78
    assert "model.d_ff" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGUSR1, 75)]
)
def test_a_signal_saves_and_ends(project, tmp_path, number, code):
    """The real command; the step that was running is saved and training goes on from it."""
    command = [
        sys.executable, "-m", "nmt_cli", "train", "--config", str(project / "nmt.toml"),
        "--out", str(tmp_path / "m"), "--max-steps", "1000000", "--set",
        "train.checkpoint_every=1000000", "--set", "train.log_every=1", "--quiet",
    ]  # fmt: skip
    process = subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})
    log = tmp_path / "m" / "log.jsonl"
    deadline = time.monotonic() + 120
    while not (log.exists() and log.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(60) == code
    last = json.loads(log.read_text().splitlines()[-1])["step"]
    (saved,) = Checkpoints(tmp_path / "m" / "checkpoints", 5, 1).all()
    assert saved.step == last
    assert not saved.state().member
