"""Files whose pairs have the labels of their sides are refused with a command that removes them."""

import subprocess
from pathlib import Path

import pytest

from nmt_cli.cli import main

PAIRS = [(f"ka mi {number} / to: le", f"So it is: {number}.") for number in range(70)]
TSV = "".join(f"{src}\t{tgt}\n" for src, tgt in PAIRS)
TURNED = "".join(f"{tgt}\t{src}\n" for src, tgt in PAIRS)
LABELS = "with `Tharo` as source and `Old English` as target"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refusal(content: str, capsys: pytest.CaptureFixture[str], *languages: str) -> tuple[str, str]:
    """The error for a file, and the text that the command of its hint writes."""
    Path("a b.txt").write_bytes(content.encode())
    Path("a b.txt.tsv").unlink(missing_ok=True)
    src, tgt = languages or ("xyz", "zyx")
    given = ["--train-tsv", "a b.txt", "--src-lang", src, "--tgt-lang", tgt]
    assert main(["init", *given]) == 65
    err = capsys.readouterr().err
    start = err.index(": nmt convert ") + 2
    subprocess.run(err[start:], shell=True, check=True)
    return err, Path("a b.txt.tsv").read_text()


def in_lines(src: str, tgt: str, between: str, behind: str) -> str:
    """The pairs behind these labels."""
    return "".join(f"{src}{a}{between}{tgt}{b}{behind}" for a, b in PAIRS)


def test_labels_are_removed_from_alternating_lines(capsys: pytest.CaptureFixture[str]) -> None:
    content = in_lines("Tharo: ", "Old English: ", "\n", "\n\n")
    err, written = refusal("\ufeff" + content, capsys)
    assert f"convert it, {LABELS}, without these labels: nmt convert" in err
    assert written == TSV
    # The order of the given languages is taken.
    assert refusal(content.replace("Old English", "English"), capsys, "en", "xyz")[1] == TURNED


def test_the_label_of_one_side_is_removed(capsys: pytest.CaptureFixture[str]) -> None:
    err, written = refusal(in_lines("", "English: ", "\n", "\n\n"), capsys)
    assert "convert it, without the label `English`: nmt convert" in err
    assert written == TSV


@pytest.mark.parametrize("between", ["\n", "\r\n", "\nNote: in May\n", "\n\n", "\n(very) old\n"])
def test_lines_with_labels_in_turn_are_converted_without_others(
    between: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = in_lines("Tharo: ", "Old English : ", between, "\n")
    content += "Tharo: without translation\nNote: end\n"
    err, written = refusal(f"A notebook\n{content}", capsys)
    assert "alternating lines, which begin with `Tharo:` and `Old English:`; nmt reads" in err
    assert f"{LABELS}, without other lines: nmt convert" in err
    assert written == TSV
    english = content.replace("Old English", "English")
    assert refusal(english, capsys, "en", "xyz")[1] == TURNED


@pytest.mark.parametrize("between", [" / ", "  ", " | ", " -- ", "; "])
def test_pairs_with_both_labels_in_a_line_are_converted(
    between: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = in_lines("Tharo: ", "Old English: ", between, "\n")
    err, written = refusal(f"{content}Note: end\n", capsys)
    assert "looks like pairs with the labels `Tharo:` and `Old English:` in a line; nmt" in err
    assert f"{LABELS}, without other lines: nmt convert" in err
    assert written == TSV


@pytest.mark.parametrize("turns", ["A: so\nB: so\nB: so\n", "A: so\nB: so\nI\nmean\nit\n"])
def test_other_lines_with_labels_have_no_command(
    turns: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Labels that do not take turns, as in a dialogue, and those of few lines."""
    Path("a.txt").write_text(9 * turns)
    given = ["--train-tsv", "a.txt", "--src-lang", "xyz", "--tgt-lang", "zyx"]
    assert main(["init", *given]) == 65
    assert "hint: each line must be: source, tab, target\n" in capsys.readouterr().err


WORDS = ["a", "bulami", "ka to", "mi", "rutosenikalo"]
# Lines without numbers, whose lengths tell which ones belong together.
LONG = [(f"ka {word * (1 + number * 7 % 5)}", f"So {word * (1 + number * 7 % 5)}.")
        for number, word in enumerate(WORDS * 6)]  # fmt: skip
# Lines of which neither numbers nor lengths tell it.
EQUAL = [("ka mi lo", "So it is.")] * 30


@pytest.mark.parametrize("pairs", [PAIRS, LONG, EQUAL], ids=["numbers", "lengths", "blocks"])
@pytest.mark.parametrize("stray", ["English: stray", "Tharo: stray\nTharo: ka\nTharo: a"])
def test_a_stray_first_line_does_not_shift_the_pairs(
    pairs: list[tuple[str, str]], stray: str, capsys: pytest.CaptureFixture[str]
) -> None:
    blank = "\n" if pairs is EQUAL else ""
    blocks = "".join(f"Tharo: {src}\nEnglish: {tgt}\n{blank}" for src, tgt in pairs)
    err, written = refusal(f"{stray}\n{blank}{blocks}", capsys)
    assert "which begin with `Tharo:` and `English:`; nmt reads" in err
    assert written.endswith("".join(f"{src}\t{tgt}\n" for src, tgt in pairs))
    # The other way round, it is not taken for a stray line.
    blocks = "".join(f"English: {tgt}\nTharo: {src}\n{blank}" for src, tgt in pairs)
    assert refusal(blocks, capsys)[1] == "".join(f"{tgt}\t{src}\n" for src, tgt in pairs)


def test_where_nothing_tells_the_pairs_begin_with_the_first_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    content = "English: stray\n" + "".join(f"Tharo: {a}\nEnglish: {b}\n" for a, b in EQUAL)
    assert refusal(content, capsys)[1].startswith("stray\tka mi lo\n")


@pytest.mark.parametrize("behind", ["\n", "\n\n"])
def test_labels_before_a_tab_are_no_column(behind: str, capsys: pytest.CaptureFixture[str]) -> None:
    err, written = refusal(in_lines("Tharo:\t", "Old English: \t", "\n", behind), capsys)
    assert "alternating lines, which begin with `Tharo:` and `Old English:`; nmt reads" in err
    assert f"{LABELS}, without other lines: nmt convert" in err
    assert written == TSV
    english = in_lines("Tharo:\t", "English:\t", "\n", behind)
    assert refusal(f"English:\tstray\n{english}", capsys, "en", "xyz")[1] == TURNED


@pytest.mark.parametrize("rows", ["Tharo:\tka mi\n", "Ja:\tYes:\nka: mi\tso it is\n"])
def test_a_column_of_other_words_before_a_colon_is_kept(
    rows: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.tsv").write_text(60 * rows)
    given = ["--train-tsv", "a.tsv", "--src-lang", "xyz", "--tgt-lang", "zyx"]
    assert main(["init", *given]) == 0
    assert "alternating" not in capsys.readouterr().err
