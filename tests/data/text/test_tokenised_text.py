"""Text that is tokenised already is warned of, with the command that detokenises it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nmt_cli.cli import main

LINES = ["The dog , he sleeps .", "It is here ,", "Is it ?"] * 5 + ["A plain line"] * 10
PLAIN = ["The dog, he sleeps.", "It is here,", "Is it?"] * 5 + ["A plain line"] * 10


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, lines: list[str]) -> str:
    Path(name).write_text("".join(f"{line}\n" for line in lines))
    return name


def warnings(*options: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["init", "--force", *options, "--src-lang", "en", "--tgt-lang", "xnd"]) == 0
    lines = capsys.readouterr().err.splitlines()
    return [line for line in lines if "tokenised" in line]


def test_tokenised_sides_are_warned_of_with_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    train = write("my a.en", LINES), write("a.xnd", ["ka mi"] * 25)
    valid = write("v.en", PLAIN), write("v.xnd", LINES)
    first, second = warnings("--train", *train, "--valid", *valid, capsys=capsys)
    assert first.startswith(
        "warning: 10 of the first 25 lines of the training source `my a.en` have spaces before "
        "their punctuation (first on line 1), as tokenised text has"
    )
    assert "of the validation target `v.xnd`" in second
    command = first[first.index("sacremoses") :]
    assert command == "sacremoses -l en -q detokenize < 'my a.en' > 'my a.detokenised.en'"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", "-c", command], check=True, timeout=60, env={**os.environ, "PATH": path})
    assert Path("my a.detokenised.en").read_text().splitlines() == PLAIN


def test_lines_without_a_mark_do_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [*LINES[:15], *["A plain line"] * 50, *["A plain line."] * 22]
    train = write("a.en", lines), write("a.xnd", ["ka mi"] * len(lines))
    (said,) = warnings("--train", *train, capsys=capsys)
    assert "10 of the first 87 lines" in said


def test_subwords_are_joined_before_text_is_detokenised(
    capsys: pytest.CaptureFixture[str],
) -> None:
    marked = [line.replace("e ", "e@@ ") for line in LINES]
    joined = [line.replace("e@@ ", "e") for line in marked]
    train = write("a.en", marked), write("a.xnd", ["ka mi"] * len(LINES))
    (said,) = warnings("--train", *train, capsys=capsys)
    command = said[said.index("sed -E") :]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["sh", "-c", command], check=True, timeout=60, env={**os.environ, "PATH": path})
    detokenised = Path("a.detokenised.en").read_text().splitlines()
    assert "@@" in "".join(marked)
    assert "".join(detokenised).replace(" ", "") == "".join(joined).replace(" ", "")


def test_tables_are_warned_of_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    table = write("a.tsv", [f"{line}\tka mi" for line in LINES])
    (said,) = warnings("--train-tsv", table, capsys=capsys)
    assert said.endswith("nmt needs no tokeniser: detokenise it")


@pytest.mark.parametrize(
    "lines",
    [
        PLAIN,
        # French has a space before these marks, and few lines may have others.
        ["Le chien dort !", "Qui est là ?", "Il dit : oui"] * 9,
        [*LINES[:15], *["A plain line."] * 24],
        LINES[:12],
    ],
)
def test_other_text_is_not_warned_of(lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    train = write("a.en", lines), write("a.xnd", ["ka mi"] * len(lines))
    assert warnings("--train", *train, capsys=capsys) == []


@pytest.mark.parametrize("share", [0.4, 0.6])
def test_text_for_a_parser_is_tokenised_rightly(
    share: float, capsys: pytest.CaptureFixture[str]
) -> None:
    trees = ["(S (NP DT NN )NP , (VP VBZ )VP . )S"] * int(25 * share)
    train = write("a.words", LINES), write("a.brackets", trees + ["(S"] * (25 - len(trees)))
    said = warnings("--train", *train, capsys=capsys)
    assert bool(said) is (share < 0.5)
