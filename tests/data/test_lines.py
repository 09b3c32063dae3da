"""Lines and pairs: one definition of a line, whatever the bytes and the compression."""

import gzip
import lzma
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.data.text.lines import clean_line, read_pairs
from nmt_cli.errors import DataError

# What programs take for the end of a line, and what steers a terminal.
NEVER_SHOWN = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\x00\x1b"


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


def test_a_line_from_stdin_is_given_when_it_comes():
    with start_reading_stdin() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text in (b"one\n", b"\n", b"two\n"):
            process.stdin.write(text)
            process.stdin.flush()
            # It would block here for ever if the reader waited for more.
            assert process.stdout.readline() == repr(text.decode()[:-1]).encode() + b"\n"
        process.stdin.close()


def test_stdin_may_be_compressed():
    with start_reading_stdin() as process:
        out, _ = process.communicate(lzma.compress(b"one\ntwo\n"))
    assert out == b"'one'\n'two'\n"


@given(st.text(st.characters(codec=None)))
def test_a_clean_line_is_one_line_of_utf_8(text):
    clean = clean_line(text)
    assert not set(clean) & set(NEVER_SHOWN)
    assert len(clean.splitlines()) <= 1
    clean.encode("utf-8")
    assert clean_line(clean) == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain Text, naïve 中文 \u05e9", "plain Text, naïve 中文 \u05e9"),
        ("a\tb\x0bc\x0cd\x1ce\x1df\x1eg\x85h\u2028i\u2029j\rk", "a b c d e f g h i j k"),
        ("a\x00b\x07c\x7fd\x9be", "abcde"),
        ("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\", "red link"),
        ("a\u00a0b\u00adc\u200bd", "a\u00a0b\u00adc\u200bd"),
        ("a\ud800b", "a\ufffdb"),
        ("a▁b", "a_b"),
    ],
)
def test_what_cleaning_does(text, clean):
    assert clean_line(text) == clean


def test_pairs_of_two_files_and_of_one(tmp_path):
    src = write(tmp_path / "src", b"a\nb\n")
    tgt = write(tmp_path / "tgt", gzip.compress(b"A\nB\n"))
    tsv = write(tmp_path / "tsv", b"a\tA\nb\tB\r\n")
    assert list(read_pairs((str(src), str(tgt)))) == [("a", "A"), ("b", "B")]
    assert list(read_pairs((str(tsv),))) == [("a", "A"), ("b", "B")]


def test_files_of_different_length_name_both_counts(tmp_path):
    src = write(tmp_path / "src", b"a\nb\nc\n" * 1000)
    tgt = write(tmp_path / "tgt", b"a\nb\n")
    with pytest.raises(DataError, match=r"(?m)src` has 3,000 lines, `.*tgt` has 2$") as caught:
        list(read_pairs((str(src), str(tgt))))
    assert "near line 3" in caught.value.hint
