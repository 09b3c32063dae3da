"""Nothing appears under its name half-written; damage is seen; directories are held by one."""

import contextlib
import errno
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli import files
from nmt_cli.errors import (
    CannotCreateError,
    DataError,
    NmtError,
    NoInputError,
    TryAgainError,
    WriteError,
)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


class Crash(BaseException):
    """Stands for the end of the process: nothing in the library may catch and continue."""


def crashing_at(step: int, calls: list[str]) -> Callable[[str, Callable[..., Any]], Any]:
    """Wrap system calls so that the call number `step` ends the process."""

    def wrap(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            calls.append(name)
            if len(calls) == step + 1:
                raise Crash(name)
            return real(*arguments)

        return call

    return wrap


@contextlib.contextmanager
def crash_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """End the process at one of the calls that change the disk; the rest runs on as after kill."""
    calls: list[str] = []
    wrap = crashing_at(step, calls)
    with monkeypatch.context() as patch:
        for owner, name in ((Path, "replace"), (Path, "rename"), (os, "fsync")):
            patch.setattr(owner, name, wrap(name, getattr(owner, name)))
        # A killed process tidies nothing up.
        patch.setattr(Path, "unlink", lambda self, missing_ok=False: None)
        with contextlib.suppress(Crash):
            yield calls


class TestWriting:
    def test_a_file_appears_whole(self, tmp_path: Path) -> None:
        path = tmp_path / "out"
        with files.writing(path) as file:
            file.write(b"one")
            assert not path.exists()
        assert path.read_bytes() == b"one"
        assert names_in(tmp_path) == {"out"}

    def test_an_error_leaves_the_old_content_and_nothing_else(self, tmp_path: Path) -> None:
        path = tmp_path / "out"
        path.write_bytes(b"old")
        with contextlib.suppress(ZeroDivisionError), files.writing(path) as file:
            file.write(b"new")
            raise ZeroDivisionError
        assert path.read_bytes() == b"old"
        assert names_in(tmp_path) == {"out"}

    def test_a_full_disk_is_said_with_the_name(self, tmp_path: Path) -> None:
        path = tmp_path / "out"
        with pytest.raises(WriteError, match="out") as caught, files.writing(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        assert "No space left" in caught.value.message
        assert names_in(tmp_path) == set()

    def test_the_data_are_on_disk_before_the_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with crash_at(99, monkeypatch) as calls:
            files.write_bytes(tmp_path / "out", b"x")
        assert calls == ["fsync", "replace", "fsync"]

    @pytest.mark.parametrize("step", range(3))
    def test_a_crash_anywhere_leaves_the_old_or_the_new(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
    ) -> None:
        path = tmp_path / "out"
        path.write_bytes(b"old")
        with crash_at(step, monkeypatch):
            files.write_bytes(path, b"new")
        assert path.read_bytes() == (b"new" if step == 2 else b"old")

    def test_a_directory_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(CannotCreateError, match="is a directory"), files.writing(tmp_path):
            pass

    def test_a_missing_folder_is_refused_before_work(self, tmp_path: Path) -> None:
        with (
            pytest.raises(CannotCreateError, match="No such file"),
            files.writing(tmp_path / "none" / "out"),
        ):
            pytest.fail("the block must not start")

    def test_a_pipe_is_written_to_and_not_replaced(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        files.write_bytes(pipe, b"through")
        assert os.read(reader, 99) == b"through"
        os.close(reader)
        assert pipe.is_fifo()
        assert names_in(tmp_path) == {"pipe"}

    @given(st.text(st.characters(exclude_categories=["Cs"])))
    def test_text_is_written_as_utf8_without_changing_line_ends(
        self, tmp_path_factory: pytest.TempPathFactory, text: str
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "text"
        files.write_text(path, text)
        assert path.read_bytes() == text.encode("utf-8")

    def test_lines_are_appended(self, tmp_path: Path) -> None:
        path = tmp_path / "log"
        files.append_line(path, "eins")
        files.append_line(path, "zwölf")
        assert path.read_text(encoding="utf-8") == "eins\nzwölf\n"


class TestReading:
    @pytest.mark.parametrize("make", ["missing", "directory", "pipe"])
    def test_what_is_no_file_is_refused_by_its_name(self, tmp_path: Path, make: str) -> None:
        path = tmp_path / make
        if make == "directory":
            path.mkdir()
        if make == "pipe":
            os.mkfifo(path)
        with pytest.raises(NoInputError, match=make):
            files.read_bytes(path, "text")

    def test_a_pipe_is_input_where_a_file_is_only_required(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        assert files.require_file(tmp_path / "pipe") == tmp_path / "pipe"

    def test_too_large_a_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(b"12345")
        assert files.read_bytes(tmp_path / "x", max_bytes=5) == b"12345"
        with pytest.raises(DataError, match="larger"):
            files.read_bytes(tmp_path / "x", max_bytes=4)


class TestNewDirectory:
    def test_it_appears_whole_and_with_a_manifest(self, tmp_path: Path) -> None:
        with files.new_directory(tmp_path / "a" / "out") as place:
            (place / "x").write_bytes(b"1")
            assert not (tmp_path / "a" / "out").exists()
        files.check_manifest(tmp_path / "a" / "out")
        assert names_in(tmp_path / "a") == {"out"}

    def test_an_existing_one_is_refused_before_work(self, tmp_path: Path) -> None:
        with (
            pytest.raises(CannotCreateError, match="exists already") as caught,
            files.new_directory(tmp_path),
        ):
            pytest.fail("the block must not start")
        assert "--force" in caught.value.hint

    def test_force_replaces_it(self, tmp_path: Path) -> None:
        for text in (b"old", b"new"):
            with files.new_directory(tmp_path / "out", force=True) as place:
                (place / "x").write_bytes(text)
        assert (tmp_path / "out" / "x").read_bytes() == b"new"
        assert names_in(tmp_path) == {"out"}

    def test_force_fills_an_empty_directory(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        with files.new_directory(tmp_path / "out", force=True) as place:
            (place / "x").write_bytes(b"1")
        assert names_in(tmp_path / "out") == {"x", files.MANIFEST}

    @pytest.mark.parametrize("name", ["file", "folder", "."])
    def test_even_force_replaces_nothing_of_the_users(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        (tmp_path / "file").write_bytes(b"text")
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "photo").write_bytes(b"")
        monkeypatch.chdir(tmp_path)
        with (
            pytest.raises(CannotCreateError, match="not written by nmt"),
            files.new_directory(Path(name), force=True),
        ):
            pytest.fail("the block must not start")
        assert names_in(tmp_path) == {"file", "folder"}

    def test_an_error_leaves_the_old_one_and_nothing_else(self, tmp_path: Path) -> None:
        with files.new_directory(tmp_path / "out") as place:
            (place / "x").write_bytes(b"old")
        with (
            contextlib.suppress(ZeroDivisionError),
            files.new_directory(tmp_path / "out", force=True) as place,
        ):
            (place / "x").write_bytes(b"new")
            raise ZeroDivisionError
        assert (tmp_path / "out" / "x").read_bytes() == b"old"
        assert names_in(tmp_path) == {"out"}

    def test_a_directory_can_be_replaced_from_inside(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(directory)
        with files.new_directory(Path(), force=True) as place:
            (place / "x").write_bytes(b"new")
        assert names_in(directory) == {"x", files.MANIFEST}
        assert names_in(directory.parent) == {directory.name}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with files.new_directory(tmp_path / "dir") as place:
        (place / "a").write_bytes(b"first content")
        (place / "sub").mkdir()
        (place / "sub" / "b").write_bytes(b"second")
    return tmp_path / "dir"


class TestManifest:
    def test_it_lists_every_file_below(self, directory: Path) -> None:
        assert set(files.read_manifest(directory)) == {"a", "sub/b"}
        files.check_manifest(directory)

    @given(st.integers(0, 8 * len(b"first content") - 1))
    def test_one_flipped_bit_is_seen(
        self, tmp_path_factory: pytest.TempPathFactory, bit: int
    ) -> None:
        folder = tmp_path_factory.getbasetemp() / "flip"
        with files.new_directory(folder, force=True) as place:
            (place / "a").write_bytes(b"first content")
        data = bytearray((folder / "a").read_bytes())
        data[bit // 8] ^= 1 << bit % 8
        (folder / "a").write_bytes(data)
        with pytest.raises(DataError, match=r"`.*/a` is damaged: its SHA-256"):
            files.check_manifest(folder)

    def test_a_missing_and_a_shortened_file_are_named(self, directory: Path) -> None:
        (directory / "a").write_bytes(b"first")
        with pytest.raises(DataError, match="5 bytes where 13 were written"):
            files.check_manifest(directory)
        (directory / "a").unlink()
        with pytest.raises(DataError, match="is missing"):
            files.check_manifest(directory)

    def test_only_the_asked_names_are_checked(self, directory: Path) -> None:
        (directory / "a").unlink()
        files.check_manifest(directory, ["sub/b"])
        with pytest.raises(DataError, match="not listed"):
            files.check_manifest(directory, ["c"])

    @pytest.mark.parametrize(
        "text",
        [
            b"", b"{", b"[]", b"null", b'{"files": []}', b'{"files": {"a": 1}}',
            b'{"files": {"a": {"bytes": 1}}}', b'{"files": {"a": {"sha256": "x"}}}', b"\xff\xfe",
            b"[" * 100_000,
        ],
    )  # fmt: skip
    def test_a_damaged_manifest_is_said_to_be_one(self, directory: Path, text: bytes) -> None:
        (directory / files.MANIFEST).write_bytes(text)
        with pytest.raises(DataError, match="damaged"):
            files.read_manifest(directory)

    @pytest.mark.parametrize("name", ["../a", "/etc/hostname", "sub/../../a"])
    def test_a_name_outside_the_directory_is_refused(self, directory: Path, name: str) -> None:
        entry = {"bytes": 1, "sha256": "0"}
        text = json.dumps({"format": 1, "files": {name: entry}})
        (directory / files.MANIFEST).write_text(text)
        with pytest.raises(DataError, match="outside"):
            files.check_manifest(directory)

    def test_a_directory_without_one_is_not_complete(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="no manifest"):
            files.check_manifest(tmp_path)
        with pytest.raises(NoInputError, match="not a directory"):
            files.check_manifest(tmp_path / "none")

    def test_a_lock_is_no_content(self, directory: Path) -> None:
        with files.locked(directory):
            files.write_manifest(directory)
        assert set(files.read_manifest(directory)) == {"a", "sub/b"}


class TestAddToManifest:
    def test_a_new_and_a_changed_file_check(self, directory: Path) -> None:
        files.add_to_manifest(directory, "c", b"third")
        files.add_to_manifest(directory, "a", b"changed")
        files.check_manifest(directory)
        assert (directory / "a").read_bytes() == b"changed"
        assert "next" not in files.read_manifest(directory)["a"]

    def test_a_directory_without_a_manifest_gets_one(self, tmp_path: Path) -> None:
        files.add_to_manifest(tmp_path, "a", b"x")
        files.check_manifest(tmp_path)

    @pytest.mark.parametrize("step", range(9))
    def test_a_crash_anywhere_leaves_a_directory_that_checks(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch, step: int
    ) -> None:
        with crash_at(step, monkeypatch):
            files.add_to_manifest(directory, "a", b"changed")
        files.check_manifest(directory)
        assert (directory / "a").read_bytes() in (b"first content", b"changed")

    @pytest.mark.parametrize("first", range(9))
    def test_a_second_crash_after_the_first_does_no_harm(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
    ) -> None:
        for second in range(9):
            folder = tmp_path / str(second)
            folder.mkdir()
            files.add_to_manifest(folder, "a", b"first content")
            for step, data in ((first, b"changed"), (second, b"changed again")):
                with crash_at(step, monkeypatch):
                    files.add_to_manifest(folder, "a", data)
                files.check_manifest(folder)

    def test_the_crash_test_reaches_every_call(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with crash_at(99, monkeypatch) as calls:
            files.add_to_manifest(directory, "a", b"changed")
        # Manifest, file, manifest: each is synced, renamed, and its folder synced.
        assert calls == ["fsync", "replace", "fsync"] * 3

    def test_a_reader_with_an_older_manifest_looks_again(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real, answers = files.read_manifest, [files.read_manifest(directory)]
        files.add_to_manifest(directory, "a", b"changed")
        monkeypatch.setattr(
            files, "read_manifest", lambda folder: answers.pop() if answers else real(folder)
        )
        files.check_manifest(directory)
        assert not answers


class TestRemoving:
    def test_files_directories_and_links_go_and_missing_ones_are_fine(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"x")
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "x").write_bytes(b"x")
        (tmp_path / "kept").mkdir()
        (tmp_path / "kept" / "x").write_bytes(b"x")
        (tmp_path / "link").symlink_to(tmp_path / "kept")
        for name in ("file", "folder", "link", "none"):
            files.remove(tmp_path / name)
        assert names_in(tmp_path) == {"kept"}
        assert names_in(tmp_path / "kept") == {"x"}

    def test_leftovers_of_an_interrupted_process_go(self, tmp_path: Path) -> None:
        (tmp_path / ".tmp-model.1").mkdir()
        (tmp_path / ".tmp-file.1").write_bytes(b"x")
        (tmp_path / "model").mkdir()
        files.remove_leftovers(tmp_path)
        assert names_in(tmp_path) == {"model"}


def _try_to_lock(directory: Path, answers: "multiprocessing.Queue[str]") -> None:
    try:
        with files.locked(directory):
            answers.put("mine")
    except NmtError as error:
        answers.put(f"{type(error).__name__}: {error.message}")


class TestLock:
    def test_a_second_process_is_told_who_holds_it(self, tmp_path: Path) -> None:
        with (
            files.locked(tmp_path),
            pytest.raises(TryAgainError) as caught,
            files.locked(tmp_path),
        ):
            pytest.fail("two at once")
        assert f"process {os.getpid()} on " in caught.value.message

    def test_it_is_free_again_when_the_holder_ends(self, tmp_path: Path) -> None:
        context = multiprocessing.get_context("spawn")
        answers: multiprocessing.Queue[str] = context.Queue()
        with files.locked(tmp_path):
            child = context.Process(target=_try_to_lock, args=(tmp_path, answers))
            child.start()
            assert answers.get(timeout=60).startswith("TryAgainError")
            child.join()
        with files.locked(tmp_path):
            pass

    def test_a_directory_that_is_not_there_cannot_be_held(self, tmp_path: Path) -> None:
        with pytest.raises(CannotCreateError), files.locked(tmp_path / "none"):
            pass


def test_make_directory_refuses_a_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    assert files.make_directory(tmp_path / "a" / "b").is_dir()
    with pytest.raises(CannotCreateError):
        files.make_directory(tmp_path / "x")
