"""The five commands and the five calls write the same files, to the last bit."""

import json
import shutil
from pathlib import Path

import pytest
from api_calls import TINY, digests, write_texts
from corpora import reversal_corpus
from runs import assert_same

from nmt_cli import AveragedModel, Translator, average, prepare, score, train
from nmt_cli.cli import main
from nmt_cli.errors import (
    CannotCreateError,
    ConfigError,
    NoInputError,
    TryAgainError,
    UsageError,
)
from nmt_cli.model_dir import load_model
from nmt_cli.training.loop import train as run_training
from nmt_cli.training.saving import average as averaging

SETS = [f"--set={key}={json.dumps(value).strip(chr(34))}" for key, value in TINY.items()]


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> tuple[Path, Path]:
    """A folder in which the commands have run, and one in which the functions were called."""
    monkeypatch = pytest.MonkeyPatch()
    commands, calls = (tmp_path_factory.mktemp(name) for name in ("commands", "calls"))
    for folder in (commands, calls):
        write_texts(folder)
    monkeypatch.chdir(commands)
    text = ["--train", "train.src", "train.tgt", "--valid", "valid.src", "valid.tgt"]
    codes = ["--src-lang", "en", "--tgt-lang", "de"]
    assert main(["prepare", *text, *codes, "--quiet", *SETS]) == 0
    assert main(["train", "--seed", "3", "--quiet", *SETS]) == 0
    assert main(["average", "model", "--last", "2", "--out", "mean", "--quiet"]) == 0
    translate = ["translate", "test.src", "--model", "mean", "--output", "out.txt", "--quiet"]
    assert main(translate) == 0
    monkeypatch.chdir(calls)
    prepare(
        [("train.src", "train.tgt")], ("valid.src", "valid.tgt"), src_lang="en", tgt_lang="de",
        settings=TINY,
    )  # fmt: skip
    train(seed=3, settings=TINY)
    averaged = average("model", "mean", last=2)
    assert averaged == AveragedModel(
        Path("mean"), tuple(Path(f"model/checkpoints/step-{step:09d}") for step in (15, 20))
    )
    lines = Path("test.src").read_text().splitlines()
    translations = Translator.load(averaged.path).translate(lines)
    Path("out.txt").write_text("".join(each.text + "\n" for each in translations))
    monkeypatch.undo()
    return commands, calls


def test_files_are_equal(folders):
    """Except for times, and for the order of metadata in the header of safetensors."""
    unequal = ("log.jsonl", "state.json", "manifest.json", ".lock", "model.safetensors")
    written = [
        {name: digest for name, digest in digests(folder).items() if Path(name).name not in unequal}
        for folder in folders
    ]
    assert written[0] == written[1]
    assert {"corpus/train.src.ids", "model/config.toml", "out.txt"} <= written[0].keys()
    for model in ("model", "mean"):
        loaded, expected = (load_model(folder / model) for folder in folders)
        assert_same(loaded.model.state_dict(), expected.model.state_dict())
        assert loaded.metadata == expected.metadata


def test_scores_are_equal(folders, monkeypatch, capsys):
    commands, calls = folders
    monkeypatch.chdir(commands)
    metrics = ["bleu", "chrf"]
    options = [f"--metric={name}" for name in metrics]
    assert main(["score", "out.txt", "test.tgt", "--json", "--quiet", *options]) == 0
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    monkeypatch.chdir(calls)
    with Path("out.txt").open() as hypotheses, Path("test.tgt").open() as references:
        scores = score(hypotheses, references, metrics=metrics)
    assert [(name, each.value, each.signature) for name, each in scores.items()] == [
        (document["metric"], document["value"], document["signature"]) for document in documents
    ]


def test_average_takes_checkpoints_and_says_when_there_are_few(folders, tmp_path, monkeypatch):
    monkeypatch.chdir(folders[1])
    checkpoints = [Path(f"model/checkpoints/step-{step:09d}") for step in (5, 10)]
    assert average(checkpoints, tmp_path / "two").members == tuple(checkpoints)
    few = average("model", tmp_path / "few", last=50)
    assert few.notes[0].startswith("last=50, but there are only 4 checkpoints to average")
    assert len(few.members) == 4
    best = average("model", tmp_path / "best", best=50)
    assert best.notes[0].startswith("best=50, but there are only 4 checkpoints to average: no more")
    assert average("model", tmp_path / "enough", best=4).notes == ()
    (note,) = average("model", tmp_path / "usual").notes
    there = "but there are only 4 checkpoints to average: training has saved no more."
    assert note == f"train.keep_last is 5 in `model`, {there}"
    assert average(checkpoints, tmp_path / "named").notes == ()


