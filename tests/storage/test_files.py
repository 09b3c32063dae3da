"""Nothing appears under its name half-written; damage is seen."""

import contextlib
import errno
import multiprocessing
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
from crashes import crash_at
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.errors import CannotCreateError, DataError, NoInputError, WriteError
from nmt_cli.storage import files


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


class TestWritingFiles:
    def test_writing_creates_complete_file(self, tmp_path: Path) -> None:
        path = tmp_path / "out"
        with files.writing(path) as file:
            file.write(b"one")
            assert not path.exists()
        assert path.read_bytes() == b"one"
        assert names_in(tmp_path) == {"out"}

    @pytest.mark.parametrize("is_supported", [True, False])
    def test_file_that_appears_meanwhile_is_not_replaced(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_supported: bool
    ) -> None:
        if not is_supported:
            monkeypatch.setattr("nmt_cli.storage.disk.c_function", lambda name: None)
        path = tmp_path / "out.de"
        (tmp_path / "out-2.de").touch()

        def write() -> None:
            with files.writing(path, replaces=False) as file:
                file.write(b"mine")
                path.write_bytes(b"theirs")

        with pytest.raises(CannotCreateError, match=r"meanwhile; .*`.*/out-3\.de`") as caught:
            write()
        assert caught.value.exit_code == 73
        assert path.read_bytes() == b"theirs"
        assert (tmp_path / "out-3.de").read_bytes() == b"mine"
        assert names_in(tmp_path) == {"out.de", "out-2.de", "out-3.de"}

    def test_file_that_appears_meanwhile_is_replaced_if_asked(self, tmp_path: Path) -> None:
        path = tmp_path / "out"
        with files.writing(path) as file:
            file.write(b"mine")
            path.write_bytes(b"theirs")
        assert path.read_bytes() == b"mine"

    @pytest.mark.parametrize("kind", ["file", "link", "dangling"])
    def test_empty_file_has_nothing_to_lose(self, tmp_path: Path, kind: str) -> None:
        path, other = tmp_path / "out", tmp_path / "other"
        if kind != "dangling":
            other.touch()
        if kind == "file":
            path.touch()
        else:
            path.symlink_to(other)
        with files.writing(path, replaces=False) as file:
            file.write(b"mine")
        assert path.read_bytes() == b"mine"

    def test_error_while_writing_keeps_the_old_file(self, tmp_path: Path) -> None:
        path = tmp_path / "out"
        path.write_bytes(b"old")
        with contextlib.suppress(ZeroDivisionError), files.writing(path) as file:
            file.write(b"new")
            raise ZeroDivisionError
        assert path.read_bytes() == b"old"
        assert names_in(tmp_path) == {"out"}

    def test_full_disk_error_names_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "out"
        with pytest.raises(WriteError, match="out") as caught, files.writing(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        assert "No space left" in caught.value.message
        assert names_in(tmp_path) == set()

    def test_full_disk_error_names_the_directory_that_is_built(self, tmp_path: Path) -> None:
        with (
            pytest.raises(WriteError) as caught,
            files.building(tmp_path / "corpus") as directory,
            files.writing(directory / "text"),
        ):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        assert f"writing `{tmp_path / 'corpus'}` failed" in caught.value.message

    def test_data_are_synced_before_the_rename(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with crash_at(99, monkeypatch) as calls:
            files.write_bytes(tmp_path / "out", b"x")
        assert calls == ["open", "write", "sync", "rename", "sync"]

    @pytest.mark.parametrize("step", range(5))
    def test_crash_while_writing_leaves_the_old_or_the_new_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
    ) -> None:
        path = tmp_path / "out"
        path.write_bytes(b"old")
        with crash_at(step, monkeypatch):
            files.write_bytes(path, b"new")
        assert path.read_bytes() == (b"new" if step == 4 else b"old")

    def test_writing_over_a_directory_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(CannotCreateError, match="is a directory"), files.writing(tmp_path):
            pass

    def test_writing_into_a_missing_folder_is_refused_first(self, tmp_path: Path) -> None:
        with (
            pytest.raises(CannotCreateError, match="No such file"),
            files.writing(tmp_path / "none" / "out"),
        ):
            pytest.fail("the block must not start")

    def test_writing_to_a_pipe_does_not_replace_it(self, tmp_path: Path) -> None:
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

    def test_append_line_adds_lines(self, tmp_path: Path) -> None:
        path = tmp_path / "log"
        files.append_line(path, "eins")
        files.append_line(path, "zwölf")
        assert path.read_text(encoding="utf-8") == "eins\nzwölf\n"


class TestReadingFiles:
    @pytest.mark.parametrize("make", ["missing", "directory", "pipe"])
    def test_reading_refuses_directories_and_missing_files(self, tmp_path: Path, make: str) -> None:
        path = tmp_path / make
        if make == "directory":
            path.mkdir()
        if make == "pipe":
            os.mkfifo(path)
        with pytest.raises(NoInputError, match=make):
            files.read_bytes(path, "text")

    def test_pipe_is_accepted_as_required_input(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        assert files.require_file(tmp_path / "pipe") == tmp_path / "pipe"

    def test_reading_refuses_too_large_files(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(b"12345")
        assert files.read_bytes(tmp_path / "x", max_bytes=5) == b"12345"
        with pytest.raises(DataError, match="larger"):
            files.read_bytes(tmp_path / "x", max_bytes=4)


class TestRemovingFiles:
    def test_remove_removes_files_directories_and_links(self, tmp_path: Path) -> None:
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

    def test_remove_leftovers_of_interrupted_process(self, tmp_path: Path) -> None:
        (tmp_path / "model").mkdir()
        for folder in (tmp_path, tmp_path / "model"):
            (folder / ".tmp-model.1").mkdir()
            (folder / ".tmp-file.1").write_bytes(b"x")
        files.remove_leftovers(tmp_path)
        assert names_in(tmp_path) == {"model"}
        assert names_in(tmp_path / "model") == set()


def _build_until_killed(path: Path) -> None:
    with files.building(path) as temporary:
        (temporary / "x").write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGKILL)


class TestAbandonedFiles:
    def test_next_build_removes_leftovers_of_a_killed_process(self, tmp_path: Path) -> None:
        context = multiprocessing.get_context("spawn")
        child = context.Process(target=_build_until_killed, args=(tmp_path / "out",))
        child.start()
        child.join(60)
        (left,) = names_in(tmp_path)
        assert left.startswith(".tmp-out.")
        with files.building(tmp_path / "out"):
            assert left not in names_in(tmp_path)
        assert names_in(tmp_path) == {"out"}

    def test_remove_abandoned_keeps_files_of_running_processes(self, tmp_path: Path) -> None:
        gone, here = 2**31 - 1, os.getppid()
        machine = files._machine()
        kept = {
            f".tmp-out.{here}@{machine}", f".tmp-out.{gone}@elsewhere", f".tmp-out.{gone}",
            f".tmp-other.{gone}@{machine}", f"out.{gone}@{machine}", f".tmp-out.x.{gone}@{machine}",
        }  # fmt: skip
        for name in (*kept, f".tmp-out.{gone}@{machine}", f".tmp-out.{10**30}@{machine}"):
            (tmp_path / name).mkdir()
        files.remove_abandoned(tmp_path / "out")
        assert names_in(tmp_path) == kept

    def test_remove_abandoned_keeps_files_of_other_users(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(process: int, signal_number: int) -> None:
            raise PermissionError

        monkeypatch.setattr(os, "kill", refuse)
        (tmp_path / f".tmp-out.1@{files._machine()}").mkdir()
        files.remove_abandoned(tmp_path / "out")
        assert len(names_in(tmp_path)) == 1

    def test_replaced_directory_is_restored_unless_replaced(self, tmp_path: Path) -> None:
        """Killed between setting the old one aside and naming the new one."""
        aside = tmp_path / f".tmp-old-out.{2**31 - 1}@{files._machine()}"
        for content in ("old", "older"):
            aside.mkdir()
            (aside / content).touch()
            files.remove_abandoned(tmp_path / "out")
            assert names_in(tmp_path) == {"out"}
            assert names_in(tmp_path / "out") == {"old"}

    def test_remove_abandoned_ignores_missing_folder(self, tmp_path: Path) -> None:
        files.remove_abandoned(tmp_path / "none" / "out")


def test_make_directory_refuses_a_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    assert files.make_directory(tmp_path / "a" / "b").is_dir()
    with pytest.raises(CannotCreateError):
        files.make_directory(tmp_path / "x")


def test_read_only_file_system_is_named_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not as missing rights, which root for one cannot lack."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    for flag, words in ((os.ST_RDONLY, "read-only"), (0, "may not be written by this user")):
        status = SimpleNamespace(f_flag=flag)
        monkeypatch.setattr(os, "statvfs", lambda _, status=status: status)
        with pytest.raises(CannotCreateError, match=words):
            files.require_creatable(tmp_path / "new")
