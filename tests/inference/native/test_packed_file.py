"""Embeddings that stay in the file of packed weights, and writing it where others do, too."""

import errno
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from packed_cases import LINES, answers, kept_file, saved_model

from nmt_cli.errors import DataError
from nmt_cli.inference.native.linear import PRECISIONS
from nmt_cli.inference.native.packing import packed_cache, packed_file
from nmt_cli.inference.native.packing.packed_weights import FileRows
from nmt_cli.storage import files
from nmt_cli.translation.translator import Translator

VARIANTS = {
    "tied": {},
    "target tied": {"tie_embeddings": "target"},
    "untied": {"tie_embeddings": "none", "positions": "learned"},
}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_embeddings_that_stay_in_the_file_translate_the_same(
    tmp_path: Path, cache: Path, packed: list[str], precision: str, variant: str, monkeypatch
) -> None:
    model = saved_model(tmp_path / "model", 1, **VARIANTS[variant])
    monkeypatch.setattr(packed_cache, "SMALLEST", 1 << 30)
    expected = answers(Translator.load(model, cache=cache, precision=precision))
    monkeypatch.setattr(packed_cache, "SMALLEST", 0)
    monkeypatch.setattr(packed_file, "LARGEST_READ", 0)
    monkeypatch.setattr(packed_file, "PIECE", 1000)
    for translator in (
        Translator.load(model, cache=cache, precision=precision),
        Translator.load(model, cache=cache, precision=precision),
    ):
        assert not translator.engine.notice
        assert bool(stored_names(kept_file(cache))) == (variant != "tied" or precision != "float32")
        assert answers(translator) == expected
    assert packed == [precision] * 2
    # The name of the file is not needed any more.
    kept_file(cache).unlink()
    assert answers(translator) == expected


def stored_names(path: Path) -> list[str]:
    """The embeddings that stay in a file of packed weights."""
    data = path.read_bytes()
    begin = len(packed_file.MAGIC) + packed_file.SIZES.size
    length, _ = packed_file.SIZES.unpack_from(data, len(packed_file.MAGIC))
    return list(json.loads(data[begin : begin + length])["stored"])


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("side", ["src", "tgt"])
def test_embeddings_that_cannot_be_read_any_more_are_an_error(
    tmp_path: Path, cache: Path, monkeypatch, side: str, sampled: bool
) -> None:
    """The file is cut while a translator uses it, before the embedding of a side."""
    monkeypatch.setattr(packed_file, "LARGEST_READ", 0)
    model = saved_model(tmp_path / "model", 1, tie_embeddings="none")
    translator = Translator.load(model, cache=cache)
    path = kept_file(cache)
    assert stored_names(path) == ["embedding.src", "embedding.tgt"]
    words, width = 260, 16
    os.truncate(path, path.stat().st_size - 4 - 4 * words * width * (2 if side == "src" else 1))
    options = {"sample": True} if sampled else {}
    with pytest.raises(DataError, match=f"`{path}` cannot be read any more"):
        translator.translate(LINES, **options)
    again = Translator.load(model, cache=cache)
    assert "will be written again: it has another size" in again.engine.notice
    assert all(each.text is not None for each in again.translate(LINES))


@pytest.mark.parametrize("place", [100, 16_000])
def test_a_damaged_embedding_is_noticed(
    model: Path, cache: Path, packed: list[str], place: int, monkeypatch
) -> None:
    """place: of the byte, counted from the end of a file that ends with 16 kB of embeddings."""
    monkeypatch.setattr(packed_file, "LARGEST_READ", 0)
    monkeypatch.setattr(packed_file, "PIECE", 1000)
    expected = answers(Translator.load(model, cache=cache, precision="int8"))
    path = kept_file(cache)
    data = bytearray(path.read_bytes())
    data[-place] ^= 1
    path.write_bytes(data)
    again = Translator.load(model, cache=cache, precision="int8")
    assert "will be written again: its content is damaged" in again.engine.notice
    assert answers(again) == expected
    assert packed == ["int8"] * 2


def test_the_file_of_embeddings_is_closed_with_them(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"rows")
    with (tmp_path / "file").open("rb") as file:
        rows = FileRows(file, 1)
    descriptor = rows.descriptor
    assert os.pread(descriptor, 9, rows.begin) == b"ows"
    del rows
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


@pytest.mark.parametrize("room", [0, 20_000])
def test_a_full_disk_is_noticed(model: Path, cache: Path, room: int, monkeypatch) -> None:
    class Full(type(files.DISK)):
        left = room

        def write(self, descriptor, data):
            if len(data) > self.left:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.left -= len(data)
            return super().write(descriptor, data)

    expected = answers(Translator.load(model, cache=cache))
    kept_file(cache).unlink()
    monkeypatch.setattr(packed_file, "LARGEST_READ", 0)
    monkeypatch.setattr(files, "DISK", Full())
    translator = Translator.load(model, cache=cache)
    assert "cannot be kept, so starts take longer" in translator.engine.notice
    assert "No space left on device" in translator.engine.notice
    assert answers(translator) == expected
    assert not [path for path in cache.iterdir() if "packed-" in path.name]


def test_a_process_writes_while_another_one_does(
    model: Path, cache: Path, packed: list[str], monkeypatch
) -> None:
    """The second one begins and ends when the first has written half of the file."""
    monkeypatch.setattr(packed_file, "LARGEST_READ", 0)
    expected = answers(Translator.load(model, cache=cache, precision="int8"))
    path = kept_file(cache)
    whole = path.read_bytes()
    path.unlink()
    write, second = packed_file._write_array, []

    def write_meanwhile(file, pieces, checksum):
        if not second:
            second.append(Path(file.name))
            code = (
                "import sys, pathlib; from nmt_cli.translation.translator import Translator;"
                "from nmt_cli.inference.native.packing import packed_cache, packed_file;"
                "packed_cache.SMALLEST = packed_file.LARGEST_READ = 0;"
                "found = Translator.load(pathlib.Path(sys.argv[1]), precision='int8',"
                " cache=pathlib.Path(sys.argv[2])); assert not found.engine.notice;"
                "print([found.translate(line).text for line in sys.argv[3:]])"
            )
            done = subprocess.run(
                [sys.executable, "-c", code, str(model), str(cache), *LINES],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            assert eval(done.stdout) == [text for text, _ in expected]
            assert path.read_bytes() == whole
            assert second[0].exists()
        return write(file, pieces, checksum)

    monkeypatch.setattr(packed_file, "_write_array", write_meanwhile)
    first = Translator.load(model, cache=cache, precision="int8")
    assert second
    assert not first.engine.notice
    assert answers(first) == expected
    assert path.read_bytes() == whole
    assert [each.name for each in cache.iterdir() if "packed-" in each.name] == [path.name]


def test_threads_that_load_at_once_write_one_after_the_other(
    model: Path, cache: Path, monkeypatch
) -> None:
    expected = answers(Translator.load(model, cache=cache, precision="int8"))
    kept_file(cache).unlink()
    monkeypatch.setattr(packed_file, "LARGEST_READ", 0)
    write, writing = packed_file.write, []

    def write_slowly(*arguments):
        writing.append(1)
        time.sleep(0.05)
        assert len(writing) == 1
        write(*arguments)
        writing.clear()

    monkeypatch.setattr(packed_file, "write", write_slowly)
    with ThreadPoolExecutor(4) as executor:
        loading = [
            executor.submit(Translator.load, model, cache=cache, precision="int8") for _ in range(4)
        ]
        translators = [each.result() for each in loading]
    for translator in translators:
        assert not translator.engine.notice
        assert answers(translator) == expected
