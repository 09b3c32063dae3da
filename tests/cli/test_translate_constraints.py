"""A glossary in the other direction than the text gives one warning before translating."""

import subprocess
from pathlib import Path

import pytest

from nmt_cli.cli.commands.translation.constraints import (
    ConstraintFiles,
    read_constraints,
    swapped_columns_warning,
    without_headers,
)
from nmt_cli.config.schema import LanguagesConfig
from nmt_cli.data.lexical.glossary import entries_of, read_glossary
from nmt_cli.data.lexical.glossary_header import first_entries
from nmt_cli.terminal.console import Console

GERMAN_TO_ENGLISH = "Hund\tdog|hound\nKatze\tcat\nHaus\thouse\n"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("terms.tsv").write_text(GERMAN_TO_ENGLISH)
    Path("test.en").write_text("The dog sees a cat.\nIt sleeps.\n")


def test_swapped_columns_are_warned_of_once_with_a_command_that_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    constraints = read_constraints(ConstraintFiles([Path("terms.tsv")]), "test.en", Console())
    assert constraints.glossary == read_glossary("terms.tsv")
    err = " ".join(capsys.readouterr().err.split())
    assert err.count("warning") == 1
    assert "no source term of `terms.tsv` occurs in `test.en`, but 2 target forms of it" in err
    warning = swapped_columns_warning(Path("terms.tsv"), "test.en")
    subprocess.run(["sh", "-c", warning.split("to swap them: ")[1]], check=True, timeout=120)
    assert (
        Path("terms.swapped.tsv").read_text() == "dog\tHund\nhound\tHund\ncat\tKatze\nhouse\tHaus\n"
    )
    assert swapped_columns_warning(Path("terms.swapped.tsv"), "test.en") == ""
    # The next command writes another file.
    assert swapped_columns_warning(Path("terms.tsv"), "test.en").endswith("> terms.swapped2.tsv")


@pytest.mark.parametrize(
    "header",
    [
        "en\tgsw",
        "source\ttarget",
        "Term\tÜbersetzung",
        "English\tgsw-CH",
        "Englisch\tDeutsch",
        "translation\tterm",
        '"en"\t"gsw"',
    ],
)
def test_the_header_of_a_glossary_is_no_term(
    header: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("list.tsv").write_text(f"{header}\ndog\tHund\nterm\ttranslation\n")
    given = read_constraints(ConstraintFiles([Path("list.tsv")]), None, Console())
    kept = without_headers(given, LanguagesConfig("en", "gsw"), Console())
    assert [entry.source for entry in kept.entries] == ["dog", "term"]
    assert capsys.readouterr().err == "line 1 of `list.tsv` names the columns, and is no term\n"


@pytest.mark.parametrize(
    ("first", "is_doubted"),
    [
        ("English\tZüritüütsch", True),
        ("English\tEnglisch", False),
        ("source\tQuelle", False),
        ("word\tWort|Vokabel", False),
        ("source\ttarget|aim", False),
        ("in\tit", False),
        ("Yes\tJa", False),
    ],
)
def test_a_first_term_stays_a_term(
    first: str, is_doubted: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("list.tsv").write_text(f"{first}\ndog\tHund\n")
    given = read_constraints(ConstraintFiles([Path("list.tsv")]), None, Console())
    assert without_headers(given, LanguagesConfig("en", "gsw"), Console()) is given
    err = " ".join(capsys.readouterr().err.split())
    assert ("may name the columns, and counts as a term" in err) is is_doubted


def test_entries_of_no_file_are_never_a_header() -> None:
    assert first_entries(entries_of({"en": "gsw"})) == []


def test_forms_with_other_separators_are_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    Path("list.tsv").write_text("Haus\thouse; home\nRad\tbicycle / bike\nund\tand/or|and\n")
    read_constraints(ConstraintFiles([Path("list.tsv")]), None, Console())
    err = " ".join(capsys.readouterr().err.split())
    assert err == (
        "warning: `house; home` is one form of a term, which is written as it is, and so is 1 "
        "more; several forms are separated by `|`"
    )
    Path("list.tsv").write_text("Rad\tbicycle / bike\n")
    read_constraints(ConstraintFiles([Path("list.tsv")]), None, Console())
    assert "written as it is; several forms" in " ".join(capsys.readouterr().err.split())
    Path("list.tsv").write_text("und\tand/or|and\n")
    read_constraints(ConstraintFiles([Path("list.tsv")]), None, Console())
    assert capsys.readouterr().err == ""


def test_several_glossaries_are_joined(capsys: pytest.CaptureFixture[str]) -> None:
    Path("more.tsv").write_text("mouse\tMaus\n")
    Path("empty.tsv").write_text("\n")
    paths = [Path("terms.tsv"), Path("more.tsv")]
    constraints = read_constraints(ConstraintFiles(paths), None, Console())
    assert [entry.source for entry in constraints.entries] == ["Hund", "Katze", "Haus", "mouse"]
    assert "no term" not in capsys.readouterr().err
    read_constraints(ConstraintFiles([*paths, Path("empty.tsv")]), None, Console())
    assert capsys.readouterr().err.strip() == "warning: `empty.tsv` has no term"
    read_constraints(ConstraintFiles([Path("empty.tsv")] * 2), None, Console())
    assert "`empty.tsv` and `empty.tsv` have no term" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        ("dog\tHund\n", "The dog sleeps.\n"),
        ("dog\tHund\n", "It sleeps.\n"),
        ("Hund\tdog\nParis\tParis\n", "The dog in Paris.\n"),
        ("狗\tdog\n", "我的狗 dog\n"),
        ("Hund\tdog\n", "Hot dogs and hotdogs.\n"),
    ],
)
def test_other_glossaries_give_no_warning(terms: str, text: str) -> None:
    Path("terms.tsv").write_text(terms, "utf-8")
    Path("test.en").write_text(text, "utf-8")
    assert swapped_columns_warning(Path("terms.tsv"), "test.en") == ""


