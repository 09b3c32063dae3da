"""A validation or test table with rows of other columns: the error says which, and what to do."""

import gzip
import subprocess
from pathlib import Path

import pytest

from nmt_cli.data.text.line_pairs import read_pairs
from nmt_cli.data.text.tables.wrong_rows import WrongRows
from nmt_cli.errors import DataError

PAIRS = [(f"the house {n} is old", f"s Huus {n} isch alt") for n in range(30)]
ROWS = ["\t".join(pair) for pair in PAIRS]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(rows: list[str], name: str = "my dev.tsv") -> None:
    text = "".join(f"{row}\n" for row in rows).encode()
    Path(name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)


def error_of(name: str = "my dev.tsv") -> DataError:
    with pytest.raises(DataError) as caught:
        list(read_pairs((name,)))
    return caught.value


def run(command: str) -> str:
    return subprocess.run(
        ["sh", "-c", command], check=True, timeout=30, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize("name", ["my dev.tsv", "my dev.tsv.gz"])
def test_rows_of_other_columns_are_counted_shown_and_left_out(name: str) -> None:
    rows = [*ROWS[:4], "no tab in here", *ROWS[4:], "", "a\tb\tc"]
    write(rows, name)
    error = error_of(name)
    assert error.message == (
        f"`{name}`, line 5: 1 column, 2 are needed (`no tab in here`); 3 of 33 lines do not have 2"
    )
    show, leave_out = error.hint.removeprefix(
        "each line must be: source, tab, target; to see these lines: "
    ).split("; to leave these lines out: ")
    assert run(show) == "5: no tab in here\n32: \n33: a\tb\tc\n"
    run(leave_out)
    assert list(read_pairs(("my dev.two-columns.tsv",))) == PAIRS


def test_one_such_row_is_not_counted() -> None:
    write([*ROWS, ""])
    error = error_of()
    assert error.message == "`my dev.tsv`, line 31: 1 column, 2 are needed (it is empty)"
    assert "; to see this line: " in error.hint
    assert "; to leave this line out: " in error.hint


def test_long_cells_of_the_first_such_row_are_cut() -> None:
    write([*ROWS, f"{'a' * 99}\tb\tc", "d\te\tf"])
    error = error_of()
    assert error.message == (
        f"`my dev.tsv`, line 31: 3 columns, 2 are needed (`{'a' * 40}... | b | c`); 2 of 32 lines "
        "do not have 2"
    )
    run(error.hint.partition("to keep columns 1 and 2: ")[2])
    pairs = list(read_pairs(("my dev.two-columns.tsv",)))
    assert pairs == [*PAIRS, ("a" * 99, "b"), ("d", "e")]


def test_quoted_cells_of_wider_rows_are_unquoted() -> None:
    write([*ROWS, 'so\t"a ""b"" c"\tnote'])
    run(error_of().hint.partition("to keep columns 1 and 2: ")[2])
    assert Path("my dev.two-columns.tsv").read_text().split("\n")[-2] == 'so\ta "b" c'


def test_cells_with_line_breaks_are_joined() -> None:
    """Each has a row without a tab, and removing that would leave half of a sentence."""
    rows = list(ROWS)
    for index in (0, 9, 20):
        rows[index] = f'{PAIRS[index][0]}\t"{PAIRS[index][1]}\nund ""so"""'
    write(rows)
    error = error_of()
    assert error.message.startswith("`my dev.tsv`, line 2: 1 column, 2 are needed (`und")
    assert error.message.endswith("; 3 of 33 lines do not have 2")
    said, command = error.hint.split("; to remove the line breaks and marks: ")
    assert said.endswith(
        "line breaks in cells in quotation marks spread 3 pairs over several lines"
    )
    run(command)
    pairs = list(read_pairs(("my dev.converted.tsv",)))
    assert pairs[0] == (PAIRS[0][0], f'{PAIRS[0][1]} und "so"')
    assert len(pairs) == len(PAIRS)


def test_nothing_is_found_in_what_is_read_only_once() -> None:
    assert WrongRows.of_table("-").wrong == 0
    assert WrongRows.of_table("missing.tsv").wrong == 0


def test_a_table_of_other_columns_has_another_error() -> None:
    write([f"{n}\t{row}" for n, row in enumerate(ROWS)])
    assert not WrongRows.of_table("my dev.tsv").are_few
    assert "--columns 2,3 -o" in error_of().hint
    write(ROWS)
    assert not WrongRows.of_table("my dev.tsv").are_few
