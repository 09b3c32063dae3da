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
    assert command == (
        "nmt convert 'my b.xnd' --repair straight-apostrophes -o 'my b.one-apostrophe.xnd'"
    )
    subprocess.run(["sh", "-c", command], check=True, timeout=120)
    one = ["d'or"] * 9 + ["l'un", "l'autre", "ch'a ch'i", "'Yes', `no`", "a ' b"] * 20
    assert Path("my b.one-apostrophe.xnd").read_text().splitlines() == one


def test_the_command_for_a_table_changes_both_columns(capsys: pytest.CaptureFixture[str]) -> None:
    curly = ["l\u2019un", *MIXED]
    (said,) = warnings(curly * 2, capsys, table=True)
    # Both columns together.
    assert "the first 202 lines of the training text `c.tsv` have several apostrophes" in said
    command = "nmt convert c.tsv --repair curly-apostrophes -o c.one-apostrophe.tsv"
    assert said.endswith(
        "to score (`nmt prepare --normalize` writes `'` in training text, and lets the model read "
        f"the text to translate so) (in both columns): {command}"
    )


def prepared(capsys: pytest.CaptureFixture[str], *options: str, **texts: list[str]) -> list[str]:
    """The warnings about apostrophes of files with these targets."""
    given = []
    for role, lines in texts.items():
        Path(f"{role}.en").write_text("".join(f"so it is {n} {role}\n" for n in range(len(lines))))
        Path(f"{role}.xnd").write_text("".join(f"{line} {n}\n" for n, line in enumerate(lines)))
        kind = "--train" if role.startswith("more") else f"--{role}"
        given += [kind, f"{role}.en", f"{role}.xnd"]
    codes = ["--src-lang", "en", "--tgt-lang", "xnd"]
    main(["prepare", "--force", *given, *codes, "--vocab-size", "60", *options])
    said = capsys.readouterr().err.splitlines()
    return [line for line in said if "apostrophes be" in line]


def test_held_out_text_with_other_apostrophes_than_the_training_text_is_warned_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its words are others than those that the model has learnt, however much alike it writes."""
    straight, curly = ["l'un d'or"] * 60, ["l\u2019un d\u2019or"] * 60
    (said,) = prepared(capsys, train=straight, valid=curly)
    assert (
        "the first 60 lines of the validation target `valid.xnd` have other apostrophes between "
        "letters than most of the training text: \u2019 (U+2019) 120 times, there ' (U+0027) 120 "
        "times; the same word counts as another one"
    ) in said
    command = "nmt convert valid.xnd --repair straight-apostrophes -o valid.one-apostrophe.xnd"
    assert said.endswith(command)
    subprocess.run(["sh", "-c", command], check=True, timeout=120)
    assert Path("valid.one-apostrophe.xnd").read_text().splitlines()[0] == "l'un d'or 0"
    Path("valid.one-apostrophe.xnd").unlink()
    assert prepared(capsys, train=straight, valid=straight) == []
    assert prepared(capsys, train=straight, valid=curly[:20]) == []
    # Of mixed text, the command writes what the training text has, too.
    (said,) = prepared(capsys, train=straight, valid=[*curly, *straight[:20]])
    assert "several apostrophes" in said
    assert said.endswith(command)
    # The training text is written with straight ones.
    assert prepared(capsys, "--normalize", train=curly, valid=straight) == []
    (said,) = prepared(capsys, "--normalize", train=curly, valid=curly)
    assert "there ' (U+0027) 120 times" in said


def test_training_texts_with_different_apostrophes_are_warned_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    curly, straight = ["l\u2019un d\u2019or"] * 60, ["l'un d'or"] * 60
    (said,) = prepared(capsys, train=[*curly, *curly], more=straight)
    assert "training target `more.xnd` have other apostrophes" in said
    assert said.endswith("--repair curly-apostrophes -o more.one-apostrophe.xnd")


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


MANY = ["manyan 'yan sanda", "\u2018yan so", "\u2019Yan 'so' sanda", "it is 'so it is"] * 30


def test_apostrophes_that_words_begin_with_are_warned_of_with_a_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As letters, which quotation marks are not; after the command, the warning is gone."""
    more = ["\u2019yan\u2019uwa", "'yar"] * 5
    (said,) = warnings(MANY + more, capsys, table=False)
    assert said.startswith(
        "warning: the first 130 lines of the training target `my b.xnd` have several apostrophes "
        "before `yan`, `yan'uwa` and `yar`: ' (U+0027) 35 times, \u2019 (U+2019) 35 times, \u2018 "
        "(U+2018) 30 times; the same word counts as several ones"
    )
    command = said[said.index("nmt convert") :]
    subprocess.run(["sh", "-c", command], check=True, timeout=120)
    written = Path("my b.one-apostrophe.xnd").read_text().splitlines()
    one = ["manyan \u2019yan sanda", "\u2019yan so", "\u2019Yan 'so' sanda", "it is 'so it is"]
    assert written == one * 30 + ["\u2019yan\u2019uwa", "\u2019yar"] * 5
    assert warnings(written, capsys, table=False) == []
    (said,) = warnings(MANY, capsys, table=True)
    assert "of the training text `c.tsv` have several apostrophes before `yan`: " in said
    assert "(in both columns): nmt convert c.tsv --repair " in said
    # Of four words, three are named.
    (said,) = warnings(MANY + ["'yar", "'ya", "'yaya"] * 5, capsys, table=False)
    assert "before `yan`, `yar`, `ya` and other words: " in said


