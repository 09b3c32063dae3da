"""Directories are held by one process at a time."""

import contextlib
import errno
import fcntl
import multiprocessing
import os
from pathlib import Path
from typing import TextIO

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


class TestOnlyWriter:
    def test_lock_that_a_killed_process_left_is_taken_over_and_removed(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / ".tmp-out.lock").write_text("process 1 on host since 2001")
        with locks.only_writer(tmp_path / "out", "nmt prepare"):
            assert f"process {os.getpid()} on " in (tmp_path / ".tmp-out.lock").read_text()
        assert list(tmp_path.iterdir()) == []

    def test_lock_that_its_holder_removed_since_it_was_opened_is_not_used(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two processes could hold one lock each, of the same name, otherwise."""
        lock = tmp_path / ".tmp-out.lock"
        flock = fcntl.flock
        locked_files = []

        def remove_at_first(file: TextIO, how: int) -> None:
            flock(file, how)
            locked_files.append(file)
            if len(locked_files) == 1:
                lock.unlink()

        monkeypatch.setattr(fcntl, "flock", remove_at_first)
        with locks.only_writer(tmp_path / "out", "nmt prepare"):
            assert f"process {os.getpid()} on " in lock.read_text()
        assert len(locked_files) == 2
        assert locked_files[0].closed

    def test_folder_without_locks_is_written_without_one(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

        monkeypatch.setattr(fcntl, "flock", refuse)
        with locks.only_writer(tmp_path / "out", "nmt prepare"):
            pass
        with locks.only_writer(tmp_path / "none" / "out", "nmt prepare"):
            pass
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(("name", "is_beside"), [("out", True), ("none/out", False)])
    def test_it_says_whether_the_lock_is_beside_the_path(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_beside: bool
    ) -> None:
        monkeypatch.chdir(tmp_path)
        for path in (Path(name), tmp_path / name):
            with locks.only_writer(path, "nmt prepare") as answer:
                assert answer is is_beside
                assert len(list(tmp_path.iterdir())) == 1
        assert list(tmp_path.iterdir()) == []

    def test_two_paths_in_a_folder_that_does_not_exist_are_written_at_once(
        self, tmp_path: Path
    ) -> None:
        with (
            locks.only_writer(tmp_path / "none" / "a", "nmt prepare"),
            locks.only_writer(tmp_path / "none" / "b", "nmt prepare"),
            locks.only_writer(tmp_path / "none-a", "nmt prepare"),
            pytest.raises(TryAgainError, match=f"process {os.getpid()} on "),
            locks.only_writer(tmp_path / "none" / "a", "nmt prepare"),
        ):
            pytest.fail("two at once")
        assert list(tmp_path.iterdir()) == []

    def test_lock_is_released_by_an_error(self, tmp_path: Path) -> None:
        with contextlib.suppress(KeyError), locks.only_writer(tmp_path / "out", "nmt prepare"):
            raise KeyError
        with locks.only_writer(tmp_path / "out", "nmt prepare"):
            pass
        assert list(tmp_path.iterdir()) == []
