"""Whenever a process is killed that has started others, none of them is left behind."""

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest
from corpora import reversal_corpus
from faults.support.forked import become_nmt, ended, start
from faults.tally import fault
from processes import is_alive, wait_until

from nmt_cli import parent_watch
from nmt_cli.cli.commands.train import newest_step
from nmt_cli.config.schema import dump
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.training.parallel.ranks import launch

ROOT = Path(__file__).resolve().parents[3]
# In the environment of each process that one of the killed has started.
TOKEN = "NMT_TEST_TOKEN"
SEED = 20
LEFT_SECONDS = 5.0
# Started and killed at the same time: together they take as long to start as LEFT_SECONDS allows.
AT_A_TIME = 5


def processes_of(token: str) -> list[int]:
    """The processes with this token in their environment that run."""
    counts = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"{TOKEN}={token}\0".encode() in path.read_bytes() and is_alive(
                int(path.parent.name)
            ):
                counts.append(int(path.parent.name))
    return counts


def count_left(token: str) -> int:
    """How many processes with this token there still are LEFT_SECONDS from now; these end here."""
    deadline = time.monotonic() + LEFT_SECONDS
    while time.monotonic() < deadline and processes_of(token):
        time.sleep(0.1)
    # One that was just being started had no environment to look at.
    time.sleep(0.2)
    left = processes_of(token)
    for process in left:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return len(left)


def kill_at_random(work: Callable[[], object], moments: Sequence[float]) -> list[tuple[int, int]]:
    """Kill a process that does `work` so many seconds after its start, once for each moment.

    Every second time they count from when it has started another one: on a busy machine that may
    take longer than all moments. How many processes it had then, and how many of them were left
    after LEFT_SECONDS.
    """

    def begin(token: str) -> NoReturn:
        os.environ[TOKEN] = token
        os.environ["PYTHONPATH"] = str(ROOT)
        silence = os.open(os.devnull, os.O_RDWR)
        for number in (1, 2):
            os.dup2(silence, number)
        work()
        os._exit(0)

    def kill(number: int, process: int, token: str, moment: float) -> tuple[int, int]:
        if number % 2:
            wait_until(lambda: bool(processes_of(token)))
        time.sleep(moment)
        had = len(processes_of(token))
        os.kill(process, signal.SIGKILL)
        assert ended(process) == -signal.SIGKILL
        return had, count_left(token)

    counts: list[tuple[int, int]] = []
    for first in range(0, len(moments), AT_A_TIME):
        some = moments[first : first + AT_A_TIME]
        tokens = [uuid.uuid4().hex for _ in some]
        # Forked before there are threads.
        started = [start(lambda token=token: begin(token)) for token in tokens]
        with ThreadPoolExecutor(AT_A_TIME) as threads:
            counts += threads.map(kill, range(first, len(moments)), started, tokens, some)
    return counts


def assert_nothing_left(counts: list[tuple[int, int]], checks: Callable[..., None]) -> None:
    assert [left for _, left in counts] == [0] * len(counts)
    assert sum(had > 0 for had, _ in counts) >= len(counts) // 2, counts
    checks(len(counts))


