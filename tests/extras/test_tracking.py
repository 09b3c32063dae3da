"""Trackers cannot slow down or stop training, get what log.jsonl has, and `nmt runs` reads logs."""

from __future__ import annotations

import json
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from nmt_cli.cli import main
from nmt_cli.cli.commands.train import _tracking
from nmt_cli.config.schema import Config, SettingsLayer, dump, resolve
from nmt_cli.errors import NoInputError, UnavailableError, UsageError
from nmt_cli.extras.tracking import adapters, records
from nmt_cli.extras.tracking.adapters import TRACKERS, TrackedRun, TrackerKind, parse_trackers
from nmt_cli.extras.tracking.curves import picture, same_looks_note
from nmt_cli.extras.tracking.records import RunSummary, differences, summarise
from nmt_cli.extras.tracking.seeds import seed_notes
from nmt_cli.extras.tracking.tracker_thread import TrackerThread
from nmt_cli.terminal.console import Console
from nmt_cli.training.reporting.report import Report, Validation

VALIDATION = Validation(4.5, 4.25, 70.1, 12.5, "sig", samples=(("a", "b", "c"),), best=True)
REPORT = Report(
    step=10, epoch=0, tokens=100, loss=5.0, nll=4.5, learning_rate=1e-3, gradient_norm=float("nan"),
    tokens_per_second=250.0, seconds=0.4, validation=VALIDATION, note="finished: 10 steps are done",
)  # fmt: skip
RECORD = REPORT.as_json()


class Recorder:
    """A tracker that keeps what it gets; `wait`: each call waits for it."""

    def __init__(self, wait: threading.Event | None = None) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._wait = wait

    def _keep(self, *call: Any) -> None:
        if self._wait is not None:
            self._wait.wait(60)
        self.calls.append(call)

    def values(self, step, values) -> None:
        self._keep("values", step, dict(values))

    def text(self, step, name, text) -> None:
        self._keep("text", step, name, text)

    def close(self) -> None:
        self._keep("close")


def test_a_tracker_gets_the_numbers_and_texts_of_each_record() -> None:
    tracker, warnings = Recorder(), []
    thread = TrackerThread("x", lambda: tracker, warnings.append)
    thread.send(RECORD)
    thread.close()
    values, *texts, end = tracker.calls
    assert values[:2] == ("values", 10)
    # NaN is left out, and so are texts, flags and the estimate of the time left.
    assert values[2] == {
        "train/epoch": 0, "train/tokens": 100, "train/loss": 5, "train/nll": 4.5,
        "train/learning_rate": 1e-3, "train/tokens_per_second": 250, "train/seconds": 0.4,
        "train/flops": 0, "train/elapsed_seconds": 0, "validation/loss": 4.5,
        "validation/nll": 4.25, "validation/perplexity": 70.1, "validation/bleu": 12.5,
        "validation/averaged": 1, "validation/sentences": 0,
    }  # fmt: skip
    assert texts == [
        ("text", 10, "note", "finished: 10 steps are done"),
        ("text", 10, "samples", "source:    a\nreference: b\noutput:    c"),
    ]
    assert end == ("close",)
    assert warnings == []


def test_a_tracker_that_hangs_costs_no_time_and_is_warned_of_at_the_end() -> None:
    wait, warnings = threading.Event(), []
    tracker = Recorder(wait)
    thread = TrackerThread(
        "slow", lambda: tracker, warnings.append, closing_seconds=0.2, most_waiting=50
    )
    began = time.monotonic()
    for _ in range(1_000):
        thread.send(RECORD)
    assert time.monotonic() - began < 1
    thread.close()
    assert time.monotonic() - began < 2
    [warning] = warnings
    # One record is with the tracker, and 50 wait.
    assert "--track slow: it is too slow; about " in warning
    assert int(warning.split("about ")[1].split()[0].replace(",", "")) in (999, 1_000)
    assert tracker.calls == []
    wait.set()


