"""`nmt train`, `nmt average` and the road between them, in this process."""

import dataclasses
import itertools
import json
import os
import pkgutil
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from corpora import reversal_corpus

from nmt_cli.cli import main
from nmt_cli.cli.display.training import TrainDisplay
from nmt_cli.cli.environment import apply_threads, make_console
from nmt_cli.cli.signals import EXIT_CODES
from nmt_cli.config.schema import dump
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.errors import UnavailableError
from nmt_cli.machine import affine_cores
from nmt_cli.model_dir import load_model
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.reporting.events import Outline, StepDone
from nmt_cli.training.saving import average as saving
from nmt_cli.training.saving.checkpoints import Checkpoints


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


def assert_weights(out: Path, members: list[dict]) -> None:
    """The model at `out` is the mean of `members`."""
    import torch

    for name, weight in load_model(out).model.named_parameters():
        expected = torch.stack([member[name] for member in members]).mean(dim=0)
        assert torch.allclose(weight, expected, atol=1e-6), name


def test_train_without_corpus_names_the_prepare_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train"]) == 66
    err = capsys.readouterr().err
    assert "there is no prepared corpus at `corpus`" in err
    assert "nmt prepare" in err
    assert list(tmp_path.iterdir()) == []


def test_train_names_the_corpus_that_a_misspelt_name_means(inside, capsys):
    Path("models").mkdir()
    assert main(["train", "--corpus", "corpsu"]) == 66
    assert "hint: did you mean `corpus`? If not, run `nmt prepare`" in capsys.readouterr().err
    assert main(["train", "--corpus", "modles"]) == 66
    assert "did you mean" not in capsys.readouterr().err


def test_the_corpus_is_refused_as_the_model_directory_before_training_is_announced(inside, capsys):
    assert main(["train", "--out", "./corpus"]) == 73
    said = capsys.readouterr().err
    assert "`corpus` is the corpus to train on, and cannot be the model directory too" in said
    assert "loading torch" not in said


