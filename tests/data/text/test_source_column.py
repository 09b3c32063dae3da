"""The column of a table that a hint names for translation."""

from nmt_cli.data.text.tables.source_column import SourceColumn, source_column

ENGLISH = [f"the dog {n} was not in the house of the man and she saw it" for n in range(60)]
OTHER = [f"kagtol murnef {n} wuntol rikbor gulsaw ndok" for n in range(60)]


def rows(*columns: list[str]) -> list[str]:
    return ["\t".join(row) for row in zip(*columns, strict=True)]


def test_the_text_tells_the_column_where_no_header_does() -> None:
    assert source_column(rows(OTHER, ENGLISH), "en") == SourceColumn(2)
    assert source_column(rows(ENGLISH, OTHER), "en") == SourceColumn(1)
    assert source_column(rows(OTHER, OTHER[::-1], ENGLISH), "en") == SourceColumn(3)
    # Of another language, and of two columns in the language, the first text is taken.
    assert source_column(rows(OTHER, ENGLISH), "xnd") == SourceColumn(1)
    assert source_column(rows(OTHER, ENGLISH, ENGLISH), "en") == SourceColumn(1)


def test_rows_of_another_width_are_left_out() -> None:
    table = ["# a comment", *rows(OTHER, ENGLISH), "one\ttwo\tthree"]
    assert source_column(table, "en") == SourceColumn(2)


def test_a_header_is_no_text_and_a_single_row_no_header() -> None:
    assert source_column(["No\tMubu", "1\tKa mi"], "en") == SourceColumn(2, "Mubu")
    assert source_column(["id\tgsw\ten"], "en") == SourceColumn(1)


def test_without_rows_it_is_the_first_column() -> None:
    assert source_column([], "en") == SourceColumn(1)
