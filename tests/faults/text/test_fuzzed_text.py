"""Random bytes as text: as many lines as there are bytes 0x0A, all UTF-8, or it is refused."""

import bz2
import contextlib
import gzip
import io
import lzma
import random
import sys
from collections.abc import Iterator

import pytest
from backports import zstd
from byte_models import byte_config, byte_model, byte_subwords
from faults.support import nasty_lines
from faults.support.letters import check_line, copying_translator
from faults.tally import fault
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.cli.display.translations import plain_lines
from nmt_cli.data.text.lines import Lines, read_lines
from nmt_cli.errors import DataError
from nmt_cli.translation.json_lines import as_json_line
from nmt_cli.translation.lines.inputs import windows
from nmt_cli.translation.translator import Translator

FILES = 10_000
MARK = b"\xef\xbb\xbf"
OTHER_ENCODINGS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
COMPRESS = (gzip.compress, lzma.compress, bz2.compress, zstd.compress)
PARTS = [
    # Often enough to meet all the others.
    *[b"\n", b"\r", b"\r\n"] * 40,
    b" ", b"\t", MARK, b"\0", b"\x1b[31m", b"word", b"word ", b"\xc3",
    b"\x80",
    *(chr(code).encode() for code in nasty_lines.SEPARATORS.values()),
    *(text.encode() for text in nasty_lines.TEXTS.values() if len(text) < 40),
    *nasty_lines.BROKEN.values(),
]  # fmt: skip


def number_of_lines(data: bytes) -> int:
    """As the rule has it."""
    text = data.removeprefix(MARK)
    return text.count(b"\n") + (text != b"" and not text.endswith(b"\n"))


@contextlib.contextmanager
def given_text(data: bytes) -> Iterator[Lines]:
    """The lines of `data` as stdin: ten thousand files on a disk take their time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        with read_lines("-") as lines:
            yield lines


def outcome(data: bytes, translator: Translator) -> list[str] | None:
    """The lines that `nmt translate` writes for such a file; None: refused, as exit code 65."""
    plain, written = plain_lines(n_best=False, scores=False, alignment=False), []
    count = 0
    try:
        with given_text(data) as lines:
            for window in windows(lines):
                for line_number, translation in enumerate(
                    translator.translate_window(window), count
                ):
                    shown, document = (
                        plain(line_number, translation),
                        as_json_line(line_number, translation),
                    )
                    assert shown.endswith("\n")
                    check_line(shown[:-1])
                    assert len(document.splitlines()) == 1
                    written.append(shown[:-1])
                count += len(window)
    except DataError:
        return None
    return written


def fuzzed(chooser: random.Random) -> Iterator[bytes]:
    """Files without end, some of them compressed, some of those broken."""
    while True:
        parts = chooser.choices(PARTS, k=chooser.randrange(12))
        data = (
            b"".join(parts) if chooser.random() < 0.7 else chooser.randbytes(chooser.randrange(40))
        )
        yield data
        if chooser.random() < 0.1:
            packed = bytearray(chooser.choice(COMPRESS)(data))
            yield bytes(packed)
            packed[chooser.randrange(len(packed))] ^= 1 << chooser.randrange(8)
            yield bytes(packed[: chooser.randrange(len(packed) + 1)])


@fault("T18")
@pytest.mark.slow
def test_ten_thousand_fuzzed_files_are_translated_or_refused(checks) -> None:
    translator, _ = copying_translator()
    starts = (b"\x1f\x8b", b"\xfd7zXZ\x00", b"BZh", b"\x28\xb5\x2f\xfd")
    refused = 0
    for _, data in zip(range(FILES), fuzzed(random.Random(5)), strict=False):
        result = outcome(data, translator)
        refused += result is None
        if result is None:
            assert data.startswith((*OTHER_ENCODINGS, *starts)), data
        elif not data.startswith(starts):
            assert len(result) == number_of_lines(data), data
        checks()
    assert 0 < refused < FILES / 5


@fault("T18")
@given(data=st.lists(st.binary(max_size=8) | st.sampled_from(PARTS), max_size=12).map(b"".join))
def test_random_bytes_are_translated_or_refused(data: bytes) -> None:
    translator, _ = copying_translator()
    result = outcome(data, translator)
    if result is not None and not data.startswith((b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        assert len(result) == number_of_lines(data)


@fault("T18")
@given(data=st.lists(st.binary(max_size=6) | st.sampled_from(PARTS), max_size=20).map(b"".join))
def test_line_reader_equals_python_text_mode(data: bytes) -> None:
    try:
        with given_text(data) as given:
            lines = list(given)
    except DataError:
        return
    if data.startswith((b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"BZh")):
        return
    raw = io.BytesIO(data.removeprefix(MARK))
    with io.TextIOWrapper(raw, "utf-8", "replace", newline="\n") as text:
        expected = [line.removesuffix("\n").removesuffix("\r") for line in text]
    assert lines == expected


@fault("T18")
def test_real_model_translates_random_files(checks) -> None:
    config = byte_config({"search.beam": 1, "search.max_length": 12})
    translator = Translator(byte_model(config), config, byte_subwords())
    for _, data in zip(range(40), fuzzed(random.Random(6)), strict=False):
        result = outcome(data, translator)
        if result is not None and not data.startswith((b"\x1f\x8b", b"\xfd7", b"BZh", b"\x28\xb5")):
            assert len(result) == number_of_lines(data)
        checks()
