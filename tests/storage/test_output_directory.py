"""A new directory replaces only what nmt wrote of the same kind; a crash keeps the old one."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from byte_models import byte_config, byte_model, byte_subwords
from crashes import crash_at

from nmt_cli.errors import CannotCreateError, TryAgainError
from nmt_cli.model_dir import save_model
from nmt_cli.storage import locks
from nmt_cli.storage.manifest import MANIFEST, check_manifest
from nmt_cli.storage.output_directory import (
    AVERAGED,
    DirectoryKind,
    kind_of,
    new_directory,
    require_same_kind,
    reserved,
)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


class TestNewDirectory:
    def test_new_directory_appears_complete_with_manifest(self, tmp_path: Path) -> None:
        with new_directory(tmp_path / "a" / "out", DirectoryKind.OTHER) as directory:
            (directory / "x").write_bytes(b"1")
            assert not (tmp_path / "a" / "out").exists()
        check_manifest(tmp_path / "a" / "out")
        assert names_in(tmp_path / "a") == {"out"}

    def test_new_directory_is_synced_before_rename(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        out = tmp_path / "out"
        with (
            crash_at(99, monkeypatch) as calls,
            new_directory(out, DirectoryKind.OTHER) as directory,
        ):
            (directory / "x").write_bytes(b"1")
        # The manifest is written, both files and the names synced, then the directory gets its.
        written = ["open", "write", "sync", "rename", "sync"]
        assert calls == ["make_directory", *written, *["sync"] * 3, "rename_new", "sync"]

    @pytest.mark.parametrize("force", [False, True])
    def test_second_process_that_writes_the_same_directory_is_refused_at_once(
        self, tmp_path: Path, force: bool
    ) -> None:
        out = tmp_path / "folder" / "out"

        def write_at_once() -> None:
            with new_directory(out, DirectoryKind.CORPUS, force=force):
                pytest.fail("two at once")

        with new_directory(out, DirectoryKind.CORPUS, force=force) as directory:
            (directory / "mine").touch()
            with pytest.raises(TryAgainError) as caught:
                write_at_once()
            with new_directory(tmp_path / "folder" / "other", DirectoryKind.CORPUS):
                pass
        expected = f"another `nmt prepare` is writing `{out}`: process {os.getpid()} on "
        assert caught.value.message.startswith(expected)
        assert caught.value.hint == "wait for it, or use another --out"
        assert (out / "mine").exists()
        assert names_in(tmp_path / "folder") == {"out", "other"}

    @pytest.mark.parametrize("name", ["out", "folder/out"])
    def test_reserved_directory_is_written_by_its_process_alone(
        self, tmp_path: Path, name: str
    ) -> None:
        """Where the folder did not exist, it is locked again once it does."""
        path, kind = tmp_path / name, DirectoryKind.CORPUS

        def write_at_once() -> None:
            with reserved(path, kind):
                pytest.fail("two at once")

        with reserved(path, kind) as is_reserved:
            with pytest.raises(TryAgainError):
                write_at_once()
            with new_directory(path, kind, is_reserved=is_reserved) as directory:
                (directory / "x").touch()
                with pytest.raises(TryAgainError):
                    write_at_once()
        check_manifest(path)
        assert names_in(path.parent) == {"out"}

    def test_directory_that_another_process_has_just_written_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It was written between the first check and the lock."""
        out = tmp_path / "out"
        only_writer = locks.only_writer

        @contextlib.contextmanager
        def wait(path: Path, command: str) -> Iterator[None]:
            out.mkdir()
            with only_writer(path, command):
                yield

        monkeypatch.setattr(locks, "only_writer", wait)
        with (
            pytest.raises(CannotCreateError, match="exists already"),
            new_directory(out, DirectoryKind.CORPUS),
        ):
            pytest.fail("the block must not start")
        assert names_in(tmp_path) == {"out"}

    @pytest.mark.parametrize("force", [False, True])
    def test_directory_that_appears_meanwhile_is_kept(self, tmp_path: Path, force: bool) -> None:
        out = tmp_path / "out"

        def write() -> None:
            with new_directory(out, DirectoryKind.OTHER, force=force) as directory:
                (directory / "mine").touch()
                out.mkdir()
                (out / "theirs").touch()

        with pytest.raises(CannotCreateError) as caught:
            write()
        assert [path.name for path in out.iterdir()] == ["theirs"]
        if force:
            assert "was not written by nmt" in caught.value.message
        else:
            assert f"what this one wrote is `{tmp_path}/out-2`" in caught.value.message
            assert (tmp_path / "out-2" / "mine").exists()

    def test_new_directory_refuses_existing_path(self, tmp_path: Path) -> None:
        with (
            pytest.raises(CannotCreateError, match="exists already") as caught,
            new_directory(tmp_path, DirectoryKind.OTHER),
        ):
            pytest.fail("the block must not start")
        assert "--force" in caught.value.hint

    def test_new_directory_with_force_replaces(self, tmp_path: Path) -> None:
        for text in (b"old", b"new"):
            with new_directory(tmp_path / "out", DirectoryKind.OTHER, force=True) as directory:
                (directory / "x").write_bytes(text)
        assert (tmp_path / "out" / "x").read_bytes() == b"new"
        assert names_in(tmp_path) == {"out"}

    def test_new_directory_with_force_fills_an_empty_directory(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        with new_directory(tmp_path / "out", DirectoryKind.OTHER, force=True) as directory:
            (directory / "x").write_bytes(b"1")
        assert names_in(tmp_path / "out") == {"x", MANIFEST}

    @pytest.mark.parametrize("name", ["file", "folder", "."])
    def test_new_directory_with_force_keeps_files_of_the_user(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        (tmp_path / "file").write_bytes(b"text")
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "photo").write_bytes(b"")
        monkeypatch.chdir(tmp_path)
        with (
            pytest.raises(CannotCreateError, match="not written by nmt"),
            new_directory(Path(name), DirectoryKind.OTHER, force=True),
        ):
            pytest.fail("the block must not start")
        assert names_in(tmp_path) == {"file", "folder"}

    def test_error_in_new_directory_keeps_the_old_one(self, tmp_path: Path) -> None:
        with new_directory(tmp_path / "out", DirectoryKind.OTHER) as directory:
            (directory / "x").write_bytes(b"old")
        with (
            contextlib.suppress(ZeroDivisionError),
            new_directory(tmp_path / "out", DirectoryKind.OTHER, force=True) as directory,
        ):
            (directory / "x").write_bytes(b"new")
            raise ZeroDivisionError
        assert (tmp_path / "out" / "x").read_bytes() == b"old"
        assert names_in(tmp_path) == {"out"}

    def test_a_directory_can_be_replaced_from_inside(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        directory = tmp_path / "out"
        with new_directory(directory, DirectoryKind.OTHER) as place:
            (place / "x").write_bytes(b"old")
        monkeypatch.chdir(directory)
        with new_directory(Path(), DirectoryKind.OTHER, force=True) as place:
            (place / "x").write_bytes(b"new")
        assert names_in(directory) == {"x", MANIFEST}
        assert names_in(directory.parent) == {directory.name}


def make(path: Path, kind: DirectoryKind, *names: str) -> Path:
    with new_directory(path, kind) as directory:
        for name in names:
            (directory / name).write_text("text")
    return path


def save_bytes_model(path: Path, metadata: dict[str, str]) -> Path:
    config = byte_config()
    save_model(path, byte_model(config).state_dict(), config, byte_subwords(), metadata)
    return path


@pytest.fixture
def kinds(tmp_path: Path) -> dict[DirectoryKind, Path]:
    """A directory of each kind."""
    run = save_bytes_model(tmp_path / "run", {"step": "1"})
    (run / "log.jsonl").write_text("{}\n")
    imported = DirectoryKind.IMPORT, "config.toml", "model.safetensors", "import.json"
    return {
        DirectoryKind.CORPUS: make(
            tmp_path / "corpus", DirectoryKind.CORPUS, "corpus.json", "config.toml"
        ),
        DirectoryKind.RUN: run,
        DirectoryKind.AVERAGE: save_bytes_model(tmp_path / "average", {AVERAGED: "step-000000001"}),
        DirectoryKind.IMPORT: make(tmp_path / "import", *imported),
        DirectoryKind.EXPORT: make(
            tmp_path / "export", DirectoryKind.EXPORT, "config.json", "export.json"
        ),
        DirectoryKind.MODEL: save_bytes_model(tmp_path / "model", {"step": "1"}),
        DirectoryKind.CHECKPOINT: make(tmp_path / "step", DirectoryKind.CHECKPOINT, "state.json"),
        DirectoryKind.OTHER: make(tmp_path / "other", DirectoryKind.OTHER, "x"),
    }


def test_kind_of_each_directory(kinds: dict[DirectoryKind, Path]) -> None:
    assert {kind: kind_of(path) for kind, path in kinds.items()} == {
        kind: kind for kind in DirectoryKind
    }


def test_only_the_same_kind_is_replaced(kinds: dict[DirectoryKind, Path]) -> None:
    for wanted in DirectoryKind:
        for existing, path in kinds.items():
            if wanted is existing and wanted is not DirectoryKind.RUN:
                require_same_kind(path, wanted)
            elif wanted is not existing:
                with pytest.raises(CannotCreateError) as caught:
                    require_same_kind(path, wanted)
                assert f"`{path}` is {existing.value}, and is not" in caught.value.message
                assert f"`rm -r {path}`" in caught.value.hint


@pytest.mark.parametrize("name", ["log.jsonl", "checkpoints"])
def test_model_in_which_training_has_begun_is_a_run(tmp_path: Path, name: str) -> None:
    average = save_bytes_model(tmp_path / "average", {AVERAGED: "step-000000001"})
    (average / name).mkdir()
    assert kind_of(average) is DirectoryKind.RUN


def test_average_with_damaged_weights_is_not_replaced(tmp_path: Path) -> None:
    average = save_bytes_model(tmp_path / "average", {AVERAGED: "step-000000001"})
    for data in (b"", b"\xff" * 20, b"\x02" + bytes(7) + b"[]"):
        (average / "model.safetensors").write_bytes(data)
        assert kind_of(average) is DirectoryKind.MODEL


def test_missing_force_is_only_suggested_where_it_helps(kinds: dict[DirectoryKind, Path]) -> None:
    for path, hint in (
        (kinds[DirectoryKind.CORPUS], "use --force"),
        (kinds[DirectoryKind.RUN], "another --out"),
    ):
        with pytest.raises(CannotCreateError) as caught, new_directory(path, DirectoryKind.CORPUS):
            pytest.fail("the block must not start")
        assert hint in caught.value.hint
        assert ("--force" in caught.value.hint) == (path == kinds[DirectoryKind.CORPUS])
