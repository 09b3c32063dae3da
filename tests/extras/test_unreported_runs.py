"""`nmt runs` shows a run that has begun and has not reported yet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from byte_models import byte_config, byte_subwords

from nmt_cli.cli import main
from nmt_cli.errors import NoInputError
from nmt_cli.extras.tracking.records import find_runs
from nmt_cli.model_dir import save_model
from nmt_cli.storage.locks import locked


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model directory as training leaves it before the first report."""
    monkeypatch.chdir(tmp_path)
    Path("model").mkdir()
    save_model(Path("model"), {}, byte_config(), byte_subwords(), {"step": "0"})
    Path("model/checkpoints").mkdir()
    return Path("model")


def test_runs_show_a_run_without_a_report(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines()[1].split() == ["model", "base", "0", "at", "step", "0"]
    assert "the training of model stopped before its first report" in shown.err
    with locked(model):
        assert main(["runs", "model"]) == 0
    assert capsys.readouterr().err == "model is in training, and has no report yet\n"
    assert main(["runs", "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["state"] == "at step 0"
    assert shown.err == ""


def test_run_with_a_report_has_no_note(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (model / "log.jsonl").write_text(json.dumps({"step": 7, "nll": 5.0}))
    assert main(["runs"]) == 0
    shown = capsys.readouterr()
    assert "at step 7" in shown.out
    assert shown.err == ""


def test_model_without_a_log_is_no_run(model: Path) -> None:
    """An imported model has no checkpoints, and a trained one is one without its log, too."""
    assert find_runs([Path()]) == [model]
    (model / "model.safetensors").touch()
    Path("begun").mkdir()
    save_model(Path("begun"), {}, byte_config(), byte_subwords(), {"step": "0"})
    Path("photos/checkpoints").mkdir(parents=True)
    with pytest.raises(NoInputError, match=r"no log.jsonl in `\.`"):
        find_runs([Path()])
