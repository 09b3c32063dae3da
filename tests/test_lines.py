"""Lines and pairs: one definition of a line, whatever the bytes and the compression."""

import bz2
import gzip
import io
import lzma
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.data.lines import clean_line, read_lines, read_pairs
from nmt_cli.errors import DataError, NoInputError

# What programs take for the end of a line, and what steers a terminal.
NEVER_SHOWN = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\x00\x1b"
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
}


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def expected_lines(data: bytes) -> list[str]:
    """The rule, said another way: text mode of Python with every shortcut off."""
    with io.TextIOWrapper(
        io.BytesIO(data.removeprefix(b"\xef\xbb\xbf")), "utf-8", "replace", newline="\n"
    ) as text:
        lines = [line.removesuffix("\n") for line in text]
    return [line.removesuffix("\r") for line in lines]


line_bytes = st.lists(
    st.one_of(
        st.binary(max_size=6),
        st.sampled_from([b"\n", b"\r", b"\r\n", b"\xef\xbb\xbf", b"\xc3", b"a b", b"\xe2\x80\xa8"]),
    ),
    max_size=20,
).map(b"".join)


# Not lines of UTF-8, and told by the first bytes.
SIGNATURES = (b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("scratch")
    return folder / "text"


@given(line_bytes)
def test_only_the_byte_0a_ends_a_line(scratch, data):
    try:
        lines = list(read_lines(write(scratch, data)))
    except DataError:
        assert data.startswith(SIGNATURES)
        return
    whole = data.removeprefix(b"\xef\xbb\xbf")
    assert len(lines) == whole.count(b"\n") + (not whole.endswith(b"\n") and whole != b"")
    assert lines == expected_lines(data)
    for line in lines:
        line.encode("utf-8")


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\n", ["a\rb"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", ["a", "\ufeffb"]),
        ("a\u2028b\x85c\x0bd\n".encode(), ["a\u2028b\x85c\x0bd"]),
    ],
)
def test_small_files(tmp_path, data, lines):
    assert list(read_lines(write(tmp_path / "text", data))) == lines


@pytest.mark.parametrize("kind", COMPRESS)
def test_the_first_bytes_tell_the_compression_not_the_name(tmp_path, kind):
    text = "".join(f"Zeile {n}: naïve Straße\n" for n in range(50_000))
    path = write(tmp_path / "text.bz2", COMPRESS[kind](text.encode()))
    lines = read_lines(path)
    assert "".join(f"{line}\n" for line in lines) == text
    assert lines.count == 50_000
    assert lines.bytes_read == lines.size == path.stat().st_size


@pytest.mark.parametrize("kind", ["gz", "xz", "zst"])
def test_joined_compressed_files_are_read_to_the_end(tmp_path, kind):
    path = write(tmp_path / "text", COMPRESS[kind](b"one\ntw") + COMPRESS[kind](b"o\nthree\n"))
    assert list(read_lines(path)) == ["one", "two", "three"]


@pytest.mark.parametrize("kind", ["gz", "xz", "zst"])
def test_of_a_cut_stream_the_lines_before_the_cut_are_given(tmp_path, kind):
    random = (f"{n * 7919 % 104729} {n * n % 7907}" for n in range(100_000))
    data = COMPRESS[kind]("".join(f"{line}\n" for line in random).encode())
    lines = read_lines(write(tmp_path / "text", data[: len(data) // 2]))
    given: list[str] = []
    with pytest.raises(DataError, match=r"ends in the middle, after line (\d+)") as caught:
        given.extend(lines)
    assert f"line {lines.count}" in caught.value.message
    assert lines.count > 10_000


@pytest.mark.parametrize("kind", ["gz", "xz", "zst"])
def test_a_flipped_bit_is_found(tmp_path, kind):
    data = bytearray(COMPRESS[kind](b"".join(b"%d\n" % (n * n % 7907) for n in range(20_000))))
    data[len(data) // 2] ^= 16
    with pytest.raises(DataError, match="the compressed stream"):
        list(read_lines(write(tmp_path / "text", bytes(data))))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_utf_16_is_refused_with_the_way_out(tmp_path, encoding):
    mark = "\ufeff" if encoding.endswith("be") else ""
    path = write(tmp_path / "text", (mark + "Hallo\n").encode(encoding))
    with pytest.raises(DataError, match="UTF-16") as caught:
        list(read_lines(path))
    assert f"iconv -f UTF-16 -t UTF-8 {path}" in caught.value.hint


def test_what_is_not_utf_8_is_repaired_and_counted(tmp_path):
    path = write(tmp_path / "text", b"good\nStra\xdfe\n\xc0\xaf\ngood\n\xed\xa0\x80\n")
    lines = read_lines(path)
    assert list(lines) == ["good", "Stra\ufffde", "\ufffd\ufffd", "good", "\ufffd\ufffd\ufffd"]
    assert (lines.invalid, lines.first_invalid) == (3, "2:5")


def test_strict_refuses_what_is_not_utf_8_with_line_and_byte(tmp_path):
    path = write(tmp_path / "text", b"good\nStra\xdfe\n")
    with pytest.raises(DataError, match="line 2, byte 5"):
        list(read_lines(path, strict=True))


def test_missing_files_and_directories_are_refused(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(NoInputError, match=str(path)):
            read_lines(path)


def test_bzip2_is_not_taken_for_text_by_chance(tmp_path):
    lines = read_lines(write(tmp_path / "text", bz2.compress(b"text\n" * 100)))
    list(lines)
    assert lines.invalid


STDIN_PROGRAM = """
import sys
from nmt_cli.data.lines import read_lines
for line in read_lines("-"):
    print(repr(line), flush=True)
"""


def start_reading_stdin() -> "subprocess.Popen[bytes]":
    root = Path(__file__).resolve().parents[1]
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


@pytest.mark.parametrize("bad", [b"only one", b"a\tb\tc", b""])
def test_a_row_without_two_columns_is_named(tmp_path, bad):
    tsv = write(tmp_path / "tsv", b"a\tA\n" + bad + b"\nb\tB\n")
    with pytest.raises(DataError, match=r"line 2: \d columns"):
        list(read_pairs((str(tsv),)))


def test_files_of_different_length_name_both_counts(tmp_path):
    src = write(tmp_path / "src", b"a\nb\nc\n" * 1000)
    tgt = write(tmp_path / "tgt", b"a\nb\n")
    with pytest.raises(DataError, match=r"src` has 3,000 lines, `.*tgt` has 2$") as caught:
        list(read_pairs((str(src), str(tgt))))
    assert "near line 3" in caught.value.hint
