"""Lines and pairs: one definition of a line, whatever the input and the compression."""

import gzip
import lzma
import random
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.data.languages.words import FUNCTION_WORDS
from nmt_cli.data.preparation.encoding_check import require_utf8
from nmt_cli.data.text.encoding import to_utf8_command
from nmt_cli.data.text.line_pairs import read_pairs
from nmt_cli.data.text.lines import read_lines
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
    root = Path(__file__).resolve().parents[3]
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


GERMAN = "der Hund des Mannes ist in dem Garten und er war nicht mit ihr weil er alt ist"
ENGLISH = "the dog of the man is in the garden and it was not with her for he is old"


@pytest.mark.parametrize(
    ("columns", "hint"),
    [
        (("7", GERMAN, ENGLISH),
         "the columns 2 and 3, which look like German (`de`) and English (`en`): nmt convert '{}' "
         "--columns 2,3 -o 'my table.two-columns'"),
        ((ENGLISH, "note", "www.example.org", GERMAN),
         "which look like English (`en`) and German (`de`): nmt convert '{}' --columns 1,4"),
        (("7", "ka to mi {0}", "bu la {0}"),
         "column 2 as source and column 3 as target, or others in their "
         "place: nmt convert '{}' --columns 2,3 "),
        (("7", "ka to mi {0}", "2024"),
         "two of the columns, with the numbers of source and target for A and B: nmt "
         "convert '{}' --columns A,B"),
    ],
)  # fmt: skip
def test_columns_of_a_wider_table_are_recognised_by_their_languages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: tuple[str, ...], hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    name = "my table"
    rows = ("\t".join(columns).format(number) for number in range(40))
    Path(name).write_text("".join(f"{row}\n" for row in rows), "utf-8")
    for keep_bad_rows in (False, True):
        with pytest.raises(DataError) as caught:
            list(read_pairs((name,), keep_bad_rows=keep_bad_rows))
        assert hint.format(name) in caught.value.hint


@pytest.mark.parametrize("first", ["# by Jan", ""])
def test_columns_of_a_wider_table_are_recognised_after_a_comment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.tsv").write_text(f"{first}\n" + f"7\t{GERMAN}\t{ENGLISH}\n" * 40)
    for keep_bad_rows in (False, True):
        with pytest.raises(DataError) as caught:
            list(read_pairs(("t.tsv",), keep_bad_rows=keep_bad_rows))
        message = "`t.tsv`, line 1: 1 column, 2 are needed, most lines have 3"
        assert caught.value.message.startswith(message)
        columns = (
            "the columns 2 and 3, which look like German (`de`) and English (`en`): "
            "nmt convert t.tsv --columns 2,3"
        )
        assert columns in caught.value.hint
    # One wider line of a table that has two columns otherwise.
    Path("t.tsv").write_text("a\tb\tc\n" + f"{GERMAN}\t{ENGLISH}\n" * 40)
    with pytest.raises(DataError) as caught:
        list(read_pairs(("t.tsv",)))
    assert caught.value.message == "`t.tsv`, line 1: 3 columns, 2 are needed (`a | b | c`)"
    assert caught.value.hint == (
        "each line must be: source, tab, target; to keep columns 1 and 2: "
        "nmt convert t.tsv --columns 1,2 -o t.two-columns.tsv"
    )


@pytest.mark.parametrize("at", [0, 350, 1_100])
def test_quoted_cells_of_a_wider_table_are_unquoted_before_columns_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Otherwise there would be a pair of the first row of a cell with line breaks."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{index}\t{GERMAN} {index}\t{ENGLISH} {index}\tnote" for index in range(1_200)]
    rows[at] = f'{at}\t"{GERMAN}\n""ja"""\t{ENGLISH}\t'
    text = "".join(f"{row}\n" for row in rows).encode()
    Path("my pairs.tsv").write_bytes(text + b"1200\tGr\xfcn\tGreen\t\n")
    for keep_bad_rows in (False, True):
        with pytest.raises(DataError) as caught:
            list(read_pairs(("my pairs.tsv",), keep_bad_rows=keep_bad_rows))
        command = caught.value.hint.partition("which look like German (`de`) and English (`en`): ")[
            2
        ]
        assert command.startswith("nmt convert ")
        subprocess.run(["bash", "-c", command], check=True)
        written = Path("my pairs.two-columns.tsv").read_bytes()
        assert written.endswith(b"\nGr\xfcn\tGreen\n"), "bytes that are not UTF-8 are kept"
        pairs = list(read_pairs(("my pairs.two-columns.tsv",)))
        assert len(pairs) == len(rows) + 1
        assert pairs[at] == (f'{GERMAN} "ja"', ENGLISH)
        assert pairs[-2] == (f"{GERMAN} 1199", f"{ENGLISH} 1199")
        Path("my pairs.two-columns.tsv").unlink()


