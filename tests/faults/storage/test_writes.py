"""Whatever is written, each operation dies, fails or is forgotten: the last or the new is there."""

import errno
import hashlib
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from corpora import reversal_corpus, reversal_pairs, tiny_config, write_pairs
from faults.support.disks import WatchedDisk, on
from faults.support.power import on_disk
from faults.support.sweeps import AtOnce, Scene, fork
from faults.tally import fault
from safetensors import safe_open

from nmt_cli.config.schema import Config, with_values
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.model_dir import load_model
from nmt_cli.storage import files
from nmt_cli.storage.disk import Disk
from nmt_cli.training import loop
from nmt_cli.training.loop import train
from nmt_cli.training.run import Run
from nmt_cli.training.saving import checkpoints as saving
from nmt_cli.training.saving.average import average
from nmt_cli.training.saving.checkpoints import Checkpoints

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
STEPS = 3


@pytest.fixture(autouse=True)
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread writes and no time passes: the 50th operation is then always the same."""
    settle_order(monkeypatch)


def settle_order(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(saving, "ThreadPoolExecutor", AtOnce)
    patch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: 0.0))


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Corpus]:
    return reversal_corpus(
        tmp_path_factory.mktemp("writes"), pairs=60, model_d_model=8, model_d_ff=8,
        train_checkpoint_every=1, train_validate_every=3, train_log_every=1, train_keep_last=1,
        train_max_steps=STEPS, train_validation_sentences=0, train_batch_tokens=200,
    )  # fmt: skip


def go(setting: tuple[Config, Corpus], out: Path, steps: int = STEPS) -> list[str]:
    """Train; the notes."""
    config, corpus = setting
    reports = train(with_values(config, {"train.max_steps": steps}), corpus, out)
    return [report.note for report in reports if report.note]


def all_of_it(out: Path) -> str:
    """Weights, optimiser, published model and losses of a finished run."""
    result = hashlib.sha256()
    for path in sorted(out.rglob("*.safetensors")):
        result.update(path.relative_to(out).as_posix().encode())
        # The order of the facts in a header is by chance.
        with safe_open(path, "pt") as file:
            result.update(json.dumps(file.metadata(), sort_keys=True).encode())
        result.update(path.read_bytes()[8 + int.from_bytes(path.read_bytes()[:8], "little") :])
    for line in (out / "log.jsonl").read_text().splitlines():
        record = json.loads(line)
        if record["tokens"]:
            result.update(json.dumps([record[key] for key in ("step", "loss", "nll")]).encode())
    return result.hexdigest()


@pytest.fixture(scope="module")
def begun(setting, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """A run of two steps, and what is known of how it can go on."""
    directory = tmp_path_factory.mktemp("begun")
    with pytest.MonkeyPatch.context() as patch:
        settle_order(patch)
        go(setting, directory / "model", 2)
    return directory, {}


def training(setting, tmp_path: Path, begun: tuple[Path, dict[str, object]] | None) -> Scene:
    """A run that goes on to its end; or one that begins, of one step."""
    steps = STEPS if begun else 1

    def work(directory: Path) -> None:
        go(setting, directory / "model", steps)

    def outcome(directory: Path) -> object:
        out = directory / "model"
        if begun:
            latest, problems = Checkpoints(out / "checkpoints", 1, 1).latest()
            assert latest is not None
            assert latest.step >= 2
            assert problems == []
            load_model(out)
        work(directory)
        assert list(out.rglob(".tmp-*")) == []
        return all_of_it(out)

    def is_new(directory: Path) -> bool:
        latest, _ = Checkpoints(directory / "model" / "checkpoints", 1, 1).latest()
        return latest is not None and latest.state().finished.startswith(f"{steps} step")

    if begun:
        return Scene(tmp_path, begun[0], work, outcome, is_new, begun[1])
    (tmp_path / "before").mkdir()
    return Scene(tmp_path, tmp_path / "before", work, outcome, is_new)


@pytest.mark.slow
@fault("C1")
def test_run_killed_in_any_disk_operation_resumes(setting, begun, tmp_path, checks) -> None:
    """Step 3 of a run: validation, publishing, saving, and an older checkpoint goes."""
    scene = training(setting, tmp_path, begun)
    names = [operation[0] for operation in scene.log]
    assert {"open", "write", "sync", "rename", "make_directory", "remove_file"} <= set(names)
    scene.killed_anywhere(checks)


@pytest.mark.slow
@fault("C2")
def test_run_with_power_loss_at_any_operation_resumes(setting, begun, tmp_path, checks) -> None:
    training(setting, tmp_path, begun).without_power(checks)


@pytest.mark.slow
@fault("C2")
def test_first_save_with_power_loss_at_any_operation(setting, tmp_path, checks) -> None:
    """From nothing to the first checkpoint."""
    scene = training(setting, tmp_path, None)
    scene.without_power(checks)


@pytest.mark.slow
@fault("C3")
def test_run_with_one_disk_failure_continues(setting, begun, tmp_path, monkeypatch, checks) -> None:
    """In the steps it goes on; at its beginning and its end, which is saved, it says why not."""
    scene = training(setting, tmp_path, begun)
    at = {}
    scene.begin()
    with monkeypatch.context() as patch:
        for name in ("step", "finish"):
            real = getattr(Run, name)

            def told(run: Run, *given: object, name: str = name, real: Callable = real) -> object:
                at[name] = disk.count
                return real(run, *given)

            patch.setattr(Run, name, told)
        with on(WatchedDisk()) as disk:
            scene.work(scene.place)
    ended = scene.failing_anywhere(checks, FULL)
    assert not [outcome for outcome in ended if at["step"] < outcome <= at["finish"]]
    assert any(outcome > at["finish"] for outcome in ended)


class Texts(NamedTuple):
    config: Config
    folder: Path
    old: str
    new: str
    seen: dict[str, object]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Texts:
    """Two texts, a folder with a corpus of the first or with none, and what is known of them."""
    folder = tmp_path_factory.mktemp("texts")
    results = []
    for index, name in enumerate(("old", "new")):
        train = write_pairs(folder, name, reversal_pairs(30, index))
        results.append(tiny_config(data_train=[train]))
    with on(WatchedDisk()):
        for config, place in zip(results, ("with", "alone"), strict=True):
            prepare(config, folder / place / "corpus", workers=1)
    (folder / "without").mkdir()
    old, new = (Corpus.open(folder / name / "corpus").digest for name in ("with", "alone"))
    assert old != new
    return Texts(results[1], folder, old, new, {})


def preparing(texts: Texts, tmp_path: Path, before: str) -> Scene:
    """`prepare --force`: into nothing, or in the place of the corpus of another text."""

    def work(directory: Path) -> None:
        prepare(texts.config, directory / "corpus", force=True, workers=1)

    def outcome(directory: Path) -> object:
        if before == "with" or (directory / "corpus").exists():
            assert Corpus.open(directory / "corpus").digest in (texts.old, texts.new)
        work(directory)
        return on_disk(directory)

    def is_new(directory: Path) -> bool:
        return Corpus.open(directory / "corpus").digest == texts.new

    seen = texts.seen if before == "with" else {}
    return Scene(tmp_path, texts.folder / before, work, outcome, is_new, seen)


@pytest.mark.slow
@fault("C1", "P9")
def test_prepare_killed_in_any_disk_operation(texts, tmp_path, checks) -> None:
    preparing(texts, tmp_path, "with").killed_anywhere(checks)


@pytest.mark.slow
@pytest.mark.parametrize("before", ["without", "with"])
@fault("C2")
def test_prepare_with_power_loss_at_any_operation(texts, before, tmp_path, checks) -> None:
    preparing(texts, tmp_path, before).without_power(checks)


@pytest.mark.slow
@fault("C3")
def test_prepare_on_a_failing_disk(texts, tmp_path, checks) -> None:
    scene = preparing(texts, tmp_path, "with")
    ended = scene.failing_anywhere(checks, FULL)
    # What fails after all is done, or while something of no use is removed, is no error.
    assert len(ended) > len(scene.log) / 2


@pytest.fixture(scope="module")
def trained(setting, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("average") / "model"
    with pytest.MonkeyPatch.context() as patch:
        settle_order(patch)
        go(setting, out)
    return out


def averaging(trained: Path, tmp_path: Path) -> Scene:
    """`average --force` in the place of another model."""
    members = sorted((trained / "checkpoints").glob("step-*[0-9]"))
    assert len(members) == 2
    before = tmp_path / "before"
    average(members[:1], before / "mean")

    def weights(directory: Path) -> str:
        model = load_model(directory / "mean").model
        return repr({name: weight.tolist() for name, weight in model.named_parameters()})

    def work(directory: Path) -> None:
        average(members, directory / "mean", force=True)

    def outcome(directory: Path) -> object:
        assert weights(directory) in (old, new)
        work(directory)
        assert [path.name for path in directory.iterdir()] == ["mean"]
        return weights(directory)

    old = weights(before)
    average(members, tmp_path / "new" / "mean")
    new = weights(tmp_path / "new")
    assert old != new
    return Scene(tmp_path, before, work, outcome, lambda directory: weights(directory) == new)


@pytest.mark.slow
@fault("C1", "C14")
def test_average_killed_in_any_disk_operation(trained, tmp_path, checks) -> None:
    averaging(trained, tmp_path).killed_anywhere(checks)


@pytest.mark.slow
@fault("C2")
def test_average_with_power_loss_at_any_operation(trained, tmp_path, checks) -> None:
    averaging(trained, tmp_path).without_power(checks)


@fault("C3")
def test_average_on_a_failing_disk(trained, tmp_path, checks) -> None:
    averaging(trained, tmp_path).failing_anywhere(checks, FULL)


class NoExchange(Disk):
    """A file system, or another kernel, on which two names cannot be exchanged."""

    def exchange(self, first: Path, other: Path) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")


@fault("C1")
def test_replacing_directory_without_atomic_exchange(tmp_path, checks) -> None:
    """The old one is set aside for a moment; killed in it, the next run gives it its name back."""
    for died in (1, 2, 3):
        directory = tmp_path / str(died)
        directory.mkdir()
        replace_with(directory / "out", b"old", Disk())

        def work(directory: Path = directory, died: int = died) -> None:
            replace_with(directory / "out", b"new", DyingAtRename(died))

        assert fork(work) == -signal.SIGKILL
        assert (directory / "out").exists() == (died != 2)
        files.remove_abandoned(directory / "out")
        assert [path.name for path in directory.iterdir()] == ["out"]
        assert (directory / "out" / "x").read_bytes() == (b"new" if died == 3 else b"old")
        checks()


def replace_with(path: Path, content: bytes, disk: Disk) -> None:
    with on(disk), files.building(path) as folder:
        (folder / "x").write_bytes(content)


class DyingAtRename(Disk):
    """Where two names cannot be exchanged; the process is killed at rename `at`."""

    def __init__(self, at: int) -> None:
        self.left = at

    def exchange(self, first: Path, other: Path) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    def rename(self, old: Path, new: Path) -> None:
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        super().rename(old, new)
