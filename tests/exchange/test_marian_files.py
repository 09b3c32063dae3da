"""Hostile and damaged files of Marian: a clear error, and nothing is written."""

import random
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from marian_models import LANGUAGES, SETTINGS, copied, rewrite, with_header

from nmt_cli.errors import ConfigError, DataError, NmtError, NoInputError
from nmt_cli.exchange.formats.marian.importer import IMPORTER
from nmt_cli.exchange.formats.marian.yaml_files import read_yaml_object
from nmt_cli.exchange.import_model import import_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the recorded model to damage."""
    return copied(tmp_path / "copy")


def refusal(folder: Path) -> NmtError:
    """The error of importing `folder`, which leaves nothing behind."""
    with pytest.raises(NmtError) as raised:
        import_model(
            folder, folder.parent / "model", format_name="marian", options=LANGUAGES, check=False
        )
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    return raised.value


@pytest.mark.parametrize("length", [0, 1, 30, 1_000, 70_000, 139_000])
def test_truncated_weights(folder: Path, length: int) -> None:
    content = (folder / "model.npz").read_bytes()
    (folder / "model.npz").write_bytes(content[:length])
    error = refusal(folder)
    assert isinstance(error, DataError)
    assert "damaged" in str(error)


class Exploit:
    """Makes a file if it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickled_objects_are_not_loaded(folder: Path, tmp_path: Path) -> None:
    with np.load(folder / "model.npz") as loaded:
        arrays = {name: loaded[name] for name in loaded.files}
    arrays["Wemb"] = np.array([Exploit(tmp_path / "exploited")], dtype=object)
    np.savez(folder / "model.npz", **arrays)
    with np.load(folder / "model.npz", allow_pickle=True) as loaded:
        loaded["Wemb"]
    (tmp_path / "exploited").unlink()
    assert "has the type object" in str(refusal(folder))
    assert not (tmp_path / "exploited").exists()


ARRAYS = [
    ({"Wemb": np.zeros((4, 4), np.float64)}, "has the type float64"),
    ({"Wemb": np.zeros((4, 4), ">f4")}, "has the type >f4"),
    ({"Wemb": np.zeros((4, 4), np.int8)}, "has the type int8"),
    ({"Wemb": np.zeros((4, 5), np.float32, order="F")}, "stored by columns"),
    ({"Wemb": np.full((4, 5), np.nan, np.float32)}, "not finite"),
    ({"Wemb": np.zeros(5, np.float32)}, "no matrix `encoder_Wemb` or `Wemb`"),
    ({"Wemb": None}, "no matrix"),
    ({SETTINGS: None}, "no model of Marian"),
    ({SETTINGS: np.zeros(4, np.float32)}, "has the type float32"),
    ({SETTINGS: np.zeros(4, np.int8)}, "holds no settings"),
    ({SETTINGS: np.zeros((1 << 20) + 9, np.int8) + 65}, "too long"),
    ({SETTINGS: np.zeros(4, np.int8) - 1}, "is not YAML"),
]


@pytest.mark.parametrize(("changes", "message"), ARRAYS)
def test_arrays_of_other_kinds(folder: Path, changes: dict, message: str) -> None:
    rewrite(folder / "model.npz", **changes)
    error = refusal(folder)
    assert isinstance(error, DataError)
    assert message in str(error)


HEADERS = [
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 1000000)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 32)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (-43, -32)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 32)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': 'x'}",
    "{'descr': '<f4', 'shape': (43, 32)}",
    "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (43, 32)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (43, 32), 'x': __import__('os')}",
    "((((((((((((((((((((((((((((((((((((((((((((((((((",
]


@pytest.mark.parametrize("header", HEADERS)
def test_wrong_headers(folder: Path, header: str) -> None:
    with_header(folder / "model.npz", header)
    assert isinstance(refusal(folder), DataError)


