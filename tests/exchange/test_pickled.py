"""Pickled checkpoints are read without running code of them; hostile ones are refused."""

import argparse
import os
import time
import traceback
from pathlib import Path

import pytest
import torch
from faults.tally import fault
from pickles import hostile_checkpoints, saved

from nmt_cli.errors import DataError, NoInputError, WriteError
from nmt_cli.exchange.pickled import child, plain, reading
from nmt_cli.exchange.pickled.reading import read_checkpoint

NAMES = tuple(hostile_checkpoints(Path("mark")))
HARMLESS = "counter"


def forked(path: Path, folder: Path, keys: tuple[str, ...]) -> int:
    """Run the code of the child in a copy of this process, which has loaded torch already."""
    process = os.fork()
    if not process:
        # A new process would have none of the files that are open here, which count.
        os.closerange(3, 4_096)
        try:
            os._exit(child.main([str(path), str(folder), *keys]))
        except BaseException:
            (folder / reading.STDERR).write_text(traceback.format_exc())
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not start Python for each file, and count to less."""
    monkeypatch.setattr(reading, "_run", forked)
    monkeypatch.setattr(plain, "MOST_VALUES", 20_000)


@fault("U15")
@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("name", [name for name in NAMES if name != HARMLESS])
def test_hostile_checkpoints_are_refused_and_run_no_code(name: str, tmp_path: Path) -> None:
    mark, path = tmp_path / "mark", tmp_path / "checkpoint.pt"
    data, words = hostile_checkpoints(mark)[name]
    path.write_bytes(data)
    with pytest.raises(DataError) as raised:
        read_checkpoint(path)
    assert raised.value.exit_code == 65
    assert words in f"{raised.value.message} {raised.value.hint}"
    assert len(raised.value.message) < 1_000
    # torch's own advice is to load the file without restrictions.
    assert "Weights only" not in raised.value.message
    assert not mark.exists()


def test_the_gadgets_would_run_code(tmp_path: Path) -> None:
    """The test above could not fail if they did not."""
    mark, path = tmp_path / "mark", tmp_path / "checkpoint.pt"
    hostile = hostile_checkpoints(mark)
    for name in ("os.system", "eval by REDUCE", "exec in settings", "oldest protocol"):
        path.write_bytes(hostile[name][0])
        if name == "oldest protocol":
            import pickle

            pickle.loads(path.read_bytes())
        else:
            torch.load(path, weights_only=False)
        assert mark.exists(), name
        mark.unlink()


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("legacy", [False, True])
def test_content_of_a_checkpoint_is_read(legacy: bool, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    shared = torch.randn(6, 2)
    content = {
        "args": argparse.Namespace(arch="transformer", inner=argparse.Namespace(lr=[0.5])),
        "model": {
            "a": shared, "tied": shared, "view": shared[1:3], "half": torch.ones(2).half(),
            "turned": shared.T, "count": torch.tensor(3),
        },
        "optimizer": {"state": torch.zeros(9)},
    }  # fmt: skip
    path.write_bytes(saved(content, legacy=legacy))
    result = read_checkpoint(path, ("model", "args", "cfg"))
    assert result.values["args"] == {"arch": "transformer", "inner": {"lr": [0.5]}}
    assert set(result.values) == {"args", "model"}
    weights = result.part("model")
    assert set(weights) == {"a", "tied", "view", "half", "turned"}
    for name, weight in weights.items():
        assert torch.equal(weight, content["model"][name]), name


def test_another_process_reads_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It imports nothing from the current directory, and its limits hold."""
    (tmp_path / "torch.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    Path("checkpoint.pt").write_bytes(saved({"w": torch.ones(2, 3)}))
    result = read_checkpoint(Path("checkpoint.pt"))
    assert result.tensors["w"].tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize("status", [-24, -9, -11, 1])
def test_a_process_that_ends_early_is_reported(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(path: Path, folder: Path, keys: tuple[str, ...]) -> int:
        (folder / reading.STDERR).write_text("the last words\n\n")
        return status

    monkeypatch.setattr(reading, "_run", end)
    (tmp_path / "a.pt").write_bytes(b"a")
    with pytest.raises(DataError, match="60 seconds" if status in (-24, -9) else "last words"):
        read_checkpoint(tmp_path / "a.pt")


@fault("U15")
def test_the_time_of_the_process_is_limited(tmp_path: Path) -> None:
    process = os.fork()
    if not process:
        child.CPU_SECONDS = 1  # of this process alone
        child.set_limits(10)
        while time.process_time() < 5:
            pass
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) in (-24, -9)


@pytest.mark.usefixtures("fast")
def test_a_full_disk_for_temporary_files_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.pt").write_bytes(saved({"w": torch.ones(2)}))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(child.safetensors.torch, "save_file", full)
    with pytest.raises(WriteError, match="No space left"):
        read_checkpoint(tmp_path / "a.pt")


def test_a_pipe_is_no_checkpoint(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.pt")
    with pytest.raises(NoInputError, match="not a regular file"):
        read_checkpoint(tmp_path / "a.pt")
