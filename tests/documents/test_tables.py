"""Tables: one column is translated, two are added, and every other byte stays."""

import csv
import io
from collections.abc import Callable, Sequence

import pytest
from document_samples import CSV, TSV, changed, each_text, opened
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.data.text.sanitize import clean_line
from nmt_cli.documents.document import ReadOptions
from nmt_cli.documents.kinds import kind_of, read_document
from nmt_cli.documents.table import TableDocument
from nmt_cli.errors import DataError

UNCLOSED = "a quotation mark that is never closed"


def read_cells(data: bytes, delimiter: str = ",") -> list[list[str]]:
    """The cells of a table as another program reads them, without empty lines and spaces."""
    lines = io.StringIO(data.decode("utf-8-sig"), newline="")
    return [row for row in csv.reader(lines, delimiter=delimiter) if row not in ([], [" "])]


def refused(text: str | bytes, **options: object) -> DataError:
    with pytest.raises(DataError) as caught:
        opened(text, "table", **options)
    return caught.value


def test_table_of_a_spreadsheet() -> None:
    document = opened(CSV, "table", field="en")
    flags = [["copied"], ["at_limit", "copied"], ["copied", "low_confidence"], []]
    assert document.render(each_text(document.segments, str.upper), flags).decode() == (
        "\ufeffid;en;translation;note;flags\r\n"
        "1;A dog, a cat.;A DOG, A CAT.;kept;copied\r\n"
        '2;"He said ""no"".\r\nTwo lines; here.";"HE SAID ""NO"".\r\nTWO LINES; HERE.";"x;y";'
        "at_limit copied low_confidence\r\n"
        "\r\n"
        "3;;;kept;empty\r\n"
        '"4";"Last";LAST;;'
    )


def test_tab_separated_values() -> None:
    document = opened(TSV, "table")
    assert document.render(each_text(document.segments, str.upper)).decode() == (
        "text\ttranslation\tid\tflags\n"
        "A dog, a cat; sleeps.\tA DOG, A CAT; SLEEPS.\t1\t\n"
        "\t\t\tempty\n"
        "12\t12\t2\t\n"
    )


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encoding_and_endings_are_kept(ending: str, last: bool, encoding: str) -> None:
    source = "text,id\n \nGr\u00fcn,1\n" if last else "text,id\n \nGr\u00fcn,1"
    wanted = "text,translation,id,flags\n \nGr\u00fcn,GR\u00dcN,1,\n"
    wanted = wanted if last else wanted.removesuffix("\n")
    document = opened(source.replace("\n", ending).encode(encoding), "table")
    written = document.render(each_text(document.segments, str.upper))
    assert written == wanted.replace("\n", ending).encode(encoding)


@pytest.mark.parametrize(
    ("name", "header", "delimiter"),
    [
        ("a.csv", "id,text", ","),
        ("a.csv", "id;text", ";"),
        ("a.csv", "id\ttext", "\t"),
        ("a.csv", '"a;b;c",text', ","),
        ("a.csv", '"a,b,c";text', ";"),
        ("a.csv", '"a\tb\tc",text', ","),
        ("a.csv", 'text,"a\tb\tc"', ","),
        ("a.tsv", 'text,"a\tb\tc"', ","),
        ("a.csv", 'text;"a ""b"", c, d, e"', ";"),
        ("a.csv", '"a\n,,,\nb";text', ";"),
        ("a.csv", "a,b;c;text", ";"),
        ("a.csv", '5" a;6" b;text,c', ";"),
        ("a.csv", 'a;text;5" disk', ";"),
        ("a.tsv", "a,b,c\ttext", "\t"),
        ("a.TSV", "a,b,c\ttext", "\t"),
        ("a.tsv", "a;b;c\ttext", "\t"),
        ("a.tsv", "id,text", ","),
        ("a.csv", "text,a\tb", ","),
        ("a.csv", "text;a\tb\tc", "\t"),
        ("a.csv", "\r\n \n\ttext", "\t"),
        ("a.csv", "text", ","),
        ("a.tsv", "text", "\t"),
    ],
)
def test_delimiter(name: str, header: str, delimiter: str) -> None:
    field = next(
        cell for cell in next(csv.reader([header.split("\n")[-1]], delimiter=delimiter))
        if cell.startswith("text")
    )  # fmt: skip
    document = read_document(header.encode(), "table", ReadOptions(name, field=field))
    written = document.render([]).decode()
    assert written.replace(f"{delimiter}translation", "", 1) == f"{header}{delimiter}flags"
    cells = next(csv.reader([written.split("\n")[-1]], delimiter=delimiter))
    assert cells[cells.index(field) + 1] == "translation"


def test_delimiter_of_a_long_header() -> None:
    """Taken for one cell, it would be longer than the parser allows."""
    header = "text" + ";c" * 70_000
    assert changed(header, "table") == f"text;translation{header[4:]};flags"


def test_a_table_of_one_column_is_read() -> None:
    assert changed('text\n"a, b"\n\nc;d\n""\n', "table") == (
        'text,translation,flags\n"a, b","A, B",\n\nc;d,C;D,\n"",,empty\n'
    )


