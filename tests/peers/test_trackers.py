"""The real trackers, offline: what they have stored is what log.jsonl says."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from peer_results import Record

from nmt_cli.extras.tracking.adapters import TRACKERS, TrackedRun
from nmt_cli.extras.tracking.tracker_thread import TrackerThread

pytestmark = pytest.mark.peers

STEPS = 20
LOG: list[dict[str, Any]] = [
    {"step": step, "tokens": 100, "nll": 5 - step / 10, "validation": {"bleu": float(step)},
     "note": "a note"}
    for step in range(1, STEPS + 1)
]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


def track(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    warnings: list[str] = []
    run = TrackedRun("runs/a", {"model.heads": 8, "train.preset": "base"})
    thread = TrackerThread(
        name, lambda: TRACKERS[name].make(run), warnings.append, closing_seconds=60
    )
    for log_record in LOG:
        thread.send(log_record)
    thread.close()
    assert warnings == []
    assert capfd.readouterr().out == ""


@pytest.mark.filterwarnings("ignore")
def test_tensorboard_reads_its_event_file(capfd, record: Record) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    track("tensorboard", capfd)
    events = EventAccumulator("tensorboard/runs/a")
    events.Reload()
    bleu = [(event.step, event.value) for event in events.Scalars("validation/bleu")]
    assert bleu == [(step, float(step)) for step in range(1, STEPS + 1)]
    assert len(events.Tensors("note/text_summary")) > 0
    record(scalars=len(bleu))


@pytest.mark.filterwarnings("ignore")
def test_mlflow_stores_the_metrics(capfd, record: Record) -> None:
    track("mlflow", capfd)
    from mlflow import MlflowClient

    client = MlflowClient(Path("mlruns").absolute().as_uri())
    experiment = client.get_experiment_by_name("nmt")
    assert experiment is not None
    [run] = client.search_runs([experiment.experiment_id])
    history = client.get_metric_history(run.info.run_id, "validation/bleu")
    assert sorted((metric.step, metric.value) for metric in history) == [
        (step, float(step)) for step in range(1, STEPS + 1)
    ]
    assert (run.info.status, run.info.run_name) == ("FINISHED", "runs/a")
    assert run.data.params["model.heads"] == "8"
    record(metrics=len(history))


@pytest.mark.filterwarnings("ignore")
def test_wandb_writes_an_offline_run(capfd, record: Record) -> None:
    track("wandb", capfd)
    [stored] = Path("wandb").glob("offline-run-*/*.wandb")
    data = stored.read_bytes()
    assert data.count(b"validation/bleu") >= STEPS
    assert b"train.preset" in data
    record(bytes=len(data))


@pytest.mark.filterwarnings("ignore")
def test_trackio_stores_the_metrics(capfd, record: Record) -> None:
    track("trackio", capfd)
    with sqlite3.connect(Path(os.environ["TRACKIO_DIR"]) / "nmt.db") as database:
        rows = database.execute("select step, metrics from metrics").fetchall()
    steps = {step for step, metrics in rows if b"validation/bleu" in bytes(metrics)}
    assert steps == set(range(1, STEPS + 1))
    record(rows=len(rows))
