"""The command in the hint for Toolbox files writes their pairs."""

import shlex
import subprocess
from pathlib import Path

import pytest

from nmt_cli.cli import main

ENGLISH = "the dog of that man was in a house and she saw it with her sister there"
INTERLINEAR = r"""\_sh v3.0  400  Text

\id Story1
\ref S.001
\tx Mũrĩmi mũerũ
\mb Mũrĩmi mũ-erũ
\tx ma aramenya
mũana.
\ft The new farmer knows
this child.

\ref S.002
\tx Nyũmba.
\ft

\ref S.003
\tx Kĩtĩ
\ft A "chair".
\nt ask Njeri
"""
LEXICON = r"""\_sh v3.0  400  MDF

\lx mũana
\ps n
\ge child
\ge son
\xv Mũana ona kĩtĩ.
\xe The child saw a chair.

\lx ira
\ps adv

\lx kĩtĩ
\ge chair
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def converted(
    text: str, src: str, tgt: str, capsys: pytest.CaptureFixture[str], name: str = "tb.sfm"
) -> str:
    """What the command of the hint writes."""
    Path(name).write_bytes(text.encode())
    assert main(["init", "--train-tsv", name, "--src-lang", src, "--tgt-lang", tgt]) == 65
    err = capsys.readouterr().err
    assert "looks like records of Toolbox (standard format, SFM)" in err
    command = err.rpartition(" or other markers in their place: ")[2].strip()
    shell = ["env", "PYTHONUTF8=0", "PYTHONIOENCODING=latin-1", "sh", "-c", command]
    subprocess.run(shell, check=True, timeout=120)
    return Path(shlex.split(command)[-1]).read_text("utf-8")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_fields_are_joined_and_incomplete_records_left_out(
    end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written = converted(INTERLINEAR.replace("\n", end), "kik", "xx", capsys)
    assert written == (
        'Mũrĩmi mũerũ ma aramenya mũana.\tThe new farmer knows this child.\nKĩtĩ\tA "chair".\n'
    )


def test_records_end_where_the_next_begins(capsys: pytest.CaptureFixture[str]) -> None:
    """With a reference, or with the next text; empty lines are no sign of another format."""
    with_references = "\\ref 1\n\\tx Ka\n\n\n\n\\ref 2\n\\tx Mi\n\n\n\n\\ft So.\n"
    assert converted(with_references, "kik", "xx", capsys) == "Mi\tSo.\n"
    without = "\\tx Ka\n\\ft So.\n\\tx Mi\n\\tx to\n\\ft Yes.\n"
    assert converted(without, "kik", "xx", capsys, "b.txt") == "Ka\tSo.\nMi to\tYes.\n"


def test_the_order_is_that_of_the_given_languages(capsys: pytest.CaptureFixture[str]) -> None:
    records = "".join(f"\\ref {n}\n\\tx Kag{n} tolmur.\n\\ft {ENGLISH}\n" for n in range(60))
    assert converted(records, "en", "xnd", capsys).startswith(f"{ENGLISH}\tKag0 tolmur.\n")
    assert converted(records, "xnd", "en", capsys, "b.txt").startswith(f"Kag0 tolmur.\t{ENGLISH}\n")


def test_entries_and_examples_of_dictionaries(capsys: pytest.CaptureFixture[str]) -> None:
    """The markers say which side is English; there are more entries than examples."""
    entries = "child\tmũana\nson\tmũana\nchair\tkĩtĩ\n"
    assert converted(LEXICON, "en", "kik", capsys) == entries
    examples = LEXICON.replace("\\lx", "\\le")
    written = converted(examples, "kik", "en", capsys, "b.txt")
    assert written == "Mũana ona kĩtĩ.\tThe child saw a chair.\n"


def test_other_files_with_backslashes_are_not_converted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    prose = "Of the markers\n\\tx and\n\\ft\nthe first\nis that of the text.\n"
    for text in ("\\item one\n\\item two\n\\tx alone\n", prose):
        Path("a.txt").write_text(text * 9)
        assert main(["init", "--train-tsv", "a.txt", "--src-lang", "en", "--tgt-lang", "xx"]) == 65
        assert "Toolbox" not in capsys.readouterr().err