def test_a_tracker_that_hangs_when_it_is_made_costs_no_time() -> None:
    wait, warnings = threading.Event(), []

    def make() -> Recorder:
        wait.wait(60)
        return Recorder()

    began = time.monotonic()
    thread = TrackerThread("x", make, warnings.append, closing_seconds=0.2)
    thread.send(RECORD)
    thread.close()
    assert time.monotonic() - began < 2
    assert "about 1 record did not arrive" in warnings[0] or "about 2 records" in warnings[0]
    wait.set()


@pytest.mark.parametrize(
    "error", [ValueError("no\nserver"), SystemExit("no server"), MemoryError()]
)
def test_a_tracker_that_raises_is_warned_of_once(error: BaseException) -> None:
    class Failing(Recorder):
        def values(self, step, values) -> None:
            super().values(step, values)
            raise error

    tracker, warnings = Failing(), []
    thread = TrackerThread("x", lambda: tracker, warnings.append)
    for _ in range(20):
        thread.send(RECORD)
        time.sleep(0.01)
    thread.close()
    [warning] = warnings
    assert warning.startswith(f"--track x failed and gets nothing more: {type(error).__name__}")
    assert "\n" not in warning
    assert len(tracker.calls) == 1


def test_a_slow_tracker_gets_everything_if_it_ends_in_time() -> None:
    tracker, warnings = Recorder(), []

    def make() -> Recorder:
        time.sleep(0.3)
        return tracker

    thread = TrackerThread("x", make, warnings.append)
    for _ in range(30):
        thread.send(RECORD)
    thread.close()
    assert len(tracker.calls) == 91
    assert warnings == []


def test_training_sends_its_reports_to_each_tracker(monkeypatch, capsys) -> None:
    made: list[tuple[TrackedRun, Recorder]] = []

    def make(run: TrackedRun) -> Recorder:
        made.append((run, Recorder()))
        return made[-1][1]

    monkeypatch.setattr(
        adapters, "TRACKERS", {"a": TrackerKind(make, "json"), "b": TrackerKind(make, "json")}
    )
    with _tracking(Config(), {"a": "", "b": "there"}, Console(sys.stderr)) as send:
        send(REPORT)
    assert sorted(run.target for run, _ in made) == ["", "there"]
    for run, tracker in made:
        assert run.name == "model"
        assert run.settings["model.heads"] == Config().model.heads
        assert [call[0] for call in tracker.calls] == ["values", "text", "text", "close"]
    with _tracking(Config(), {}, Console(sys.stderr)) as send:
        send(REPORT)
    assert capsys.readouterr().err == ""


def test_a_tracker_that_cannot_be_used_is_refused_before_any_work(monkeypatch, capsys) -> None:
    with pytest.raises(UsageError, match="no tracker `tensorbord`") as caught:
        parse_trackers(["tensorbord"])
    assert "`tensorboard`" in caught.value.hint
    monkeypatch.setattr(adapters, "find_spec", lambda name: None)
    for name, kind in TRACKERS.items():
        with pytest.raises(UnavailableError, match=kind.module) as error:
            parse_trackers([f"{name}=there"])
        assert f"[{name}]" in error.value.hint
    assert main(["train", "--track", "comet"]) == 2
    assert "loading torch" not in capsys.readouterr().err
    monkeypatch.setattr(adapters, "find_spec", lambda name: object())
    assert parse_trackers(["wandb", "mlflow=a=b"]) == {"wandb": "", "mlflow": "a=b"}


# -- nmt runs --------------------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, bleus in {"runs/a": (10.0, 31.5, 30.0), "runs/b": (None, None, None)}.items():
        model = Path(name)
        model.mkdir(parents=True)
        lines = []
        for index, bleu in enumerate(bleus):
            step = 100 * (index + 1)
            lines.append({"step": step, "tokens": 1_000 * (index + 1), "nll": 5.0 - index,
                          "tokens_per_second": 500.0 * (index + 1),
                          "seconds": 1_800.0 * (index + 1),
                          "elapsed_seconds": 1_900.0 * (index + 1),
                          "flops": 1e15 * (index + 1)})  # fmt: skip
            validation = {"nll": 4.0 - index, "perplexity": 50.0 - index, "bleu": bleu}
            lines.append({"step": step, "tokens": 0, "seconds": 1_800.0 * (index + 1),
                          "elapsed_seconds": 2_400.0 * (index + 1),
                          "flops": 1e15 * (index + 1), "validation": validation})  # fmt: skip
        if name == "runs/a":
            lines.append({**lines[-1], "note": "finished: 300 steps are done; 3e+15 FLOPs counted"})
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (model / "log.jsonl").write_text(text + '{"step": 400, "tok')
    settings = resolve([SettingsLayer("test", {"train.preset": "small"})]).config
    Path("runs/a/config.toml").write_text(dump(settings))
    # What belongs to checkpoints is no run.
    Path("runs/a/checkpoints/1").mkdir(parents=True)
    Path("runs/a/checkpoints/1/log.jsonl").write_text("{}")
    return tmp_path


