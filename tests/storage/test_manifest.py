"""A directory is complete with its manifest; damage is seen, a crash in a change is not damage."""

import json
from pathlib import Path

import pytest
from crashes import crash_at
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.errors import DataError, NoInputError
from nmt_cli.storage import locks, manifest


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with manifest.replacing(tmp_path / "dir") as directory:
        (directory / "a").write_bytes(b"first content")
        (directory / "sub").mkdir()
        (directory / "sub" / "b").write_bytes(b"second")
    return tmp_path / "dir"


class TestManifest:
    def test_manifest_lists_every_file(self, directory: Path) -> None:
        assert set(manifest.read_manifest(directory)) == {"a", "sub/b"}
        manifest.check_manifest(directory)

    @given(st.integers(0, 8 * len(b"first content") - 1))
    def test_manifest_detects_one_flipped_bit(
        self, tmp_path_factory: pytest.TempPathFactory, bit: int
    ) -> None:
        folder = tmp_path_factory.getbasetemp() / "flip"
        with manifest.replacing(folder) as directory:
            (directory / "a").write_bytes(b"first content")
        data = bytearray((folder / "a").read_bytes())
        data[bit // 8] ^= 1 << bit % 8
        (folder / "a").write_bytes(data)
        with pytest.raises(DataError, match=r"`.*/a` is damaged: its SHA-256"):
            manifest.check_manifest(folder)

    def test_a_missing_and_a_shortened_file_are_named(self, directory: Path) -> None:
        (directory / "a").write_bytes(b"first")
        with pytest.raises(DataError, match="5 bytes where 13 were written"):
            manifest.check_manifest(directory)
        (directory / "a").unlink()
        with pytest.raises(DataError, match="is missing"):
            manifest.check_manifest(directory)

    def test_manifest_checks_only_the_given_names(self, directory: Path) -> None:
        (directory / "a").unlink()
        manifest.check_manifest(directory, ["sub/b"])
        with pytest.raises(DataError, match="not listed"):
            manifest.check_manifest(directory, ["c"])

    @pytest.mark.parametrize(
        "text",
        [
            b"", b"{", b"[]", b"null", b'{"files": []}', b'{"files": {"a": 1}}',
            b'{"files": {"a": {"bytes": 1}}}', b'{"files": {"a": {"sha256": "x"}}}', b"\xff\xfe",
            b"[" * 100_000,
        ],
    )  # fmt: skip
    def test_damaged_manifest_is_refused(self, directory: Path, text: bytes) -> None:
        (directory / manifest.MANIFEST).write_bytes(text)
        with pytest.raises(DataError, match="damaged"):
            manifest.read_manifest(directory)

    @pytest.mark.parametrize("name", ["../a", "/etc/hostname", "sub/../../a"])
    def test_manifest_name_outside_the_directory_is_refused(
        self, directory: Path, name: str
    ) -> None:
        entry = {"bytes": 1, "sha256": "0"}
        text = json.dumps({"format": 1, "files": {name: entry}})
        (directory / manifest.MANIFEST).write_text(text)
        with pytest.raises(DataError, match="outside"):
            manifest.check_manifest(directory)

    def test_directory_without_manifest_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="no manifest"):
            manifest.check_manifest(tmp_path)
        with pytest.raises(NoInputError, match="not a directory"):
            manifest.check_manifest(tmp_path / "none")

    def test_manifest_does_not_list_the_lock(self, directory: Path) -> None:
        with locks.locked(directory):
            manifest.write_manifest(directory)
        assert set(manifest.read_manifest(directory)) == {"a", "sub/b"}


class TestAddToManifest:
    def test_add_to_manifest_new_and_changed_file(self, directory: Path) -> None:
        manifest.add_to_manifest(directory, "c", b"third")
        manifest.add_to_manifest(directory, "a", b"changed")
        manifest.check_manifest(directory)
        assert (directory / "a").read_bytes() == b"changed"
        assert "next" not in manifest.read_manifest(directory)["a"]

    def test_a_directory_without_a_manifest_gets_one(self, tmp_path: Path) -> None:
        manifest.add_to_manifest(tmp_path, "a", b"x")
        manifest.check_manifest(tmp_path)

    @pytest.mark.parametrize("step", range(15))
    def test_crash_in_add_to_manifest_leaves_a_valid_directory(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch, step: int
    ) -> None:
        with crash_at(step, monkeypatch):
            manifest.add_to_manifest(directory, "a", b"changed")
        manifest.check_manifest(directory)
        assert (directory / "a").read_bytes() in (b"first content", b"changed")

    @pytest.mark.parametrize("first", range(15))
    def test_add_to_manifest_survives_a_second_crash(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
    ) -> None:
        for second in range(15):
            folder = tmp_path / str(second)
            folder.mkdir()
            manifest.add_to_manifest(folder, "a", b"first content")
            for step, data in ((first, b"changed"), (second, b"changed again")):
                with crash_at(step, monkeypatch):
                    manifest.add_to_manifest(folder, "a", data)
                manifest.check_manifest(folder)

    def test_crash_test_reaches_every_disk_call(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with crash_at(99, monkeypatch) as calls:
            manifest.add_to_manifest(directory, "a", b"changed")
        # Manifest, file, manifest: each is synced, renamed, and its folder synced.
        assert calls == ["open", "write", "sync", "rename", "sync"] * 3

    def test_check_reads_manifest_again_when_file_was_replaced(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real, answers = manifest.read_manifest, [manifest.read_manifest(directory)]
        manifest.add_to_manifest(directory, "a", b"changed")
        monkeypatch.setattr(
            manifest, "read_manifest", lambda folder: answers.pop() if answers else real(folder)
        )
        manifest.check_manifest(directory)
        assert not answers
