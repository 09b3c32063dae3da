"""train(): its result, interruption and resuming, callbacks, and what it refuses."""

import json
import shutil
import signal
import threading
from pathlib import Path

import pytest
from api_calls import TINY, digests, write_texts
from runs import assert_same_run, last

from nmt_cli import Report, StepDone, TrainingResult, prepare, train
from nmt_cli.errors import (
    CannotCreateError,
    ConfigError,
    DataError,
    NoInputError,
    TryAgainError,
    UnavailableError,
    UsageError,
)
from nmt_cli.model_dir import load_model
from nmt_cli.storage import locks

STEPS = 20
CPU = {"settings": TINY, "device": "cpu"}


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A folder with a corpus, and a model that was trained without interruption."""
    folder = tmp_path_factory.mktemp("project")
    write_texts(folder)
    pair, valid = ((folder / f"{name}.src", folder / f"{name}.tgt") for name in ("train", "valid"))
    prepare([pair], valid, out=folder / "corpus", settings=TINY, workers=1)
    train(folder / "corpus", folder / "whole", **CPU)
    return folder


@pytest.fixture
def out(project, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(project)
    return tmp_path / "model"


def test_the_result_says_what_the_log_says(project, out, capfd):
    reports: list[Report] = []
    steps: list[StepDone] = []
    result = train(
        "corpus", out, max_steps=6, on_report=reports.append, on_step=steps.append, **CPU
    )
    assert capfd.readouterr() == ("", "")
    assert isinstance(result, TrainingResult)
    assert [step.step for step in steps] == [1, 2, 3, 4, 5, 6]
    logged = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    assert [report.as_json() for report in reports if report.as_json() in logged]
    published = logged[-1]["published"]
    assert (result.path, result.step, result.finished) == (out, 6, True)
    assert result.reason == "6 steps are done"
    assert (result.best_step, result.weights) == (published["step"], published["weights"])
    assert (result.bleu, result.perplexity) == (published["bleu"], published["perplexity"])
    assert list(result.averaged_steps) == published["steps"]
    assert result.seconds == pytest.approx(logged[-1]["elapsed_seconds"])
    load_model(out)


def test_a_finished_run_returns_at_once_and_goes_on_with_more_steps(project, out):
    first = train("corpus", out, max_steps=4, **CPU)
    steps: list[StepDone] = []
    again = train("corpus", out, max_steps=4, on_step=steps.append, **CPU)
    assert steps == []
    assert (again.step, again.reason, again.best_step) == (4, "4 steps are done", first.best_step)
    longer = train("corpus", out, max_steps=6, on_step=steps.append, **CPU)
    assert [step.step for step in steps] == [5, 6]
    assert longer.finished


def test_an_interrupted_run_resumes_to_the_same_bits(project, out):
    def interrupt(step: StepDone) -> None:
        if step.step == 7:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train("corpus", out, on_step=interrupt, **CPU)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert last(out).step == 7
    result = train("corpus", out, **CPU)
    assert (result.step, result.finished) == (STEPS, True)
    assert "continues after step 7" in result.notes
    assert_same_run(out, project / "whole")


def test_an_interrupt_in_the_first_step_raises_at_once(project, out, monkeypatch):
    monkeypatch.setattr(
        "nmt_cli.training.run.take_step", lambda *_: signal.raise_signal(signal.SIGINT)
    )
    with pytest.raises(KeyboardInterrupt):
        train("corpus", out, **CPU)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not list((out / "checkpoints").glob("*"))


def test_a_stop_function_ends_a_run_in_another_thread(project, out):
    results: list[TrainingResult] = []
    reached = threading.Event()

    def watch(step: StepDone) -> None:
        if step.step == 3:
            reached.set()

    def work() -> None:
        results.append(train("corpus", out, on_step=watch, stop=reached.is_set, **CPU))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    [result] = results
    assert (result.step, result.finished, result.weights) == (3, False, None)
    assert result.reason == "stopped after step 3"
    assert last(out).step == 3
    assert not [note for note in result.notes if "command" in note]


@pytest.mark.parametrize("name", ["on_step", "on_report", "stop"])
def test_the_error_of_a_callback_is_raised_after_saving(project, out, name):
    calls = []

    def fail(*arguments: object) -> bool:
        calls.append(arguments)
        if len(calls) == 2:
            raise ValueError("from the callback")
        return False

    with pytest.raises(ValueError, match="from the callback"):
        train("corpus", out, max_steps=5, **{name: fail}, **CPU)
    assert len(calls) == 2
    assert 1 <= last(out).step < 5
    assert train("corpus", out, max_steps=5, **CPU).finished


def test_missing_validation_is_a_note(project, out):
    prepare([("train.src", "train.tgt")], out=out.parent / "corpus", settings=TINY, workers=1)
    result = train(out.parent / "corpus", out, max_steps=2, **CPU)
    assert result.notes[0].startswith("there is no validation text")
    assert "--" not in result.notes[0]
    assert (result.bleu, result.perplexity, result.best_step) == (None, None, 2)


def test_validation_text_without_spaces_between_words_is_a_note(project, out):
    for name, line in (("lo.src", "a b c"), ("lo.tgt", "ມື້ນີ້ອາກາດດີຫຼາຍ")):
        Path(name).write_text(f"{line}\n" * 3, "utf-8")
    prepare(
        [("train.src", "train.tgt")], valid=("lo.src", "lo.tgt"), out=out.parent / "corpus",
        settings=TINY, workers=1,
    )  # fmt: skip
    result = train(out.parent / "corpus", out, max_steps=2, **CPU)
    assert "the target side of the validation text has next to no spaces" in result.notes[0]


def test_a_run_keeps_its_preset(project, out):
    train("corpus", out, preset="tiny", max_steps=2, **CPU)
    # Values that TINY leaves to the preset differ between `tiny` and the default.
    assert train("corpus", out, max_steps=3, **CPU).step == 3


def test_another_run_in_the_same_place_is_refused(project, out):
    train("corpus", out, max_steps=2, **CPU)
    before = digests(out)
    with pytest.raises(ConfigError, match=r"train\.seed was 1, now 2") as caught:
        train("corpus", out, seed=2, **CPU)
    assert caught.value.hint == (
        "to resume it with the values that it began with, give "
        '`settings={"train.seed": 1}`; for a new run, use another `out`'
    )
    with locks.locked(out), pytest.raises(TryAgainError):
        train("corpus", out, max_steps=3, **CPU)
    before.pop(".lock", None)
    assert {name: digest for name, digest in digests(out).items() if name in before} == before


def test_a_folder_of_the_user_is_never_written_into(project, tmp_path):
    (tmp_path / "notes.txt").write_text("My only copy.\n")
    before = digests(tmp_path)
    for out in (tmp_path, tmp_path / "notes.txt", tmp_path / "notes.txt" / "model"):
        with pytest.raises(CannotCreateError):
            train(project / "corpus", out, **CPU)
    assert digests(tmp_path) == before


def test_a_launcher_s_processes_are_refused(project, out, monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UsageError, match="has started 2") as caught:
        train("corpus", out, **CPU)
    assert "nmt train --gpus N" in caught.value.hint
    assert not out.exists()


def test_a_model_that_does_not_fit_into_memory_is_refused(project, out, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("nmt_cli.machine.available_memory", lambda: 1_000_000)
    with pytest.raises(UnavailableError, match="of memory"):
        train("corpus", out, **CPU)
    assert not out.exists()


def test_a_corpus_that_is_damaged_is_refused(project, out):
    copy = out.parent / "copy"
    shutil.copytree(project / "corpus", copy)
    ids = copy / "train.src.ids"
    ids.write_bytes(bytes([ids.read_bytes()[0] ^ 1]) + ids.read_bytes()[1:])
    with pytest.raises(DataError, match=r"train\.src\.ids"):
        train(copy, out, **CPU)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"corpus": "none"}, NoInputError, "no prepared corpus at `none`"),
        ({"max_steps": 0}, ConfigError, "^max_steps must be at least 1, not 0"),
        (
            {"max_steps": "many"},
            TypeError,
            "^max_steps must be a whole number or `auto`, not 'many'",
        ),
        ({"preset": "smal"}, ConfigError, "unknown preset"),
        ({"settings": {"model.head": 2}}, ConfigError, "unknown setting `model.head`"),
        ({"device": "cuda:99"}, UnavailableError, "cuda:99"),
        ({"device": "tpu"}, UnavailableError, "tpu"),
        ({"max_hours": "2"}, TypeError, "^max_hours must be a number, not '2'"),
        ({"seed": 2.0}, TypeError, "^seed must be a whole number, not 2.0"),
        ({"deterministic": 1}, TypeError, "^deterministic must be true or false, not 1"),
        ({"preset": 3}, TypeError, "^preset must be"),
        ({"corpus": 5}, TypeError, "corpus is a path"),
        ({"out": b"m"}, TypeError, "out is a path"),
        ({"on_step": 5}, TypeError, "on_step is a function"),
        ({"on_report": "print"}, TypeError, "on_report is a function"),
        ({"stop": True}, TypeError, "stop is a function"),
        ({"settings": "model.heads=2"}, TypeError, "settings is a dict"),
        ({"config": 5}, TypeError, "config is a path"),
    ],
)
def test_wrong_arguments_are_refused(project, out, arguments, error, words):
    with pytest.raises(error, match=words) as caught:
        train(**{"corpus": "corpus", "out": out, **CPU, **arguments})
    assert "--corpus" not in getattr(caught.value, "hint", "")
    assert not out.exists()
