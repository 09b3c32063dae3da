"""`nmt demo`: the whole road on the grammar's sentences, small here."""

import json
from multiprocessing import resource_tracker
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.cli.commands import demo
from nmt_cli.cli.commands.demo import _settings, _show_outcome
from nmt_cli.config.schema import Config
from nmt_cli.errors import NoInputError
from nmt_cli.extras.demo import files as demo_files
from nmt_cli.extras.demo.run import Accuracy, Command, Outcome, assess, run_demo
from nmt_cli.machine import cache_folder, child_processes
from nmt_cli.model_dir import load_model
from nmt_cli.storage import files
from nmt_cli.terminal.console import Console
from nmt_cli.training.reporting.report import Report

QUICK = [
    "--set", "train.max_steps=4", "--set", "train.checkpoint_every=2", "--set",
    "data.vocab_size=300", "--set", "model.d_model=32", "--set", "train.validation_sentences=5",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_files, "TRAIN_PAIRS", 300)
    monkeypatch.setattr(demo_files, "VALID_PAIRS", 12)
    monkeypatch.setattr(demo_files, "TEST_PAIRS", 12)
    monkeypatch.setattr(demo_files, "HELD_OUT_PAIRS", 3)


def test_demo_leaves_a_working_project(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "demo"
    judged = []

    def judge(*given) -> Outcome:
        judged.append(given)
        return assess(*given)

    monkeypatch.setattr("nmt_cli.extras.demo.run.assess", judge)
    assert main(["demo", str(folder), *QUICK]) == 0
    captured = capsys.readouterr()
    assert "BLEU" in captured.out
    assert "tok:13a" in captured.out
    for command in ("prepare", "train", "average", "translate", "score"):
        assert f"$ nmt {command}" in captured.err
    assert "exact matches" in captured.err
    assert "nmt init --train mine.en mine.de" in captured.err
    assert len((folder / "test.output.de").read_text().splitlines()) == 12
    monkeypatch.chdir(folder)
    assert main(["translate", "test.en", "--quiet"]) == 0
    assert capsys.readouterr().out == (folder / "test.output.de").read_text()
    assert main(["translate", "held_out.en", "--quiet"]) == 0
    ((_, _, held_out, _),) = judged
    assert capsys.readouterr().out.splitlines() == held_out
    assert load_model(folder / "average").metadata["averaged"] == "step-000000002, step-000000004"


def test_the_time_of_the_demo_includes_the_making_of_its_sentences(tmp_path, monkeypatch):
    """It begins before this module is imported, which takes seconds."""
    folder = tmp_path / "demo"
    options = [value for value in QUICK if value != "--set"]
    with demo_files.DemoTexts() as texts:
        monkeypatch.setattr(texts, "started", texts.started - 1_000)
        [*_, outcome] = run_demo(folder, _settings(folder, options), texts=texts)
    assert 1_000 < outcome.seconds < 1_200


def test_stopped_demo_does_not_evaluate(tmp_path):
    options = [value for value in QUICK if value != "--set"]
    config = _settings(tmp_path / "demo", options)
    asked = iter(range(100))
    events = list(run_demo(tmp_path / "demo", config, stop=lambda: next(asked) >= 2))
    commands = [event.text for event in events if isinstance(event, Command)]
    assert commands == ["nmt prepare", "nmt train"]
    assert isinstance(events[-1], Report)
    assert events[-1].step < 4
    assert not (tmp_path / "demo" / "average").exists()


@pytest.mark.slow
def test_a_demo_shorter_than_the_interval_averages_its_only_checkpoint(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    name = "My demo [ü] 100%"
    options = [option.replace("checkpoint_every=2", "checkpoint_every=90") for option in QUICK]
    assert main(["demo", name, *options]) == 0
    step = "model/checkpoints/step-000000004"
    err = capsys.readouterr().err
    assert f"$ nmt average {step} --out average" in err
    assert f"next: cd '{name}' && echo " in err
    assert load_model(tmp_path / name / "average").metadata["averaged"] == "step-000000004"


def test_a_demo_in_a_folder_that_cannot_be_made_says_what_to_do(tmp_path, monkeypatch, capsys):
    def fail(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.DISK, "make_directories", fail)
    assert main(["demo", str(tmp_path / "demo")]) == 73
    err = capsys.readouterr().err
    assert "cannot be created: Permission denied" in err
    assert "hint: choose a folder in which you may write" in err


@pytest.mark.slow
def test_second_demo_continues_the_first(tmp_path, capsys):
    folder = str(tmp_path / "demo")
    assert main(["demo", folder, *QUICK]) == 0
    before = (tmp_path / "demo" / "model" / "model.safetensors").read_bytes()
    capsys.readouterr()
    assert main(["demo", folder, *QUICK, "--json"]) == 0
    captured = capsys.readouterr()
    assert "already finished: 4 steps are done" in captured.err
    outcome = json.loads(captured.out)
    assert outcome["schema"] == 1
    assert outcome["exact"]["total"] == 12
    assert (tmp_path / "demo" / "model" / "model.safetensors").read_bytes() == before


def test_demo_text_is_reproducible(tmp_path):
    for name in ("one", "two"):
        demo_files.write_demo(tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    labels = (tmp_path / "one" / "test.labels").read_text().splitlines()
    assert len(labels) == 12


def test_several_processes_make_the_same_text(monkeypatch):
    monkeypatch.setattr(demo_files, "PAIRS_OF_TASK", 70)
    with demo_files.DemoTexts() as texts:
        expected = texts.collect()
    monkeypatch.setattr(demo_files, "PAIRS_WORTH_PROCESSES", 0)
    stages: list[tuple[str, int, int | None]] = []
    with demo_files.DemoTexts(workers=2) as texts:
        assert len(child_processes()) >= 2
        result = texts.collect(lambda *stage: stages.append(stage))
        # Nothing of them is left while the model is trained.
        assert not set(child_processes()) - {resource_tracker._resource_tracker._pid}
    assert result == expected
    assert stages[:6] == [
        *(("make sentences (train)", done, 300) for done in (0, 70, 140, 210, 280)),
        ("make sentences (valid)", 0, 12),
    ]


def test_the_demo_translates_with_the_kernels_of_the_user(tmp_path, monkeypatch):
    caches = []

    def load(*_, cache: Path | None = None) -> None:
        caches.append(cache)
        raise NoInputError("far enough")

    monkeypatch.setattr("nmt_cli.extras.demo.run.Translator.load", load)
    assert main(["demo", str(tmp_path / "demo"), *QUICK]) == NoInputError.exit_code
    assert caches == [cache_folder()]


def test_accuracy_is_counted_for_each_phenomenon(tmp_path):
    def write(name: str, *lines: str) -> None:
        Path(tmp_path / name).write_text("".join(line + "\n" for line in lines))

    write("test.de", "a", "b", "c", "d")
    write("test.labels", "dative past", "dative", "past", "")
    write("held_out.de", "x", "y")
    result = assess(tmp_path, ["a", "wrong", "c", "d"], ["x", "z"], 1.0)
    assert (result.exact.right, result.exact.total) == (3, 4)
    assert (result.held_out.right, result.held_out.total) == (1, 2)
    counted = {
        phenomenon.label: (phenomenon.right, phenomenon.total) for phenomenon in result.phenomena
    }
    assert counted == {"dative": (1, 2), "past": (2, 2)}
    assert Accuracy("", "", 1, 8).percent == 12.5


def test_demo_shows_the_hardest_phenomena_and_sums_up_the_rest(capsys):
    phenomena = tuple(
        Accuracy(f"label {right}", "about", right, 120) for right in range(61, 120, 3)
    )
    outcome = Outcome(
        (), Accuracy("exact", "right", 9, 10), phenomena, Accuracy("held out", "new", 1, 3), 12.0
    )
    _show_outcome(outcome, Console(), as_json=False)
    shown = capsys.readouterr().err.splitlines()
    assert shown[0] == "The 8 hardest phenomena of German:"
    assert [line.split() for line in shown[2:10]] == [
        ["label", str(right), "about", f"{100 * right / 120:.2f}", "120"]
        for right in range(61, 85, 3)
    ]
    assert shown[10] == "12 others: 70.8 to 98.3 %; --json lists all"
    assert shown[11:] == ["right: 90.0 % of 10", "new: 33.3 % of 3", "12 s in all"]


def test_demo_uses_the_threads_that_are_asked_for(tmp_path, monkeypatch):
    used: list[int] = []
    monkeypatch.setattr("nmt_cli.cli.environment.use_threads", used.append)
    monkeypatch.setattr("nmt_cli.machine.usable_cores", lambda: 4)
    plans: list[str] = []

    def plan(config: Config, threads: int | None) -> str:
        plans.append(made(config, threads))
        raise NoInputError("enough")

    made = demo._plan
    monkeypatch.setattr(demo, "_plan", plan)
    for number, options in enumerate([[], ["--threads", "1"], ["--threads", "9"]]):
        assert main(["demo", str(tmp_path / f"demo-{number}"), *options]) == NoInputError.exit_code
    assert used == [1, 9]
    assert [text.rpartition(" on ")[2] for text in plans] == ["4 cores", "1 core", "4 cores"]
