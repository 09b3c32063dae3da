"""What the hints say of Word documents, spreadsheets, HTML tables and JSON arrays as training text.

The commands that they name are run.
"""

import gzip
import html
import io
import json
import shlex
import subprocess
import zipfile
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.data.text.formats.json_lines import array_objects
from nmt_cli.data.text.formats.pair_files import is_xml

PAIRS = [(f"You’re “prisoner” {n} & <so> it is.", f"Ɣib\\n ka {n}, mi to.") for n in range(40)]
TSV = "".join(f"{src}\t{tgt}\n" for src, tgt in PAIRS)
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(name: str, capsys: pytest.CaptureFixture[str], command: str = "init") -> str:
    capsys.readouterr()
    languages = ["--src-lang", "en", "--tgt-lang", "xnd"]
    assert main([command, "--train-tsv", name, *languages]) == 65
    return capsys.readouterr().err


def converted(err: str) -> str:
    """What the command at the end of a hint writes into its file."""
    command = err.rpartition("hint: ")[2].partition(": ")[2].strip()
    assert "\n" not in command
    # The encoding of the terminal does not matter.
    shell = ["env", "PYTHONUTF8=0", "PYTHONIOENCODING=latin-1", "sh", "-c", command]
    subprocess.run(shell, check=True, timeout=120)
    return Path(shlex.split(command)[-1]).read_text("utf-8")


# -- documents and spreadsheets --------------------------------------------------------------------


def word_document(body: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        xml = f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
        archive.writestr("word/document.xml", xml)
    return data.getvalue()


def paragraph(text: str) -> str:
    first, second = (html.escape(part) for part in (text[:5], text[5:]))
    return f"<w:p><w:r><w:t>{first}</w:t></w:r><w:r><w:t>{second}</w:t></w:r></w:p>"


def test_a_word_document_becomes_lines(capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(
        f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in pair)}</w:tr>"
        for pair in PAIRS
    )
    two = f"<w:tr><w:tc>{2 * paragraph('One.')}</w:tc><w:tc><w:p><w:br/></w:p></w:tc></w:tr>"
    table = f"<w:sdt><w:sdtContent><w:tbl>{rows}{two}</w:tbl></w:sdtContent></w:sdt>"
    removed = "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>"
    Path("my a.docx").write_bytes(word_document(paragraph("A title") + table + removed))
    for command in ("init", "prepare"):
        err = refused("my a.docx", capsys, command)
        assert "save the document as plain text in UTF-8" in err
        assert "each other paragraph, also an empty one, become a line" in err
        assert "spreadsheet as" not in err
    assert converted(err) == f"A title\n{TSV}One. One.\t\n\n"
    assert main(["init", "--train", "my a.docx", "a.xnd", "--src-lang", "en"]) != 0


def test_empty_paragraphs_keep_two_documents_parallel(capsys: pytest.CaptureFixture[str]) -> None:
    sides = [[src for src, _ in PAIRS], [tgt for _, tgt in PAIRS]]
    for lines, language, empty in zip(sides, ("en", "xnd"), (7, 21), strict=True):
        lines[empty] = ""
        Path(f"a.{language}.docx").write_bytes(word_document("".join(map(paragraph, lines))))
    texts = [converted(refused(name, capsys)) for name in ("a.en.docx", "a.xnd.docx")]
    assert [text.split("\n")[:-1] for text in texts] == sides


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("[Content_Types].xml", "xl/workbook.xml"), "save the spreadsheet as text with tabs"),
        (("mimetype:application/vnd.oasis.opendocument.spreadsheet",), "save the spreadsheet as"),
        (("mimetype:application/vnd.oasis.opendocument.text",), "save the document as plain text"),
        (("train.en", "train.de"), "unpack it (`unzip NAME`)"),
    ],
)  # fmt: skip
def test_other_archives_get_their_own_advice(
    names: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile("a.bin", "w") as archive:
        for name in names:
            name, _, content = name.partition(":")
            archive.writestr(name, content or "text")
    assert f"hint: {said}" in refused("a.bin", capsys)


# -- HTML ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["<!DOCTYPE html>\n<html>", "<html>", "\ufeff", ""])
@pytest.mark.parametrize("end", ["</{}>", ""])
def test_a_table_of_html_becomes_tsv(
    start: str, end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    row_end, cell_end = end.format("tr"), end.format("td")
    rows = "".join(
        f"<tr>{''.join(f'<td><b>{html.escape(cell)}</b>{cell_end}' for cell in pair)}{row_end}\n"
        for pair in PAIRS
    )
    page = f"{start}<table class=a>\n{rows}<tr><th>One<br>two<th>\n</table><p>more</p>"
    Path("a.html").write_text(page, "utf-8")
    err = refused("a.html", capsys)
    assert "`a.html` looks like HTML; nmt reads tab-separated values" in err
    assert converted(err) == f"{TSV}One two\t\n"


def test_lines_with_tags_are_no_html() -> None:
    lines = ("<b>Yes</b>\t<b>Ja</b>", "<table>\t<table>", "<html> is a tag\tein Tag", "a <table>")
    assert not any(map(is_xml, lines))


# -- JSON arrays -----------------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_a_json_array_becomes_tsv(
    name: str, indent: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    rows: list[object] = [
        {"id": f"x{n}", "t": {"xnd": tgt, "en": src}} for n, (src, tgt) in enumerate(PAIRS)
    ]
    data = json.dumps([*rows, {"id": "no text"}, 5], indent=indent).encode()
    Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    err = refused(name, capsys)
    assert "looks like a JSON array; nmt reads tab-separated values" in err
    assert "with `t.en` as source and `t.xnd` as target" in err
    assert converted(err) == TSV


def test_rows_in_brackets_are_no_array() -> None:
    for rows in (["[1] A dog.", "[2] A cat."], ["[", "A dog."], ["[{}", "A dog."], ["[Applause]"]):
        assert not any(array_objects(rows))
