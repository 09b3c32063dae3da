"""Words that a PDF has hyphenated at the ends of lines are warned of, with a command."""

import subprocess
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.data.text.hyphenated_words import hyphenated_words

WHOLE = "Kamurtol wunefri (rúkãbéŋ) ndoksaw."
LINES = [
    "A kamur- tol, so", "B “wune- fri” so", "C rúk- ãbéŋ. Rúk- ãbéŋ", "D Ndok- saw is", WHOLE,
    # A list, a name, a hyphenated word, an unknown one, a letter, and a dash of the sentence.
    "Ein- und Ausgang", "Kamur- Tol", "self- made, selfmade, self-made", "xin- yan",
    "e- mail email", "gone - so", "10- 12 1012", "tail- , tail",
]  # fmt: skip
JOINED = ["A kamurtol, so", "B “wunefri” so", "C rúkãbéŋ. Rúkãbéŋ", "D Ndoksaw is", *LINES[4:]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_only_words_that_occur_in_one_piece_are_found() -> None:
    assert hyphenated_words(LINES) == [
        (0, "kamur- tol"), (1, "wune- fri"), (2, "rúk- ãbéŋ"), (2, "Rúk- ãbéŋ"), (3, "Ndok- saw"),
    ]  # fmt: skip
    assert hyphenated_words([*LINES[:4], *LINES[5:]]) == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("is_table", [True, False])
def test_such_words_are_warned_of_with_the_command_that_joins_them(
    end: str, is_table: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def rows(lines: list[str]) -> str:
        starts = [f"So {number}\t" if is_table else "" for number in range(len(lines))]
        return "".join(start + line + end for start, line in zip(starts, lines, strict=True))

    names = ["my a.tsv"] if is_table else ["a.en", "my a.xnd"]
    Path("a.en").write_text("".join(f"So {n}\n" for n in range(len(LINES))), "utf-8")
    Path(names[-1]).write_text(rows(LINES), "utf-8", newline="")
    option = ["--train-tsv"] if is_table else ["--train"]
    arguments = ["init", *option, *names, "--src-lang", "en", "--tgt-lang", "xnd"]
    assert main(arguments) == 0
    said = capsys.readouterr().err
    assert f"warning: 5 words in the first {len(LINES)} lines of the training target" in said
    assert "are also written in one piece (line 1: `kamur- tol`): nmt convert" in said
    command = said[said.index("nmt convert") :]
    command = command[: command.index(" -o ")] + " -o joined"
    subprocess.run(["sh", "-c", command], check=True, timeout=120)
    assert Path("joined").read_bytes().decode() == rows(JOINED)


def test_one_or_two_such_words_are_not_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [*LINES[:2], *LINES[4:]]
    Path("a.en").write_text("".join(f"So {n}\n" for n in range(len(lines))), "utf-8")
    Path("a.xnd").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    assert main(["init", "--train", "a.en", "a.xnd", "--src-lang", "en", "--tgt-lang", "xnd"]) == 0
    assert "in one piece" not in capsys.readouterr().err