def test_a_line_of_tabs_is_a_record_and_a_line_of_spaces_is_none() -> None:
    assert changed("a\ttext\n\t\n \t \n  \n1\tb\n", "table") == (
        "a\ttext\ttranslation\tflags\n\t\t\tempty\n \t \t \tempty\n  \n1\tb\tB\t\n"
    )


def test_empty_lines_before_the_header_are_kept() -> None:
    assert changed("\n  \r\ntext,b\nx,y", "table") == ("\n  \r\ntext,translation,b,flags\nx,X,y,")


@pytest.mark.parametrize(
    ("delimiter", "translation", "written"),
    [
        (",", "a, b", '"a, b"'), (";", "a, b", "a, b"), (",", "a; b", "a; b"),
        ("\t", "a\tb", '"a\tb"'), ("\t", "a, b", "a, b"), (",", 'a "b"', '"a ""b"""'),
        (",", '"', '""""'), (",", "a\nb", '"a\nb"'), (",", "a\rb", '"a\rb"'),
        (",", "=SUM(A1)", "=SUM(A1)"), (",", "+1", "+1"), (",", "-a", "-a"), (",", "@a", "@a"),
        (";", "'a", "'a"), ("\t", 'a "b"', '"a ""b"""'), (",", " a ", " a "),
    ],
)  # fmt: skip
def test_new_cells_are_quoted_where_they_need_it(
    delimiter: str, translation: str, written: str
) -> None:
    text = f"id{delimiter}text\n1{delimiter}word\n"
    assert changed(text, "table", lambda _: translation) == (
        f"id{delimiter}text{delimiter}translation{delimiter}flags\n"
        f"1{delimiter}word{delimiter}{written}{delimiter}\n"
    )


def test_other_names_of_columns() -> None:
    names = {"translation_field": 'de, "new"', "flags_field": "doubts"}
    assert changed("translation,flags,a.b\nx,y,word\n", "table", field="a.b", **names) == (
        'translation,flags,a.b,"de, ""new""",doubts\nx,y,word,WORD,\n'
    )


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("text,translation,flags\na,,\n", "text,translation,flags\na,A,\n"),
        # Wherever they stand, and with spaces or quotation marks in their cells.
        (
            'flags,"translation",x,text\n, ,"1,2",a\n"","",2,"b ""c"""\n',
            'flags,"translation",x,text\n,A,"1,2",a\n,"B ""C""",2,"b ""c"""\n',
        ),
        # Only one of them exists.
        ("translation,text\n,a\n", "translation,text,flags\nA,a,\n"),
        ("text,flags\na,\n", "text,translation,flags\na,A,\n"),
        ("flags,text\n,a\n", "flags,text,translation\n,a,A\n"),
        ("text,x,translation\na,1,\n,,", "text,x,translation,flags\na,1,A,\n,,,empty"),
        ("text,translation", "text,translation,flags"),
    ],
)
def test_empty_columns_are_filled(text: str, written: str) -> None:
    assert changed(text, "table") == written


def test_column_of_the_text_is_not_filled() -> None:
    assert "has the column `text` already" in refused('text\n""', translation_field="text").message


def test_cell_without_text_has_the_flag_of_an_empty_line() -> None:
    document = opened('id,text\n1,\n2," \u00a0\n "\n3,12\n', "table")
    flags: list[list[str]] = [[] for _ in document.segments]
    rows = read_cells(document.render(document.segments, flags))
    assert [row[3] for row in rows[1:]] == ["empty", "empty", ""]


def test_segment_has_the_line_where_its_record_begins() -> None:
    document = opened('\n"a\nb",text\n1,"one\ntwo"\n\n2,three\n', "table")
    assert list(document.places) == ["line 4", "line 4", "line 7"]


def test_a_tag_that_ends_a_sentence_ends_a_segment() -> None:
    document = opened("text,b\nA line.<br>Another &amp; last,x\n", "table")
    assert document.render(each_text(document.segments, str.upper)).decode() == (
        "text,translation,b,flags\nA line.<br>Another &amp; last,A LINE.<br>ANOTHER &amp; LAST,x,\n"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("id,en\n1,a\n", "line 1: no column `text`; the columns are `id`, `en`"),
        ("\n\nEN\na\n", "line 3: no column `text`; the only column is `EN`"),
        ("text,a,text\n", "line 1: 2 columns are named `text`"),
        ("id,text\n1,a\n2\n", "line 3: 1 cell; the header has 2"),
        ('id,text\n\n1,"a\nb"\n2,b,c\n', "line 5: 3 cells; the header has 2"),
        ('id,text\n1,"a\n2,b\n', f"line 2: {UNCLOSED}"),
        ('id,text\n1,"a\nb"\n2,"a', f"line 4: {UNCLOSED}"),
        ('id,"text\n', f"line 1: {UNCLOSED}"),
        ('\n\nid,"text\n', f"line 3: {UNCLOSED}"),
        ('id,text\n1,"a" b\n', "line 2: text behind the closing quotation mark of a cell"),
        ("id,text\n1,a\n2," + "a" * 131_073, "line 3: a cell of more than 131,072 characters"),
        ('id,text\n1,"' + "a,b\n" * 40_000, "line 2: a cell of more than 131,072 characters"),
        ("id,text\n1,a\n2,b\0\n", "line 3: a NUL byte"),
        ("text,flags\na,b\n", "line 1: has the column `flags` already, which nmt would overwrite"),
        ("\nflags,text,translation\n,a,\nb,c,d\n", "line 2: has the columns `translation` and `fl"),
        ("text,flags,flags\na,,\n", "line 1: has the column `flags` already"),
        ("", "no text in it"),
        ("\n \r\n", "no text in it"),
    ],
    ids=range(18),
)
def test_bad_table_is_refused_with_its_line(text: str, reason: str) -> None:
    error = refused(text)
    assert error.message.startswith("`file`")
    assert reason in error.message
    assert error.hint or "NUL" in reason


