"""Tables with a row for each annotation, and columns of tiers, speakers and the like."""

import random
import shlex
import subprocess
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.data.languages.words import FUNCTION_WORDS
from nmt_cli.data.text.tables.category_columns import category_values, shown_values

TIERS = ("English-ft@Ama", "Xnd-tx@Ama")
# The first cell has too many words for a category.
HEADER = ("Name of the tier in ELAN", "Speaker", "Begin", "End", "Text")
ENGLISH = FUNCTION_WORDS["en"].split()
LANGUAGES = ["--src-lang", "en", "--tgt-lang", "xnd"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pairs(count: int = 60) -> list[tuple[str, str]]:
    """Different sentences in English and in another language."""
    source = random.Random(3)
    others = ["".join(source.choices("kagmurtolwunef", k=5)) for _ in range(99)]
    return [
        (" ".join(source.choices(ENGLISH, k=8)), " ".join(source.choices(others, k=6)))
        for _ in range(count)
    ]


def annotations(tiers: tuple[str, ...] = TIERS) -> list[tuple[str, ...]]:
    """The rows of an export: tier, speaker, begin, end, text."""
    return [
        (tier, "", f"0:{number}.1", f"0:{number}.9", text)
        for number, pair in enumerate(pairs())
        for tier, text in zip(tiers, pair, strict=True)
    ]


def write(rows: list[tuple[str, ...]], name: str = "my e.txt", end: str = "\n") -> str:
    Path(name).write_text("".join("\t".join(row) + end for row in rows), "utf-8", newline="")
    return name


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 65) -> str:
    capsys.readouterr()
    assert main(["init", "--force", *arguments]) == code
    return capsys.readouterr().err


