"""Apostrophes that a side writes in several ways are warned of, with a command."""

import subprocess
from pathlib import Path

import pytest

from nmt_cli.cli import main

MIXED = ["l'un", "l\u2019autre", "ch`a ch\u00b4i", "'Yes', `no`", "a ' b"] * 20


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def warnings(lines: list[str], capsys: pytest.CaptureFixture[str], *, table: bool) -> list[str]:
    Path("a.en").write_text("".join(f"so {n}\n" for n in range(len(lines))))
    Path("my b.xnd").write_text("".join(f"{line}\n" for line in lines))
    Path("c.tsv").write_text("".join(f"so {n}\t{line}\n" for n, line in enumerate(lines)))
    text = ["--train-tsv", "c.tsv"] if table else ["--train", "a.en", "my b.xnd"]
    assert main(["init", "--force", *text, "--src-lang", "en", "--tgt-lang", "xnd"]) == 0
    said = capsys.readouterr().err.splitlines()
    return [line for line in said if "apostrophes" in line]


def test_several_apostrophes_are_warned_of_with_a_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (said,) = warnings(["d'or"] * 9 + MIXED, capsys, table=False)
    assert said.startswith(
        "warning: the first 109 lines of the training target `my b.xnd` have several apostrophes "
        "between letters: ' (U+0027) 29 times, \u2019 (U+2019) 20 times, ` (U+0060) 20 times, "
        "\u00b4 (U+00B4) 20 times; the same word counts as several ones"
    )
    command = said[said.index("nmt convert") :]
    assert command == ("nmt convert 'my b.xnd' --repair apostrophes -o 'my b.one-apostrophe.xnd'")
    subprocess.run(["sh", "-c", command], check=True, timeout=120)
    one = ["d'or"] * 9 + ["l'un", "l'autre", "ch'a ch'i", "'Yes', `no`", "a ' b"] * 20
    assert Path("my b.one-apostrophe.xnd").read_text().splitlines() == one


def test_a_table_is_warned_of_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    (said,) = warnings(MIXED, capsys, table=True)
    assert "training target column of `c.tsv`" in said
    assert said.endswith("to score (`nmt prepare --normalize` writes `'` in training text, and "
                         "lets the model read the text to translate so)")  # fmt: skip


def test_of_normalised_text_only_what_is_scored_is_warned_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("train.en", "train.xnd", "valid.en", "valid.xnd"):
        Path(name).write_text("".join(f"{line} {n}\n" for n, line in enumerate(MIXED)))
    files = ["--train", "train.en", "train.xnd", "--valid", "valid.en", "valid.xnd"]
    for option, sides in (("--no-normalize", 4), ("--normalize", 1)):
        options = ["--src-lang", "en", "--tgt-lang", "xnd", "--vocab-size", "60", "--out", option]
        main(["prepare", *files, option, *options])
        said = [line for line in capsys.readouterr().err.splitlines() if "several apost" in line]
        assert len(said) == sides
        assert "of the validation target `valid.xnd`" in said[-1]


@pytest.mark.parametrize(
    "lines",
    [
        # Few of another kind, few at all, quotation marks, and letters that look like apostrophes.
        ["l'un"] * 95 + ["l\u2019un"] * 5,
        MIXED[:40],
        ["`a' 'b\u2019"] * 60,
        ["l'un", "l\u02bcun", "l\u02bbun"] * 40,
    ],
)
def test_other_text_is_not_warned_of(lines: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert warnings(lines, capsys, table=False) == []


def test_words_torn_apart_at_apostrophes_are_warned_of_with_a_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    torn = ["so it is", "ch \u2019 usa jach 'a", "qilqt ' asi"] * 30
    (said, *_) = warnings(torn, capsys, table=False)
    assert said.startswith(
        "warning: the first 90 lines of the training target `my b.xnd` have 60 apostrophes with "
        "spaces around them between letters (first on line 2: `ch \u2019 usa`), as where a program "
        "has torn words apart; if the language has no such spaces, join the words: nmt convert "
    )
    subprocess.run(["sh", "-c", said[said.index("nmt convert") :]], check=True, timeout=120)
    joined = ["so it is", "ch\u2019usa jach\u2019a", "qilqt\u2019asi"] * 30
    assert Path("my b.joined.xnd").read_text().splitlines() == joined
    (said, *_) = warnings(torn, capsys, table=True)
    assert said.endswith("if the language has no such spaces, join the words")
    assert not any("torn" in said for said in warnings(torn[:60], capsys, table=False))
    # Quotations, and places.
    others = ["the 'word' is", "the word' is", "at 5 ' 3"] * 60
    assert warnings(others, capsys, table=False) == []
