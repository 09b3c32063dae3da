"""`nmt convert` keeps all characters but line breaks, tabs and outer spaces."""

import html
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.data.cleaning.letters.mojibake import undo_mojibake

SENTENCE = "ठीक अदेप, አማርኛ ሠላም"
MISREAD = SENTENCE.encode().decode("latin-1")
OTHER = "one\u2028two\u3000three  four\xa0"
# What programs write for the same within a cell, and what it becomes.
CELLS = (f"  {MISREAD} ", "one\u2028two\u3000three  four\xa0\r\n five\n\n\tsix ")
# Other rows, so that the tab within a cell does not make the table one with tabs.
ROW = "a;b\n"
EXPECTED = f"{MISREAD}\t{OTHER} five six\n"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def in_csv() -> tuple[bytes, list[str]]:
    row = ";".join(f'"{cell}"' for cell in CELLS)
    return f"{60 * ROW}{row}".encode(), ["in.csv"]


def in_json_lines() -> tuple[bytes, list[str]]:
    row = json.dumps(dict(zip("ab", CELLS, strict=True)), ensure_ascii=False)
    return row.encode(), ["in.jsonl", "--columns", "a,b"]


def in_tmx() -> tuple[bytes, list[str]]:
    sides = zip(("x", "y"), map(html.escape, CELLS), strict=True)
    unit = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in sides)
    return f"<tmx><body><tu>{unit}</tu></body></tmx>".encode(), ["in.tmx", "--columns", "x,y"]


def in_html() -> tuple[bytes, list[str]]:
    row = "".join(f"<td>{html.escape(cell)}" for cell in CELLS)
    return f"<table><tr>{row}</table>".encode(), ["in.html"]


def in_word() -> tuple[bytes, list[str]]:
    cells = "".join(f"<w:tc><w:p><w:t>{html.escape(cell)}</w:t></w:p></w:tc>" for cell in CELLS)
    xml = f'<w:document xmlns:w="{WORD}"><w:body><w:tbl><w:tr>{cells}</w:tr></w:tbl></w:body>'
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("word/document.xml", f"{xml}</w:document>")
    return data.getvalue(), ["in.docx"]


def in_standard_format() -> tuple[bytes, list[str]]:
    rows = [f"\\tx {CELLS[0]}", f"\\ft {OTHER}", "five", "six"]
    return "\n".join(rows).encode(), ["in.sfm"]


def in_quoted_tsv() -> tuple[bytes, list[str]]:
    return f'{MISREAD}\t"{OTHER}\n five\r\nsix"\n'.encode(), ["in.tsv", "--unquote"]


def in_wide_tsv() -> tuple[bytes, list[str]]:
    row = f'1\t{MISREAD}\t"{OTHER}\n five\r\nsix"\n'
    return row.encode(), ["in.tsv", "--columns", "2,3", "--unquote"]


@pytest.mark.parametrize(
    "write",
    [
        in_csv, in_json_lines, in_tmx, in_html, in_word, in_standard_format, in_quoted_tsv,
        in_wide_tsv,
    ],
)  # fmt: skip
def test_bytes_of_letters_that_look_like_spaces_are_kept(
    write: Callable[[], tuple[bytes, list[str]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content, arguments = write()
    Path(arguments[0]).write_bytes(content)
    assert main(["convert", *arguments, "-o", "out"]) == 0
    written = Path("out").read_bytes().decode().removeprefix(60 * "a\tb\n")
    assert written == EXPECTED
    assert undo_mojibake(written.partition("\t")[0]) == SENTENCE
