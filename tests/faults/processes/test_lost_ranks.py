"""A rank that dies, fails, hangs or is stopped is named; all end, and none is left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest
from corpora import reversal_corpus
from faults.support.forked import ended, start
from faults.tally import fault
from lanes import slow
from processes import is_alive, wait_until
from ranks import Outcome, free_port, in_ranks
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from nmt_cli.cli.commands.train import newest_step
from nmt_cli.config.schema import dump, with_values
from nmt_cli.errors import UnavailableError
from nmt_cli.training.loop import train
from nmt_cli.training.parallel import heartbeat
from nmt_cli.training.parallel.heartbeat import LostRankError
from nmt_cli.training.parallel.ranks import Ranks, exit_code_of, joined_ranks, launch
from nmt_cli.training.saving.checkpoints import Checkpoints


def messages(ranks: Ranks, count: int) -> None:
    """What a step does, seen from outside."""
    for step in range(1, count + 1):
        ranks.begin_step(step, [10 * step, 4])
        ranks.wait()


def assert_lost(ends: list[Outcome], guilty: int, message: str) -> None:
    """All others end as the consequence, and at least one of them says who is at fault."""
    errors = [end.error for rank, end in enumerate(ends) if rank != guilty]
    assert all(isinstance(error, LostRankError) for error in errors), errors
    assert any(message in str(error) for error in errors), errors


@fault("S6")
@pytest.mark.parametrize("killed", [slow(1), 2])
def test_a_killed_rank_is_named_with_its_step_and_pairs(killed):
    def work(ranks: Ranks) -> None:
        messages(ranks, 4)
        if ranks.rank == killed:
            os.kill(os.getpid(), signal.SIGKILL)
        messages(ranks, 5)

    ends = in_ranks(work, count=3)
    assert ends[killed] == (None, None, False)
    message = f"rank {killed} has sent no heartbeat since step 4, pairs 41, 5 of the corpus"
    assert_lost(ends, killed, message)


@fault("S6")
def test_slow_rank_names_the_lost_rank(monkeypatch):
    """Though the first rank, through which they all tell, knew it long before."""
    real = heartbeat.Heartbeat._lost_rank_error

    def slow(self: heartbeat.Heartbeat, reason: str) -> LostRankError:
        time.sleep(1.5)
        return real(self, reason)

    def work(ranks: Ranks) -> None:
        messages(ranks, 4)
        if ranks.rank == 1:
            raise UnavailableError("out of order")
        if ranks.rank == 2:
            monkeypatch.setattr(heartbeat.Heartbeat, "_lost_rank_error", slow)
        messages(ranks, 5)

    ends = in_ranks(work, count=3)
    for end in (ends[0], ends[2]):
        assert "rank 1 ended in step 4, pairs 41, 5 of the corpus: out of order" in str(end.error)


@fault("S6")
def test_all_ranks_end_when_the_first_rank_is_killed():
    def work(ranks: Ranks) -> None:
        messages(ranks, 4)
        if ranks.is_first:
            os.kill(os.getpid(), signal.SIGKILL)
        messages(ranks, 5)

    ends = in_ranks(work, count=3)
    assert ends[0] == (None, None, False)
    assert_lost(ends, 0, "")


@fault("S6")
@pytest.mark.parametrize(
    ("how", "message"),
    [("raises", "no such thing"), ("leaves with 0", "0"), ("is done", "it was done")],
)
def test_rank_that_raises_is_named_with_its_error(how, message):
    def work(ranks: Ranks) -> None:
        messages(ranks, 2)
        if ranks.rank == 1:
            if how == "raises":
                raise ValueError("no such thing")
            if how == "leaves with 0":
                sys.exit(0)
            # As joined() does at its end; taking the group down would wait.
            ranks.heartbeat.announce_end()
            os._exit(0)
        messages(ranks, 3)

    ends = in_ranks(work, count=3)
    position = "rank 1 ended in step 2, pairs 21, 5 of the corpus"
    assert_lost(ends, 1, f"{position}: {message}")


@fault("S6")
def test_the_steps_before_a_rank_was_lost_are_saved(tmp_path: Path, monkeypatch):
    config, corpus = reversal_corpus(tmp_path, pairs=60)
    config = with_values(
        config, {"train.checkpoint_every": 100, "train.log_every": 1, "train.batch_tokens": 100}
    )
    real = Ranks.begin_step

    def begin_step(ranks: Ranks, step: int, pairs) -> None:
        real(ranks, step, pairs)
        if step == 4 and ranks.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(Ranks, "begin_step", begin_step)

    def work(ranks: Ranks) -> None:
        for _ in train(config, corpus, tmp_path / "model", ranks):
            pass

    first, _ = in_ranks(work)
    assert isinstance(first.error, LostRankError)
    assert "rank 1 has sent no heartbeat since step 4, pairs" in str(first.error)
    (saved,) = Checkpoints(tmp_path / "model" / "checkpoints", 5, 1).all()
    assert saved.step == 3
    assert not saved.state().member


@fault("S6")
@pytest.mark.parametrize(
    ("codes", "times", "expected"),
    [
        ({0: 1, 1: 73}, {0: 5, 1: 5}, 73),
        ({0: 73, 1: -signal.SIGTERM}, {0: 5, 1: 4}, 73),
        ({0: 1, 1: -signal.SIGKILL}, {0: 5, 1: 35}, 1),
        ({0: 143, 1: 143}, {0: 5, 1: 5}, 143),
    ],
)
def test_exit_code_is_that_of_the_first_failing_rank(codes, times, expected):
    assert exit_code_of(codes, times) == expected


@fault("S6")
def test_rank_killed_by_signal_gives_the_shells_exit_code():
    with pytest.raises(LostRankError, match="rank 2 was killed by SIGKILL") as raised:
        exit_code_of({0: 1, 2: -signal.SIGKILL, 1: -signal.SIGTERM}, {0: 5, 1: 5, 2: 6})
    assert raised.value.exit_code == 137


@pytest.mark.slow
@fault("S7")
def test_hanging_rank_is_named_and_all_ranks_end():
    """Rank 1 lives, but never comes to the message that rank 0 waits for."""

    def work(ranks: Ranks) -> None:
        messages(ranks, 4 - ranks.rank)
        time.sleep(600)

    first, second = in_ranks(work, timeout=1.0)
    assert first.gave_up
    assert isinstance(first.error, LostRankError)
    assert "rank 1 hangs in step 3, pairs 31, 5 of the corpus" in str(first.error)
    assert "no answer for 1 second" in str(first.error)
    assert second.gave_up
    assert isinstance(second.error, UnavailableError)
    assert "rank 1 hangs in step 3" in str(second.error)


@pytest.mark.slow
@fault("S7")
def test_hanging_rank_prints_its_stack(capfd):
    def work(ranks: Ranks) -> None:
        messages(ranks, 4 - ranks.rank)
        in_a_call_that_never_ends()

    def in_a_call_that_never_ends() -> None:
        time.sleep(600)

    in_ranks(work, timeout=1.0)
    assert "in_a_call_that_never_ends" in capfd.readouterr().err


@pytest.mark.slow
@fault("S7")
def test_stopped_rank_is_detected_before_the_timeout(monkeypatch):
    monkeypatch.setattr(heartbeat, "SILENT_SECONDS", 3.0)

    def work(ranks: Ranks) -> None:
        messages(ranks, 3)
        if ranks.rank == 1:
            own = os.getpid()
            subprocess.Popen(["bash", "-c", f"exec >&-; sleep 14; kill -9 {own}"], close_fds=True)
            os.kill(own, signal.SIGSTOP)
        messages(ranks, 4)

    ends = in_ranks(work, count=3, timeout=1_000.0)
    assert [ends[rank].gave_up for rank in (0, 2)] == [True, True]
    assert_lost(ends, 1, "rank 1 has sent no heartbeat since step 3, pairs 31, 5 of the corpus")


@fault("S7")
def test_stopped_rank_is_detected_within_half_a_minute():
    """What the silence, the looks at it, the second look and the farewell take."""
    beats = (
        heartbeat.BEATS_BETWEEN_READS + heartbeat.SILENT_BEATS + heartbeat.BEATS_BETWEEN_READS + 1
    )
    assert heartbeat.SILENT_SECONDS + beats * heartbeat.BEAT_SECONDS <= 30


@fault("S7")
def test_long_work_of_the_first_rank_is_not_a_hang(monkeypatch):
    """The others wait for longer than the timeout, but never long for one message."""
    monkeypatch.setattr("nmt_cli.training.parallel.ranks.POLL_SECONDS", 0.2)

    def work(ranks: Ranks) -> int:
        def long(poll) -> None:
            for _ in range(30):
                time.sleep(0.1)
                assert not poll()

        assert not ranks.run_on_first(long, lambda: False)
        ranks.wait()
        return ranks.heartbeat.status.collectives_started

    first, second = in_ranks(work, timeout=1.0)
    assert first.error is None
    assert second.error is None
    assert first.result == second.result > 5


@fault("S10")
def test_ranks_whose_parent_was_killed_end(tmp_path):
    """The launcher, or the shell that it was started from, is gone from one moment to the next."""
    port = free_port()

    def rank(number: int) -> NoReturn:
        os.environ.update(
            RANK=str(number), LOCAL_RANK=str(number), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
            MASTER_PORT=str(port),
        )  # fmt: skip
        with joined_ranks():
            (tmp_path / f"{number}").write_text(f"{os.getpid()}")
            time.sleep(600)
        os._exit(0)

    def parent() -> NoReturn:
        for number in range(2):
            start(lambda number=number: rank(number))
        time.sleep(600)
        os._exit(0)

    process = start(parent)
    places = [tmp_path / "0", tmp_path / "1"]
    wait_until(lambda: all(path.exists() and path.read_text() for path in places))
    os.kill(process, signal.SIGKILL)
    assert ended(process) == -signal.SIGKILL
    ranks = [int(path.read_text()) for path in places]
    try:
        wait_until(lambda: not any(map(is_alive, ranks)), 20)
    finally:
        for process in filter(is_alive, ranks):
            os.kill(process, signal.SIGKILL)


@pytest.fixture
def killed_each_time(monkeypatch) -> list[str]:
    """A launcher whose second rank is killed at each start; the starts."""
    starts: list[str] = []

    class Launch:
        def __init__(self, settings, *_):
            starts.append(settings.run_id)

        def __call__(self, *_):
            failures = {
                0: SimpleNamespace(exitcode=1, timestamp=5),
                1: SimpleNamespace(exitcode=-signal.SIGKILL, timestamp=5),
            }
            error = ChildFailedError.__new__(ChildFailedError)
            error.failures = failures
            raise error

    monkeypatch.setattr("torch.distributed.launcher.api.elastic_launch", Launch)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "300")
    return starts


@fault("S11")
@pytest.mark.parametrize("restarts", [0, 1, 3])
def test_restarts_end_when_ranks_are_killed_repeatedly(killed_each_time, restarts):
    messages: list[str] = []
    with pytest.raises(LostRankError, match="rank 1 was killed by SIGKILL") as raised:
        launch(2, [], restarts, lambda: 40, messages.append)
    assert raised.value.exit_code == 137
    # Each start is a group of its own.
    assert len(set(killed_each_time)) == len(killed_each_time) == 1 + restarts
    assert messages == [
        f"rank 1 was killed by SIGKILL: all start again after step 40 ({index} of {restarts})"
        for index in range(1, restarts + 1)
    ]


@fault("S11")
def test_new_checkpoint_resets_the_restart_count(killed_each_time):
    with pytest.raises(LostRankError):
        launch(2, [], 3, lambda: 10 * min(len(killed_each_time), 4))
    assert len(killed_each_time) == 1 + 4 + 2


@fault("S11")
def test_newest_step_is_the_last_complete_checkpoint(tmp_path):
    assert newest_step(tmp_path / "none") == 0
    config, corpus = reversal_corpus(tmp_path, pairs=60)
    out = tmp_path / "model"
    list(train(with_values(config, {"train.max_steps": 10}), corpus, out))
    (out / "checkpoints/step-000000015").mkdir()
    assert newest_step(out / "checkpoints") == 10


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    # Four shards a step: two for each of two ranks.
    config, _ = reversal_corpus(folder, train_micro_batch_tokens=75, train_max_steps=10)
    (folder / "nmt.toml").write_text(dump(config))
    return folder


@contextmanager
def endless_training(project: Path, out: Path) -> Iterator[subprocess.Popen]:
    """`nmt train --gpus 2` after its first report."""
    command = [
        sys.executable, "-m", "nmt_cli", "train", "--config", str(project / "nmt.toml"),
        "--corpus", str(project / "corpus"), "--out", str(out), "--quiet", "--gpus", "2",
        "--max-steps", "1000000", "--set", "train.log_every=1",
        "--set", "train.checkpoint_every=1000000", "--set", "train.max_restarts=1",
    ]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    seen: set[int] = set()
    try:
        wait_until(lambda: process.poll() is None and (out / "log.jsonl").is_file(), 120)
        yield process
    finally:
        seen |= set(children(process.pid))
        process.kill()
        for child in seen:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        process.communicate()


def children(process: int) -> list[int]:
    with suppress(OSError):
        path = Path(f"/proc/{process}/task/{process}/children")
        return [int(word) for word in path.read_text().split()]
    return []


def last_step(out: Path) -> int:
    """The step that the log tells of last."""
    lines = (out / "log.jsonl").read_text().splitlines()
    return json.loads(lines[-1])["step"] if lines else 0


def rank_of(process: int) -> int | None:
    with suppress(OSError):
        variables = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
        return next(
            (int(variable[5:]) for variable in variables if variable.startswith(b"RANK=")), None
        )
    return None


@fault("S6", "S11")
@pytest.mark.slow
def test_killed_ranks_restart_and_leave_no_process(project, tmp_path, checks):
    """The real command: what was done is saved, the group goes on from there, a signal ends it."""
    out = tmp_path / "model"
    with endless_training(project, out) as process:
        first = {rank_of(child): child for child in children(process.pid)}
        os.kill(first[1], signal.SIGKILL)
        wait_until(lambda: not any(map(is_alive, first.values())))
        reached = newest_step(out / "checkpoints")
        assert reached > 0
        checks()
        wait_until(lambda: process.poll() is not None or last_step(out) > reached, 120)
        second = {rank_of(child): child for child in children(process.pid)}
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=100)
        assert process.returncode == 143
        assert "rank 1 was killed by SIGKILL: all start again after step" in err
        assert "rank 1 has sent no heartbeat since step" in err
        checks()
        assert not any(map(is_alive, second.values()))
        checks()
    assert newest_step(out / "checkpoints") > reached
    checks()