def test_apostrophes_within_and_before_words_are_compared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A program may write each kind of them in one way, and another than the other kind."""
    text = ["ma'aikata \u2018yan"] * 60
    (said,) = warnings(text, capsys, table=False)
    assert (
        "have several apostrophes between letters: ' (U+0027) 60 times, and before `yan`: "
        "\u2018 (U+2018) 60 times; "
    ) in said
    subprocess.run(["sh", "-c", said[said.index("nmt convert") :]], check=True, timeout=120)
    written = Path("my b.one-apostrophe.xnd").read_text().splitlines()
    assert written == ["ma'aikata 'yan"] * 60
    assert warnings(written, capsys, table=False) == []
    assert warnings(text[:49], capsys, table=False) == []


def test_words_of_held_out_text_that_begin_with_another_apostrophe_are_warned_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    straight, turned = (["ma'aikata 'yan"] * 60, ["ma'aikata \u2018yan"] * 60)
    said = prepared(capsys, train=straight, valid=turned)
    assert len(said) == 1
    assert "have several apostrophes between letters: " in said[0]
    straight, turned = (["ma aikata 'yan"] * 60, ["ma aikata \u2018yan"] * 60)
    (said,) = prepared(capsys, train=straight, valid=turned)
    assert (
        "the first 60 lines of the validation target `valid.xnd` have other apostrophes before "
        "`yan` than most of the training text: \u2018 (U+2018) 60 times, there ' (U+0027) 60 "
        "times; the same word"
    ) in said
    command = "nmt convert valid.xnd --repair straight-apostrophes -o valid.one-apostrophe.xnd"
    assert said.endswith(command)
    subprocess.run(["sh", "-c", command], check=True, timeout=120)
    written = Path("valid.one-apostrophe.xnd").read_text().splitlines()
    assert written[0] == "ma aikata 'yan 0"
    assert prepared(capsys, train=straight, valid=straight) == []
    (said,) = prepared(capsys, train=turned, valid=straight)
    assert " --repair turned-apostrophes -o valid.one-apostrophe" in said
    # The training text is written with straight ones.
    (said,) = prepared(capsys, "--normalize", train=turned, valid=turned)
    assert "there ' (U+0027) 60 times" in said
    assert prepared(capsys, "--normalize", train=turned, valid=straight) == []


@pytest.mark.parametrize(
    "lines",
    [
        # Speech, quotations, words that are mostly found without a mark, and few words.
        ["\u2018Yes, it is.", "'Yes, it is."] * 60,
        ["open \u2018config file\u2019 now", "open 'config.txt' now"] * 60,
        ["so \u2018yan, 'yan yan"] * 60,
        ["\u2018yan", "'yan"] * 24,
        ["\u2018yan"] * 95 + ["'yan"] * 5,
    ],
)
def test_quotation_marks_before_words_are_not_warned_of(
    lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
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
