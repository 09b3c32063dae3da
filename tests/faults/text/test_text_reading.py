"""Text files as they are: one definition of a line, encodings, compression, and what is broken."""

import bz2
import functools
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from backports import zstd
from faults.support import nasty_lines
from faults.tally import fault

from nmt_cli.data.preparation.text_check import utf16_without_mark
from nmt_cli.data.text.line_pairs import read_pairs
from nmt_cli.data.text.lines import read_lines
from nmt_cli.data.text.sanitize import clean_line
from nmt_cli.errors import DataError, NoInputError
from nmt_cli.translation.lines.inputs import windows

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": lambda data: zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1}),
    "bz2": bz2.compress,
}


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "text"


@fault("T2")
@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"\n\n", ["", ""]),
        (b"\na", ["", "a"]),
        (b"a\n\nb\n", ["a", "", "b"]),
    ],
)
def test_last_line_with_and_without_newline(path: Path, data: bytes, lines: list[str]) -> None:
    assert list(read_lines(write(path, data))) == lines
    # And with the beginning of another line.
    begun = data + b"z"
    rest = begun.split(b"\n")[-1].decode()
    assert list(read_lines(write(path, begun))) == [*lines[: data.count(b"\n")], rest]


@fault("T3")
def test_carriage_returns_before_newlines_are_removed(path: Path, checks) -> None:
    cases = {
        b"a\r\nb\r\n": ["a", "b"],
        b"a\rb\n": ["a b"],
        b"a\r": ["a"],
        b"a\r\r\n": ["a "],
        b"\r\n\r\n": ["", ""],
        b"\ra\n": [" a"],
        b"a\n\rb\n": ["a", " b"],
    }
    for data, expected in cases.items():
        raw = list(read_lines(write(path, data)))
        assert len(raw) == data.count(b"\n") + (not data.endswith(b"\n"))
        assert [clean_line(line) for line in raw] == expected
        checks()


@fault("T4")
@pytest.mark.parametrize("name", nasty_lines.SEPARATORS)
def test_only_newline_ends_a_line(path: Path, name: str) -> None:
    mark = chr(nasty_lines.SEPARATORS[name])
    (line,) = read_lines(write(path, f"one{mark}two{mark} three\n".encode()))
    assert line == f"one{mark}two{mark} three"
    assert clean_line(line) == "one two  three"


@fault("T5")
def test_byte_order_mark_is_removed_only_at_the_start(path: Path, checks) -> None:
    mark = b"\xef\xbb\xbf"
    cases = {
        mark + b"a\n": ["a"],
        mark: [],
        mark + b"\n": [""],
        mark + b"a\n" + mark + b"b\n": ["a", "\ufeffb"],
        mark + mark + b"a": ["\ufeffa"],
        gzip.compress(mark + b"a\n"): ["a"],
        mark[:2]: ["\ufffd"],
    }
    for data, expected in cases.items():
        assert list(read_lines(write(path, data))) == expected
        checks()


@fault("T5")
@pytest.mark.parametrize("text", ["Hallo\n", "", "\0"])
@pytest.mark.parametrize(
    ("encoding", "name"),
    [("utf-16-le", "UTF-16"), ("utf-16-be", "UTF-16"), ("utf-32-le", "UTF-32"),
     ("utf-32-be", "UTF-32")],
)  # fmt: skip
def test_other_encodings_are_refused_with_conversion_hint(
    tmp_path: Path, encoding: str, name: str, text: str
) -> None:
    if (encoding, text) == ("utf-16-le", "\0"):
        pytest.skip("these bytes are those of UTF-32")
    odd = write(tmp_path / "a text", f"\ufeff{text}".encode(encoding))
    with pytest.raises(DataError, match=f"looks like {name}") as caught:
        list(read_lines(odd))
    assert caught.value.hint == f"convert it: iconv -f {name} -t UTF-8 '{odd}' > '{odd}.utf8'"


@fault("T5")
@pytest.mark.parametrize("form", ["LE", "BE"])
@pytest.mark.parametrize("text", ["Hallo, du\n", "„Größe“\tĀ Ω – size\n" * 9_000])
def test_utf16_without_a_byte_order_mark_is_refused_with_conversion_hint(
    tmp_path: Path, form: str, text: str
) -> None:
    data = text.encode(f"utf-16-{form.lower()}")
    odd = write(tmp_path / "a text", data)
    compressed = write(tmp_path / "b.gz", gzip.compress(data))
    commands = {
        odd: f"iconv -f UTF-16{form} -t UTF-8 '{odd}'",
        compressed: f"gzip -dc {compressed} | iconv -f UTF-16{form}",
    }
    for path, command in commands.items():
        with pytest.raises(DataError, match=f"looks like UTF-16{form}, UTF-8 is") as caught:
            list(read_lines(path))
        assert caught.value.hint.startswith(f"convert it: {command}")


