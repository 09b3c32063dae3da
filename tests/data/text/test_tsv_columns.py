"""`--tsv-columns`: the columns of source and target in the training tables."""

import subprocess
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.config.schema import DataConfig, load
from nmt_cli.data.preparation.notes import swapped_notes
from nmt_cli.data.text.formats.separated_values import unquote_command
from nmt_cli.data.text.line_pairs import read_pairs
from nmt_cli.data.text.tables.columns import TableColumns
from nmt_cli.errors import DataError
from nmt_cli.extras.project_files import ProjectTexts, options_of

ROWS = [(f"s Huus {n} isch alt", "noun", f"the house {n} is old") for n in range(40)]
LANGUAGES = ["--src-lang", "en", "--tgt-lang", "gsw"]
TRAIN = ["--train-tsv", "d.tsv"]


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("d.tsv", ("gsw", "POS", "en"), *ROWS)


def write(name: str, *rows: tuple[str, ...]) -> None:
    Path(name).write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")


def test_a_hint_names_the_option_and_prepare_reads_what_init_stored(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["init", *TRAIN, *LANGUAGES]) == 65
    hint = "to take column 3 (en) as source and column 1 (gsw) as target, or others in their place"
    assert f"{hint}: --tsv-columns 3,1\n" in capsys.readouterr().err
    assert main(["init", *TRAIN, *LANGUAGES, "--tsv-columns", "3,1"]) == 0
    assert 'tsv_columns = "3,1"\n' in Path("nmt.toml").read_text()
    again = options_of(ProjectTexts((("d.tsv",),), tsv_columns="3,1"), "en", "gsw", None)
    assert again[:4] == [*TRAIN, "--tsv-columns", "3,1"]
    assert main(["prepare", "--set", "data.subwords=chars", "--dropped", "drop.tsv"]) == 0
    assert load(Path("corpus/config.toml")).data.tsv_columns == "3,1"
    assert "d.tsv\t1\theader of a table\ten\tgsw\n" in Path("drop.tsv").read_text()
    (first, *_) = read_pairs(("d.tsv",), TableColumns((3, 1)))
    assert first == ("en", "gsw")
    # Without the stored setting, prepare refuses the table and names the option, too.
    capsys.readouterr()
    Path("nmt.toml").unlink()
    assert main(["prepare", *TRAIN, *LANGUAGES, "--out", "new"]) == 65
    assert "--tsv-columns 3,1\n" in capsys.readouterr().err


def test_a_header_with_the_target_first_is_refused_with_the_other_order(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["init", *TRAIN, *LANGUAGES, "--tsv-columns", "1,3"]) == 65
    err = capsys.readouterr().err
    assert "has the header `gsw`, tab, `en`" in err
    assert "hint: --tsv-columns 3,1\n" in err


def test_of_several_tables_only_the_swapped_one_is_changed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("two.tsv", ("en", "POS", "gsw"), *(row[::-1] for row in ROWS))
    tables = [*TRAIN, "--train-tsv", "two.tsv"]
    assert main(["init", *tables, *LANGUAGES, "--tsv-columns", "3,1"]) == 65
    command = capsys.readouterr().err.partition("swap the columns: ")[2].strip()
    subprocess.run(["sh", "-c", command], check=True, timeout=120)
    assert Path("two.swapped.tsv").read_bytes() == Path("d.tsv").read_bytes()


def test_the_note_on_swapped_pairs_names_the_columns_that_are_read() -> None:
    counts = [(30, 40)]
    data = DataConfig(train=(("d.tsv",),), tsv_columns="2,3")
    (note,) = swapped_notes(data, counts)
    assert note.endswith(": --tsv-columns 3,2")
    data = DataConfig(train=(("d.tsv",), ("two.tsv",)), tsv_columns="2,3")
    (note,) = swapped_notes(data, [*counts, (0, 40)])
    assert "{src = $2; $2 = $3; $3 = src; print}" in note


def test_sentences_in_quotation_marks_are_no_cells_of_a_spreadsheet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    speech = ('"Wär isch da?" "Ich."', "said", '"Who is there?" "Me."')
    write("d.tsv", ("gsw", "POS", "en"), *ROWS, speech, ('"Wo isch er?"', "said", '"Where is he?"'))
    assert main(["init", *TRAIN, *LANGUAGES]) == 65
    assert "--tsv-columns 3,1\n" in capsys.readouterr().err
    assert ("\t".join(speech[::-2])) in list(
        map("\t".join, read_pairs(("d.tsv",), TableColumns((3, 1))))
    )


def test_several_tables_and_quoted_cells_get_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    write("two.tsv", *(row[::2] for row in ROWS))
    assert main(["init", *TRAIN, "--train-tsv", "two.tsv", *LANGUAGES]) == 65
    assert ": nmt convert d.tsv --columns 3,1 -o" in capsys.readouterr().err
    write("d.tsv", *ROWS, ('"a ""b"" c"', "noun", "x"))
    assert main(["init", *TRAIN, *LANGUAGES]) == 65
    assert ": nmt convert d.tsv --columns 1,3 --unquote -o" in capsys.readouterr().err


