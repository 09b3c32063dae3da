"""Locks of directories."""

import contextlib
import multiprocessing
import os
from pathlib import Path

import pytest

from nmt_cli.errors import CannotCreateError, NmtError, TryAgainError
from nmt_cli.storage import locks


def _try_to_lock(directory: Path, answers: "multiprocessing.Queue[str]") -> None:
    try:
        with locks.locked(directory):
            answers.put("mine")
    except NmtError as error:
        answers.put(f"{type(error).__name__}: {error.message}")


class TestDirectoryLock:
    def test_locked_names_the_holder(self, tmp_path: Path) -> None:
        with (
            locks.locked(tmp_path),
            pytest.raises(TryAgainError) as caught,
            locks.locked(tmp_path),
        ):
            pytest.fail("two at once")
        assert f"process {os.getpid()} on " in caught.value.message

    def test_lock_is_released_when_the_holder_ends(self, tmp_path: Path) -> None:
        context = multiprocessing.get_context("spawn")
        answers: multiprocessing.Queue[str] = context.Queue()
        with locks.locked(tmp_path):
            child = context.Process(target=_try_to_lock, args=(tmp_path, answers))
            child.start()
            assert answers.get(timeout=60).startswith("TryAgainError")
            child.join()
        with locks.locked(tmp_path):
            pass

    def test_lock_file_does_not_keep_the_name_of_the_machine(self, tmp_path: Path) -> None:
        with contextlib.suppress(KeyError), locks.locked(tmp_path):
            assert os.uname().nodename in (tmp_path / locks.LOCK).read_text()
            raise KeyError
        assert (tmp_path / locks.LOCK).read_text() == ""

    def test_locked_refuses_missing_directory(self, tmp_path: Path) -> None:
        with pytest.raises(CannotCreateError), locks.locked(tmp_path / "none"):
            pass
