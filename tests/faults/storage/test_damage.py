"""Checkpoints that are damaged, half there or of another version: an older one, or a clear no."""

import errno
import hashlib
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from corpora import reversal_corpus, tiny_config
from faults.tally import fault

from nmt_cli.config.schema import Config, with_values
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.errors import ConfigError, DataError, NmtError, NoInputError
from nmt_cli.model_dir import load_model
from nmt_cli.storage import manifest
from nmt_cli.training.loop import train
from nmt_cli.training.saving.average import average
from nmt_cli.training.saving.checkpoints import Checkpoint, Checkpoints, kept_steps

SETTINGS = {
    "model_d_model": 8, "model_d_ff": 8, "train_checkpoint_every": 2, "train_validate_every": 100,
    "train_log_every": 1, "train_validation_sentences": 0, "train_max_steps": 5,
}  # fmt: skip


def go(config: Config, corpus: Corpus, out: Path, steps: int) -> list[str]:
    """Train; the notes."""
    reports = train(with_values(config, {"train.max_steps": steps}), corpus, out)
    return [report.note for report in reports if report.note]


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Corpus]:
    return reversal_corpus(tmp_path_factory.mktemp("damage"), pairs=60, **SETTINGS)


@pytest.fixture(scope="module")
def trained(setting: tuple[Config, Corpus], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of five steps, with checkpoints of 2, 4 and 5."""
    out = tmp_path_factory.mktemp("trained") / "model"
    go(*setting, out, 5)
    return out


@pytest.fixture
def out(trained: Path, tmp_path: Path) -> Path:
    shutil.copytree(trained, tmp_path / "model")
    return tmp_path / "model"


def newest(out: Path) -> Checkpoint:
    """The newest checkpoint, whole or not."""
    return Checkpoint(out / "checkpoints" / "step-000000005", 5)


def files_of_newest(out: Path) -> list[Path]:
    """All of the newest checkpoint and its optimiser's state."""
    checkpoint = newest(out)
    return [
        *sorted(checkpoint.directory.iterdir()),
        *sorted(checkpoint.optimizer_directory.iterdir()),
    ]


def resumed_from(out: Path) -> int:
    latest, _ = Checkpoints(out / "checkpoints", 2, 1).latest()
    return latest.step if latest else 0


def weights_after(setting: tuple[Config, Corpus], out: Path, steps: int) -> str:
    """Of all weights and moments, when the run has gone on to that step."""
    go(*setting, out, steps)
    result = hashlib.sha256()
    for ending in ("", ".optimizer"):
        for path in sorted(
            (out / "checkpoints" / f"step-{steps:09}{ending}").glob("*.safetensors")
        ):
            result.update(path.read_bytes())
    return result.hexdigest()


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


@fault("C7")
def test_flipped_bit_in_any_checkpoint_file_is_detected(out, checks) -> None:
    """300 of them by chance, in proportion to the sizes of the files; every file gets some."""
    chooser = np.random.default_rng(1)
    checkpoint, model = files_of_newest(out), [path for path in out.rglob("*") if path.is_file()]
    model = [path for path in model if "checkpoints" not in path.parts and path.suffix != ".jsonl"]
    model = [path for path in model if path.name != ".lock"]
    for files, refuses in ((checkpoint, _passed_over), (model, _refused)):
        sizes = np.array([file.stat().st_size for file in files])
        chosen = chooser.choice(len(files), 150 - len(files), p=sizes / sizes.sum())
        for index in (*range(len(files)), *chosen):
            path, bit = files[index], int(chooser.integers(8 * sizes[index]))
            flip(path, bit)
            assert refuses(out), f"bit {bit} of {path}"
            flip(path, bit)
            checks()
    assert resumed_from(out) == 5
    load_model(out)


def _passed_over(out: Path) -> bool:
    return resumed_from(out) == 4


def _refused(out: Path) -> bool:
    with pytest.raises((DataError, ConfigError)):
        load_model(out)
    return True


@fault("C6")
def test_truncated_checkpoint_files_are_detected(setting, trained, out, checks) -> None:
    """At 50 places; the run then takes its steps again and comes to the same weights."""
    expected = weights_after(setting, trained, 5)
    chooser = np.random.default_rng(2)
    files = files_of_newest(out)
    whole = {path: path.read_bytes() for path in files}
    for index in range(50):
        path = files[index % len(files)]
        path.write_bytes(whole[path][: int(chooser.integers(len(whole[path])))])
        latest, problems = Checkpoints(out / "checkpoints", 2, 1).latest()
        assert latest.step == 4
        assert len(problems) == 1
        path.write_bytes(whole[path])
        checks()
    files[0].write_bytes(b"")
    assert weights_after(setting, out, 5) == expected


@fault("C6")
def test_unreadable_checkpoint_files_are_passed_over(out, monkeypatch, checks) -> None:
    """EIO in each file of the newest checkpoint in turn."""
    real = manifest._sha256
    names = [path for path in files_of_newest(out) if path.name != "manifest.json"]
    for bad in names:

        def fails(file, bad: Path = bad):
            if Path(file.name) == bad:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(file)

        monkeypatch.setattr(manifest, "_sha256", fails)
        latest, problems = Checkpoints(out / "checkpoints", 2, 1).latest()
        assert latest.step == 4
        assert problems == [f"`{bad}` cannot be read: Input/output error"]
        checks()


@fault("C6")
def test_resume_without_any_complete_checkpoint_is_refused(setting, out) -> None:
    """Nothing is begun anew over a run that somebody may still save."""
    for path in (out / "checkpoints").rglob("*.safetensors"):
        flip(path, 99)
    with pytest.raises(DataError, match=r"no checkpoint to resume from: .*safetensors` is damaged"):
        go(*setting, out, 7)
    assert DataError.exit_code == 65


@fault("C8")
def test_missing_file_of_newest_checkpoint_falls_back_to_previous(
    setting, trained, out, checks
) -> None:
    """Each file, the directories, and the manifest not copied yet; the run goes on."""
    expected = weights_after(setting, trained, 5)
    for path in [*files_of_newest(out), newest(out).directory, newest(out).optimizer_directory]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
        assert resumed_from(out) == 4
        assert weights_after(setting, out, 5) == expected
        assert resumed_from(out) == 5
        checks()


@fault("C8", "C7")
def test_damaged_checkpoint_of_later_step_is_not_averaged(setting, out) -> None:
    """What was passed over must not come back as a member of a mean."""
    flip(newest(out).directory / "weights.safetensors", 999)
    config, corpus = setting
    more = with_values(config, {"train.checkpoint_every": 100, "train.max_steps": 9})
    notes = [report.note for report in train(more, corpus, out) if report.note]
    assert notes[0].startswith("an older checkpoint is used: ")
    steps = [checkpoint.step for checkpoint in Checkpoints(out / "checkpoints", 9, 1).all()]
    assert steps == [2, 4, 9]


@fault("C9")
def test_checkpoint_rotation_keeps_what_resume_needs(checks) -> None:
    """1,000 schedules by chance: saves, failed saves, interruptions, validations between saves."""
    random = np.random.default_rng(3)
    for _ in range(1_000):
        last, best = random.integers(1, 5, 2)
        saved: list[int] = []
        members: list[int] = []
        scores: dict[int, float] = {}
        for step in range(1, random.integers(2, 20)):
            if random.random() < 0.7:
                saved.append(step)
                members += [step] * (random.random() < 0.8)
            if random.random() < 0.5:
                scores[step] = float(random.integers(5))
            ranked = sorted(scores, key=lambda step: (-scores[step], step))
            keep, with_optimizer = kept_steps(saved, members, ranked, int(last), int(best))
            first = [step for step in ranked if step in members][: int(best)]
            assert set(first) <= keep
            assert {*saved[-1:], *members[-2:]} <= with_optimizer <= keep
            assert min(2, len(saved)) <= len(with_optimizer) <= 3
            # What else was saved does not matter to the members.
            assert {step for step in keep if step in members} == {
                *first,
                *members[-max(2, int(last)) :],
            }
            assert set(members[-int(last) :]) <= keep <= set(saved)
            assert len(keep) <= last + best + 2
            saved = [step for step in saved if step in keep]
            members = [step for step in members if step in keep]
        checks()


@fault("C10")
def test_incomplete_log_line_is_repaired(setting, trained, out, checks) -> None:
    """At each byte of its last line, whose step is not saved; told steps are told once."""
    whole = (trained / "log.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    taken = [line for line in lines if json.loads(line)["tokens"]]
    for path in (newest(out).directory, newest(out).optimizer_directory):
        shutil.rmtree(path)
    begin = len(b"".join(taken[:-1]))
    places = range(begin, begin + len(taken[-1]) + 1)
    for end in [*places[::40], places[-1]]:
        (out / "log.jsonl").write_bytes(b"".join(taken)[:end])
        again = out.with_name("again")
        shutil.copytree(out, again)
        go(*setting, again, 5)
        records = [json.loads(line) for line in (again / "log.jsonl").read_text().splitlines()]
        assert [record["step"] for record in records if record["tokens"]] == [1, 2, 3, 4, 5]
        losses = [json.loads(line)["loss"] for line in taken]
        assert [record["loss"] for record in records if record["tokens"]] == losses
        shutil.rmtree(again)
        checks()


def rewrite(path: Path, **values: object) -> None:
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, **values}))


