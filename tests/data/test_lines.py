"""Lines and pairs: one definition of a line, whatever the input and the compression."""

import gzip
import lzma
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.data.text.lines import read_pairs
from nmt_cli.errors import DataError


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


STDIN_PROGRAM = """
import sys
from nmt_cli.data.text.lines import read_lines
for line in read_lines("-"):
    print(repr(line), flush=True)
"""


def start_reading_stdin() -> "subprocess.Popen[bytes]":
    root = Path(__file__).resolve().parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", STDIN_PROGRAM],
        cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip


def test_line_from_stdin_is_returned_when_it_arrives():
    with start_reading_stdin() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text in (b"one\n", b"\n", b"two\n"):
            process.stdin.write(text)
            process.stdin.flush()
            # This would block forever if the reader waited for more input.
            assert process.stdout.readline() == repr(text.decode()[:-1]).encode() + b"\n"
        process.stdin.close()


def test_stdin_may_be_compressed():
    with start_reading_stdin() as process:
        out, _ = process.communicate(lzma.compress(b"one\ntwo\n"))
    assert out == b"'one'\n'two'\n"


def test_read_pairs_of_two_files_and_of_tsv(tmp_path):
    src = write(tmp_path / "src", b"a\nb\n")
    tgt = write(tmp_path / "tgt", gzip.compress(b"A\nB\n"))
    tsv = write(tmp_path / "tsv", b"a\tA\nb\tB\r\n")
    assert list(read_pairs((str(src), str(tgt)))) == [("a", "A"), ("b", "B")]
    assert list(read_pairs((str(tsv),))) == [("a", "A"), ("b", "B")]


def test_files_of_different_length_name_both_counts(tmp_path):
    src = write(tmp_path / "src", b"a\nb\nc\n" * 1000)
    tgt = write(tmp_path / "tgt", b"a\nb\n")
    with pytest.raises(DataError, match=r"src` has 3,000 lines, `.*tgt` has 2\n") as caught:
        list(read_pairs((str(src), str(tgt))))
    assert "tgt` ends: is it cut off?" in caught.value.hint
