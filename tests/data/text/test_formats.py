"""Files of pairs that are not TSV are refused with a command that converts them."""

import csv
import gzip
import io
import json
import os
import shlex
import subprocess
from collections import deque
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from corpora import tiny_config, write_pairs

from nmt_cli.cli import main
from nmt_cli.data.preparation.passes import PreparedCorpus
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.data.text.line_pairs import read_pairs
from nmt_cli.data.text.lines import read_lines
from nmt_cli.errors import DataError

Pairs = list[tuple[str, str]]
PAIRS = [(f'The "red" house, {n} & so', f"Das „rote“ Haus; {n} <ja>") for n in range(200)]
TSV = "".join(f"{src}\t{tgt}\n" for src, tgt in PAIRS)
LANGUAGES = ["--src-lang", "en", "--tgt-lang", "de"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def in_csv(delimiter: str) -> str:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(PAIRS)
    return file.getvalue()


def in_json(pairs: Pairs) -> str:
    return "".join(f"{json.dumps({'en': src, 'de': tgt})}\n" for src, tgt in pairs)


def in_tmx(encoding: str) -> str:
    r"""TMX with tabs, the target first in some units, a third language and codes in the text."""
    units = []
    for index, (src, tgt) in enumerate(PAIRS):
        variants = [
            f'\t\t<tuv xml:lang="en-US"><seg><bpt i="1">&lt;b&gt;</bpt>{escape(src)}</seg></tuv>',
            f'\t\t<tuv xml:lang="DE">\n<seg>{escape(tgt[:3])}<hi>{escape(tgt[3:9])}</hi>'
            f'{escape(tgt[9:])}<ph x="2">{{\\b}}</ph></seg></tuv>',
        ]
        order = -1 if index % 5 == 1 else 1
        third = '\t\t<tuv xml:lang="fr-FR"><seg>non</seg></tuv>'
        units.append("\n".join(["\t<tu>", *variants[::order], third, "\t</tu>"]))
    body = "\n".join(units)
    return (
        f'<?xml version="1.0" encoding="{encoding}"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n'
        f'<tmx version="1.4">\n<header srclang="en-US"/>\n<body>\n{body}\n</body></tmx>\n'
    )


def in_lines(between: str, behind: str) -> str:
    return "".join(f"{src}{between}{tgt}{behind}" for src, tgt in PAIRS)


def refusal(name: str) -> DataError:
    with pytest.raises(DataError) as caught:
        deque(read_pairs((name,), keep_bad_rows=True), maxlen=0)
    return caught.value


def converted(error: DataError) -> str:
    """The text that the command in the hint of an error writes."""
    return written_by(error.hint[error.hint.index(": ") + 2 :])


def written_by(command: str) -> str:
    """The text that a command writes into the file that it names at its end."""
    environ = {**os.environ, "PYTHONUTF8": "1"}
    subprocess.run(["sh", "-c", command], check=True, timeout=30, env=environ)
    return Path(shlex.split(command)[-1]).read_text("utf-8")


CONTENTS: dict[str, tuple[Callable[[], bytes], str]] = {
    "comma.csv": (lambda: in_csv(",").encode("utf-8-sig"), "values separated by commas"),
    "a b.csv.gz": (lambda: gzip.compress(in_csv(";").encode()), "values separated by semicolons"),
    "marks.txt": (
        lambda: in_lines(" | ", "\n").encode(),
        "pairs with `|` between source and target",
    ),
    "m.txt.gz": (
        lambda: gzip.compress(in_lines(" ||| ", "\n").encode()),
        "pairs with `|||` between source and target",
    ),
    "lines.txt": (
        lambda: in_lines("\n", "\n\n").encode(),
        "source and target in alternating lines, with empty lines between the pairs",
    ),
    "crlf.txt": (
        lambda: in_lines("\r\n", "\r\n\r\n").encode(),
        "source and target in alternating lines, with empty lines between the pairs",
    ),
    "text.jsonl": (lambda: in_json(PAIRS).encode("utf-8-sig"), "JSON lines"),
    "text.jsonl.gz": (lambda: gzip.compress(in_json(PAIRS).encode()), "JSON lines"),
    "memory.en-de.tmx": (lambda: in_tmx("UTF-8").encode(), "TMX"),
    "memory.tmx.gz": (lambda: gzip.compress(in_tmx("UTF-8").encode()), "TMX"),
    "utf16.tmx": (lambda: in_tmx("UTF-16").encode("utf-16"), "TMX"),
    "memory.txt": (lambda: in_tmx("UTF-8").replace("\n", " ").encode("utf-8-sig"), "TMX"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_other_formats_are_refused_with_a_command_that_converts_them(name: str) -> None:
    content, kind = CONTENTS[name]
    Path(name).write_bytes(content())
    error = refusal(name)
    assert error.message.startswith(f"`{name}` looks like {kind}; nmt reads tab-separated values")
    assert converted(error) == TSV


def test_columns_with_the_sentences_are_converted() -> None:
    """A row number before them and a remark behind them are left out."""
    animals = [("Der Hund schläft nicht.", "The dog does not sleep."),
               ("Die Katze ist in dem Haus.", "The cat is in the house.")] * 40  # fmt: skip
    rows = [(str(number), src, tgt, "ok") for number, (src, tgt) in enumerate(animals)]
    with Path("e.csv").open("w", encoding="utf-8-sig") as file:
        csv.writer(file, delimiter=";").writerows([("Nr", "Deutsch", "Englisch", "Notiz"), *rows])
    error = refusal("e.csv")
    assert error.hint.startswith(
        "convert it, with column 2 as source and column 3 as target, which look like German (`de`) "
        "and English (`en`): nm"
    )
    assert converted(error) == "Deutsch\tEnglisch\n" + "".join(
        f"{src}\t{tgt}\n" for src, tgt in animals
    )


def test_the_fields_with_the_sentences_are_taken_from_json_lines() -> None:
    """Also where no language is recognised, and names and keys of records come first."""
    whos = ["Anna Maria", "Piet", "Jan"] * 20
    for index, (first, second) in enumerate(
        [("The dog does not sleep.", "Der Hund schläft nicht."), ("ka mi to lo sen", "tra ble ow")]
    ):
        rows = [{"id": "x1", "who": who, "en": first, "gos": second} for who in whos]
        name = f"app-{index}.jsonl"
        Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        error = refusal(name)
        assert error.hint.startswith("convert it, with `en` as source and `gos` as target: ")
        assert converted(error) == f"{first}\t{second}\n" * len(rows)


def test_a_field_with_more_letters_that_repeats_itself_is_not_taken() -> None:
    licence = "Creative Commons Attribution-ShareAlike 4.0 International Licence"
    pairs = [("The dog does not sleep.", "Der Hund schläft nicht."), *PAIRS] * 5
    rows = [{"licence": licence, "en": src, "de": tgt} for src, tgt in pairs]
    Path("app.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    error = refusal("app.jsonl")
    assert error.hint.startswith("convert it, with `en` as source and `de` as target: ")


@pytest.mark.parametrize("suffix", [".srt", ".vtt", ".srt.gz"])
def test_subtitles_become_lines_of_their_cues(suffix: str) -> None:
    head = "WEBVTT\n\n" if suffix == ".vtt" else "\ufeff"
    start, end = (
        ("00:01.000", "00:02.500") if suffix == ".vtt" else ("00:00:01,000", "00:00:02,500")
    )
    for side, texts in (("en", ["Hello\nthere.", "-->", "12"]), ("de", ["Hallo.", "So", "Ja\n12"])):
        cues = [f"{n}\n{start} --> {end}\n{text}\n\n" for n, text in enumerate(texts, 1)]
        data = (head + "".join(cues)).replace("\n", "\r\n").encode()
        Path(f"my film.{side}{suffix}").write_bytes(
            gzip.compress(data) if suffix.endswith(".gz") else data
        )
    with pytest.raises(DataError, match="looks like subtitles") as caught:
        deque(read_pairs((f"my film.en{suffix}", f"my film.de{suffix}")), maxlen=0)
    command = caught.value.hint.partition("belong together: ")[2]
    subprocess.run(["bash", "-c", command], check=True)
    assert Path("my film.cues.en").read_text() == "Hello there.\n-->\n12\n"
    assert Path("my film.cues.de").read_text() == "Hallo.\nSo\nJa 12\n"


def test_bytes_that_are_not_utf8_are_kept_in_conversion() -> None:
    """They are reported when the table is read, which a command that fails would prevent."""
    Path("n.csv").write_bytes("Ein Größenwahn;one\n".encode() * 9 + b"Gr\xf6\xdfe;size\n")
    command = refusal("n.csv").hint.partition(": ")[2]
    subprocess.run(["bash", "-c", command], check=True)
    expected = "Ein Größenwahn\tone\n".encode() * 9 + b"Gr\xf6\xdfe\tsize\n"
    assert Path("n.tsv").read_bytes() == expected


def converted_csv(rows: list[str]) -> tuple[subprocess.CompletedProcess[str], str | None]:
    """What the command of the hint says about a table of these rows, and what it writes, if so."""
    Path("n.csv").write_text("".join(f"{row}\n" for row in rows))
    Path("n.tsv").unlink(missing_ok=True)
    command = refusal("n.csv").hint.partition(": ")[2]
    done = subprocess.run(["bash", "-c", command], check=False, capture_output=True, text=True)
    return done, Path("n.tsv").read_text() if Path("n.tsv").exists() else None


def test_a_quotation_mark_that_is_not_closed_swallows_no_rows() -> None:
    rows = [f"A dog and {n};Ein Hund und {n}" for n in range(3_000)]
    rows[700] = '"A dog barks;Ein Hund bellt'
    done, written = converted_csv(rows)
    assert done.returncode == 65
    assert "error: `n.csv`: the row of line 701 goes on to line 3,000" in done.stderr
    assert written is None
    # As the message says.
    rows[700] = '"""A dog barks";Ein Hund bellt'
    done, written = converted_csv(rows)
    assert written is not None
    assert (done.returncode, written.count("\n")) == (0, 3_000)
    assert "warning" not in done.stderr
    assert '\n"A dog barks\tEin Hund bellt\n' in written


def test_line_breaks_within_cells_are_named_with_their_lines() -> None:
    rows = [f"A dog and {n};Ein Hund und {n}" for n in range(400)]
    rows[20] = '"A dog\nbarks";Ein Hund bellt'
    done, written = converted_csv(rows)
    assert done.returncode == 0
    assert written is not None
    warning = "warning: rows with line breaks in cells, which became spaces: 1 (21)"
    assert warning in done.stderr
    assert "\nA dog barks\tEin Hund bellt\n" in written


def test_columns_with_most_letters_are_named_where_no_languages_are_seen() -> None:
    """Those of numbers, dates and remarks that are repeated are left out."""
    words = ["ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu"]
    texts = [f"{first}{second}" for first in words for second in words]
    rows = [
        (n, f"2024-03-{n % 30}", "a remark of many letters", f"one {text}", f"{text}ti")
        for n, text in enumerate(texts)
    ]
    for name, header in (("h.csv", ["No", "Date", "Remark", "English", "Xyz"]), ("n.csv", None)):
        with Path(name).open("w") as file:
            csv.writer(file).writerows([header, *rows] if header else rows)
        error = refusal(name)
        src, tgt = (" (English)", " (Xyz)") if header else ("", "")
        assert error.hint.startswith(
            f"convert it, with column 4{src} as source and column 5{tgt} as "
            "target, or others in their place: nmt convert"
        )
        assert converted(error).endswith("one pupu\tpuputi\n")


def test_columns_of_numbers_are_never_converted() -> None:
    Path("n.csv").write_text("No;Text;Date\n1;one;2024-01-02\n2;two;2024-02-03\n")
    error = refusal("n.csv")
    assert error.hint.startswith("fewer than two of its columns have text: write a file with")


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.jsonl", "pairs.en-de.tmx"])
def test_conversions_write_a_file_that_does_not_exist(name: str) -> None:
    contents = {"csv": in_csv(","), "jsonl": in_json(PAIRS), "tmx": in_tmx("UTF-8")}
    Path(name).write_text(contents[name.rpartition(".")[2]], "utf-8")
    earlier = Path(name).with_suffix(".tsv")
    earlier.write_text("mine\n")
    before = set(Path().iterdir())
    assert converted(refusal(name)) == TSV
    assert converted(refusal(name)) == TSV
    new = sorted(path.name for path in set(Path().iterdir()) - before)
    stem, _, rest = earlier.name.partition(".")
    assert new == sorted([f"{stem}.converted.{rest}", f"{stem}.converted-2.{rest}"])
    assert earlier.read_text() == "mine\n"


def test_other_xml_is_named() -> None:
    Path("a.xlf").write_text('<?xml version="1.0"?>\n\t<xliff>\n' * 3)
    assert refusal("a.xlf").message.startswith("`a.xlf` looks like XML; nmt reads")


@pytest.mark.parametrize("command", ["init", "prepare"])
def test_tmx_is_refused_by_the_commands(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.tmx").write_bytes(in_tmx("UTF-16").encode("utf-16"))
    assert main([command, "--train-tsv", "a.tmx", *LANGUAGES]) == 65
    assert "`a.tmx` looks like TMX; nmt reads tab-separated values" in capsys.readouterr().err


# -- tables with fields in quotation marks ---------------------------------------------------------


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def quoted_rows(pairs: Pairs) -> str:
    return "".join(f"{quoted(src)}\t{quoted(tgt)}\n" for src, tgt in pairs)


@pytest.mark.parametrize("command", ["init", "prepare"])
def test_quoted_tables_are_refused_with_the_conversion(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    header = '"English"\t"German"\n'
    Path("a.tsv").write_text(f'{header}{quoted_rows(PAIRS)}"two\nlines"\t"zwei\nZeilen"\n', "utf-8")
    assert main([command, "--train-tsv", "a.tsv", *LANGUAGES]) == 65
    assert "`a.tsv`: nearly all columns are in quotation marks" in capsys.readouterr().err
    text = converted(refusal("a.tsv"))
    assert text == f"English\tGerman\n{TSV}two lines\tzwei Zeilen\n"
    assert Path("a.converted.tsv").exists()


def test_the_documented_command_removes_marks_from_some_fields_only() -> None:
    rows = [("Yes", '"Ja", sagte er, "ja"'), ("He", "Er")]
    Path("pairs.tsv").write_text(quoted_rows(PAIRS) + "\t".join(rows[0]) + "\n", "utf-8")
    docs = (Path(__file__).parents[3] / "docs" / "data.md").read_text("utf-8")
    (command,) = (
        line.strip() for line in docs.splitlines() if line.endswith(" -o pairs.unquoted.tsv")
    )
    assert main(shlex.split(command)[1:]) == 0
    assert Path("pairs.unquoted.tsv").read_text("utf-8") == TSV + "\t".join(rows[0]) + "\n"


def prepared_table(text: str, **data: object) -> PreparedCorpus:
    Path("train.tsv").write_text(text, "utf-8")
    settings = {f"data_{key}": value for key, value in data.items()}
    config = tiny_config(data_train=[("train.tsv",)], **settings)
    return prepare(config, Path("corpus"), force=True, workers=1)


def test_single_quoted_lines_of_a_table_are_counted() -> None:
    speech = [(f'"Word {n}."', f'"Wort {n}."') for n in range(9)]
    plain = "".join(f"{src} so\t{tgt} so\n" for src, tgt in [*PAIRS, *speech])
    text = f'"English"\t"German"\n{plain}""\t"Leer"\n{quoted_rows(PAIRS[:5])}'
    result = prepared_table(text)
    found = {finding.kind: (finding.pairs, finding.action) for finding in result.findings}
    assert found == {
        "header of a table": (1, "dropped"),
        "empty side": (1, "dropped"),
        "cells quoted as in a spreadsheet": (5, "repaired"),
    }
    assert not any("both columns" in note for note in result.notes)
    assert prepared_table(text, clean="off").dropped == {}


def test_many_quoted_lines_of_a_table_are_warned_of() -> None:
    speech = [(f"Word {n}.", f"Wort {n}.") for n in range(60)]
    result = prepared_table(TSV + quoted_rows(speech))
    (note,) = (note for note in result.notes if "quotation marks" in note)
    assert note.startswith("`train.tsv`: both columns of 60 of 260 lines are in quotation marks")
    doubled = quoted_rows([(f'Word "{n}".', f'Wort "{n}".') for n in range(60)])
    assert not any("quotation marks" in note for note in prepared_table(TSV + doubled).notes)
    # In two files, quotation marks around lines may be direct speech.
    files = write_pairs(Path(), "two", [(quoted(src), quoted(tgt)) for src, tgt in speech])
    result = prepare(tiny_config(data_train=[files]), Path("corpus"), force=True, workers=1)
    assert result.findings == ()


def test_lines_of_text_files_that_a_spreadsheet_has_quoted_are_repaired() -> None:
    speech = [
        ('"So ""no"" then."', '"12- So ""nein"" dann."'),
        ('A "no".', '"Ein ""Nein""."'),
        ('"Yes," she said, "so."', '"Ja", sagte sie, "so."'),
        ('""', '"Ein""'),
        ('"a" "b"', '""a""'),
    ]
    files = write_pairs(Path(), "two", [*speech, *PAIRS])
    result = prepare(tiny_config(data_train=[files]), Path("corpus"), force=True, workers=1)
    found = {finding.kind: (finding.pairs, finding.action) for finding in result.findings}
    assert found == {
        "line numbers on one side only": (1, "repaired"),
        "cells quoted as in a spreadsheet": (2, "repaired"),
    }
    sides = [Path("corpus", f"train.{side}.txt").read_text("utf-8") for side in ("src", "tgt")]
    assert [side.splitlines()[:5] for side in sides] == [
        ['So "no" then.', 'A "no".', '"Yes," she said, "so."', '""', '"a" "b"'],
        ['So "nein" dann.', 'Ein "Nein".', '"Ja", sagte sie, "so."', '"Ein""', '""a""'],
    ]
    config = tiny_config(data_train=[files], data_clean="off")
    assert prepare(config, Path("corpus"), force=True, workers=1).findings == ()


def test_rows_that_line_breaks_in_cells_have_cut_are_dropped_with_a_remedy() -> None:
    """In the source, in the target, and in both."""
    broken = [
        ("Two\nlines", "Eine Zeile"),
        ("One line", 'Zwei "neue"\nZeilen'),
        ("Two\nlines\nmore", "Zwei\nZeilen"),
    ]
    doubled = ('Say "no".', 'Sag "nein".')
    result = prepared_table(TSV + quoted_rows([*broken, doubled]))
    columns = next(found for found in result.findings if found.kind == "wrong number of columns")
    assert (columns.pairs, columns.lines[:3]) == (8, ("201", "202", "203"))
    (note,) = (note for note in result.notes if " -o train.converted.tsv" in note)
    assert "spread 3 pairs over several lines" in note
    assert written_by(note.partition("marks: ")[2]) == (
        TSV
        + 'Two lines\tEine Zeile\nOne line\tZwei "neue" Zeilen\nTwo lines more\tZwei Zeilen\n'
        + 'Say "no".\tSag "nein".\n'
    )


@pytest.mark.parametrize(
    "rows",
    [
        # A quotation mark that is never closed, before a row without a tab, and before inches.
        '"Open\tOffen\nbad row\nNext\tNach\n',
        '"Open\tOffen\nWidth 5"\tBreite 5"\n6 inches\t6"\n',
        '"Open\tOffen\nbad row\nA 6" nail\tEin Nagel\n',
        '"Open\tOffen\nbad row\n' + 9 * "Next\tNach\n" + '6 inches\t6"\n',
    ],
)
def test_rows_with_other_quotation_marks_are_kept(rows: str) -> None:
    result = prepared_table(TSV + rows, drop_duplicates=False)
    assert result.kept == len(PAIRS) + rows.count("\t")
    assert not any("line breaks" in note for note in result.notes)


def test_cells_with_doubled_marks_are_read_without_those_of_the_spreadsheet() -> None:
    rows = [
        ('Say "no" now.', 'Sag "nein" jetzt.'),
        ('"Come here!"', "Komm her!"),
    ]
    table = TSV + quoted_rows(rows[:1]) + f'"""Come here!"""\t{rows[1][1]}\n"A" ""B""\t"C"\n'
    Path("test.tsv").write_text(table, "utf-8")
    read = [*PAIRS, *rows, ('"A" ""B""', '"C"')]
    result = prepared_table(table, valid=[("test.tsv",)])
    for split in ("train", "valid"):
        sides = [list(read_lines(f"corpus/{split}.{side}.txt")) for side in ("src", "tgt")]
        assert list(zip(*sides, strict=True)) == read
    (found,) = (found for found in result.findings if "quoted" in found.kind)
    assert (found.pairs, found.action, found.lines) == (2, "repaired", ("201", "202"))
    prepared_table(table, valid=[("test.tsv",)], clean="off")
    assert list(read_lines("corpus/train.src.txt"))[-3:] == [
        '"Say ""no"" now."', '"""Come here!"""', '"A" ""B""'
    ]  # fmt: skip


# -- files in the place of the directory, and line endings -----------------------------------------


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("pairs.csv", "convert it: nmt convert"),
        ("mem.tmx", "convert it, with `en` as source and"),
        ("pairs.jsonl", "convert it, with `en`"), ("good.csv", "--train-tsv names a TSV file: --"),
    ],
)  # fmt: skip
def test_a_table_in_place_of_the_directory_leads_to_train_tsv(
    name: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    contents = {"pairs.csv": in_csv(","), "mem.tmx": in_tmx("UTF-8"), "good.csv": TSV}
    Path(name).write_text(contents.get(name, in_json(PAIRS)), "utf-8")
    assert main(["init", name]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert f"DIR: `{name}` is a file" in err
    assert f"hint: {shown}" in err


@pytest.mark.parametrize("command", ["init", "prepare"])
def test_cr_line_endings_are_refused_with_the_conversion(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.tsv").write_bytes(TSV.replace("\n", "\r").encode())
    assert main([command, "--train-tsv", "a.tsv", *LANGUAGES]) == 65
    err = capsys.readouterr().err
    assert "`a.tsv` is a single line, because its line endings are CR (0x0D)" in err
    shell = err.split("convert it: ")[1].splitlines()[0]
    assert shell == r"tr '\r' '\n' < a.tsv > a.lf.tsv"
    subprocess.run(["sh", "-c", shell], check=True, timeout=120)
    assert Path("a.lf.tsv").read_text("utf-8") == TSV
    # Lines with a CR in them are text, and so is the only line that has CRLF at its end.
    Path("b.tsv").write_bytes(b"a\rb\tc\nd\te\n")
    Path("c.tsv").write_bytes(b"a\tb\r\n")
    for name in ("b.tsv", "c.tsv"):
        main([command, "--train-tsv", name, *LANGUAGES])
        assert "line endings" not in capsys.readouterr().err


def test_cr_line_endings_are_named_for_files_of_any_length() -> None:
    Path("a.tsv").write_bytes(TSV.replace("\n", "\r").encode() * 2_000)
    assert "line endings are CR" in refusal("a.tsv").message
