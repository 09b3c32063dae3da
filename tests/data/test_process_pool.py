"""Work spread over processes: same results, same order, clear errors."""

import multiprocessing
import os
import signal
from collections.abc import Iterator

import pytest

from nmt_cli.data import process_pool
from nmt_cli.data.process_pool import ProcessPool
from nmt_cli.errors import DataError


@pytest.fixture
def spread_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One task is done here, all others by other processes."""
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


def test_results_come_in_the_order_of_the_tasks_from_several_processes(spread_at_once):
    with ProcessPool(2) as workers:
        results = list(workers.map(square, range(40)))
        # The processes are kept for the next work.
        later = list(workers.map(square, range(10)))
    assert [value for value, _ in results] == [number * number for number in range(40)]
    assert len({process for _, process in results} - {os.getpid()}) in (1, 2)
    assert {process for _, process in later} <= {process for _, process in results}


def test_one_worker_and_little_work_need_no_other_process():
    for workers in (1, 4):
        with ProcessPool(workers) as few:
            assert {process for _, process in few.map(square, range(9))} == {os.getpid()}


def test_tasks_are_taken_as_they_are_needed(spread_at_once):
    taken = 0

    def tasks() -> Iterator[int]:
        nonlocal taken
        for number in range(1_000):
            taken += 1
            yield number

    with ProcessPool(2) as workers:
        results = workers.map(square, tasks())
        for _ in range(5):
            next(results)
        assert taken <= 5 + 2 * 2 + 1
        results.close()  # type: ignore[attr-defined]


def test_an_error_in_a_process_arrives_with_its_hint(spread_at_once):
    with ProcessPool(2) as workers, pytest.raises(DataError, match="three is not wanted") as caught:
        list(workers.map(refuse, range(9)))
    assert caught.value.hint == "use four"
