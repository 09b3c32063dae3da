"""Rows with a third column, such as notes of translators: what is lost, and how it is kept."""

import subprocess
from pathlib import Path

import pytest
from corpora import tiny_config
from synthetic_pairs import two_languages

from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.data.text.line_pairs import read_pairs
from nmt_cli.data.text.tables.columns import TableColumns
from nmt_cli.errors import DataError

PAIRS = two_languages(300, 7)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def notes_of(rows: list[str], **settings: object) -> list[str]:
    """The warnings about columns of a table with these rows."""
    Path("my train.tsv").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    settings = {"data_train": [("my train.tsv",)], "data_vocab_size": 200, **settings}
    config = tiny_config(**settings)
    result = prepare(config, Path("corpus"), force=True, workers=1)
    return [note for note in result.notes if "columns" in note or "line breaks" in note]


def test_rows_with_notes_are_named_with_the_command_that_keeps_them() -> None:
    rows = ["\t".join(pair) for pair in PAIRS]
    for index in range(2, 300, 3):
        rows[index] += "\tnot sure about this"
    (note,) = notes_of(rows)
    assert note.startswith(
        "`my train.tsv`: 100 of 300 lines have more than two columns and are dropped, the first "
        "in line 3 (`"
    )
    assert note.endswith("| not sure about this`); to keep columns 1 and 2: --tsv-columns 1,2")
    assert notes_of(rows, data_tsv_columns="1,2") == []
    table = "my train.tsv"
    assert list(read_pairs((table,), TableColumns.of_training("1,2", [(table,)]))) == PAIRS


def test_with_several_tables_the_command_is_named() -> None:
    rows = ["\t".join(pair) for pair in PAIRS]
    rows[2::3] = [f"{row}\tnot sure about this" for row in rows[2::3]]
    Path("other.tsv").write_text("Yes.\tJa.\n", encoding="utf-8")
    (note,) = notes_of(rows, data_train=[("my train.tsv",), ("other.tsv",)])
    assert "to keep columns 1 and 2: nmt convert 'my train.tsv' --columns 1,2 -o" in note
    subprocess.run(["sh", "-c", note.partition("2: ")[2]], check=True, timeout=120)
    assert list(read_pairs(("my train.two-columns.tsv",))) == PAIRS


def test_a_few_such_rows_are_only_counted() -> None:
    rows = ["\t".join(pair) for pair in PAIRS]
    rows[7] += "\tnot sure"
    assert notes_of(rows) == []
    # Rows without a tab are no wide ones.
    rows[8:20] = ["no tab"] * 12
    assert notes_of(rows) == []


def test_cells_with_line_breaks_are_named_once() -> None:
    rows = ["\t".join(pair) for pair in PAIRS]
    for index in range(10, 200, 10):
        rows[index] = f'"{PAIRS[index][0]}\nand\tmore"\t"{PAIRS[index][1]}"'
    (note,) = notes_of(rows)
    assert "line breaks in cells in quotation marks spread 19 pairs" in note


def test_validation_tables_with_such_rows_are_refused_with_the_command() -> None:
    Path("v.tsv").write_text("Yes.\tJa.\nNo.\tNein.\tby Tom\n" + "Oh.\tO.\n" * 5)
    with pytest.raises(DataError, match="line 2: 3 columns, 2 are needed") as caught:
        list(read_pairs(("v.tsv",)))
    assert caught.value.hint.endswith(
        "to keep columns 1 and 2: nmt convert v.tsv --columns 1,2 -o v.two-columns.tsv"
    )


@pytest.mark.parametrize("place", [0, 1])
def test_labels_in_columns_of_their_own_are_removed(place: int) -> None:
    """The columns 1 and 2 would be a label and the text behind it."""
    rows = [[f"Ja: {src} Tharo:", tgt] for src, tgt in PAIRS]
    expected = [tuple(row) for row in rows]
    for index, row in enumerate(rows[:8]):
        row.insert(place, "Tharo:" if index % 2 else "Old Kimo: ")
    (note,) = notes_of(["\t".join(row) for row in rows])
    assert "8 of 300 lines have more than two columns and are dropped" in note
    command = note.partition("); to remove the labels in columns of their own: ")[2]
    subprocess.run(["sh", "-c", command], check=True, timeout=120)
    assert list(read_pairs(("my train.without-labels.tsv",))) == expected


@pytest.mark.parametrize(
    "wide",
    [
        ["Ja\tYes\tTharo:"],
        ["Tharo:\tJa\tYes\tNo"],
        [f"T{chr(number)}:\tJa\tYes" for number in range(65, 86)],
        ["Tharo:\tJa\tYes", "Ja\tYes\tlit. so"],
    ],
)
def test_other_cells_are_no_labels(wide: list[str]) -> None:
    rows = [*wide * 5, *("\t".join(pair) for pair in PAIRS)]
    (note,) = notes_of(rows)
    assert note.endswith("; to keep columns 1 and 2: --tsv-columns 1,2")