def test_hints() -> None:
    missing = refused("id,en\n1,a\n")
    assert missing.hint == (
        "name the column to translate: --field NAME; the first line must name the columns"
    )
    served = refused("id,en\n1,a\n", is_served=True)
    assert "`field` (beside `kind` or `file`)" in served.hint
    assert "--field" not in served.hint
    taken = refused("text,flags\na,b\n").hint
    assert "name other columns for the result (`nmt translate --translation-field NAME" in taken
    assert refused("text,flags\na,b\n", is_served=True).hint == "rename them"
    assert refused("text,text\n").hint == "rename the others"
    assert 'twice ("")' in refused('id,text\n1,"a" b\n').hint
    count = refused("id,text\n1\n").hint
    assert count.startswith("a cell that has a delimiter in it needs quotation marks around it; ")
    assert 'twice ("")' in count
    assert refused("").hint == "its first line names the columns"


def test_any_error_of_the_parser_is_one_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Sequence[str]:
        raise csv.Error("something new")

    class Reader:
        def __init__(self, *_: object, **__: object) -> None:
            self.read = fail

        def __iter__(self) -> "Reader":
            return self

        def __next__(self) -> Sequence[str]:
            return self.read()

    monkeypatch.setattr(csv, "reader", Reader)
    assert refused("id,text\n").message == "`file`, line 1: not CSV: something new"


def test_many_and_long_names_of_columns_are_shortened() -> None:
    names = [f"c{number}" for number in range(23)]
    assert refused(",".join(names)).message.endswith("`c18`, `c19` and 3 more")
    assert refused(",".join(names[:20])).message.endswith("`c18`, `c19`")
    message = refused(f'"a\nb",{"x" * 40},{"y" * 41}').message
    assert message.endswith(f"are `a b`, `{'x' * 40}`, `{'y' * 40}...`")


@pytest.mark.parametrize("name", ["a.csv", "a.CSV", "b.tsv", "b.TSV"])
def test_suffixes(name: str) -> None:
    assert kind_of(name) == "table"
    assert isinstance(read_document(b"text\n", kind_of(name), ReadOptions(name)), TableDocument)


def quoted(cell: str, delimiter: str) -> str:
    needs_marks = any(mark in cell for mark in (delimiter, '"', "\r", "\n"))
    return '"' + cell.replace('"', '""') + '"' if needs_marks else cell


CELLS = st.text(st.sampled_from('ab ,;\t"\r\n\u00e9\u2028=<>&{}.1'), max_size=12)
ENDINGS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\r\n \n"])


@settings(max_examples=400, deadline=None)
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, ENDINGS, st.booleans()), max_size=6),
    delimiter=st.sampled_from(",;\t"),
    has_last_ending=st.booleans(),
)
def test_any_table_keeps_its_bytes(
    rows: list[tuple[str, str, str, bool]], delimiter: str, has_last_ending: bool
) -> None:
    """Each cell is written with and without quotation marks that it does not need."""
    source, wanted = f"id{delimiter}text\n", f"id{delimiter}text{delimiter}translation"
    wanted += f"{delimiter}flags\n"
    for index, (first, text, ending, is_quoted) in enumerate(rows):
        mark: Callable[[str], str] = (
            (lambda cell: '"' + cell.replace('"', '""') + '"')
            if is_quoted
            else lambda cell: quoted(cell, delimiter)
        )
        end = ending if has_last_ending or index + 1 < len(rows) else ""
        record = f"{mark(first)}{delimiter}{mark(text)}"
        flag = "" if clean_line(text).strip() else "empty"
        source += record + end
        wanted += f"{record}{delimiter}{quoted(text, delimiter)}{delimiter}{flag}{end}"
    document = opened(source, "table")
    written = document.render(document.segments)
    assert written == wanted.encode()
    assert [row[:2] for row in read_cells(written, delimiter)[1:]] == [
        [first, text] for first, text, _, _ in rows
    ]


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from('text,;\t"\r\n ab\ufeff'), max_size=30))
def test_any_text_is_a_table_or_refused(text: str) -> None:
    for name in ("a.csv", "a.tsv"):
        try:
            document = read_document(f"text{text}".encode(), "table", ReadOptions(name))
        except DataError:
            continue
        document.render(each_text(document.segments, str.upper))
