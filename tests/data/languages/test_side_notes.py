"""Warnings about sides judge words as cleaning does, which joins subwords before."""

from pathlib import Path

import pytest

from nmt_cli.cli import main

# Their parts are words of Italian and of other languages, and none is a common word of German.
GERMAN = "un@@ d di@@ e le@@ i de@@ r da@@ s s@@ i e@@ s he@@ le@@ s Ha@@ us {}"
PIECES = "▁un d ▁di e ▁le i de r ▁da s ▁s i ▁e s ▁he le s ▁Ha us ▁{}"
ENGLISH = "and the farmer who was with us is not in this house of {}"
FRENCH = "Le chien de la voisine est dans le jardin et il ne dort pas {}"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, lines: list[str]) -> None:
    text = "".join(f"{line.format(number)}\n" for number, line in enumerate(lines))
    Path(name).write_text(text, "utf-8")


def warnings(capsys: pytest.CaptureFixture[str], *options: str, tgt: str = "de") -> str:
    """What `nmt init` says of these files."""
    capsys.readouterr()
    assert main(["init", "--force", "--src-lang", "en", "--tgt-lang", tgt, *options]) == 0
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("line", [GERMAN, PIECES])
def test_subwords_are_no_words_of_other_languages(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        write(f"{name}.src", [ENGLISH] * 150)
        write(f"{name}.tgt", [line] * 150)
    said = warnings(capsys, "--train", "a.src", "a.tgt", "--valid", "b.src", "b.tgt")
    assert "look" not in said


@pytest.mark.parametrize("tgt", ["de", "xnd"])
def test_clean_drops_the_lines_that_are_warned_of(
    tgt: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Among subwords that look like Italian: the lines that are in French once they are joined."""
    french = FRENCH.replace("oi", "oi@@ ").replace("an", "an@@ ")
    write("a.src", [french if number % 30 == 4 else ENGLISH for number in range(150)])
    write("a.tgt", [GERMAN] * 150)
    drops = "`nmt prepare --clean` drops such pairs"
    if tgt == "xnd":
        drops += " if it can tell the languages of the two sides apart"
    said = warnings(capsys, "--train", "a.src", "a.tgt", "--valid-split", "20", tgt=tgt)
    assert (
        "warning: 5 of the first 150 lines of the training source `a.src` look like French (`fr`) "
        f"(lines 5, 35, 65, ...): {drops} next:"
    ) in said
    assert said.count("look") == 1
    assert main(["prepare", "--clean", "--vocab-size", "100", "--dropped", "dropped.tsv"]) == 0
    dropped = Path("dropped.tsv").read_text("utf-8").splitlines()[1:]
    lines = [row.split("\t")[1] for row in dropped if "third language" in row]
    assert lines == ["5", "35", "65", "95", "125"]


def test_apostrophes_within_subwords_are_apostrophes_of_the_training_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("a.src", ["the man can@@ '@@ t and won@@ '@@ t see {}"] * 1_000)
    write("a.tgt", ["der Mann sieht {}"] * 1_000)
    write("b.src", ["the man can't and won't see {} now"] * 100)
    write("b.tgt", ["der Mann sieht jetzt {}"] * 100)
    said = warnings(capsys, "--train", "a.src", "a.tgt", "--valid", "b.src", "b.tgt")
    assert "apostrophes within words" not in said


def test_lines_of_tables_keep_their_numbers_behind_rows_without_two_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    german = "Der Hund des Mannes ist im Garten und er schläft nicht"
    rows = [f"{FRENCH if number % 9 == 5 else ENGLISH}\t{german}" for number in range(100)]
    write("a.tsv", [*rows[:3], "only one column", *rows[4:]])
    for option in ([], ["--tsv-columns", "1,2"]):
        said = warnings(capsys, "--train-tsv", "a.tsv", "--valid-split", "20", *option)
        named = "first 100 lines of the training source column of `a.tsv` look like French (`fr`) "
        assert f"{named}(lines 6, 15, 24, ...)" in said
