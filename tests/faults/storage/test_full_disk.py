"""Disks that are full or not to be written to, and directories that somebody else holds."""

import errno
import json
import os
import re
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from corpora import reversal_corpus
from faults.support.disks import FailingDisk, WatchedDisk, on
from faults.support.forked import start
from faults.support.sweeps import AtOnce, fork
from faults.tally import fault

from nmt_cli.cli import main
from nmt_cli.config.schema import Config, with_values
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.errors import CannotCreateError, NmtError, TryAgainError, WriteError
from nmt_cli.storage import files, locks
from nmt_cli.training.loop import train
from nmt_cli.training.saving import checkpoints as saving
from nmt_cli.training.saving.average import average
from nmt_cli.training.saving.checkpoints import Checkpoints

NOBODY = 65_534
root_only = pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")


@pytest.fixture(autouse=True)
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "ThreadPoolExecutor", AtOnce)


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Corpus]:
    return reversal_corpus(
        tmp_path_factory.mktemp("full"), pairs=60, model_d_model=8, model_d_ff=8,
        train_checkpoint_every=2, train_validate_every=100, train_log_every=1, train_keep_last=3,
        train_max_steps=12, train_validation_sentences=0,
    )  # fmt: skip


class FullBetween(WatchedDisk):
    """No space from one step of a run to another; `step` is told from outside."""

    def __init__(self, first: int, last: int, error_number: int) -> None:
        super().__init__()
        self.step = 0
        self.range = range(first, last + 1)
        self.number = error_number

    def before(self, name: str, arguments: tuple[object, ...]) -> None:
        if self.step in self.range and name in FailingDisk.TAKES_SPACE:
            raise OSError(self.number, os.strerror(self.number))


def go(setting: tuple[Config, Corpus], out: Path, disk: WatchedDisk | None = None) -> list[str]:
    """Train to the end; the notes."""
    config, corpus = setting
    notes = []
    disk = disk or WatchedDisk()
    with on(disk):
        for report in train(config, corpus, out):
            disk.step = report.step + 1
            notes += [report.note] * bool(report.note)
    return notes


def weights(out: Path) -> list[bytes]:
    last = out / "checkpoints" / "step-000000012"
    return [
        (last / "weights.safetensors").read_bytes(),
        (last.with_name(f"{last.name}.optimizer") / "optimizer.safetensors").read_bytes(),
    ]


def losses(out: Path) -> list[tuple[int, float]]:
    records = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [(record["step"], record["loss"]) for record in records if record["tokens"]]