@pytest.mark.parametrize("tiers", [TIERS, ('en "a\\b" $1', "b'c"), ("gls", "tx")])
@pytest.mark.parametrize(("above", "end"), [([], "\n"), ([HEADER], "\r\n")])
def test_rows_of_two_tiers_with_the_same_times_are_paired_by_a_command(
    tiers: tuple[str, str], above: list[tuple[str, ...]], end: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Also rows in the other order; a second text and one without a partner are left out.

    So are a header and a row that ends early.
    """
    rows = annotations(tiers)
    again = [(tier, *rows[0][1:4], "again") for tier in tiers]
    rows = [*above, *rows[:40], *rows[:39:-1], *again, (tiers[0], "", "0:97.1")]
    rows.append((tiers[0], "", "0:99.1", "0:99.9", "the end"))
    name = write(rows, end=end)
    for src, tgt, first in (("en", "xnd", 0), ("xnd", "en", 1)):
        err = said(capsys, "--train-tsv", name, "--src-lang", src, "--tgt-lang", tgt)
        assert "only column 5 has sentences, and column 1 has 2 different values (`" in err
        assert "with `Separate column for each tier`" in err
        assert f"`{tiers[first]}` as source and `{tiers[1 - first]}` as target" in err
        command = err[err.index(": nmt convert ") + 2 :].strip()
        subprocess.run(["sh", "-c", command], check=True, timeout=120)
        made = Path(shlex.split(command)[-1])
        taken = {tuple(row.split("\t")) for row in made.read_text("utf-8").split("\n") if row}
        assert taken == {pair[:: 1 - 2 * first] for pair in pairs()}
        made.unlink()


@pytest.mark.parametrize("command", ["init", "prepare"])
@pytest.mark.parametrize(
    ("rows", "found"),
    [
        # Blocks of tiers, of which the first rows show one.
        (sorted(annotations(), key=lambda row: row[0])[:60], "one value (`English-ft@Ama`)"),
        # Times of which a fifth differ, and a third tier.
        ([(*row[:2], f"{row[2]}{n % 10 // 9}", *row[3:]) for n, row in enumerate(annotations())],
         "2 different values"),
        ([*annotations(), *(("Notes", *row[1:]) for row in annotations()[:20])],
         "3 different values (`Xnd-tx@Ama`, `English-ft@Ama`, `Notes`)"),
    ],
)  # fmt: skip
def test_other_tables_of_annotations_have_no_command(
    rows: list[tuple[str, ...]], found: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--train-tsv", write(rows), *LANGUAGES]) == 65
    err = capsys.readouterr().err
    assert f"only column 5 has sentences, and column 1 has {found}" in err
    assert err.rstrip().endswith("with `Separate column for each tier`)")


def test_names_of_tiers_tell_languages_that_are_not_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also where a column of one speaker stands before them."""
    rows = [("Ama", *row) for row in annotations(("xnd-tx@Ama", "xne-ft@Ama"))]
    err = said(capsys, "--train-tsv", write(rows), "--src-lang", "xne", "--tgt-lang", "xnd")
    assert "and column 2 has 2 different values" in err
    assert "`xne-ft@Ama` as source and `xnd-tx@Ama` as target: nmt convert" in err


def test_the_text_tells_tiers_of_the_same_language_by_their_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Such as the English and the transcription of a speaker of English."""
    name = write(annotations(("English-ft@Ama", "English-tx@Ama")))
    err = said(capsys, "--train-tsv", name, *LANGUAGES)
    assert "`English-ft@Ama` as source and `English-tx@Ama` as target: nmt convert" in err


@pytest.mark.parametrize("cell", ["a{:03}", "2026-01-02T10:{:02}:30Z"])
def test_identifiers_and_times_with_letters_are_no_text(
    cell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(cell.format(n // 2), *row) for n, row in enumerate(annotations())]
    err = said(capsys, "--train-tsv", write(rows), *LANGUAGES)
    assert "only column 6 has sentences, and column 2 has 2 different values" in err
    assert "`English-ft@Ama` as source and `Xnd-tx@Ama` as target: nmt convert" in err


def test_years_beside_one_text_are_no_annotations(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(str(2000 + number % 3), "7", pair[0]) for number, pair in enumerate(pairs())]
    assert "annotation" not in said(capsys, "--train-tsv", write(rows), *LANGUAGES)


def test_csv_of_annotations_has_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    Path("e.csv").write_text("".join(f"{','.join(row)}\n" for row in annotations()), "utf-8")
    err = said(capsys, "--train-tsv", "e.csv", *LANGUAGES)
    assert "only column 5 has sentences, and column 1 has 2 different values" in err
    assert err.rstrip().endswith("with `Separate column for each tier`)")


def test_neither_language_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    name = write(annotations(("gls", "tx")))
    err = said(capsys, "--train-tsv", name, "--src-lang", "xnd", "--tgt-lang", "xne")
    assert "2 different values" in err
    assert "nmt convert" not in err


def test_speakers_beside_two_texts_are_not_taken_for_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Also where the speakers have more letters than one of the texts, or a column is empty."""
    rows = [("Ama Mensah Owusu-Ansah", "Wedding", *pair) for pair in pairs()]
    err = said(capsys, "--train-tsv", write(rows), *LANGUAGES)
    assert "column 3 (looks like English) as source and column 4 as target" in err
    rows = [(text, *row[:2]) for *row, _, text in rows]
    assert "sentences, and column 2 has one value" in said(
        capsys, "--train-tsv", write(rows), *LANGUAGES
    )


def test_a_category_that_the_option_names_is_warned_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [(*row[:1], f"{number}", *row[4:]) for number, row in enumerate(annotations())]
    arguments = ["--train-tsv", write(rows, "e.txt"), *LANGUAGES, "--tsv-columns"]
    err = " ".join(said(capsys, *arguments, "3,1", code=0).split())
    assert (
        "warning: column 1 of `e.txt` has only 2 different values in the first 120 rows "
        "(`English-ft@Ama`, `Xnd-tx@Ama`), as tiers, speakers and dates have: does"
    ) in err
    rows = [(*pair, "note") for pair in pairs()]
    write(rows, "e.txt")
    assert "different value" not in said(capsys, *arguments, "1,2", code=0)


def test_few_cells_sentences_and_many_values_are_no_category() -> None:
    assert category_values(["a", "b", ""] * 10) == ["a", "b"]
    assert category_values(["a", "b"] * 9) == []
    assert category_values(["Where is the dog now?"] * 50) == []
    assert category_values([str(number % 8) for number in range(60)]) == []


def test_long_values_are_cut_in_messages() -> None:
    assert shown_values(["a" * 41, "b"]) == f"`{'a' * 40}`, `b`"