def test_runs_are_compared_by_their_best_validation(runs: Path, capsys) -> None:
    assert main(["runs", "--json"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first.pop("settings")["train.preset"] == "small"
    assert first == {
        "schema": 1, "run": "runs/a", "preset": "small", "step": 300, "best_step": 200,
        "bleu": 31.5, "perplexity": 49.0, "tokens_per_second": 6_000 / 6, "hours": 2.0,
        "step_hours": 1.5,
        "flops": 3e15, "state": "finished: 300 steps are done", "validation_sentences": 200,
        "validation_text": None, "corpus": "corpus", "init_from": "", "subwords": "",
        "final_bleu": None, "final_sentences": None, "weights": "", "threads": None,
    }  # fmt: skip
    # Without BLEU, the loss decides.
    assert (second["best_step"], second["bleu"], second["perplexity"]) == (300, None, 48.0)
    assert (second["preset"], second["state"]) == ("", "at step 300")
    assert (second["validation_sentences"], second["corpus"]) == (None, "")
    assert main(["runs", "runs/a"]) == 0
    header, row = (line.split("  ") for line in capsys.readouterr().out.splitlines())
    assert header[0] == "run"
    cells = [cell.strip() for cell in row if cell.strip()]
    assert cells == [
        "runs/a", "small", "300", "200", "31.50", "49.00", "1,000", "2h 00m", "3.0e+15",
        "finished: 300 steps are done",
    ]  # fmt: skip


def summary_of(run: str, text: str = "", sentences: int = 0, **settings: object) -> RunSummary:
    """The summary of a run with one validation; text, sentences: what its log tells."""
    validation = {"perplexity": 9.0, "bleu": 20.0, "text": text, "sentences": sentences}
    values = {"paths.corpus": "corpus", "train.validation_sentences": 300}
    given = {key.replace("_", ".", 1): value for key, value in settings.items()}
    Path(run).mkdir()
    config = resolve([SettingsLayer("test", {**values, **given})]).config
    (Path(run) / "config.toml").write_text(dump(config))
    return summarise(Path(run), [{"step": 1, "validation": validation}])


def test_means_over_seeds_are_of_finished_runs_that_differ_in_nothing_else() -> None:
    def run(name: str, seed: int, bleu: float | None, **others: object) -> RunSummary:
        base = RunSummary(
            name, "tiny", 9, 9, bleu, 40.0 + seed, 1.0, 1.0, 1.0, 1.0, "finished: 9 steps are done",
            200, "12ab", "corpus", "", settings={"train.seed": seed, "model.heads": 2},
        )  # fmt: skip
        return replace(base, **others)

    smooth = {"settings": {"train.seed": 1, "model.heads": 4}}
    runs = [run("a", 1, 13.0), run("b", 2, 14.5), run("c", 3, 16.0), run("d", 1, 9.0, **smooth)]
    expected = (
        "a, b, c differ in train.seed alone: mean BLEU 14.50 (standard deviation 1.50), "
        "perplexity 42.00 (standard deviation 1.00)"
    )
    assert seed_notes(runs) == [expected]
    others = [
        run("e", 4, 99.0, state="at step 9"), run("f", 4, 99.0, perplexity=None),
        run("g", 4, 99.0, validation_text="34cd"), run("h", 4, None), run("i", 4, 9.0, settings={}),
        run("j", 4, 9.0, corpus="other"), run("k", 4, 9.0, init_from="general"),
        run("l", 4, 9.0, validation_sentences=100), run("m", 4, 9.0, state="diverged"),
        run("n", 4, 9.0, subwords="bpe 500"),
    ]  # fmt: skip
    assert seed_notes([*others[:5], *runs, *others[5:]]) == [expected]
    # Without BLEU, and the same seed twice, which is no other run.
    [note] = seed_notes([run("a", 1, None), run("b", 3, None)])
    assert note.endswith("alone: mean perplexity 42.00 (standard deviation 1.41)")
    assert seed_notes([run("a", 1, 9.0), run("b", 2, 9.0), run("c", 2, 8.0)]) == []
    assert seed_notes([*runs, run("copy of a", 1, 13.0)]) == [expected]
    assert seed_notes([run("a", 1, 9.0), run("copy of a", 1, 9.0)]) == []
    assert seed_notes([run("a", 1, 9.0, settings={}), run("b", 2, 9.0, settings={})]) == []


def test_command_prints_the_means_over_seeds(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in (1, 2):
        name = f"run-{seed}"
        summary_of(name, "12ab", 200, train_seed=seed)
        records = [
            {"step": 1, "validation": {"perplexity": 9.0, "bleu": 20.0 + seed, "text": "12ab"}},
            {"step": 1, "note": "finished: 1 step is done"},
        ]
        lines = "".join(f"{json.dumps({'schema': 1, **record})}\n" for record in records)
        (Path(name) / "log.jsonl").write_text(lines)
    assert main(["runs"]) == 0
    note = "run-1, run-2 differ in train.seed alone: mean BLEU 21.50 (standard deviation 0.71)"
    assert note in capsys.readouterr().err


def test_command_says_that_published_weights_are_of_different_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, weights in (("a", "current"), ("b", "mean"), ("c", "current")):
        Path(name).mkdir()
        published = {"step": 9, "weights": weights, "perplexity": 2.0}
        record = {"step": 9, "tokens": 1, "validation": {"perplexity": 2.0}, "published": published}
        Path(name, "log.jsonl").write_text(f"{json.dumps(record)}\n")
    assert main(["runs"]) == 0
    assert (
        "scores are those of the published weights, which are of different kinds: weights of one "
        "step: a, c; average of checkpoints: b; with `--set train.keep_last=1`, a run averages no "
        "checkpoints\n"
    ) in capsys.readouterr().err
    assert main(["runs", "a", "c"]) == 0
    assert "published weights" not in capsys.readouterr().err


def test_command_says_that_scores_are_of_different_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, best in (("a", 500), ("b", 600)):
        Path(name).mkdir()
        records = [
            {"step": step, "tokens": 1, "validation": {"perplexity": 1.9}} for step in (500, 600)
        ]
        records[-1]["published"] = {"step": best}
        lines = "".join(f"{json.dumps(record)}\n" for record in records)
        Path(name, "log.jsonl").write_text(lines)
    assert main(["runs"]) == 0
    assert "each run at its best step: 500 and 600; --out draws" in capsys.readouterr().err
    assert main(["runs", "a"]) == 0
    assert "best step" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("scores", "is_said"),
    [((13.5, 12.2), True), ((13.5, 11.4), False), ((20.0, 13.5, 12.0), True), ((13.5,), False)],
)
def test_command_says_what_chance_makes_of_the_bleu_of_few_sentences(
    scores: tuple[float, ...], is_said: bool, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, bleu in enumerate(scores):
        Path(f"run-{number}").mkdir()
        validation = {"perplexity": 9.0, "bleu": bleu, "sentences": 50 + number}
        record = {"schema": 1, "step": 5, "validation": validation}
        Path(f"run-{number}", "log.jsonl").write_text(f"{json.dumps(record)}\n")
    assert main(["runs"]) == 0
    note = "BLEU is of 50 validation sentences, on which chance makes differences of about 2.0"
    assert capsys.readouterr().err.splitlines().count(note) == is_said


def test_command_names_runs_that_were_resumed_with_other_validation_pairs(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    samples = {
        "one": [(5, 500), (10, 500), (15, 60), (20, 60), (25, 500)],
        "same": [(5, 500), (10, 500)],
        # The second validation has no BLEU, and older logs do not tell how many pairs.
        "older": [(5, 500), (10, 0), (15, 500), (20, None)],
    }
    for name, validations in samples.items():
        Path(name).mkdir()
        records = [{"step": 1, "loss": 9.0}]
        for step, sentences in validations:
            found = {"perplexity": 9.0, "bleu": None if sentences == 0 else 8.0}
            found |= {} if sentences is None else {"sentences": sentences}
            records.append({"step": step, "validation": found})
        lines = "".join(f"{json.dumps({'schema': 1, **record})}\n" for record in records)
        (Path(name) / "log.jsonl").write_text(lines)
    assert main(["runs"]) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "within" in line]
    assert notes == [
        "BLEU within one is of 500 sentences (steps 5 to 10), of 60 sentences (steps 15 to 20) and "
        "of 500 sentences (step 25), and not comparable between them"
    ]


def test_runs_whose_scores_are_not_comparable_are_named(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, same = summary_of("a", "12ab", 200), summary_of("b", "12ab", 200)
    assert differences([first, same]) == differences([]) == []
    threads = [replace(first, threads=1), replace(same, threads=1), replace(first, threads=2)]
    assert differences(threads[:2]) == []
    assert differences(threads) == [
        "with other numbers of threads, the same settings and seed have other batches and "
        "rounding: 1 thread: a, b; 2 threads: a"
    ]
    other = summary_of("c", "34cd", 1_000, train_init_from="general")
    assert differences([first, other, same]) == [
        "scores of different validation texts are not comparable: 12ab: a, b; 34cd: c",
        "BLEU of different numbers of sentences is not comparable: 200 sentences: a, b; "
        "1,000 sentences: c",
        "c began with the weights of `general`",
    ]
    # A log of an older version tells neither: the corpus and the setting do.
    older = summary_of("d", paths_corpus="captions")
    assert differences([first, older]) == [
        "scores of different validation texts are not comparable: corpus `corpus`: a; "
        "corpus `captions`: d",
        "BLEU of different numbers of sentences is not comparable: 200 sentences: a; "
        "300 sentences: d",
    ]
    assert differences([older, replace(first, perplexity=None)]) == []
    unigram = replace(same, subwords="unigram 4000")
    [note] = differences([replace(first, subwords="bpe 8100"), unigram])
    assert note == (
        "perplexities of different subwords are not comparable: bpe 8100: a; unigram 4000: b"
    )


def test_settings_in_which_runs_of_a_preset_differ_are_named(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    pre = {"model_norm_order": "pre", "train_preset": "tiny"}
    post = {**pre, "model_norm_order": "post"}
    runs = [
        summary_of("a", **pre), summary_of("b", **pre, train_seed=2),
        summary_of("c", **post), summary_of("d", **post, train_seed=2),
        # Another preset is another comparison.
        summary_of("e", train_preset="small"),
    ]  # fmt: skip
    assert differences(runs) == [
        "model.norm_order differs: pre: a, b; post: c, d",
        "train.seed differs: 1: a, c; 2: b, d",
    ]
    assert runs[3].settings["train.seed"] == 2
    continued = [summary_of("f", **pre), summary_of("g", **pre, data_subwords_from="general")]
    assert differences(continued) == ["data.subwords_from differs: none: f; general: g"]
    longer = summarise(Path("a"), [{"step": 1_400, "note": "finished: 1,400 steps are done"}])
    assert longer.settings["train.max_steps"] == 1_400
    assert runs[0].settings["train.max_steps"] == 900
    monkeypatch.setattr(records, "MOST_DIFFERING", 1)
    assert differences(runs) == []


def test_what_runs_differ_in_is_written_below_the_table(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    summary_of("runs/a", train_init_from="general")
    record = {"step": 1, "validation": {"perplexity": 9.0, "bleu": 20.0}}
    Path("runs/a/log.jsonl").write_text(json.dumps(record))
    assert main(["runs"]) == 0
    assert capsys.readouterr().err == "runs/a began with the weights of `general`\n"
    assert main(["runs", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["runs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["init_from"] == "general"


def test_runs_show_seconds_of_short_runs(runs: Path, capsys) -> None:
    record = {"step": 33, "seconds": 18.6, "elapsed_seconds": 43.6}
    Path("runs/a/log.jsonl").write_text(json.dumps(record) + "\n")
    assert main(["runs", "runs/a"]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert "time" in header.split()
    assert "44s" in row.split()


@pytest.mark.parametrize(
    ("best", "published", "step"),
    [((100,), None, 100), ((100, 200), None, 200), ((100, 200), 300, 300), ((), None, 200)],
)
def test_runs_name_the_validation_of_the_published_weights(
    best: tuple[int, ...], published: int | None, step: int
) -> None:
    """Where the log tells which: BLEU within chance of each other is not compared."""
    records = [
        {"step": number, "validation": {"nll": 3.0, "bleu": bleu, "best": number in best}}
        for number, bleu in ((100, 30.0), (200, 30.4), (300, 29.9))
    ]
    records.append({"step": 300, "published": {"step": published} if published else None})
    assert summarise(Path("run"), records).best_step == step


def test_runs_show_the_scores_of_an_average_that_the_comparison_chose() -> None:
    validation = {"nll": 2.0, "bleu": 29.74, "perplexity": 7.84, "best": True, "sentences": 100}
    published: dict[str, object] = {
        "step": 825, "bleu": 29.78, "perplexity": 7.92, "final_bleu": 28.5, "final_sentences": 900,
    }  # fmt: skip
    records = [
        {"step": 825, "validation": validation},
        {"step": 825, "published": published},
    ]
    summary = summarise(Path("run"), records)
    assert (summary.bleu, summary.perplexity, summary.validation_sentences) == (29.78, 7.92, 100)
    assert (summary.final_bleu, summary.final_sentences) == (28.5, 900)
    # Without validation text, nothing is known of what is published.
    published |= {"bleu": None, "perplexity": None}
    assert summarise(Path("run"), records).bleu == 29.74


def test_learning_curves_are_drawn_for_each_run(runs: Path, capsys) -> None:
    assert main(["runs", "--out", "curves.svg"]) == 0
    drawn = Path("curves.svg").read_text()
    for words in ("Training loss", "Validation: loss", "Validation: BLEU", "runs/a", "runs/b"):
        assert words in drawn
    # Two runs have losses, one has BLEU.
    assert drawn.count("<polyline") == 5
    assert main(["runs", "--out", "curves.svg"]) == 0
    assert "it shows" not in capsys.readouterr().err
    Path("runs/c").mkdir()
    once = Path("runs/b/log.jsonl").read_text().splitlines()[:2]
    Path("runs/c/log.jsonl").write_text("".join(f"{line}\n" for line in once))
    assert main(["runs", "--out", "curves.svg"]) == 0
    assert "it shows no validation of `runs/c`, which has fewer" in capsys.readouterr().err
    Path("mine.svg").write_text("mine")
    assert main(["runs", "--out", "mine.svg"]) == 73
    assert Path("mine.svg").read_text() == "mine"
    assert main(["runs", "--out", "curves.txt"]) == 2


def test_curves_before_the_second_validation_say_so(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    lines: list[dict[str, object]] = [{"step": step, "nll": 1 / step} for step in range(1, 4)]
    lines[-1]["validation"] = {"nll": 2.0, "bleu": 3.0}
    Path("log.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert main(["runs", "--out", "curves.svg"]) == 0
    assert "training loss alone: no run has two validations" in capsys.readouterr().err


def curve(drawn: str) -> list[str]:
    """The points of the only curve."""
    [points] = [line.split('points="')[1].split('"')[0] for line in drawn.split("<polyline")[1:]]
    return points.split()


def test_curves_of_a_run_look_the_same_in_every_chart() -> None:
    def records(*, validated: bool) -> list[dict[str, object]]:
        validation = {"validation": {"nll": 1.0}} if validated else {}
        return [{"step": step, "nll": 1.0 / step, **validation} for step in (1, 2)]

    runs = {"a": records(validated=False), "b": records(validated=True)}
    drawn = ElementTree.fromstring(picture(runs))
    lines = [shape for shape in drawn.iter() if shape.tag.endswith("polyline")]
    looks = [(line.get("class"), line.get("stroke-dasharray")) for line in lines]
    assert len(looks) == 3
    assert looks[0] != looks[1] == looks[2]
    assert same_looks_note({str(number): [] for number in range(36)}) == ""
    assert "from the 37th run on" in same_looks_note({str(number): [] for number in range(37)})


def test_curves_of_long_runs_keep_their_ends() -> None:
    validations = [{"step": step, "validation": {"nll": 1 / step}} for step in range(1, 10_001)]
    points = curve(picture({"a": validations}))
    assert 500 < len(points) <= 700
    assert points[-1].startswith("724.0,")


def test_training_loss_of_many_reports_is_drawn_as_means() -> None:
    """Without the noise of single batches, in which two runs cannot be told apart."""
    noisy = [{"step": step, "nll": 3.0 + step % 2} for step in range(1, 1_201)]
    drawn = picture({"a": noisy})
    assert "Training loss, without label smoothing (means of successive reports)" in drawn
    points = curve(drawn)
    assert len(points) == 120
    assert len({point.split(",")[1] for point in points}) == 1
    assert points[-1].startswith("724.0,")
    # The rest of two reports is no mean of its own.
    points = curve(picture({"a": noisy[:245]}))
    assert len(points) == 245 // 3
    assert points[-1].startswith("724.0,")
    drawn = picture({"a": noisy[:120]})
    assert "means" not in drawn
    assert len({point.split(",")[1] for point in curve(drawn)}) == 2


def test_bleu_of_different_numbers_of_sentences_is_not_joined() -> None:
    samples = [(5, 500), (10, 500), (15, 60), (20, 200), (25, 200)]
    validations = [
        {"step": step, "validation": {"nll": 1 / step, "bleu": step / 2, "sentences": sentences}}
        for step, sentences in samples
    ]
    drawn = ElementTree.fromstring(picture({"a": validations}))
    lines = [line.get("points", "").split() for line in drawn.iter() if "polyline" in line.tag]
    # The loss is of all pairs.
    assert [len(line) for line in lines] == [5, 2, 2]
    [single] = [shape for shape in drawn.iter() if "circle" in shape.tag]
    assert float(single.get("cx", 0)) == float(lines[0][2].split(",")[0])
    titles = [text.text or "" for text in drawn.iter() if text.tag.endswith("text")]
    [bleu] = [title for title in titles if title.startswith("Validation: BLEU")]
    assert bleu.endswith(" (a line is interrupted where the number of sentences changes)")
    of_one_sample = picture({"a": validations[:2]})
    assert "interrupted" not in of_one_sample
    assert "circle" not in of_one_sample


def test_folders_without_runs_are_refused(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["runs"]) == 66
    assert "no log.jsonl in `.`" in capsys.readouterr().err
    with pytest.raises(NoInputError, match="no folder `absent`"):
        records.find_runs([Path("absent")])
    Path("log.jsonl").write_text("")
    assert main(["runs", "--out", "a.svg"]) == 65
    assert "no run has reported its loss twice" in capsys.readouterr().err


def test_runs_suggests_the_folder_with_a_similar_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("model", "models.bak/a"):
        Path(name).mkdir(parents=True)
        (Path(name) / "log.jsonl").touch()
    Path("photos").mkdir()
    for typed, hint in (
        ("modle", "did you mean `model`?"), ("models.bka", "did you mean `models.bak`?"),
        ("photso", "name folders with training runs"),
    ):  # fmt: skip
        assert main(["runs", typed]) == 66
        error = f"error: there is no folder `{typed}`\n\nhint: {hint}\n"
        assert capsys.readouterr().err == error


def test_runs_are_found_however_deep_they_are(tmp_path) -> None:
    """Table 3's are five folders deep; a link that leads back is followed once."""
    deep = tmp_path / "runs" / "table3" / "rows" / "base" / "training" / "model"
    for folder in (deep, tmp_path / "model", deep / "checkpoints" / "step-1"):
        folder.mkdir(parents=True)
        (folder / "log.jsonl").touch()
    (deep / "back").symlink_to(tmp_path)
    assert records.find_runs([tmp_path]) == [tmp_path / "model", deep]
