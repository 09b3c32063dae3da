"""Tasks in several processes: the same results in the same order, and clear errors."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from nmt_cli.data import process_pool
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.errors import DataError


@pytest.fixture
def spread_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run one task in this process and all others in workers."""
    monkeypatch.setattr(process_pool, "ALONE_SECONDS", 0.0)


def square(number: int) -> tuple[int, int]:
    return number * number, os.getpid()


def refuse(number: int) -> int:
    if number == 3:
        raise DataError("three is not wanted", "use four")
    return number


def die(number: int) -> int:
    if multiprocessing.parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_map_returns_results_of_several_processes_in_order(spread_at_once):
    with ProcessPool(2) as workers:
        results = list(workers.map(square, range(40)))
        # The processes are kept for the next call.
        later = list(workers.map(square, range(10)))
    assert [value for value, _ in results] == [index * index for index in range(40)]
    assert len({process for _, process in results} - {os.getpid()}) in (1, 2)
    assert {process for _, process in later} <= {process for _, process in results}


def test_one_worker_or_little_work_starts_no_process():
    for workers in (1, 4):
        with ProcessPool(workers) as few:
            assert {process for _, process in few.map(square, range(9))} == {os.getpid()}


def test_workers_do_not_run_the_script_again(tmp_path):
    """A script that prepares text needs no `if __name__ == "__main__":`."""
    script = tmp_path / "script.py"
    script.write_text(
        "from nmt_cli.data import process_pool\n"
        "print('script')\n"
        "process_pool.ALONE_SECONDS = 0.0\n"
        "with process_pool.ProcessPool(2) as pool:\n"
        "    print(list(pool.map(abs, [-1, -2, -3])))\n"
    )
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr) == ("script\n[1, 2, 3]\n", "")


def test_map_takes_tasks_as_needed(spread_at_once):
    taken = 0

    def tasks() -> Iterator[int]:
        nonlocal taken
        for index in range(1_000):
            taken += 1
            yield index

    with ProcessPool(2) as workers:
        results = workers.map(square, tasks())
        for _ in range(5):
            next(results)
        assert taken <= 5 + 2 * 2 + 1
        results.close()  # type: ignore[attr-defined]


def test_error_in_a_worker_keeps_its_hint(spread_at_once):
    with ProcessPool(2) as workers, pytest.raises(DataError, match="three is not wanted") as caught:
        list(workers.map(refuse, range(9)))
    assert caught.value.hint == "use four"