def test_a_column_of_licences_is_not_taken_for_one_of_sentences(tmp_path: Path) -> None:
    """Of Tatoeba's tables, whose third column has as many letters, and words of some language."""
    chooser = random.Random(1)
    rows = [
        "\t".join(
            (
                *(
                    " ".join(chooser.sample(FUNCTION_WORDS[code].split(), 9))
                    for code in ("en", "de")
                ),
                f"CC-BY 2.0 (France) Attribution: tatoeba.org #{index} (A) & #{index + 9} (B) na "
                "se o do po za",
            )
        )
        for index in range(300)
    ]
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(rows), "utf-8")
    with pytest.raises(DataError) as caught:
        list(read_pairs((str(path),)))
    look = "the columns 1 and 2, which look like English (`en`) and German (`de`): nmt convert"
    assert look in caught.value.hint


def test_a_row_without_tab_does_not_make_a_table_one_of_commas(tmp_path: Path) -> None:
    rows = ["a\tb"] * 300
    for index in (4, 9, 14):
        rows[index] = "no tab, but a comma"
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(rows), "utf-8")
    with pytest.raises(DataError, match="line 5: 1 column, 2 are needed"):
        list(read_pairs((str(path),)))


def test_a_command_that_converts_keeps_files_and_decompresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert to_utf8_command("a.de.gz", "UTF-16") == (
        "gzip -dc a.de.gz | iconv -f UTF-16 -t UTF-8 > a.utf8.de"
    )
    Path("a.utf8.de").touch()
    assert to_utf8_command("a.de").endswith(" a.de > a.utf8-2.de")


LATIN1 = b"Gr\xfcn\n"
CORRECT = "correct that line: the others are UTF-8, and converting the whole file would damage them"


@pytest.mark.parametrize(
    ("text", "has_utf8"),
    [
        (b"plain\n" + LATIN1, False),
        (LATIN1 * 2, False),
        (b"\xef\xbb\xbfplain\n" + LATIN1, True),
        ("J\u00f6rg\n".encode() + LATIN1, True),
        (LATIN1 + b"plain\n" + "\U0001f600\n".encode(), True),
    ],
)
def test_file_with_other_lines_in_utf8_is_not_to_be_converted(tmp_path, text, has_utf8):
    path = write(tmp_path / "text", text)
    with (
        pytest.raises(DataError, match="not UTF-8") as caught,
        read_lines(path, strict=True) as lines,
    ):
        list(lines)
    assert ("iconv" in caught.value.hint) is not has_utf8
    assert (caught.value.hint == CORRECT) is has_utf8
    with read_lines(path) as lines:
        list(lines)
    assert lines.has_utf8 is has_utf8


def test_a_strict_reader_counts_the_lines_to_repair_behind_the_first(tmp_path):
    """By hand only where there are few; the others are UTF-8, before and behind the first."""
    for before, after in ((b"J\xc3\xb6rg\n", b""), (b"", b"J\xc3\xb6rg\n")):
        path = write(tmp_path / "text", before + LATIN1 * 11 + after)
        with (
            pytest.raises(DataError, match=r"byte 3: not UTF-8") as caught,
            read_lines(path, strict=True) as lines,
        ):
            list(lines)
        assert caught.value.hint.startswith("other lines are UTF-8; convert only the bytes that")


def test_many_lines_in_another_encoding_are_converted_without_the_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.de").write_bytes(LATIN1 * 50 + "J\u00f6rg \u4e2d\n".encode() + b"\x80 5\n")
    with pytest.raises(DataError, match="51 of 52 lines are not UTF-8") as caught:
        require_utf8(["a.de"])
    hint, _, command = caught.value.hint.partition(": ")
    assert hint.startswith(
        "other lines are UTF-8; convert only the bytes that are not, and look at"
    )
    subprocess.run(command, shell=True, check=True)
    text = "Gr\u00fcn\n" * 50 + "J\u00f6rg \u4e2d\n\u20ac 5\n"
    assert Path("a.utf8.de").read_text("utf-8") == text


def test_hint_at_many_lines_in_another_encoding_spares_the_others(tmp_path):
    for other, hint in ((b"Gr\xc3\xbcn\n", "convert only"), (b"Green\n", "iconv -f CP1252")):
        path = write(tmp_path / "text", other * 50 + LATIN1 * 50)
        with pytest.raises(DataError, match="50 of 100 lines are not UTF-8") as caught:
            require_utf8([str(path)])
        assert hint in caught.value.hint
        assert ("in another encoding" in caught.value.message) is (hint[:5] == "iconv")


def test_documented_command_removes_the_quotation_marks_of_a_spreadsheet(tmp_path: Path) -> None:
    """Of both columns, with a byte order mark and the line ends of Windows, too."""
    page = (Path(__file__).parents[3] / "docs" / "data.md").read_text("utf-8")
    [command] = [line.strip() for line in page.splitlines() if "pairs.unquoted.tsv" in line]
    rows = '"""Hi,"" she said."\t"""Hallo"", sagte sie."\r\n"Größe" x\ta "b"\r\n'
    for table in (rows, rows.replace("\r", ""), f"\ufeff{rows}"):
        (tmp_path / "pairs.tsv").write_bytes(table.encode())
        (tmp_path / "pairs.unquoted.tsv").unlink(missing_ok=True)
        subprocess.run(command, shell=True, check=True, cwd=tmp_path)
        unquoted = (tmp_path / "pairs.unquoted.tsv").read_bytes().decode()
        assert unquoted == '"Hi," she said.\t"Hallo", sagte sie.\n"Größe" x\ta "b"\n'
