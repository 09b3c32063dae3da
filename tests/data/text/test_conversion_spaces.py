"""The conversion commands in hints keep all characters but line breaks, tabs and outer spaces."""

import html
import io
import json
import shlex
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from nmt_cli.data.cleaning.letters.mojibake import undo_mojibake
from nmt_cli.data.text.formats.archives import no_text_hint
from nmt_cli.data.text.formats.html_tables import html_hint
from nmt_cli.data.text.formats.json_lines import json_to_tsv
from nmt_cli.data.text.formats.pair_files import conversion_to_tsv
from nmt_cli.data.text.formats.standard_format import standard_format_hint
from nmt_cli.data.text.formats.tmx import tmx_to_tsv
from nmt_cli.data.text.shell_commands import two_columns_command, unquote_command

SENTENCE = "ठीक अदेप, አማርኛ ሠላም"
MISREAD = SENTENCE.encode().decode("latin-1")
OTHER = "one\u2028two\u3000three  four\xa0"
# What programs write for the same within a cell, and what it becomes.
CELLS = (f"  {MISREAD} ", "one\u2028two\u3000three  four\xa0\r\n five\n\n\tsix ")
EXPECTED = f"{MISREAD}\t{OTHER} five six\n"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def in_csv() -> tuple[bytes, str]:
    row = ";".join(f'"{cell}"' for cell in CELLS)
    return row.encode(), conversion_to_tsv("in", ";")


def in_json_lines() -> tuple[bytes, str]:
    row = json.dumps(dict(zip("ab", CELLS, strict=True)), ensure_ascii=False)
    return row.encode(), json_to_tsv("in", (("a",), ("b",)))


def in_tmx() -> tuple[bytes, str]:
    sides = zip(("x", "y"), map(html.escape, CELLS), strict=True)
    unit = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in sides)
    return f"<tmx><body><tu>{unit}</tu></body></tmx>".encode(), tmx_to_tsv("in", ["x", "y"])


def in_html() -> tuple[bytes, str]:
    row = "".join(f"<td>{html.escape(cell)}" for cell in CELLS)
    return f"<table><tr>{row}</table>".encode(), html_hint("in").partition(": ")[2]


def in_word() -> tuple[bytes, str]:
    cells = "".join(f"<w:tc><w:p><w:t>{html.escape(cell)}</w:t></w:p></w:tc>" for cell in CELLS)
    xml = f'<w:document xmlns:w="{WORD}"><w:body><w:tbl><w:tr>{cells}</w:tr></w:tbl></w:body>'
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("word/document.xml", f"{xml}</w:document>")
    return data.getvalue(), no_text_hint(data.getvalue(), "in").rpartition("line: ")[2]


def in_standard_format() -> tuple[bytes, str]:
    rows = [f"\\tx {CELLS[0]}", f"\\ft {OTHER}", "five", "six"]
    hint = standard_format_hint(rows, "in", ())
    assert hint is not None
    return "\n".join(rows).encode(), hint.partition("place: ")[2]


def in_quoted_tsv() -> tuple[bytes, str]:
    return f'{MISREAD}\t"{OTHER}\n five\r\nsix"\n'.encode(), unquote_command("in")


def in_wide_tsv() -> tuple[bytes, str]:
    row = f'1\t{MISREAD}\t"{OTHER}\n five\r\nsix"\n'
    return row.encode(), two_columns_command("in", ("2", "3"), quoted=True)


@pytest.mark.parametrize(
    "write",
    [
        in_csv, in_json_lines, in_tmx, in_html, in_word, in_standard_format, in_quoted_tsv,
        in_wide_tsv,
    ],
)  # fmt: skip
def test_bytes_of_letters_that_look_like_spaces_are_kept(
    write: Callable[[], tuple[bytes, str]], tmp_path: Path
) -> None:
    content, command = write()
    (tmp_path / "in").write_bytes(content)
    subprocess.run(["sh", "-c", command], check=True, timeout=30, cwd=tmp_path)
    written = (tmp_path / shlex.split(command)[-1]).read_bytes().decode()
    assert written == EXPECTED
    assert undo_mojibake(written.partition("\t")[0]) == SENTENCE