@fault("T5")
@pytest.mark.parametrize("form", ["LE", "BE"])
@pytest.mark.parametrize(
    "text",
    [
        "Ο σκύλος κοιμάται.",
        "Собака спит.\r\nВсё спит — «тихо».\r\n",
        "ينام الكلب في البيت.",
        "कुत्ता घर में सो रहा है। क\u200dष",
        "הכלב ישן בבית\tעכשיו",
        "狗在家里睡觉。\n孩子们也在家里睡觉。\n",
        "강아지가 집에서 자고 있습니다.",
        # In the other order of bytes, some of these letters are those of other scripts.
        "ԱԲԳ ԴԵԶ ԷԸԹ ԺԻԼ ԽԾԿ",
    ],
)
def test_utf16_of_other_scripts_is_named(tmp_path: Path, text: str, form: str) -> None:
    data = text.encode(f"utf-16-{form.lower()}")
    # The end of the first bytes may be within a character.
    for encoded in (data, data * 900, data + "𐍈".encode(f"utf-16-{form.lower()}")[:3]):
        path = write(tmp_path / "a", encoded)
        with pytest.raises(DataError, match=f"looks like UTF-16{form}, UTF-8 is") as caught:
            list(read_lines(path))
        assert caught.value.hint.startswith(f"convert it: iconv -f UTF-16{form} -t UTF-8 {path}")


@fault("T5")
def test_bytes_that_are_no_text_are_not_taken_for_utf16() -> None:
    random = Random(1)
    for size in range(64, 2_000, 7):
        assert not utf16_without_mark(random.randbytes(size))
    assert not utf16_without_mark("Ο σκύλος κοιμάται.".encode() + bytes(3))
    # UTF-8 with a zero byte (here also with broken bytes) can be letters and a line end in UTF-16.
    letters = "".join(map(chr, range(0x1E922, 0x1E92A))).encode()
    assert not utf16_without_mark(b"\n\0" + letters)
    assert not utf16_without_mark(b"\n\0" + letters * 2 + b"\xa2\xa3" + letters * 2)
    # Nor with a character that no text has.
    assert not utf16_without_mark("狗在家里睡觉孩子们也在家里睡觉吧\ue000\n".encode("utf-16-le"))


@fault("T5")
@pytest.mark.parametrize(
    "data", [b"a\0" * 7, b"a\0b\0" * 20 + b"\0\0" * 20, b"\x01\0" * 20, b"a\0\0\0" * 20]
)
def test_zero_bytes_alone_are_not_taken_for_utf16(data: bytes) -> None:
    assert not utf16_without_mark(data)


@fault("T6")
@pytest.mark.parametrize("name", nasty_lines.BROKEN)
def test_invalid_utf8_is_repaired_and_counted(path: Path, name: str) -> None:
    bad = nasty_lines.BROKEN[name]
    lines = read_lines(write(path, b"good\n" + bad + b"\ngood\n" + bad))
    first, repaired, third, last = lines
    assert (first, third) == ("good", "good")
    assert repaired == last
    assert "\ufffd" in repaired
    assert lines.invalid == 2
    line, byte = map(int, lines.first_invalid.split(":"))
    assert line == 2
    bad[: byte - 1].decode("utf-8")
    with pytest.raises(UnicodeDecodeError):
        bad[: byte + 3].decode("utf-8")


@fault("T6")
@pytest.mark.parametrize("name", nasty_lines.BROKEN)
def test_strict_reading_refuses_invalid_utf8(path: Path, name: str) -> None:
    write(path, b"good\n" + nasty_lines.BROKEN[name] + b"\n")
    given = []
    with pytest.raises(DataError, match=r"line 2, byte \d+: not UTF-8"):
        given.extend(read_lines(path, strict=True))
    for pair in ((str(path),), (str(path), str(path))):
        with pytest.raises(DataError, match="line "):
            list(read_pairs(pair, strict=True))


@fault("T15")
@pytest.mark.parametrize("bad", [b"only one", b"a\tb\tc", b"", b"\t\t", b"a b", b"a\x0bb"])
def test_tsv_row_without_two_columns_is_named(path: Path, bad: bytes) -> None:
    write(path, b"a\tA\n" + bad + b"\nb\tB\n")
    with pytest.raises(DataError, match=r"line 2: \d columns?, 2 are needed"):
        list(read_pairs((str(path),)))


@functools.cache
def compressed(kind: str) -> bytes:
    """All the numbers."""
    return COMPRESS[kind](numbers())


@functools.cache
def numbers(count: int = 100_000) -> bytes:
    """Lines that do not compress well."""
    return b"".join(b"%d %d\n" % (n * 7919 % 104729, n * n % 7907) for n in range(count))


@fault("I5")
@pytest.mark.parametrize("share", [0.03, 0.5, 0.97])
@pytest.mark.parametrize("kind", COMPRESS)
def test_truncated_compressed_stream_gives_lines_before_the_cut(
    path: Path, kind: str, share: float
) -> None:
    text, data = numbers(), compressed(kind)
    lines = read_lines(write(path, data[: int(len(data) * share)]))
    given: list[str] = []
    with pytest.raises(DataError, match="ends in the middle, after line") as caught:
        given.extend(line for window in windows(lines) for line in window)
    assert f"after line {len(given)}" in caught.value.message
    assert text.startswith("".join(f"{line}\n" for line in given).encode())
    # Of a block that is not whole zstd and bzip2 give nothing: 128 kB, 900 kB.
    kept_back = {"gz": 500, "xz": 1_500, "zst": 16_000, "bz2": 85_000}[kind]
    assert len(given) >= share * 100_000 - kept_back