def test_each_train_option_sets_its_setting(inside, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("nmt_cli.training.loop.train", lambda *given: seen.append(given) or ())
    options = {
        "--preset": "small", "--max-steps": 7, "--max-epochs": 2, "--max-hours": 1.5,
        "--patience": 3, "--seed": 9, "--out": str(tmp_path / "m"),
    }  # fmt: skip
    assert main(["train", *(str(part) for pair in options.items() for part in pair)]) == 0
    ((config, corpus, out, ranks, *_),) = seen
    values = vars(config.train)
    assert {key: values[key[2:].replace("-", "_")] for key in options if key != "--out"} == {
        key: value for key, value in options.items() if key != "--out"
    }
    assert out == tmp_path / "m"
    assert corpus.digest == Corpus.open(inside / "corpus").digest
    assert ranks.world_size == 1


def test_a_rank_prepares_its_process_and_the_first_one_checks_the_corpus(
    inside, tmp_path, monkeypatch
):
    asked = []
    opened = Corpus.open

    @contextmanager
    def joined(*_) -> Iterator[Ranks]:
        yield Ranks(rank, 2)

    monkeypatch.setattr("nmt_cli.cli.commands.train.require_cpu_memory", lambda *_: None)
    monkeypatch.setattr("nmt_cli.machine.keep_freed_memory", lambda: asked.append("memory"))
    monkeypatch.setattr(
        Corpus, "open", lambda path, *, verify: asked.append(verify) or opened(path, verify=verify)
    )
    monkeypatch.setattr("nmt_cli.training.loop.train", lambda *_: ())
    monkeypatch.setattr("nmt_cli.training.parallel.ranks.joined_ranks", joined)
    for variable in ("", ":16:8"):
        monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", variable)
        if not variable:
            monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
        rank = len(asked) // 2
        assert main(["train", "--deterministic", "--out", str(tmp_path / "m")]) == 0
        # What the user set stays.
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == (variable or ":4096:8")
    assert asked == ["memory", True, "memory", False]


def test_launcher_passes_command_line_and_returns_exit_code(inside, monkeypatch):
    launched = []
    monkeypatch.setattr(
        "nmt_cli.training.parallel.ranks.launch", lambda *given: launched.append(given) or 7
    )
    command = ["train", "--gpus", "3", "--seed", "2"]
    monkeypatch.setattr(sys, "argv", ["nmt", *command])
    assert main(command) == 7
    ((processes, arguments, restarts, newest, _),) = launched
    assert (processes, arguments, restarts) == (3, command, 3)
    assert newest() == 20


@pytest.mark.parametrize(
    ("gpus", "warned"),
    [
        ([], ""),
        (["--gpus", "1"], "warning: --gpus 1: this machine has no GPU; training runs on the CPU"),
        (["--gpus", "3"], "warning: --gpus 3: this machine has no GPU; training runs in 3 CPU"),
    ],
)
def test_missing_gpus_are_warned_of(inside, monkeypatch, capsys, gpus, warned):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("nmt_cli.training.parallel.ranks._check_hidden_gpus", lambda: None)
    monkeypatch.setattr("nmt_cli.training.parallel.ranks.launch", lambda *_: 0)
    monkeypatch.setattr("nmt_cli.cli.commands.train.be_rank", lambda *_, **__: None)
    assert main(["train", *gpus]) == 0
    first, *err = capsys.readouterr().err.splitlines()
    assert first == "training `model` on `corpus`: loading torch"
    assert len(err) == bool(warned)
    assert "".join(err).startswith(warned)


def test_settings_of_the_project_that_override_a_named_preset_are_warned_of(
    project, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nmt_cli.cli.commands.train.start_ranks", lambda *_, **__: None)
    monkeypatch.setattr("nmt_cli.cli.commands.train.be_rank", lambda *_, **__: None)
    Path("nmt.toml").write_text(
        '[model]\nlayers = 2\nheads = 8\npositions = "learned"\n[train]\npreset = "tiny"\n'
    )
    command = ["train", "--corpus", str(project / "corpus")]
    warning = (
        "warning: the project file overrides 1 setting of the preset `table3-layers-8`: "
        "model.layers is 2 (preset: 8)\n"
    )
    assert main([*command, "--preset", "table3-layers-8"]) == 0
    assert capsys.readouterr().err == warning
    assert main([*command, "--set", "train.preset=table3-layers-8"]) == 0
    assert capsys.readouterr().err == warning
    # What the command line says by itself is meant; and the preset of the file is not named anew.
    for more in (["--preset", "table3-layers-8", "--set", "model.layers=3"], []):
        assert main([*command, *more]) == 0
        assert capsys.readouterr().err == ""
    assert main(["plot", "schedule", "--preset", "table3-layers-8"]) == 0
    assert capsys.readouterr().err.startswith(warning)


def test_train_without_project_file_reports_default_settings(
    project, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nmt_cli.cli.commands.train.start_ranks", lambda *_, **__: None)
    monkeypatch.setattr("nmt_cli.cli.commands.train.be_rank", lambda *_, **__: None)
    command = ["train", "--corpus", str(project / "corpus")]
    assert main(command) == 0
    assert capsys.readouterr().err == (
        "no nmt.toml was found, so the settings are the defaults (preset base); "
        "`nmt init` chooses them for this text\n"
    )
    for more in (["--quiet"], ["--preset", "tiny"], ["--config", str(project / "nmt.toml")]):
        assert main([*command, *more]) == 0
        assert capsys.readouterr().err == ""
    assert main([*command, "--preset", "tiny", "--set", "train.optimizer=adam"]) == 0
    assert "train.learning_rate=0.008 comes from preset `tiny`, for muon" in capsys.readouterr().err


def test_train_json_reports_go_to_stdout(inside, tmp_path, capsys):
    options = ["--max-steps", "6", "--set", "train.checkpoint_every=3", "--json", "--quiet"]
    assert main(["train", "--out", str(tmp_path / "m"), *options]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert records[-1]["step"] == 6
    assert all(record["schema"] == 1 for record in records)
    assert [r["step"] for r in records if "validation" in r] == [3, 6]


def test_train_output_without_terminal(inside, tmp_path, capsys):
    assert main(["train", "--out", str(tmp_path / "m"), "--max-steps", "5"]) == 0
    err = capsys.readouterr().err
    assert "step 5" in err
    assert "validation perplexity" in err
    assert "BLEU" in err
    assert "finished: 5 steps are done" in err
    assert "\r" not in err
    assert f"nmt translate --model {tmp_path / 'm'}" in err


def test_the_next_command_of_a_parser_is_nmt_parse(inside, tmp_path, monkeypatch, capsys):
    shown: list[str] = []
    real = TrainDisplay.__init__

    def made(self: TrainDisplay, *arguments, command: str, **named):
        shown.append(command)
        real(self, *arguments, command=command, **named)

    monkeypatch.setattr(TrainDisplay, "__init__", made)
    languages = ["--set", "languages.src=words", "--set", "languages.tgt=brackets"]
    options = ["--out", str(tmp_path / "c"), "--quiet", *languages]
    assert main(["prepare", *options]) == 0
    options = ["--corpus", str(tmp_path / "c"), "--out", str(tmp_path / "m"), "--max-steps", "1"]
    assert main(["train", *options]) == 0
    command = f"nmt parse --model {tmp_path / 'm'}"
    assert f"| {command}" in capsys.readouterr().err
    # A run that is stopped names it, too.
    assert shown == [command]
    mean = tmp_path / "mean"
    checkpoint = tmp_path / "m" / "checkpoints" / "step-000000001"
    assert main(["average", str(checkpoint), "--out", str(mean)]) == 0
    assert f"| nmt parse --model {mean}" in capsys.readouterr().err


def test_the_next_command_names_the_project_file_that_was_named(inside, tmp_path, capsys):
    named = tmp_path / "my own.toml"
    named.write_text((inside / "nmt.toml").read_text())
    quoted = shlex.quote(str(named))
    corpus = ["--corpus", str(inside / "corpus")]
    steps = ["--max-steps", "1", "--set", "train.checkpoint_every=1"]
    options = ["--config", str(named), *corpus, *steps]
    assert main(["train", *options]) == 0
    # The model is where that file has it.
    assert capsys.readouterr().err.endswith(f"| nmt translate --config {quoted}\n")
    mean = tmp_path / "mean"
    assert main(["average", "--config", str(named), "--out", str(mean)]) == 0
    following = f"| nmt translate --config {quoted} --model {mean}\n"
    assert capsys.readouterr().err.endswith(following)
    assert main(["shortlist", "--config", str(named), *corpus]) == 0
    following = f"next: nmt translate --shortlist 50 --config {quoted}\n"
    assert capsys.readouterr().err.endswith(following)


def test_the_command_that_sets_pairs_apart_names_the_project_file(
    inside, tmp_path, monkeypatch, capsys
):
    opened = Corpus.open
    monkeypatch.setattr(
        Corpus, "open", lambda *paths, **_: dataclasses.replace(opened(*paths), valid=None)
    )
    monkeypatch.setattr("nmt_cli.training.loop.train", lambda *_: ())
    assert main(["train", "--config", "nmt.toml", "--out", str(tmp_path / "m")]) == 0
    command = "nmt prepare --config nmt.toml --force --valid-split "
    assert f"to set training pairs apart: {command}" in " ".join(capsys.readouterr().err.split())


def test_validation_bleu_of_words_without_spaces_is_warned_of(
    inside, tmp_path, monkeypatch, capsys
):
    opened = Corpus.open
    sides = {"valid_text": (["A good day"] * 3, ["ມື້ນີ້ອາກາດດີຫຼາຍ", "ທ້ອງຟ້າແຈ່ມໃສ", "ຂ້ອຍຢາກໄປຕະຫຼາດ"])}
    monkeypatch.setattr("nmt_cli.training.loop.train", lambda *_: ())
    warned = []
    for changes in ({}, sides):
        monkeypatch.setattr(
            Corpus,
            "open",
            lambda *paths, changes=changes, **_: dataclasses.replace(opened(*paths), **changes),
        )
        assert main(["train", "--out", str(tmp_path / "m")]) == 0
        said = " ".join(capsys.readouterr().err.split())
        warned.append(
            "the target side of the validation text has next to no spaces" in said
            and "`nmt score --tokenize char`, or `nmt score --metric chrf`" in said
        )
    assert warned == [False, True]


def test_dry_run_shows_the_size_and_the_time_of_the_run(inside, tmp_path, capsys):
    assert main(["train", "--out", str(tmp_path / "m"), "--max-steps", "50", "--dry-run"]) == 0
    err = capsys.readouterr().err
    for words in (
        "preset tiny",
        "50 steps = about",
        "for 50 steps, plus",
        "memory: ",
        "nothing was",
    ):
        assert words in err
    assert not (tmp_path / "m").exists()
    assert "next:" not in err
    for options in (["--json"], ["--track", "tensorboard"]):
        assert main(["train", "--dry-run", *options]) == 2
        assert "--dry-run reports nothing" in capsys.readouterr().err


def test_validation_after_the_last_report_prints_no_zero_loss(inside, tmp_path, capsys):
    options = ["--set", "train.log_every=3", "--max-steps", "3"]
    assert main(["train", "--out", str(tmp_path / "m"), *options]) == 0
    err = capsys.readouterr().err
    assert "loss 0.000" not in err
    places = [
        err.index(text) for text in ("step 3, ", "validation perplexity", "finished: 3 steps")
    ]
    assert places == sorted(places)


def test_an_interruption_says_what_becomes_of_the_step_or_of_the_validation(
    inside, tmp_path, monkeypatch, capfd
):
    """Once in the second step, once in the validation after it."""
    handlers = {number: signal.getsignal(number) for number in EXIT_CODES}
    options = ["--max-steps", "4", "--set", "train.validate_every=2"]
    monkeypatch.setattr("nmt_cli.training.parallel.ranks.POLL_SECONDS", 0.0)
    try:
        for moment, words in (
            ("loop.Run.step", "the step in progress is finished and saved first"),
            (
                "evaluation.validation.score",
                "the validation is abandoned, which takes some seconds",
            ),
        ):
            place = f"nmt_cli.training.{moment}"
            real, calls = pkgutil.resolve_name(place.replace(".Run", ":Run")), itertools.count(1)

            def interrupted(*arguments, real=real, calls=calls, moment=moment):
                if next(calls) == (2 if "step" in moment else 1):
                    os.kill(os.getpid(), signal.SIGINT)
                return real(*arguments)

            with monkeypatch.context() as patch:
                patch.setattr(place, interrupted)
                assert main(["train", "--out", str(tmp_path / moment), *options]) == 130
            assert words in capfd.readouterr().err
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def test_train_again_reports_finished_run(inside, capsys):
    assert main(["train"]) == 0
    assert "already finished: 20 steps are done" in capsys.readouterr().err


def test_resume_with_other_settings_names_the_difference(inside, capsys):
    assert main(["train", "--set", "model.heads=4"]) == 78
    assert "model.heads was 2, now 4" in capsys.readouterr().err


def test_resume_keeps_the_preset_of_the_run(project, tmp_path, monkeypatch, capsys):
    """Without a project file; a preset or a setting that is named, and differs, is refused."""
    monkeypatch.chdir(tmp_path)
    command = ["train", "--corpus", str(project / "corpus"), "--out", "m"]
    assert main([*command, "--preset", "tiny", "--max-steps", "1", "--quiet"]) == 0
    assert main([*command, "--max-steps", "2"]) == 0
    err = capsys.readouterr().err
    assert "preset tiny" in err
    assert "continues after step 1" in err
    assert main([*command, "--preset", "base", "--max-steps", "3"]) == 78
    assert "model.layers was 2, now 6" in capsys.readouterr().err
    monkeypatch.setenv("NMT_TRAIN_PRESET", "base")
    assert main([*command, "--max-steps", "3"]) == 78
    (tmp_path / "m" / "config.toml").write_text("[train")
    monkeypatch.delenv("NMT_TRAIN_PRESET")
    assert main([*command, "--max-steps", "3"]) != 0


@pytest.mark.parametrize(("options", "steps"), [([], [5, 10, 15, 20]), (["--last", "2"], [15, 20])])
def test_average_of_last_checkpoints(inside, tmp_path, options, steps):
    assert main(["average", "model", *options, "--out", str(tmp_path / "mean"), "--quiet"]) == 0
    members = Checkpoints(inside / "model/checkpoints", 5, 1).members()[-len(steps) :]
    assert [member.step for member in members] == steps
    assert_weights(tmp_path / "mean", [member.weights() for member in members])


def test_average_takes_the_number_of_checkpoints_from_settings(
    inside, tmp_path, capsys, monkeypatch
):
    project = tmp_path / "two.toml"
    project.write_text("[train]\nkeep_last = 2\n")
    given = ["average", "model", "--quiet", "--out"]
    for options, name in ((["--set", "train.keep_last=2"], "set"), (["--config", project], "file")):
        assert main([*given, str(tmp_path / name), *map(str, options)]) == 0
    monkeypatch.setenv("NMT_TRAIN_KEEP_LAST", "2")
    assert main([*given, str(tmp_path / "variable")]) == 0
    assert main([*given, str(tmp_path / "last"), "--last", "3"]) == 0
    members = Checkpoints(inside / "model/checkpoints", 5, 1).members()
    for name, count in (("set", 2), ("file", 2), ("variable", 2), ("last", 3)):
        assert_weights(tmp_path / name, [member.weights() for member in members[-count:]])
    # Wrong settings are no longer ignored because a model is named.
    for wrong in (["--set", "train.bogus=1"], ["--config", "missing.toml"]):
        assert main([*given, str(tmp_path / "wrong"), *wrong]) != 0
    assert not (tmp_path / "wrong").exists()


def test_average_of_named_and_of_best_checkpoints(inside, tmp_path, capsys):
    first, second = "model/checkpoints/step-000000005", "model/checkpoints/step-000000010"
    assert main(["average", first, second, "--out", str(tmp_path / "two")]) == 0
    assert "averaged 2" in capsys.readouterr().err
    assert main(["average", "--best", "1", "--out", str(tmp_path / "best")]) == 0
    members = Checkpoints(inside / "model/checkpoints", 5, 1).members()
    scores = members[-1].state().scores
    best = max(members, key=lambda member: scores[str(member.step)])
    assert best.directory.name in capsys.readouterr().err
    assert_weights(tmp_path / "best", [best.weights()])
    assert_weights(tmp_path / "two", [member.weights() for member in members[:2]])


def test_average_names_a_missing_model_before_an_output_that_exists(inside, tmp_path, capsys):
    (tmp_path / "mean").mkdir()
    (tmp_path / "mean" / "notes").touch()
    for models in (["modell"], ["model/checkpoints/step-000000005.optimizer", "modell"]):
        assert main(["average", *models, "--out", str(tmp_path / "mean")]) == 66
        assert "modell" in capsys.readouterr().err


def test_average_of_models_is_the_mean_of_their_weights(inside, tmp_path, capsys):
    """And --force replaces what an earlier one has written."""
    other, mean = tmp_path / "other", tmp_path / "mean"
    options = ["--max-steps", "2", "--seed", "5", "--quiet"]
    assert main(["train", "--out", str(other), *options]) == 0
    for models in (["model"], ["model", str(other)]):
        assert main(["average", *models, "--out", str(mean), "--force", "--quiet"]) == 0
        assert not (mean / ".tmp-mark").exists()
        (mean / ".tmp-mark").touch()
    warning = capsys.readouterr().err
    assert f"`model` and `{other}` are separate runs" in warning
    assert f"`nmt translate --model model --model {other}`" in warning
    loaded = [load_model(path).model for path in (inside / "model", other)]
    assert_weights(mean, [dict(model.named_parameters()) for model in loaded])


def test_checkpoints_are_averaged_from_within_their_folder(inside, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(inside / "model/checkpoints")
    names = ["step-000000005", "step-000000010"]
    assert main(["average", *names, "--out", str(tmp_path / "mean")]) == 0
    assert "separate runs" not in capsys.readouterr().err


def test_average_keeps_a_folder_that_appears_meanwhile(inside, tmp_path, monkeypatch, capsys):
    out, real = tmp_path / "mean", saving.average_weights

    def slow_average(*arguments):
        out.mkdir()
        (out / "theirs").touch()
        return real(*arguments)

    monkeypatch.setattr(saving, "average_weights", slow_average)
    assert main(["average", "model", "--out", str(out)]) == 73
    assert f"`{out}` was not written by nmt" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == ["theirs"]


def test_time_left_counts_only_steps_of_this_run(inside, tmp_path, monkeypatch, capsys):
    """Seven steps, then five more: the first seven took no time of the second run."""
    events = []
    real = TrainDisplay.event
    monkeypatch.setattr(
        TrainDisplay, "event", lambda self, event: events.append(event) or real(self, event)
    )
    out = str(tmp_path / "model")
    for steps in (7, 12):
        assert main(["train", "--out", out, "--set", f"train.max_steps={steps}"]) == 0
    err = capsys.readouterr().err
    assert "continues after step 7" in err
    assert "for 7 steps" in err
    assert "for the 5 remaining steps" in err
    begun = [event for event in events if isinstance(event, Outline)]
    assert [(event.step, event.steps) for event in begun] == [(0, 7), (7, 12)]
    steps = [(event.step, event.fresh) for event in events if isinstance(event, StepDone)]
    assert steps == [*((n, n) for n in range(1, 8)), *((7 + n, n) for n in range(1, 6))]
    assert begun[1].seconds > 0


def test_average_needs_complete_checkpoints(project, tmp_path, capsys):
    copy = tmp_path / "model"
    shutil.copytree(project / "model", copy)
    checkpoints = copy / "checkpoints"
    assert main(["average", str(copy), "--last", "2", "--out", str(tmp_path / "whole")]) == 0
    with (checkpoints / "step-000000020" / "weights.safetensors").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\xff")
    capsys.readouterr()
    assert main(["average", str(copy), "--last", "2", "--out", str(tmp_path / "x")]) == 65
    assert "step-000000020" in capsys.readouterr().err
    shutil.rmtree(checkpoints / "step-000000010")
    assert main(["average", str(copy), "--best", "4", "--out", str(tmp_path / "x")]) == 66
    assert "only 3 of the 4 best checkpoints" in capsys.readouterr().err
    shutil.rmtree(checkpoints)
    assert main(["average", str(copy), "--out", str(tmp_path / "x")]) == 66
    assert "has no checkpoints" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_average_without_interval_checkpoints_names_resume_checkpoints(inside, tmp_path, capsys):
    """They are no members of an interval, but the command of the hint works."""
    out = tmp_path / "a model"
    assert main(["train", "--out", str(out), "--max-steps", "3", "--quiet"]) == 0
    assert main(["average", str(out), "--out", str(tmp_path / "x")]) == 66
    err = capsys.readouterr().err
    assert "only what was saved to resume from: `step-000000003`" in err
    command = re.search(r"hint: `nmt (.*) --out MODEL`", err)
    assert command is not None
    assert main([*shlex.split(command[1]), "--out", str(tmp_path / "x")]) == 0
    assert load_model(tmp_path / "x").metadata["averaged"] == "step-000000003"


def test_max_steps_of_zero_is_refused(inside, tmp_path, capsys):
    assert main(["train", "--out", str(tmp_path / "m"), "--max-steps", "0"]) == 2
    assert "error: --max-steps must be at least 1, not 0\n" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_average_refuses_conflicting_arguments(inside, tmp_path, capsys):
    assert main(["average", "--out", "model"]) == 73
    assert "`model` is a training run" in capsys.readouterr().err
    assert main(["average", "--last", "1", "--best", "1"]) == 2
    assert main(["average", "nothing", "--out", str(tmp_path / "x")]) == 66
    assert not (tmp_path / "x").exists()
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").touch()
    assert main(["average", "--force", "--out", str(tmp_path / "photos")]) == 73
    assert "was not written by nmt" in capsys.readouterr().err
    assert (tmp_path / "photos" / "one.jpg").exists()


def test_average_of_models_of_different_shapes_names_both(inside, tmp_path, capsys):
    other = str(tmp_path / "other")
    options = ["--set", "model.d_ff=32", "--max-steps", "2", "--quiet"]
    assert main(["train", "--out", other, *options]) == 0
    assert main(["average", "model", other, "--out", str(tmp_path / "x")]) == 78
    assert "model.d_ff" in capsys.readouterr().err


def test_rank_timeout_setting_and_its_error(inside, tmp_path, monkeypatch, capsys):
    given = []

    @contextmanager
    def joined(timeout, give_up) -> Iterator[Ranks]:
        given.append(timeout)
        give_up(UnavailableError("rank 3 hangs"))
        yield Ranks()

    monkeypatch.setattr(os, "_exit", given.append)
    monkeypatch.setattr("nmt_cli.training.parallel.ranks.joined_ranks", joined)
    options = ["--max-steps", "1", "--set", "train.rank_timeout=7", "--quiet"]
    assert main(["train", "--out", str(tmp_path / "m"), *options]) == 0
    assert given == [7.0, 69]
    assert "error: rank 3 hangs" in capsys.readouterr().err


@pytest.mark.parametrize(("more", "is_warned"), [(0, False), (1, True)])
def test_more_threads_than_cores_are_warned_of(
    monkeypatch, capsys, more: int, is_warned: bool
) -> None:
    monkeypatch.setattr("nmt_cli.cli.environment.use_threads", lambda _: None)
    count = affine_cores() + more
    apply_threads(count, make_console())
    said = capsys.readouterr().err
    assert said.startswith(f"warning: --threads {count}: this process may use ") is is_warned
    assert bool(said) is is_warned


def test_threads_option_sets_torch_threads(inside: Path, monkeypatch) -> None:
    import torch

    from nmt_cli.cli.commands import train

    before, result = torch.get_num_threads(), []
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setattr(
        train, "be_rank",
        lambda *_, **__: result.append((torch.get_num_threads(), os.environ["OMP_NUM_THREADS"])),
    )  # fmt: skip
    try:
        assert main(["train", "--threads", str(before + 1), "--quiet"]) == 0
    finally:
        torch.set_num_threads(before)
    # The variable is for a process that has not loaded torch yet.
    assert result == [(before + 1, str(before + 1))]