def vouch(directory: Path) -> None:
    """Let the manifest agree with what is there."""
    entries = {
        path.name: {
            "bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()
        }
        for path in directory.iterdir() if path.name != "manifest.json"
    }  # fmt: skip
    (directory / "manifest.json").write_text(json.dumps({"format": 1, "files": entries}))


@fault("C13")
@pytest.mark.parametrize("name", ["model", "checkpoint", "optimiser"])
def test_manifest_of_newer_version_is_refused(name, setting, out) -> None:
    checkpoint = newest(out)
    directories = {
        "model": out,
        "checkpoint": checkpoint.directory,
        "optimiser": checkpoint.optimizer_directory
    }  # fmt: skip
    rewrite(directories[name] / "manifest.json", format=2)
    with pytest.raises(ConfigError, match="format 2, this version of nmt knows 1"):
        go(*setting, out, 7)
    assert ConfigError.exit_code == 78


@fault("C13")
def test_training_state_of_newer_version_is_refused(setting, out) -> None:
    """Not passed over: with what it does not know this version would lose something."""
    directory = newest(out).directory
    rewrite(directory / "state.json", quantum_flux=7)
    vouch(directory)
    with pytest.raises(ConfigError, match="does not know: quantum_flux"):
        go(*setting, out, 7)


