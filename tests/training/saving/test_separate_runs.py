"""`nmt average` tells copies of one run from separate runs, and says what it ranked by what."""

import contextlib
import json
import math
import re
import shutil
from pathlib import Path

import pytest
import torch
from corpora import reversal_corpus

from nmt_cli import average
from nmt_cli.api.average import average_notes
from nmt_cli.cli import main
from nmt_cli.config.schema import dump
from nmt_cli.data.corpus.text_statistics import TEXT
from nmt_cli.model_dir import load_model
from nmt_cli.training.saving import average as saving
from nmt_cli.training.saving.checkpoints import Checkpoints
from nmt_cli.training.saving.separate_runs import separate_runs

SEPARATE = "separate runs"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs `model` and `other`, of another seed, and a project file."""
    folder = tmp_path_factory.mktemp("runs")
    config, _ = reversal_corpus(folder)
    (folder / "nmt.toml").write_text(dump(config))
    given = ["train", "--config", str(folder / "nmt.toml"), "--quiet"]
    assert main(given) == 0
    assert main([*given, "--out", str(folder / "other"), "--seed", "7"]) == 0
    return folder


@pytest.fixture
def inside(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    shutil.copytree(runs, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("removed", [["checkpoints"], ["checkpoints", "log.jsonl"]])
def test_copies_of_a_run_are_averaged_without_a_warning(inside, removed):
    """Also without the log, by the weights."""
    shutil.copytree("model", "copy")
    for name in removed:
        path = inside / "copy" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert average(["model", "copy"], "mean").notes == ()
    [note] = average(["model", "copy", "other"], "mixed").notes
    assert f"`model` and `other` are {SEPARATE}" in note


def test_runs_of_other_seeds_are_separate_without_their_logs(inside):
    for model in ("model", "other"):
        (inside / model / "log.jsonl").unlink()
    [note] = average(["model", "other"], "mean").notes
    assert SEPARATE in note


@pytest.mark.parametrize(("cosine", "count"), [(0.85, 2), (0.95, 0)])
def test_models_without_logs_are_of_one_run_if_their_matrices_are_close(inside, cosine, count):
    for model in ("model", "other"):
        (inside / model / "log.jsonl").unlink()
    # Vectors, such as gains, are not compared.
    weights = {
        "model": {"w": torch.tensor([[2.0, 0.0]]), "gain": torch.tensor([0.0, 5.0])},
        "other": {
            "w": torch.tensor([[cosine, math.sqrt(1 - cosine**2)]]),
            "gain": torch.tensor([9.0, 0.0]),
        },
    }
    runs = separate_runs(map(Path, weights), lambda path: path, lambda path: weights[path.name])
    assert len(runs) == count


def test_missing_best_checkpoint_is_named(inside, capsys):
    kept = Checkpoints(inside / "model/checkpoints", 5, 1).all()
    ranked = kept[-1].state().best_steps(2)
    # The newest checkpoint holds the results of all.
    missing = next(step for step in ranked if step != kept[-1].step)
    shutil.rmtree(inside / f"model/checkpoints/step-{missing:09d}")
    assert main(["average", "model", "--best", "2", "--out", "mean"]) == 66
    error = " ".join(capsys.readouterr().err.split())
    assert "only 1 of the 2 best checkpoints of `model` is still there; missing: step " in error
    assert f"missing: step {missing} (perplexity " in error
    assert "or train with the setting train.keep_best=2" in error
    command = re.search(r"average the last with (--last \d+)", error)
    assert command is not None
    assert main(["average", "model", *command[1].split(), "--out", "mean"]) == 0
    assert "there are only" not in capsys.readouterr().err


def test_average_says_what_the_best_checkpoints_are_ranked_by(inside, capsys):
    assert main(["average", "model", "--best", "1", "--out", "mean"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "averaged 1 with the lowest validation perplexity of their own weights: model/" in said


def test_the_option_is_named_where_fewer_checkpoints_are_averaged(inside, capsys):
    for option in ("best", "last"):
        kept = Checkpoints(inside / "model/checkpoints", 5, 1).all()
        many = str(len(kept) + 1)
        assert main(["average", "model", f"--{option}", many, "--out", f"mean-{option}"]) == 0
        said = " ".join(capsys.readouterr().err.split())
        assert f"warning: --{option} {many}, but there are only" in said
        assert ("with the lowest validation perplexity" in said) == (option == "best")


def test_average_has_the_statistics_of_the_text_and_names_its_members(inside, capsys):
    """Without the statistics, lines would be split in another way, and flags be left out."""
    assert main(["average", "model", "--last", "2", "--out", "mean"]) == 0
    members = [each.directory for each in Checkpoints(Path("model/checkpoints"), 5, 1).members()]
    said = " ".join(capsys.readouterr().err.split())
    assert f"averaged 2: {members[-2]}, {members[-1]}" in said
    assert 'echo "..." | nmt translate --model mean' in said
    assert Path("mean", TEXT).read_bytes() == Path("model", TEXT).read_bytes()
    names = ", ".join(member.name for member in members[-2:])
    assert load_model(Path("mean")).metadata["averaged"] == names


def test_lowest_confidence_of_several_runs_counts(inside, monkeypatch):
    """A translation is flagged only where all of the runs would flag it."""
    known = {"model": "-1.5000 -6.0000", "other": "-1.2000 -7.0000"}
    monkeypatch.setattr(
        saving, "read_metadata", lambda path: {"confidence": known[Path(path).name]}
    )
    average(["model", "other"], "mean")
    assert load_model(Path("mean")).metadata["confidence"] == "-1.5000 -7.0000"


def test_number_of_checkpoints_is_that_of_the_model_and_not_of_the_project_here(inside, capsys):
    (inside / "nmt.toml").write_text("[train]\nkeep_last = 1\n")
    assert main(["average", "model", "--out", "mean"]) == 0
    assert "averaged 4: " in capsys.readouterr().err


def test_info_names_the_run_of_an_average(inside, capsys):
    assert main(["average", "model", "--last", "2", "--out", "mean", "--quiet"]) == 0
    assert main(["info", "mean", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["averaged_run"] == "model"
    with contextlib.chdir("model"):
        step = Checkpoints(Path("checkpoints"), 5, 1).all()[-1].directory
        average(step, "../absolute")
    assert main(["info", "absolute", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["averaged_run"] == "model"
    average(inside / "model", "absolute", force=True)
    assert main(["info", "absolute", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["averaged_run"] == "model"
    assert main(["info", "mean"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert " of model " in shown
    assert "validation none: `nmt average`" in shown


def test_notes_are_of_what_was_asked_for(inside):
    kept = [
        checkpoint.directory for checkpoint in Checkpoints(Path("model/checkpoints"), 5, 1).all()
    ]
    assert len(kept) > 2

    def notes(members, last, best):
        return average_notes("n", [Path("model")], members, last, best, Path("mean"))

    [note] = notes(kept[:1], 1, None)
    assert f"`{kept[-1]}` is not averaged" in note
    # The best ones are chosen, whichever these are.
    assert notes(kept[:1], None, 1) == ()
    assert notes(kept, len(kept), None) == ()
    [note] = notes(kept[-2:], 9, None)
    assert "there are only 2 checkpoints to average" in note
    assert "copy" not in note
    [note] = notes(kept[-1:], None, 9)
    assert note.endswith("no more have been validated. The result is a copy of it.")