@fault("I6")
@pytest.mark.parametrize("position", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("kind", COMPRESS)
def test_flipped_bit_in_compressed_stream_is_detected(
    path: Path, kind: str, position: float
) -> None:
    data = bytearray(COMPRESS[kind](numbers(20_000)))
    data[int(len(data) * position)] ^= 16
    lines = read_lines(write(path, bytes(data)))
    with pytest.raises(DataError, match=r"the compressed stream .*, after line \d+"):
        list(lines)


@fault("I6")
@pytest.mark.parametrize("kind", ["xz", "zst", "bz2"])
def test_garbage_after_compressed_stream_is_reported_at_the_end(path: Path, kind: str) -> None:
    for rubbish in (b"rubbish", b"x" * 700_000, b"\0\0\0x"):
        lines = read_lines(write(path, compressed(kind) + rubbish))
        given: list[str] = []
        with pytest.raises(DataError, match="after line 100000"):
            given.extend(lines)
        assert len(given) == 100_000


@fault("I6")
def test_garbage_after_gzip_stream_is_reported_at_the_end(path: Path) -> None:
    lines = read_lines(write(path, compressed("gz") + b"rubbish"))
    given: list[str] = []
    with pytest.raises(DataError, match=r"is damaged.*, after line 100000"):
        given.extend(lines)


@fault("I6")
@pytest.mark.parametrize("kind", ["xz", "zst", "bz2"])
def test_concatenated_compressed_streams_are_read(path: Path, kind: str, checks) -> None:
    compress = COMPRESS[kind]
    parts = [b"one\ntw", b"o\nthree\n", b"", b"four"]
    for between in (b"", b"\0" * 4):
        write(path, between.join(map(compress, parts)))
        assert list(read_lines(path)) == ["one", "two", "three", "four"]
        checks()


@fault("I6")
def test_concatenated_gzip_streams_are_read(path: Path) -> None:
    parts = [b"one\ntw", b"o\nthree\n", b"", b"four"]
    write(path, b"".join(map(gzip.compress, parts)))
    assert list(read_lines(path)) == ["one", "two", "three", "four"]


@fault("I6")
def test_zstd_frames_with_skippable_frames_are_read(path: Path) -> None:
    skipped = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
    write(path, skipped + zstd.compress(b"one\ntwo\n") + skipped + zstd.compress(b"three\n"))
    assert list(read_lines(path)) == ["one", "two", "three"]


@fault("I7")
@pytest.mark.parametrize("name", ["text", "text.txt", "text.gz", "text.xz", "text.zst", "text.bz2"])
def test_compression_is_detected_by_content_not_by_name(tmp_path: Path, name: str, checks) -> None:
    text = "".join(f"Zeile {n}: naïve Straße\n" for n in range(2_000))
    for compress in (bytes, *COMPRESS.values()):
        lines = read_lines(write(tmp_path / name, compress(text.encode())))
        assert "".join(f"{line}\n" for line in lines) == text
        assert lines.bytes_read == lines.size
        checks()


@fault("I7")
def test_text_that_begins_like_a_compressed_file_is_read_as_text(path: Path, checks) -> None:
    for text in (b"BZh9 is a word\n", b"BZ\n", b"(\xb5/ no\n", b"P*M\n", b"7zXZ\n", b"BZh91AY\n"):
        assert len(list(read_lines(write(path, text)))) == 1
        checks()


@fault("I10")
def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoInputError, match="is a directory, a file is needed"):
        read_lines(tmp_path)
    with pytest.raises(NoInputError, match="cannot be read: No such file"):
        read_lines(tmp_path / "none")


@fault("I10")
def test_growing_file_is_read_to_its_current_end(path: Path) -> None:
    lines = read_lines(write(path, b"one\n"))
    with path.open("ab") as file:
        file.write(b"two\nthr")
    assert next(lines) == "one"
    with path.open("ab") as file:
        file.write(b"ee\n")
    assert list(lines) == ["two", "three"]


@fault("I10")
def test_file_replaced_or_truncated_while_reading(tmp_path: Path, checks) -> None:
    path = write(tmp_path / "text", b"old\n" * 200_000)
    lines = read_lines(path)
    assert next(lines) == "old"
    write(tmp_path / "new", b"new\n").replace(path)
    assert set(lines) == {"old"}
    assert lines.count == 200_000
    checks()
    path = write(tmp_path / "text", b"old\n" * 200_000)
    lines = read_lines(path)
    assert next(lines) == "old"
    os.truncate(path, 0)
    assert set(lines) == {"old"}
    assert lines.count < 200_000
    checks()
    assert list(read_lines(write(tmp_path / "nothing", b""))) == []
    checks()