@fault("C13")
def test_training_state_of_older_version_is_read(setting, trained, out) -> None:
    """Of the first one that could be released: what was added since has its default."""
    expected = weights_after(setting, shutil.copytree(trained, out.with_name("same")), 7)
    directory = newest(out).directory
    state = json.loads((directory / "state.json").read_text())
    first = (
        "step", "epoch", "batch", "shards", "packed", "digest", "scores", "validated", "stale",
        "published_score", "seconds", "flops", "skipped", "rollbacks", "finished", "member",
    )  # fmt: skip
    (directory / "state.json").write_text(json.dumps({name: state[name] for name in first}))
    vouch(directory)
    assert weights_after(setting, out, 7) == expected


@fault("C14")
def test_average_with_damaged_member_is_refused(out, tmp_path, checks) -> None:
    for step in (2, 4, 5):
        path = out / "checkpoints" / f"step-{step:09}" / "weights.safetensors"
        flip(path, 8 * path.stat().st_size - 3)
        members = sorted((out / "checkpoints").glob("step-*[0-9]"))
        with pytest.raises(DataError, match=f"step-{step:09}/weights.safetensors` is damaged"):
            average(members, tmp_path / "mean")
        assert not (tmp_path / "mean").exists()
        flip(path, 8 * path.stat().st_size - 3)
        checks()


@fault("C14")
def test_average_of_different_models_is_refused(setting, out, tmp_path, checks) -> None:
    """Of another shape, and of another vocabulary of the same size."""
    config, corpus = setting
    other = tmp_path / "wider"
    go(with_values(config, {"model.d_ff": 16}), corpus, other, 2)
    renamed, same_size = _with_other_letters(tmp_path / "letters", config)
    go(renamed, same_size, tmp_path / "renamed", 2)
    for stranger, what in ((other, "model.d_ff"), (tmp_path / "renamed", "the subwords")):
        with pytest.raises(ConfigError, match=f"{stranger.name}` is another .*{what}"):
            average([out, stranger], tmp_path / "mean")
        assert not (tmp_path / "mean").exists()
        checks()


def _with_other_letters(folder: Path, config: Config) -> tuple[Config, Corpus]:
    """A corpus of as many letters, but others."""
    from nmt_cli.data.preparation.prepare import prepare

    folder.mkdir()
    names = []
    for path in (*config.data.train[0], *config.data.valid):
        text = Path(path).read_text().translate(str.maketrans("abcdefgh", "stuvwxyz"))
        (folder / Path(path).name).write_text(text)
        names.append(str(folder / Path(path).name))
    settings = {"data_train": [names[:2]], "data_valid": names[2:]}
    other = tiny_config(**SETTINGS, **settings)
    prepare(other, folder / "corpus", workers=1)
    return other, Corpus.open(folder / "corpus")


@fault("C14")
def test_average_with_nan_weights_is_refused(out, tmp_path) -> None:
    from safetensors.numpy import load_file, save_file

    directory = out / "checkpoints" / "step-000000002"
    weights = load_file(directory / "weights.safetensors")
    next(iter(weights.values())).flat[0] = np.nan
    save_file(weights, directory / "weights.safetensors")
    vouch(directory)
    with pytest.raises(DataError, match=r"step-000000002`: .* NaN or infinite"):
        average([out], tmp_path / "mean")


def test_storage_errors_have_exit_codes() -> None:
    """What is raised above carries an exit code of its own."""
    assert {DataError.exit_code, ConfigError.exit_code, NoInputError.exit_code} == {65, 66, 78}
    assert issubclass(DataError, NmtError)
