"""Verses that are part of the line before, as `<range>` says, are warned of with a command."""

import gzip
import subprocess
from pathlib import Path

import pytest

from nmt_cli.cli import main

SRC = ["First", "Second", "Third", "", "Fifth", "Sixth", "<range>", "Arrange it"]
TGT = ["ka", "mi to", "<range>", " <range> ", "sé\tnu", "la", "ri", "<range>s"]
JOINED = [
    "First\tka",
    "Second Third\tmi to",
    # The rows of joined verses stay, so that the numbers of the lines do.
    "\t",
    "\t",
    "Fifth\tsé nu",
    "Sixth\tla ri",
    "\t",
    "Arrange it\t<range>s",
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def warnings(*options: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["init", *options, "--src-lang", "en", "--tgt-lang", "xnd"]) == 0
    lines = capsys.readouterr().err.splitlines()
    return [line for line in lines if line.startswith("warning") and "verse" in line]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_command_joins_verses_with_the_lines_before(
    end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("my bible.en.txt").write_text("".join(f"{line}{end}" for line in SRC), newline="")
    Path("b.xnd").write_text("".join(f"{line}{end}" for line in TGT), "utf-8-sig", newline="")
    (said,) = warnings("--train", "my bible.en.txt", "b.xnd", capsys=capsys)
    assert said.startswith(
        "warning: 3 pairs of the first 8 lines of the training text `my bible.en.txt` and `b.xnd` "
        "have `<range>` on a side (line 3): the verse is part of the line before, whose other side "
        "lacks it; join such pairs with the ones before them: nmt convert"
    )
    command = said[said.index("nmt convert") : said.rindex(" writes a table")]
    assert command.endswith(" -o 'my bible.joined.tsv'")
    subprocess.run(["sh", "-c", command], check=True, timeout=120)
    joined = Path("my bible.joined.tsv").read_bytes().decode()
    assert joined == "".join(f"{row}\n" for row in JOINED)


def test_the_numbers_of_joined_verses_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    src = [
        "1:4 First",
        "1:5 Second",
        "1:6 Third",
        "3 dogs",
        "14 cats",
        "MRK 2:9 Yes",
        "MRK 2:10 No",
    ]
    Path("a.en").write_text("".join(f"{line}\n" for line in src))
    Path("b.xnd").write_text("1:4-6 ka\n<range>\n<range>\nmi\n<range>\nMRK 2:9 ri\n<range>\n")
    (said,) = warnings("--train", "a.en", "b.xnd", capsys=capsys)
    command = said[said.index("nmt convert") : said.rindex(" writes a table")]
    subprocess.run(["sh", "-c", command], check=True, timeout=120)
    rows = [
        "1:4 First Second Third\t1:4-6 ka", "\t", "\t", "3 dogs 14 cats\tmi", "\t",
        "MRK 2:9 Yes No\tMRK 2:9 ri", "\t",
    ]  # fmt: skip
    assert Path("a.joined.tsv").read_text().splitlines() == rows


def test_tables_are_warned_of_without_a_command_and_compressed_files_with_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [f"{src}\t{tgt.strip()}" for src, tgt in zip(SRC, TGT, strict=True) if "\t" not in tgt]
    Path("b.tsv").write_text("".join(f"{row}\n" for row in rows))
    Path("a.en.gz").write_bytes(gzip.compress("".join(f"{line}\n" for line in SRC).encode()))
    Path("b.xnd").write_text("".join(f"{line}\n" for line in TGT))
    (said,) = warnings("--train-tsv", "b.tsv", capsys=capsys)
    assert said.endswith("join such pairs with the ones before them")
    (said,) = warnings("--train", "a.en.gz", "b.xnd", "--force", capsys=capsys)
    assert (
        main(["convert", "a.en.gz", "b.xnd", "--repair", "merged-verses", "-o", "a.joined.tsv"])
        == 0
    )
    assert "nmt convert a.en.gz b.xnd --repair merged-verses -o a.joined.tsv writes a table" in said
    assert Path("a.joined.tsv").read_text("utf-8") == "".join(f"{row}\n" for row in JOINED)


def test_other_text_is_not_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.en").write_text("So <range> it is\n<ranges>\n")
    Path("b.xnd").write_text("ka\nmi\n")
    assert warnings("--train", "a.en", "b.xnd", capsys=capsys) == []
