"""Packed weights in the cache: read instead of packed, and never used where they may be wrong."""

import errno
import json
import os
import shutil
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from packed_cases import LINES, answers, kept_file, saved_model

from nmt_cli import model_weights
from nmt_cli.errors import DataError
from nmt_cli.inference.native.linear import PRECISIONS
from nmt_cli.inference.native.packing import packed_cache, packed_file
from nmt_cli.storage import files, manifest
from nmt_cli.storage.model_check import WEIGHTS
from nmt_cli.translation.translator import Translator


def other_model(folder: Path, cache: Path) -> tuple[Path, list[tuple[str, float]]]:
    """A model with other weights, whose packed weights are not kept, and its answers."""
    other = saved_model(folder / "other", 2)
    expected = answers(Translator.load(other, cache=cache))
    kept_file(cache).unlink()
    return other, expected


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"positions": "learned", "norm_order": "pre", "tie_embeddings": "none"},
        {"positions": "rotary", "activation": "swiglu", "norm": "rms_norm", "output_bias": True},
    ],
)
def test_packed_weights_are_read_and_translate_the_same(
    tmp_path: Path, cache: Path, packed: list[str], precision: str, settings, monkeypatch
) -> None:
    model = saved_model(tmp_path / "model", 1, **settings)
    first = Translator.load(model, cache=cache, precision=precision)
    assert packed == [precision]
    expected = answers(first)
    assert not first.engine.notice
    monkeypatch.setattr(model_weights, "_read_some", None)
    second = Translator.load(model, cache=cache, precision=precision)
    assert packed == [precision]
    assert answers(second) == expected
    assert not second.engine.notice


def test_the_model_is_checked_while_packed_weights_are_read(
    model: Path, cache: Path, monkeypatch
) -> None:
    Translator.load(model, cache=cache)
    checked = threading.Event()
    read, check = packed_file.read, manifest.check_open_file

    def read_later(*arguments):
        assert checked.wait(60)
        return read(*arguments)

    def check_first(*arguments):
        digest = check(*arguments)
        checked.set()
        return digest

    monkeypatch.setattr(packed_file, "read", read_later)
    monkeypatch.setattr(manifest, "check_open_file", check_first)
    assert not Translator.load(model, cache=cache).engine.notice


def test_a_precision_has_a_file_of_its_own(model: Path, cache: Path, packed: list[str]) -> None:
    for precision in ("int8", "float32", "int8"):
        Translator.load(model, cache=cache, precision=precision)
    assert packed == ["int8", "float32"]


def test_small_models_are_not_kept(model: Path, cache: Path, monkeypatch) -> None:
    monkeypatch.setattr(packed_cache, "SMALLEST", 10 << 20)
    Translator.load(model, cache=cache)
    assert not list(cache.glob("packed-*"))


def flipped(place: float) -> Callable[[bytes], bytes]:
    """Changes one bit, at this share of the file."""

    def flip(data: bytes) -> bytes:
        index = int(place * (len(data) - 1))
        return data[:index] + bytes([data[index] ^ 1]) + data[index + 1 :]

    return flip


def with_header(data: bytes) -> bytes:
    """The header of another version, with a right checksum."""
    begin, length = len(packed_file.MAGIC) + packed_file.SIZES.size, 16
    header = b"{}".ljust(length)
    sizes = packed_file.SIZES.pack(length, zlib.crc32(header))
    return packed_file.MAGIC + sizes + header + data[begin:]