def test_the_header_below_a_caption_is_dropped() -> None:
    write("d.tsv", ("Sentences of the dialect",), ("",), ("gsw", "en"), *(row[::2] for row in ROWS))
    options = ["--set", "data.subwords=chars", "--dropped", "drop.tsv", "--tsv-columns", "2,1"]
    assert main(["prepare", *TRAIN, *LANGUAGES, *options]) == 0
    assert "d.tsv\t3\theader of a table\ten\tgsw\n" in Path("drop.tsv").read_text()


@pytest.mark.parametrize("command", ["init", "prepare"])
def test_a_column_that_is_mostly_empty_is_warned_of(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(*row, f"note {n}" if n > 25 else "") for n, row in enumerate(ROWS)]
    write("d.tsv", *rows)
    chars = ["--set", "data.subwords=chars"] if command == "prepare" else []
    assert main([command, *TRAIN, *LANGUAGES, "--tsv-columns", "3,4", *chars]) == 0
    err = " ".join(capsys.readouterr().err.split())
    assert "26 of the first 40 cells of column 4 of `d.tsv` are empty, and their rows have" in err
    write("d.tsv", *[(*row[:3], "yes" if n > 15 else "") for n, row in enumerate(ROWS)])
    main([command, *TRAIN, *LANGUAGES, "--tsv-columns", "3,4", *chars, "--force"])
    assert "are empty, and their rows" not in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("command", ["init", "prepare"])
def test_tables_with_the_same_wrong_columns_are_warned_of_together(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    english = [f"the dog {n} was not in the garden of the house" for n in range(200)]
    other = [f"Kagtol{n} murnef wuntol rikbor gulsaw ndok" for n in range(200)]
    german = [f"der Hund {n} war nicht in dem Garten des Hauses" for n in range(200)]
    numbers = [str(n) for n in range(200)]
    for name, filled in (("a.tsv", 40), ("b.tsv", 60), ("c.tsv", 150)):
        notes = [f"note {n}" if n < filled else "" for n in range(200)]
        write(name, *zip(english, other, german, numbers, notes, strict=True))
    tables = [part for name in "abc" for part in ("--train-tsv", f"{name}.tsv")]
    settings = ("data.subwords=chars", "data.max_ratio=99") if command == "prepare" else ()
    chars = [part for setting in settings for part in ("--set", setting)]

    def warnings(columns: str) -> str:
        main([command, *tables, *LANGUAGES, "--tsv-columns", columns, *chars, "--force"])
        return " ".join(capsys.readouterr().err.split())

    question = "does `--tsv-columns` name the right columns?"
    err = warnings("1,5")
    assert "300 of the first 400 cells of column 5 of `a.tsv` and `b.tsv` are empty, and" in err
    assert err.count(question) == 1
    err = warnings("2,5")
    assert (
        "the training source columns of `a.tsv`, `b.tsv` and `c.tsv` do not look like English "
        "(`en`): none of their first 600 lines of several words have one of the commonest words "
        f"of this language; {question}"
    ) in err
    assert err.count(question) == 2
    err = warnings("3,2")
    assert (
        "training source columns of `a.tsv`, `b.tsv` and `c.tsv` look like German (`de`), not "
        "English (`en`)" in err
    )
    assert err.count("look like German") == 1
    err = warnings("4,2")
    assert (
        "600 of the first 600 lines of the training source columns of `a.tsv`, `b.tsv` and" in err
    )
    assert err.count("have no letter") == 1


@pytest.mark.parametrize("column", [0, 1, 2])
def test_line_breaks_in_cells_are_named_with_the_command_that_removes_them(
    column: int, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [list(row) for row in ROWS]
    for row in rows[5:40:5]:
        row[column] = f'"{row[column]}\nand more"'
    write("d.tsv", *map(tuple, rows))
    options = [*TRAIN, *LANGUAGES, "--tsv-columns", "3,1", "--set", "data.subwords=chars"]
    assert main(["prepare", *options]) == 0
    err = capsys.readouterr().err
    note = "line breaks in cells in quotation marks spread 7 pairs over several lines"
    assert note in " ".join(err.split())
    subprocess.run(["sh", "-c", unquote_command("d.tsv")], check=True, timeout=120)
    whole = list(read_pairs(("d.converted.tsv",), TableColumns((3, 1))))
    assert len(whole) == len(ROWS)
    assert (whole[5] == ROWS[5][::-2]) is (column == 1)


def test_rows_without_such_a_column_are_bad_rows(capsys: pytest.CaptureFixture[str]) -> None:
    write("d.tsv", *ROWS, ("short", "row"), ("a", "b", "c", "d"))
    pairs = read_pairs(("d.tsv",), TableColumns((3, 1)), keep_bad_rows=True)
    found = [(pair, pairs.is_bad_row) for pair in pairs]
    assert found[-2:] == [(("short row", ""), True), (("c", "a"), False)]
    assert found[0] == (ROWS[0][::-2], False)
    with pytest.raises(DataError, match="line 1: 3 columns, but the source is in column 4 and"):
        list(read_pairs(("d.tsv",), TableColumns((4, 1)), keep_bad_rows=True))
    assert main(["init", *TRAIN, *LANGUAGES, "--tsv-columns", "4,1"]) == 65
    assert "--tsv-columns" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["3", "0,1", "1,1", "a,b", "1,2,3", "-1,2"])
def test_what_is_not_two_columns_is_refused(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", *TRAIN, *LANGUAGES, f"--tsv-columns={value}"]) != 0
    assert "counted from 1, as in 3,1" in capsys.readouterr().err