def test_average_says_when_it_is_a_copy(folders, tmp_path, monkeypatch, capsys):
    shutil.copytree(folders[1] / "model", tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    for step in (5, 10, 15):
        shutil.rmtree(f"model/checkpoints/step-{step:09d}")
    for options in ([], ["--last", "3"]):
        assert main(["average", *options, "--out", "mean", "--force"]) == 0
        assert "The result is a copy of it." in capsys.readouterr().err
    for options in (["--last", "1"], ["model/checkpoints/step-000000020"]):
        assert main(["average", *options, "--out", "mean", "--force"]) == 0
        assert "copy" not in capsys.readouterr().err


@pytest.mark.parametrize("moment", ["read_tensors", "check_manifest"])
def test_checkpoint_that_training_removes_meanwhile_is_named(
    folders, tmp_path, monkeypatch, moment: str
):
    shutil.copytree(folders[1] / "model", tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    module = averaging if moment == "read_tensors" else averaging.manifest
    step = getattr(module, moment)

    def remove_first(path: Path) -> object:
        shutil.rmtree("model/checkpoints/step-000000010", ignore_errors=True)
        return step(path)

    monkeypatch.setattr(module, moment, remove_first)
    with pytest.raises(TryAgainError, match="`model/checkpoints/step-000000010` was removed"):
        average(["model/checkpoints/step-000000010", "model"], "mean")
    assert not Path("mean").exists()


def test_checkpoint_that_is_removed_after_its_average_was_written_is_no_error(
    folders, tmp_path, monkeypatch
):
    shutil.copytree(folders[1] / "model", tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    save = averaging.save_model

    def remove(*arguments: object, **options: object) -> None:
        save(*arguments, **options)
        shutil.rmtree("model/checkpoints/step-000000005")

    monkeypatch.setattr(averaging, "save_model", remove)
    assert len(average("model", "mean", last=4).members) == 4


def test_average_replaces_only_by_force(folders, tmp_path, monkeypatch):
    monkeypatch.chdir(folders[1])
    average("model", tmp_path / "mean", last=2)
    before = digests(tmp_path)
    with pytest.raises(CannotCreateError) as caught:
        average("model", tmp_path / "mean", last=1)
    assert "--" not in caught.value.hint
    assert digests(tmp_path) == before
    average("model", tmp_path / "mean", last=1, force=True)
    assert digests(tmp_path) != before
    before = digests(tmp_path)
    with pytest.raises(CannotCreateError, match="holds what is to be averaged"):
        average([tmp_path / "mean", "model"], tmp_path / "mean", force=True)
    assert digests(tmp_path) == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("My only copy.\n")
    with pytest.raises(CannotCreateError):
        average("model", tmp_path / "mine", force=True)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"last": 2, "best": 2}, UsageError, "`last` and `best` exclude each other"),
        ({"last": 0}, UsageError, "last is 0, which is below its minimum 1"),
        ({"models": []}, UsageError, "models is empty"),
        ({"models": "none"}, NoInputError, "none"),
        ({"models": ["mean", "none"]}, NoInputError, "none"),
        ({"models": 5}, TypeError, "models is a path or a list of paths"),
        ({"models": [5]}, TypeError, "each of models is a path"),
        ({"models": b"model"}, TypeError, "not bytes"),
        ({"last": "2"}, TypeError, "last is a whole number"),
        ({"best": True}, TypeError, "best is a whole number"),
        ({"out": None}, TypeError, "out is a path"),
    ],
)
def test_average_refuses_wrong_arguments(folders, tmp_path, monkeypatch, arguments, error, words):
    monkeypatch.chdir(folders[1])
    with pytest.raises(error, match=words):
        average(**{"models": "model", "out": tmp_path / "mean", **arguments})
    assert list(tmp_path.iterdir()) == []


def test_average_refuses_other_models(folders, tmp_path, monkeypatch):
    monkeypatch.chdir(folders[1])
    wider = {**TINY, "model.d_ff": 128}
    train("corpus", tmp_path / "wider", max_steps=1, settings=wider)
    with pytest.raises(ConfigError, match=r"model\.d_ff"):
        average(["model", tmp_path / "wider"], tmp_path / "mean")


def test_average_says_that_it_leaves_out_the_last_checkpoint(tmp_path, capsys):
    """Training ended between two intervals; `nmt average` names the command with it."""
    config, corpus = reversal_corpus(tmp_path, train_max_steps=7, train_checkpoint_every=3)
    out = tmp_path / "model"
    for _ in run_training(config, corpus, out):
        pass
    newest = out / "checkpoints" / "step-000000007"
    averaged = average(out, tmp_path / "mean", last=2)
    assert [path.name for path in averaged.members] == ["step-000000003", "step-000000006"]
    assert len(averaged.notes) == 1
    assert averaged.notes[0].startswith(f"`{newest}` is not averaged: training ended there")
    named = [*averaged.members, newest]
    assert averaged.notes[0].endswith(
        f"nmt average {' '.join(map(str, named))} --out {tmp_path / 'mean'} --force`"
    )
    assert average(named, tmp_path / "all").notes == ()
    assert average(out, tmp_path / "best", best=1).notes == ()
    assert main(["average", str(out), "--out", str(tmp_path / "by-command")]) == 0
    assert "step-000000007` is not averaged" in " ".join(capsys.readouterr().err.split())
