"""`nmt convert` writes the pairs of other formats as tables, or nothing."""

import csv
import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.data.text.convert import conversion_of, write_converted
from nmt_cli.data.text.formats.conversion import SourceFile

CSV = "id;en;de\n" + "".join(f"{n};The dog is {n}.;Der Hund ist {n}.\n" for n in range(9))
OBJECTS = [{"text": {"en": "A dog.", "de": "Ein Hund."}, "by": "Ann"}] * 9
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_the_columns_with_sentences_are_written_to_stdout(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("a.csv").write_text(CSV)
    assert main(["convert", "a.csv"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("en\tde\nThe dog is 0.\tDer Hund ist 0.\n")
    assert out.count("\n") == 10
    assert err == (
        "`a.csv` is values separated by semicolons: column 2 is the source, column 3 the target\n"
        "wrote 10 lines\n"
    )
    assert main(["convert", "a.csv", "--columns", "3,1", "-q", "-o", "b.tsv"]) == 0
    assert Path("b.tsv").read_text().startswith("de\tid\nDer Hund ist 0.\t0\n")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_progress_is_that_of_the_bytes_of_the_file(pack: object) -> None:
    assert callable(pack)
    rows = "".join(f"{n};The dog is {n}.;Der Hund ist {n}.\n" for n in range(30_000))
    Path("a.csv").write_bytes(pack(rows.encode()))
    seen: list[int] = []
    source = SourceFile("a.csv", "a.csv")
    with io.BytesIO() as out:
        written = write_converted(conversion_of("a.csv"), source, out, seen.append)
    assert written.rows == 30_000
    assert len(seen) == 30
    assert seen == sorted(seen)
    assert 0 < seen[0] <= seen[-1] == source.size == Path("a.csv").stat().st_size
    # The compressed file is so small that it is read at once.
    assert (seen[0] < seen[-1]) == (pack is bytes)


def test_one_column_can_be_written_alone(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in OBJECTS))
    assert main(["convert", "a.jsonl", "--columns", "text.de"]) == 0
    assert capsys.readouterr().out == "Ein Hund.\n" * 9


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_stdin_is_converted_packed_or_not(
    pack: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(pack)
    stdin(monkeypatch, pack(json.dumps(OBJECTS).encode()))
    assert main(["convert", "-", "--src-lang", "de", "--tgt-lang", "en"]) == 0
    assert capsys.readouterr().out == "Ein Hund.\tA dog.\n" * 9


@pytest.mark.parametrize("content", ["A dog.\tEin Hund.\n" * 9, "<?xml?>\n" * 3])
def test_errors_of_stdin_name_no_temporary_file(
    content: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stdin(monkeypatch, content.encode())
    assert main(["convert", "-"]) == 65
    err = capsys.readouterr().err
    assert err.startswith("error: `stdin`")
    assert "nmt-convert" not in err


@pytest.mark.parametrize(
    ("name", "content", "options", "said"),
    [
        ("a.tsv", "A dog.\tEin Hund.\n" * 9, [], "there is nothing to convert"),
        ("a.jsonl", json.dumps(OBJECTS[0]), ["--columns", "text.en,text.fr"],
         "the file has text.en, text.de, by"),
        ("a.csv", CSV, ["--columns", "en,de"], "the numbers of columns are needed, from 1"),
        ("a.csv", CSV, ["--columns", "0,1"], "the numbers of columns are needed, from 1"),
        ("a.html", "<table><tr><td>a<td>b</table>", ["--columns", "1,2"],
         "there are no columns to choose in HTML"),
        ("a.html", "<html><p>Nothing.</p></html>", [], "no pairs were found in `a.html`"),
        ("a.json", json.dumps(OBJECTS, indent=1)[:-20], [], "no complete JSON array: "),
        ("a.tmx", "<?xml version='1.0'?>\n<tmx><body><tu><tuv", [], "is no complete XML: "),
        ("a.xml", "<?xml version='1.0'?>\n<a/>\n", [], "looks like XML"),
        ("a.tmx", "<?xml version='1.0'?><!DOCTYPE tmx [<!ENTITY a '" + 9999 * "b" + "'>\n"
         f"<!ENTITY c '{9999 * '&a;'}'>]><tmx><body>{999 * '<tu>&c;</tu>'}</body></tmx>", [],
         "is no complete XML: "),
    ],
)  # fmt: skip
def test_what_cannot_be_converted_writes_nothing(
    name: str, content: str, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).write_text(content)
    for output in (["-o", "out.tsv"], []):
        assert main(["convert", name, *options, *output]) == 65
        out, err = capsys.readouterr()
        assert said in err.replace("\n", " ")
        assert "Traceback" not in err
        assert out == ""
    assert [path.name for path in Path().iterdir()] == [name]


def test_large_cells_are_read_and_the_limit_of_others_stays(
    capsys: pytest.CaptureFixture[str],
) -> None:
    limit = csv.field_size_limit()
    long = "ka " * limit
    Path("a.csv").write_text(CSV + f"9;{long};mi\n")
    assert main(["convert", "a.csv", "--columns", "2,3", "-q"]) == 0
    assert capsys.readouterr().out.endswith(f"\n{long.strip()}\tmi\n")
    assert csv.field_size_limit() == limit


def test_stdout_gets_all_or_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"A dog and {n};Ein Hund und {n}\n" for n in range(2_000)]
    Path("a.csv").write_text("".join([*rows, '"A dog;Ein Hund\n', *rows[:20]]))
    assert main(["convert", "a.csv"]) == 65
    out, err = capsys.readouterr()
    assert "goes on to line" in err
    assert out == ""


def test_two_parallel_files_become_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.en").write_text("A dog.\n a\tcat \n")
    Path("a.de.gz").write_bytes(gzip.compress(b"Ein Hund.\r\nGr\xf6\xdfe\r\n"))
    assert main(["convert", "a.en", "a.de.gz", "-o", "a.tsv"]) == 0
    assert Path("a.tsv").read_bytes() == b"A dog.\tEin Hund.\na cat\tGr\xf6\xdfe\n"
    Path("a.en").write_text("A dog.\n\nA cat.\n")
    assert main(["convert", "a.en", "a.de.gz", "-o", "b.tsv"]) == 65
    assert "`a.de.gz` has 2 lines, `a.en` has more" in capsys.readouterr().err
    assert not Path("b.tsv").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.csv", "a.csv", "a.csv"], "3 files are given"),
        (["a.csv", "-"], "stdin cannot be one of two files"),
        (["a.csv", "--repair", "merged-verses"], "--repair merged-verses needs two files"),
        (["a.csv", "a.csv", "--repair", "nfc"], "--repair nfc takes one file"),
    ],
)
def test_wrong_numbers_of_files_are_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.csv").write_text(CSV)
    assert main(["convert", *arguments]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_one_language_alone_is_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text(CSV)
    assert main(["convert", "a.csv", "--src-lang", "en"]) == 2
    assert "give both --src-lang and --tgt-lang" in " ".join(capsys.readouterr().err.split())


def test_a_model_is_not_text(capsys: pytest.CaptureFixture[str]) -> None:
    Path("model").mkdir()
    assert main(["convert", "model"]) == 66
    assert "hint: nmt export writes a model for another toolkit" in capsys.readouterr().err


def test_broken_documents_of_word_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("word/document.xml", f'<w:document xmlns:w="{WORD}"><w:body>')
    for content in (data.getvalue(), data.getvalue()[:-30]):
        Path("a.docx").write_bytes(content)
        assert main(["convert", "a.docx", "-o", "a.txt"]) == 65
        assert "`a.docx` is no complete document of Word: " in capsys.readouterr().err
    assert not Path("a.txt").exists()


@pytest.mark.parametrize(("offset", "value"), [(8, 99), (6, 1)])
def test_documents_that_zipfile_cannot_unpack_are_named(
    offset: int, value: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown compression, and a password, as the directory of the archive names them."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("word/document.xml", "<a/>")
    content = bytearray(data.getvalue())
    for head in (0, content.index(b"PK\x01\x02") + 2):
        content[head + offset] = value
    Path("a.docx").write_bytes(content)
    assert main(["convert", "a.docx"]) == 65
    assert "`a.docx` is no complete document of Word: " in capsys.readouterr().err


def test_documents_that_would_fill_the_memory_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nmt_cli.data.text.formats.word_documents.MOST_BYTES", 1 << 20)
    with zipfile.ZipFile("a.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", " " * (1 << 21))
    assert main(["convert", "a.docx"]) == 65
    assert "`a.docx` is larger than 1 MiB" in capsys.readouterr().err


def test_subtitles_become_lines(capsys: pytest.CaptureFixture[str]) -> None:
    cues = (f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\nLine {n}\nof two.\n\n" for n in range(1, 4))
    # The last cue needs no empty line behind it.
    Path("film.en.srt").write_text("".join(cues).strip())
    assert main(["convert", "film.en.srt"]) == 0
    assert capsys.readouterr().out == "".join(f"Line {n} of two.\n" for n in range(1, 4))


def test_tables_of_html_need_no_end_tags(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.html").write_text("<table><tr><td>A dog<td>Ein Hund<tr><td>A cat<td>Eine Katze")
    assert main(["convert", "a.html"]) == 0
    assert capsys.readouterr().out == "A dog\tEin Hund\nA cat\tEine Katze\n"


def test_tiers_are_paired_without_languages_too(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        f"{tier}\t{n}\t{text} {n} ka\n"
        for n in range(40)
        for tier, text in (("tx@Ama", "Mubu"), ("ft@Ama", "The dog"))
    ]
    Path("a.txt").write_text("".join(rows))
    assert main(["convert", "a.txt"]) == 0
    assert capsys.readouterr().out.startswith("Mubu 0 ka\tThe dog 0 ka\n")
    assert main(["convert", "a.txt", "--columns", "ft@Ama,tx@Ama"]) == 0
    assert capsys.readouterr().out.startswith("The dog 0 ka\tMubu 0 ka\n")


def test_one_side_of_json_has_a_line_for_each_row(capsys: pytest.CaptureFixture[str]) -> None:
    """Both sides, written one after the other, stay parallel."""
    rows = [*map(json.dumps, OBJECTS), json.dumps({"text": {"de": "Zwei."}}), "no JSON", '{"a": 1}']
    Path("a.jsonl").write_text("".join(f"{row}\n" for row in rows))
    assert main(["convert", "a.jsonl", "--columns", "text.de", "-q"]) == 0
    out, err = capsys.readouterr()
    assert out == "Ein Hund.\n" * 9 + "Zwei.\n\n\n"
    assert "wrote empty lines for lines that are not JSON or lack a text: 2 (11, 12)" in err
    assert main(["convert", "a.jsonl", "--columns", "text.en,text.de", "-q"]) == 0
    out, err = capsys.readouterr()
    assert out == "A dog.\tEin Hund.\n" * 9
    assert "skipped lines that are not JSON or lack a text: 3 (10, 11, 12)" in err