@fault("C3")
@pytest.mark.parametrize("error_number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_full_disk_for_two_saves_is_survived(error_number, setting, tmp_path) -> None:
    """The run goes on, says so with the numbers, makes room, and is the same run in the end."""
    go(setting, tmp_path / "straight")
    notes = go(setting, tmp_path / "full", FullBetween(6, 9, error_number))
    failures = [note for note in notes if "a checkpoint is not written" in note]
    pattern = (
        rf"step-000000006.*{os.strerror(error_number)} \(0.0 MB are needed, [\d,.]+ MB are free\)"
    )
    assert re.search(pattern, failures[0])
    assert len(failures) == 2
    assert "training continues and the next save tries again" in failures[1]
    assert sum("the log is not written" in note for note in notes) == 1
    assert weights(tmp_path / "full") == weights(tmp_path / "straight")
    assert losses(tmp_path / "full") == losses(tmp_path / "straight")
    assert not list((tmp_path / "full").rglob(".tmp-*"))


@fault("C3")
def test_old_checkpoints_are_removed_before_the_next_save(setting, tmp_path, monkeypatch) -> None:
    """The oldest goes first; what a run goes on from stays."""
    kept = []
    real = Checkpoints._write

    def look(self: Checkpoints, snapshot: saving.Snapshot) -> None:
        try:
            real(self, snapshot)
        finally:
            kept.append([checkpoint.step for checkpoint in self._complete()])

    monkeypatch.setattr(Checkpoints, "_write", look)
    go(setting, tmp_path / "full", FullBetween(8, 11, errno.ENOSPC))
    assert kept == [[2], [2, 4], [2, 4, 6], [2, 4, 6], [4, 6], [4, 6, 12]]


@fault("C3")
def test_failed_save_repeated_at_interruption_counts_in_averages(setting, tmp_path) -> None:
    """Step 6 fails, the run is closed and there is room again: it is saved as if at once."""
    config, corpus = setting
    out = tmp_path / "full"
    with on(FullBetween(6, 6, errno.ENOSPC)) as disk:
        run = train(config, corpus, out)
        for report in run:
            disk.step = report.step + 1
            if report.step == 6:
                break
        run.close()
    assert [checkpoint.step for checkpoint in Checkpoints(out / "checkpoints", 3, 1).members()] == [
        2,
        4,
        6,
    ]


@fault("C3")
def test_third_write_failure_in_a_row_ends_the_run(setting, tmp_path) -> None:
    with pytest.raises(
        WriteError, match=r"not written: .*No space left.*3rd time in a row"
    ) as caught:
        go(setting, tmp_path / "full", FullBetween(5, 99, errno.ENOSPC))
    assert caught.value.exit_code == 74
    assert [
        checkpoint.step for checkpoint in Checkpoints(tmp_path / "full/checkpoints", 3, 1).all()
    ] == [2, 4]
    go(setting, tmp_path / "full")
    go(setting, tmp_path / "straight")
    assert weights(tmp_path / "full") == weights(tmp_path / "straight")
    assert losses(tmp_path / "full") == losses(tmp_path / "straight")


@fault("C3")
def test_run_that_cannot_save_its_last_checkpoint_fails(setting, tmp_path) -> None:
    with pytest.raises(WriteError, match=r"a checkpoint is not written.*No space left"):
        go(setting, tmp_path / "full", FullBetween(11, 99, errno.ENOSPC))
    go(setting, tmp_path / "full")
    go(setting, tmp_path / "straight")
    assert weights(tmp_path / "full") == weights(tmp_path / "straight")


@fault("C3")
def test_interrupted_run_that_cannot_save_reports_it(setting, tmp_path) -> None:
    """Told to stop after step 5, which only this save would keep."""
    config, corpus = setting
    steps = iter(range(99))
    disk = WatchedDisk()

    def run() -> None:
        for report in train(config, corpus, tmp_path / "m", stop=lambda: next(steps) >= 5):
            if report.step == 5:
                full = FullBetween(5, 5, errno.ENOSPC)
                full.step = 5
                files.DISK = full

    with pytest.raises(WriteError, match="step-000000005"), on(disk):
        run()


@fault("C5")
def test_write_error_quotes_the_error_of_the_system(setting, tmp_path, checks) -> None:
    """A real limit on the size of files: checkpoints are the first to exceed it."""
    config, corpus = setting
    told = tmp_path / "told"
    go((with_values(config, {"train.max_steps": 1}), corpus), tmp_path / "m")
    for limit in (18_000, 7_900):

        def work(limit: int = limit) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            try:
                for report in train(config, corpus, tmp_path / "m"):
                    files.append_line(told, report.note)
            except WriteError as error:
                files.append_line(told, error.message)

        assert fork(work) == 0
        text = told.read_text()
        assert text.count("File too large") == 3
        assert "3rd time in a row" in text
        for leak in ("enforce fail", "Error(", "Traceback", "unexpected pos", "safetensors_rust"):
            assert leak not in text
        told.unlink()
        checks()


@fault("C4")
@pytest.mark.parametrize("free", [0, 1_000_000, 1_040_000])
def test_train_refuses_to_begin_on_a_full_disk(free, setting, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    with pytest.raises(
        CannotCreateError, match=r"MB are free, .* four checkpoints .* take 1.[01] MB"
    ):
        go(setting, tmp_path / "m")
    assert CannotCreateError.exit_code == 73
    assert not (tmp_path / "m").exists()


@fault("C4")
def test_resumed_run_needs_less_disk_space(setting, tmp_path, monkeypatch) -> None:
    """What four checkpoints and two models of this size need, less what is there."""
    go(setting, tmp_path / "m")
    with monkeypatch.context() as patch:
        asked = []
        patch.setattr(shutil, "disk_usage", lambda path: asked.append(path) or _least(setting))
        more = with_values(setting[0], {"train.max_steps": 13}), setting[1]
        go(more, tmp_path / "m")
    assert asked[0] == tmp_path / "m"


def _least(setting: tuple[Config, Corpus]) -> SimpleNamespace:
    """One byte less than a beginning needs."""
    from nmt_cli.model.kinds import make_model
    from nmt_cli.training.setup import complete

    model = make_model(complete(*setting).model)
    weights = 4 * sum(parameter.numel() for parameter in model.parameters())
    return SimpleNamespace(free=14 * weights + 1_000_000 - 1)


@pytest.fixture
def shared(setting: tuple[Config, Corpus]) -> Iterator[Path]:
    """A folder that everybody may enter, with a model and a corpus that root made."""
    with tempfile.TemporaryDirectory(prefix="nmt-shared-") as name:
        path = Path(name)
        path.chmod(0o777)
        yield path


def as_nobody(work: Callable[[], object], report: Path) -> NmtError | None:
    """Do `work` as another user; the error it ended with."""

    def do() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        try:
            work()
        except NmtError as error:
            report.write_text(json.dumps([type(error).__name__, error.exit_code, error.message]))

    report.write_text("null")
    report.chmod(0o666)
    assert fork(do) == 0
    return json.loads(report.read_text())


@root_only
@fault("C11")
@pytest.mark.parametrize("mode", [0o555, 0o666, 0o700])
def test_unwritable_output_directory_is_refused(mode, setting, shared, checks, monkeypatch) -> None:
    """Read-only, without the x permission, somebody else's: told before anything is read."""
    config, _ = setting
    report = shared / "told"
    report.touch()
    (shared / "mine").mkdir()
    (shared / "mine").chmod(mode)
    out = shared / "mine" / "out"

    def unread(*_: object) -> None:
        raise AssertionError("the data is read first")

    for module in ("data.preparation.prepare.fingerprint", "training.saving.average.load_model"):
        monkeypatch.setattr(f"nmt_cli.{module}", unread)
    local = with_values(config, {"data.train": [["/dev/null", "/dev/zero"]], "data.valid": []})
    works = {
        "prepare": lambda: prepare(local, out, workers=1),
        "average": lambda: average([shared], out),
        "train": lambda: files.require_creatable(out / "log.jsonl"),
    }
    for name, work in works.items():
        assert as_nobody(work, report) == [
            "CannotCreateError", 73, f"`{out / 'log.jsonl' if name == 'train' else out}` cannot be "
            f"created: `{shared / 'mine'}` may not be written by this user",
        ]  # fmt: skip
        checks()


@root_only
@fault("C11")
def test_model_directory_of_another_user_is_refused(shared) -> None:
    (shared / "model").mkdir(mode=0o755)
    report = shared / "told"
    report.touch()

    def hold() -> None:
        with locks.locked(shared / "model"):
            pass

    name, code, message = as_nobody(hold, report)
    assert (name, code) == ("CannotCreateError", 73)
    assert message == f"`{shared / 'model'}` cannot be written: Permission denied"


@fault("C11")
def test_train_checks_output_directory_before_loading(
    setting, tmp_path, monkeypatch, capsys
) -> None:
    from nmt_cli.cli.commands import train as command

    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(command, "be_rank", lambda *_, **__: pytest.fail("it began"))
    assert main(["train", "--out", "file/model"]) == CannotCreateError.exit_code
    assert "file` is not a directory" in capsys.readouterr().err


def holding(directory: Path, ready: Path) -> Callable[[], None]:
    """Hold a directory for ever."""

    def work() -> None:
        with locks.locked(directory):
            ready.write_text("")
            time.sleep(600)

    return work


@fault("C12")
def test_lock_error_names_the_holding_process(tmp_path, checks) -> None:
    """Ten times: the holder is killed, nothing stale is left, and the next one gets in at once."""
    for index in range(10):
        ready = tmp_path / f"ready-{index}"
        process = start(holding(tmp_path, ready))
        while not ready.exists():
            time.sleep(0.01)
        with pytest.raises(TryAgainError) as caught, locks.locked(tmp_path):
            pytest.fail("two at once")
        pattern = rf"in use by process {process} on {re.escape(os.uname().nodename)} since 20\d\d-"
        assert re.search(pattern, caught.value.message)
        assert caught.value.exit_code == 75
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        with locks.locked(tmp_path):
            pass
        checks()


@fault("C12")
def test_second_run_in_locked_directory_changes_nothing(setting, tmp_path) -> None:
    """Not the settings either, which may be others."""
    config, corpus = setting
    first = train(config, corpus, tmp_path / "m")
    next(first)
    before = (tmp_path / "m" / "config.toml").read_bytes()
    other = with_values(config, {"train.max_steps": 99})
    with pytest.raises(TryAgainError, match="in use by process"):
        next(train(other, corpus, tmp_path / "m"))
    assert (tmp_path / "m" / "config.toml").read_bytes() == before
    first.close()


@fault("C12")
def test_file_system_without_locks_is_reported(tmp_path, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(locks.fcntl, "flock", refuse)
    with (
        pytest.raises(CannotCreateError, match="cannot be locked: No locks available"),
        locks.locked(tmp_path),
    ):
        pass
