"""Small compressed files that become large: memory stays what one line needs."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.support.attacks import watched
from faults.tally import fault

from nmt_cli.data.text.lines import LONGEST_LINE, read_lines

Checks = Callable[..., None]

MEGABYTES = 96
# The longest line, in parts, and what the decompressors need themselves.
MEMORY = LONGEST_LINE + (44 << 20)


def bomb(make: Callable[[io.BytesIO], io.IOBase], part: bytes) -> bytes:
    """So many megabytes of the same, compressed."""
    data = io.BytesIO()
    with make(data) as file:
        for _ in range(MEGABYTES):
            file.write(part)  # type: ignore[attr-defined]
    return data.getvalue()


def _zstd_file(data: io.BytesIO) -> io.IOBase:
    zstd = pytest.importorskip("backports.zstd")
    file: io.IOBase = zstd.ZstdFile(data, "w")
    return file


FORMATS: dict[str, Callable[[io.BytesIO], io.IOBase]] = {
    "gz": lambda data: gzip.GzipFile(fileobj=data, mode="w", compresslevel=1),
    "xz": lambda data: lzma.LZMAFile(data, "w", preset=0),  # noqa: SIM115
    "bz2": lambda data: bz2.BZ2File(data, "w", compresslevel=1),
    "zst": _zstd_file,
}


def count(path: Path) -> int:
    return sum(1 for _ in read_lines(path))


@pytest.mark.slow
@fault("U7")
@pytest.mark.parametrize("ending", FORMATS)
def test_endless_compressed_line_is_refused_in_flat_memory(
    tmp_path: Path, ending: str, checks: Checks
) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(bomb(FORMATS[ending], b"a" * (1 << 20)))
    outcome = watched(lambda: count(path))
    assert outcome.code == 65
    assert "line 1: longer than 16 MiB" in outcome.text
    assert outcome.grown < MEMORY
    checks()


@pytest.mark.slow
@fault("U7")
@pytest.mark.parametrize("ending", FORMATS)
def test_long_compressed_lines_are_read_one_at_a_time(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "long"
    path.write_bytes(bomb(FORMATS[ending], b"a" * ((1 << 20) - 1) + b"\n"))
    outcome = watched(lambda: count(path))
    assert (outcome.code, outcome.text) == (0, "")
    assert outcome.grown < MEMORY


@fault("U7")
def test_endless_line_in_plain_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "line"
    with path.open("wb") as file:
        file.write(b"one\ntwo\n")
        for _ in range(128):
            file.write(b"x" * (1 << 20))
    outcome = watched(lambda: count(path))
    assert outcome.code == 65
    assert "line 3: longer" in outcome.text
    assert outcome.grown < MEMORY


def xz_that_asks_for_4_gib() -> bytes:
    """The size of the dictionary is one byte of the block's header, which has its own checksum."""
    data = bytearray(lzma.compress(b"text\n"))
    size = (data[12] + 1) * 4
    position = data.index(b"\x21\x01", 12) + 2
    data[position] = 40
    end = 12 + size - 4
    data[end : end + 4] = zlib.crc32(data[12:end]).to_bytes(4, "little")
    return bytes(data)


def zstd_that_asks_for_2_gib() -> bytes:
    """A frame whose window is 2^31 bytes, with one raw block."""
    text = b"text\n"
    block = (len(text) << 3 | 1).to_bytes(3, "little") + text
    return b"\x28\xb5\x2f\xfd\x00\xa8" + block


@fault("U7")
def test_compressed_stream_that_needs_gigabytes_is_refused(tmp_path: Path, checks: Checks) -> None:
    for index, data in enumerate((xz_that_asks_for_4_gib(), zstd_that_asks_for_2_gib())):
        path = tmp_path / f"{index}"
        path.write_bytes(data)
        outcome = watched(lambda path=path: count(path))
        assert outcome.code in (65, 69)
        assert "emory" in outcome.text or outcome.code == 69
        checks()