DAMAGE = {
    "first byte": flipped(0),
    "size of the header": lambda data: data[:23] + b"\xff" * 8 + data[31:],
    "header": lambda data: data.replace(b'"inputs": 16', b'"inputs": 61', 1),
    "middle": flipped(0.5),
    "end": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "cut": lambda data: data[:-70],
    "longer": lambda data: data + b"\0",
    "empty": lambda data: b"",
    "start only": lambda data: data[:30],
    "other header": with_header,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_noticed_and_written_again(
    model: Path, cache: Path, packed: list[str], damage: Callable[[bytes], bytes]
) -> None:
    expected = answers(Translator.load(model, cache=cache))
    path = kept_file(cache)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    again = Translator.load(model, cache=cache)
    assert "is not used and will be written again: it" in again.engine.notice
    assert answers(again) == expected
    assert len(packed) == 2
    assert path.read_bytes() == whole
    assert not Translator.load(model, cache=cache).engine.notice
    assert len(packed) == 2


def test_a_file_that_others_may_write_is_not_used(
    model: Path, cache: Path, packed: list[str]
) -> None:
    expected = answers(Translator.load(model, cache=cache))
    path = kept_file(cache)
    path.chmod(0o666)
    again = Translator.load(model, cache=cache)
    assert again.engine.notice == (
        f"packed weights in the cache are not used: others may write to `{path}`"
    )
    assert answers(again) == expected
    assert len(packed) == 2
    assert not path.stat().st_mode & 0o022


def test_the_file_of_another_model_is_not_used(
    model: Path, cache: Path, packed: list[str], tmp_path: Path
) -> None:
    other, expected = other_model(tmp_path, cache)
    Translator.load(model, cache=cache)
    path = kept_file(cache)
    digest = manifest.read_manifest(other)[WEIGHTS]["sha256"]
    path.rename(cache / f"packed-{digest[:32]}-float32.bin")
    translator = Translator.load(other, cache=cache)
    assert "is of another model" in translator.engine.notice
    assert answers(translator) == expected


def test_a_cache_that_cannot_be_written_to_is_noticed(
    model: Path, cache: Path, monkeypatch
) -> None:
    class ReadOnly(type(files.DISK)):
        def open(self, path, mode):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(files, "DISK", ReadOnly())
    translator = Translator.load(model, cache=cache)
    assert "cannot be kept, so starts take longer" in translator.engine.notice
    assert "Read-only file system" in translator.engine.notice
    assert all(each.text is not None for each in translator.translate(LINES))
    assert not list(cache.glob("*packed-*"))


def test_weights_that_training_replaces_meanwhile_are_those_of_the_file(
    model: Path, cache: Path, packed: list[str], tmp_path: Path
) -> None:
    """The manifest lists the old content, and as the next one what the file has by now."""
    other, expected = other_model(tmp_path, cache)
    Translator.load(model, cache=cache)
    path = model / manifest.MANIFEST
    document = json.loads(path.read_text())
    document["files"][WEIGHTS]["next"] = manifest.read_manifest(other)[WEIGHTS]
    path.write_text(json.dumps(document))
    shutil.copy(other / WEIGHTS, model / WEIGHTS)
    assert answers(Translator.load(model, cache=cache)) == expected


def test_weights_damaged_after_they_were_packed_are_still_refused(model: Path, cache: Path) -> None:
    Translator.load(model, cache=cache)
    data = (model / WEIGHTS).read_bytes()
    (model / WEIGHTS).write_bytes(flipped(0.9)(data))
    with pytest.raises(DataError, match="damaged"):
        Translator.load(model, cache=cache)


def test_the_oldest_files_are_removed(cache: Path, tmp_path: Path, monkeypatch) -> None:
    models = [saved_model(tmp_path / f"m{seed}", seed) for seed in (1, 2, 3)]
    for age, path in zip((30, 20), models, strict=False):
        Translator.load(path, cache=cache)
        newest = max(cache.glob("packed-*.bin"), key=lambda file: file.stat().st_mtime_ns)
        before = newest.stat().st_mtime - age
        os.utime(newest, (before, before))
    sizes = {path.name: path.stat().st_size for path in cache.glob("packed-*.bin")}
    oldest = min(cache.glob("packed-*.bin"), key=lambda file: file.stat().st_mtime_ns)
    monkeypatch.setattr(packed_cache, "MOST", 2 * max(sizes.values()))
    Translator.load(models[2], cache=cache)
    left = {path.name for path in cache.glob("packed-*.bin")}
    assert len(left) == 2
    assert oldest.name not in left