def test_compressed_and_foreign_entries(folder: Path) -> None:
    with zipfile.ZipFile(folder / "model.npz") as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(folder / "model.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    assert "is compressed" in str(refusal(folder))
    with zipfile.ZipFile(folder / "model.npz", "w") as archive:
        archive.writestr("readme.txt", "x")
    assert "not an array" in str(refusal(folder))
    with zipfile.ZipFile(folder / "model.npz", "w") as archive:
        archive.writestr("a.npy", "x")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.npy", "x")
    assert "two arrays of the same name" in str(refusal(folder))


def test_entries_that_claim_more_than_the_file_holds(folder: Path) -> None:
    """No memory is allocated for them."""
    content = bytearray((folder / "model.npz").read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    # The sizes of an entry, in the directory at the end.
    content[entry + 20 : entry + 28] = struct.pack("<II", 2**32 - 2, 2**32 - 2)
    (folder / "model.npz").write_bytes(content)
    assert isinstance(refusal(folder), DataError)


def bomb(levels: int = 9) -> str:
    """YAML that describes 10^levels strings in a few lines."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        inner = ", ".join([f"*a{level - 1}"] * 10)
        lines.append(f"a{level}: &a{level} [{inner}]")
    return "\n".join(lines)


YAML = [
    (bomb(), "aliases"),
    ("a: &a {b: 1}\nc: {<<: *a}", "aliases"),
    ("a: " + "[" * 3_000, "nested too deeply"),
    ("a: !!python/object/apply:os.system [exit]", "not YAML"),
    ("a: !!timestamp 9999-99-99", "not YAML"),
    ("type: transformer\n\ttabs: x", "not YAML"),
    ("a: " + "9" * 10_000, "not YAML"),
    ("{[1]: 2}", "not YAML"),
    ("just text", "holds no settings"),
    ("", "holds no settings"),
]


@pytest.mark.parametrize(("text", "message"), YAML)
def test_hostile_yaml(folder: Path, text: str, message: str) -> None:
    rewrite(folder / "model.npz", settings=text)
    error = refusal(folder)
    assert isinstance(error, DataError)
    assert message in str(error)
    (folder / "decoder.yml").write_text(text)
    assert isinstance(refusal(folder), DataError)
    with pytest.raises(DataError, match=message):
        read_yaml_object(text.encode(), "it")


def test_settings_of_any_type_are_refused_and_not_shown_in_full(folder: Path) -> None:
    long = "x" * 1_000
    rewrite(
        folder / "model.npz", settings=f"type: {long}\n{long}: 1\nenc-depth: 1e9\nulr: {{a: b}}"
    )
    error = refusal(folder)
    assert isinstance(error, ConfigError)
    assert len(str(error)) < 2_000


@pytest.mark.parametrize("name", ["model.npz", "vocab.spm", "decoder.yml"])
@pytest.mark.parametrize("damage", ["missing", "other", "pipe"])
def test_missing_and_other_files(folder: Path, name: str, damage: str) -> None:
    import os

    (folder / name).unlink()
    if damage == "other":
        (folder / name).write_bytes(b"\0" * 100)
    elif damage == "pipe":
        os.mkfifo(folder / name)
    expected = DataError if damage == "other" else NoInputError
    assert isinstance(refusal(folder), expected)


@pytest.mark.slow
def test_fuzzed_files_are_read_or_refused(folder: Path) -> None:
    """Nothing but the errors of nmt, whatever bytes change: headers, settings and vocabularies."""
    chooser = random.Random(4)
    names = ["model.npz", "model.npz", "decoder.yml", "vocab.spm"]
    content = {name: (folder / name).read_bytes() for name in set(names)}
    weights = content["model.npz"]
    parts = (b"PK", b"\x93NUMPY", b"enc-", b"trans")
    marks = [index for index in range(len(weights)) if weights.startswith(parts, index)]
    refused = 0
    for _ in range(300):
        name = chooser.choice(names)
        damaged = bytearray(content[name])
        for _ in range(chooser.randint(1, 4)):
            start = chooser.choice(marks) if name == "model.npz" else 0
            place = min(start + chooser.randrange(120), len(damaged) - 1)
            damaged[place] = chooser.choice(b'\0\xff{}[]":,-19ae. ')
        (folder / name).write_bytes(damaged)
        try:
            IMPORTER.read(folder, LANGUAGES)
        except (ConfigError, DataError, NoInputError):
            refused += 1
        (folder / name).write_bytes(content[name])
    assert 150 < refused < 300
