"""RTF and PDF are refused in place of text, by their first bytes, with a way to their text."""

import gzip
import shlex
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import DataError

RTF = rb"{\rtf1\ansi\deff0 {\fonttbl {\f0 Arial;}}" + b"\n" + b"\\f0 The dog sleeps.\\par\n" * 40
PDF = b"%PDF-1.7\n" + b"1 0 obj << /Type /Catalog >> endobj\n" * 40


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("data", "what", "command"),
    [
        (PDF, "a PDF", ["pdftotext", "-enc", "UTF-8", "my text.en", "my text.en.txt"]),
        (
            RTF,
            "a document in Rich Text Format",
            ["soffice", "--headless", "--convert-to", "txt:Text (encoded):UTF8", "my text.en"],
        ),
    ],
)
def test_documents_are_refused_whatever_their_names_say(
    data: bytes, what: str, command: list[str]
) -> None:
    Path("my text.en").write_bytes(data)
    with pytest.raises(DataError, match=f"it is {what}") as caught:
        list(read_lines("my text.en"))
    example = caught.value.hint.partition("for example: ")[2].partition("; ")[0]
    assert shlex.split(example) == command
    Path("a.en.gz").write_bytes(gzip.compress(data))
    with pytest.raises(DataError, match=f"it is {what}") as caught:
        list(read_lines("a.en.gz"))
    assert "for example" not in caught.value.hint


@pytest.mark.parametrize(
    "line",
    [b"%PDF-1.7 is what such a file begins with.\n", b"{\\rtfm} is not what it seems.\n"],
)
def test_text_about_these_formats_is_text(line: bytes) -> None:
    Path("a.en").write_bytes(line * 3)
    assert len(list(read_lines("a.en"))) == 3


def test_init_and_prepare_refuse_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.en").write_bytes(RTF)
    lines = RTF.count(b"\n")
    Path("a.de").write_text("".join(f"Der Hund schläft, und es ist {n}.\n" for n in range(lines)))
    files = ["--train", "a.en", "a.de"]
    for command in (["init", *files], ["prepare", *files, "--src-lang", "en", "--tgt-lang", "de"]):
        assert main(command) == 65
        assert "it is a document in Rich Text Format" in capsys.readouterr().err
    assert not Path("nmt.toml").exists()