@fault("S12")
@pytest.mark.slow
def test_no_rank_is_left_when_the_launcher_is_killed(tmp_path, checks):
    """The ranks are `nmt` commands that wait for ever and load no torch: cheap to start."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("a\n")
    waiting = ["score", str(tmp_path / "pipe"), str(tmp_path / "text")]
    chance = random.Random(SEED)
    moments = [chance.uniform(0.0, 3.0) for _ in range(20)]
    assert_nothing_left(kill_at_random(lambda: launch(2, waiting), moments), checks)


@fault("S12")
@pytest.mark.slow
def test_no_worker_is_left_when_the_main_process_is_killed(monkeypatch, checks):
    monkeypatch.setattr("nmt_cli.data.process_pool.ALONE_SECONDS", -1.0)

    def work() -> None:
        with ProcessPool(2) as pool:
            # The first task is done by the process itself.
            list(pool.map(time.sleep, [0.0, *[600.0] * 9]))

    chance = random.Random(SEED)
    moments = [chance.uniform(0.0, 2.0) for _ in range(10)]
    assert_nothing_left(kill_at_random(work, moments), checks)


@fault("S12")
def test_rank_without_launcher_does_not_begin():
    """The launcher died while the interpreter of the rank started."""

    def work() -> NoReturn:
        gone = start(lambda: os._exit(0))
        ended(gone)
        become_nmt(["--version"], (0, 1, 2), environ={parent_watch.PARENT: str(gone)})

    assert ended(start(work)) == parent_watch.EXIT_CODE


@fault("S12")
@pytest.mark.parametrize("kernel", [True, False])
def test_rank_may_save_before_it_ends_without_launcher(tmp_path, kernel, monkeypatch):
    """It is told to end, does not, and is ended; with and without the signal of the kernel."""
    if not kernel:
        monkeypatch.setattr(parent_watch, "request_parent_death_signal", lambda signal_number: None)
    number, told = tmp_path / "number", tmp_path / "told"

    def rank() -> NoReturn:
        signal.signal(signal.SIGTERM, lambda *_: told.touch())
        parent_watch.end_with_parent(os.getppid())
        number.write_text(f"{os.getpid()}")
        while True:
            time.sleep(1)

    def launcher() -> NoReturn:
        start(rank)
        time.sleep(600)
        os._exit(0)

    process = start(launcher)
    wait_until(lambda: number.exists() and number.read_text() != "")
    child = int(number.read_text())
    time.sleep(2 * parent_watch.POLL_SECONDS)
    assert is_alive(child)
    assert not told.exists()
    os.kill(process, signal.SIGKILL)
    ended(process)
    try:
        wait_until(lambda: not is_alive(child), LEFT_SECONDS)
        assert told.exists()
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("left")
    config, _ = reversal_corpus(folder, train_micro_batch_tokens=75)
    (folder / "nmt.toml").write_text(dump(config))
    return folder


def kill_real(
    command: Sequence[str], folder: Path, come: Callable[[list[int]], bool]
) -> tuple[int, int]:
    """Kill a command when its processes are as `come` wants; how many there were, and were left."""
    token = uuid.uuid4().hex
    process = subprocess.Popen(
        [sys.executable, *command], cwd=folder, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env={**os.environ, TOKEN: token, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    others: list[int] = []

    def ready() -> bool:
        others[:] = [other for other in processes_of(token) if other != process.pid]
        assert process.poll() is None
        return come(others)

    try:
        wait_until(ready)
    finally:
        process.kill()
        process.wait()
        left = count_left(token)
    return len(others), left


@fault("S12")
@pytest.mark.slow
@pytest.mark.parametrize("moment", ["ranks start", "ranks train"])
def test_real_ranks_end_with_their_launcher(project, moment, tmp_path, checks):
    """When the first rank is seen, and in the midst of training, which is saved then."""
    command = [
        "-m", "nmt_cli", "train", "--gpus", "2", "--corpus", "corpus", "--out", str(tmp_path / "m"),
        "--max-steps", "1000000", "--set", "train.log_every=1",
        "--set", "train.checkpoint_every=1000000",
    ]  # fmt: skip
    log = tmp_path / "m" / "log.jsonl"
    had, left = kill_real(
        command, project, lambda others: bool(others) and (moment == "ranks start" or log.exists())
    )
    assert had > 0
    assert left == 0
    checks()
    if moment == "ranks train":
        assert newest_step(tmp_path / "m" / "checkpoints") > 0
        checks()


@fault("S12")
@pytest.mark.slow
def test_real_workers_end_with_nmt_prepare(project, tmp_path):
    begin = "import nmt_cli.data.process_pool as p, nmt_cli.cli as c; p.ALONE_SECONDS = -1; c.run()"
    # Enough text for several stretches.
    text, other = tmp_path / "text", tmp_path / "other"
    for path in (text, other):
        path.write_text("".join(f"a b c d {index}\n" for index in range(100_000)))
    command = [
        "-c", begin, "prepare", "--train", str(text), str(other), "--workers", "2",
        "--out", str(tmp_path / "corpus"),
    ]  # fmt: skip
    # The tracker of shared memory, and the workers.
    had, left = kill_real(command, project, lambda others: len(others) >= 2)
    assert had >= 2
    assert left == 0
