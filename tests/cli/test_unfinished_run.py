"""The note of `nmt translate` and other commands on a model whose training has not ended."""

import io
import json
from pathlib import Path

import pytest
from byte_models import byte_config, byte_model, byte_subwords

from nmt_cli.cli.loading import load_translator
from nmt_cli.model_dir import save_model
from nmt_cli.storage.locks import locked
from nmt_cli.terminal.console import Console

FINISHED = {"step": 80, "note": "finished: 80 steps are done"}


def run(folder: Path, *records: dict[str, object]) -> Path:
    """The model of a run of 80 steps with this log; the weights are of step 50."""
    config = byte_config({"train.max_steps": 80})
    save_model(folder, byte_model(config).state_dict(), config, byte_subwords(), {"step": "50"})
    if records:
        (folder / "log.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    return folder


def notes(*models: Path, interactive: bool = True) -> str:
    stream = io.StringIO()
    console = Console(stream, interactive=interactive)
    load_translator(models[0], others=models[1:], console=console)
    return " ".join(stream.getvalue().split())


def test_an_interrupted_run_has_a_note_on_a_terminal(tmp_path: Path) -> None:
    model = run(tmp_path / "model", {"step": 50}, {"step": 60, "note": "saved at step 60"})
    assert (
        f"the training of `{model}` stopped at step 60 of 80; its weights of step 50 are used; the "
        "same `nmt train` command resumes it" in notes(model)
    )
    assert "stopped" not in notes(model, interactive=False)
    # Each member of an ensemble has its own.
    other = run(tmp_path / "other", {"step": 70})
    assert notes(model, other).count("its weights of step 50 are used") == 2


def test_a_run_that_goes_on_has_a_note(tmp_path: Path) -> None:
    model = run(tmp_path / "model", {"step": 50})
    with locked(model):
        assert (
            f"`{model}` is still in training, at step 50 of 80 or later; its weights of step 50 "
            "are used" in notes(model)
        )


@pytest.mark.parametrize(
    "records", [[], [FINISHED], [{"step": 50}, FINISHED], [FINISHED, {**FINISHED, "note": "again"}]]
)
def test_other_models_have_none(tmp_path: Path, records: list[dict[str, object]]) -> None:
    shown = notes(run(tmp_path / "model", *records))
    assert "step" not in shown


def test_a_run_that_was_continued_after_its_end_has_a_note(tmp_path: Path) -> None:
    model = run(tmp_path / "model", FINISHED, {"step": 90})
    assert "stopped at step 90; its weights" in notes(model)


def test_only_the_end_of_a_log_is_read(tmp_path: Path) -> None:
    model = run(tmp_path / "model", {"step": 50})
    with (model / "log.jsonl").open("r+b") as log:
        # No memory has room for so many bytes, which take no space on the disk.
        log.seek(1 << 42)
        log.write(b'\n{"step": 60}\n')
    assert "stopped at step 60 of 80" in notes(model)