def test_a_part_of_a_word_is_no_source_term_of_swapped_columns() -> None:
    Path("terms.tsv").write_text("Tom\tDam\n", "utf-8")
    Path("test.en").write_text("Dam uéđ bîtom.\n", "utf-8")
    assert "no source term" in swapped_columns_warning(Path("terms.tsv"), "test.en")
    Path("test.en").write_text("Dam uéđ tom.\n", "utf-8")
    assert swapped_columns_warning(Path("terms.tsv"), "test.en") == ""


@pytest.mark.parametrize(
    ("term", "text", "is_warned_of"),
    [
        ("C++ (old)", "Dam c++ (old)", False), ("C++ (old)", "Dam c++ old", True),
        # Without spaces between words, a term may begin and end anywhere.
        ("狗", "我的狗很好 Dam", False), ("狗", "我的猫很好 Dam", True),
        ("Tom", "Dam\n\nTom", False),
    ],
)  # fmt: skip
def test_source_terms_are_looked_for_as_they_are_written(
    term: str, text: str, is_warned_of: bool
) -> None:
    Path("terms.tsv").write_text(f"{term}\tDam\n", "utf-8")
    Path("test.en").write_text(f"{text}\n", "utf-8")
    warning = swapped_columns_warning(Path("terms.tsv"), "test.en")
    assert ("no source term" in warning) is is_warned_of


def test_stdin_and_files_that_are_not_text_are_not_read() -> None:
    assert swapped_columns_warning(Path("terms.tsv"), "-") == ""
    Path("test.en").write_bytes(b"\xff\xfed\x00o\x00g\x00")
    assert swapped_columns_warning(Path("terms.tsv"), "test.en") == ""


@pytest.mark.parametrize("text", ["", "\n  \n"])
def test_empty_files_of_constraints_are_warned_of(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("terms.tsv").write_text(text)
    Path("ban.txt").write_text(text)
    read_constraints(ConstraintFiles([Path("terms.tsv")]), "test.en", Console())
    assert "warning: `terms.tsv` has no term" in capsys.readouterr().err
    read_constraints(ConstraintFiles(ban=Path("ban.txt")), "test.en", Console())
    assert "warning: `ban.txt` has no word or phrase" in capsys.readouterr().err
    read_constraints(ConstraintFiles(names=[Path("ban.txt")] * 2), "test.en", Console())
    err = capsys.readouterr().err
    assert "warning: `ban.txt` and `ban.txt` have no name: nothing is kept" in " ".join(err.split())
    Path("ban.txt").write_text("Hund\n")
    Path("names").write_text("NordPad\n")
    Path("terms.tsv").write_text("dog\tHund\n")
    files = ConstraintFiles([Path("terms.tsv")], [Path("names")], Path("ban.txt"))
    read_constraints(files, "test.en", Console())
    assert capsys.readouterr().err == ""
