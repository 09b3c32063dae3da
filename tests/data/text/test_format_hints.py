"""The commands in the hints for JSON lines, TMX and tables find the right texts."""

import json
import shlex
import subprocess
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from nmt_cli.cli import main
from nmt_cli.config.tsv_columns import column_numbers
from nmt_cli.data.text.line_pairs import read_pairs
from nmt_cli.data.text.tables.columns import TableColumns
from nmt_cli.errors import DataError

Rows = list[dict[str, Any]]
PAIRS = [(f"You’re “prisoner” {n}, and so it is.", f"Ɣib ka {n}, mi to.") for n in range(300)]
LANGUAGES = ["--src-lang", "en", "--tgt-lang", "xnd"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def hint(name: str) -> str:
    with pytest.raises(DataError) as caught:
        deque(read_pairs((name,), keep_bad_rows=True), maxlen=0)
    assert "commas" not in str(caught.value)
    return caught.value.hint


def run(command: str) -> tuple[str, str]:
    """What the command at the end of a hint writes into its file, and its warnings."""
    command = command[command.index(": ") + 2 :]
    # The encoding of the terminal does not matter.
    shell = ["env", "PYTHONUTF8=0", "PYTHONIOENCODING=latin-1", "sh", "-c", command]
    ended = subprocess.run(shell, check=True, timeout=30, capture_output=True)
    said = ended.stderr.decode("latin-1")
    warned = [line for line in said.splitlines() if line.startswith("warning: ")]
    return Path(shlex.split(command)[-1]).read_text("utf-8"), "".join(warned)


def in_tsv(pairs: list[tuple[str, str]]) -> str:
    return "".join(f"{src}\t{tgt}\n" for src, tgt in pairs)


def nested() -> Rows:
    return [{"id": str(n), "translation": {"en": src, "xnd": tgt}}
            for n, (src, tgt) in enumerate(PAIRS)]  # fmt: skip


def write_json(name: str, rows: Rows, *more: str) -> None:
    lines = [json.dumps(row) for row in rows]
    Path(name).write_text("".join(f"{line}\n" for line in [*lines, *more]))


# -- JSON lines ------------------------------------------------------------------------------------


@pytest.mark.parametrize("copies", [1, 10])
def test_texts_of_objects_within_json_lines_are_converted(copies: int) -> None:
    r"""In tables of Hugging Face; \u escapes become letters."""
    write_json("a.jsonl", nested() * copies)
    found = hint("a.jsonl")
    assert found.startswith(
        "convert it, with `translation.en` as source and `translation.xnd` as target: nmt convert "
    )
    assert "\n" not in found
    assert run(found) == (in_tsv(PAIRS * copies), "")


def test_keys_with_any_signs_are_converted() -> None:
    keys = 'the "en"', 'it\'s\\n """'
    write_json("a.jsonl", [{"é": {keys[0]: src}, keys[1]: tgt} for src, tgt in PAIRS])
    assert run(hint("a.jsonl")) == (in_tsv(PAIRS), "")


def test_fields_that_many_rows_lack_are_found() -> None:
    rows: Rows = [{"id": "x"}, *({"id": "x", "en": src, "xnd": tgt} for src, tgt in PAIRS)]
    write_json("a.jsonl", [*rows, {"en": "Yes."}])
    text, said = run(hint("a.jsonl"))
    assert text == in_tsv(PAIRS)
    assert said == "warning: skipped lines that are not JSON or lack a text: 2 (1, 302)"


def test_lines_without_both_texts_are_skipped_and_named() -> None:
    """The command read them as text, and ended with a traceback and a part of the file."""
    rows = [{"en": src, "xnd": tgt} for src, tgt in PAIRS]
    broken: Rows = [{"en": "Yes.", "xnd": None}, {"en": 5, "xnd": "Ka."}, {"en": "", "xnd": "Ka."}]
    write_json("a.jsonl", [*rows, *broken], "", '{"en": "Yes', "[1]", json.dumps(rows[0]), "")
    text, said = run(hint("a.jsonl"))
    assert text == in_tsv([*PAIRS, PAIRS[0]])
    assert said.endswith(" lack a text: 7 (301, 302, 303, 304, 305, 306, 308)")


def test_one_empty_line_is_no_reason_against_json_lines() -> None:
    write_json("a.jsonl", [{"en": src, "xnd": tgt} for src, tgt in PAIRS[:40]], "")
    assert run(hint("a.jsonl"))[0] == in_tsv(PAIRS[:40])


def test_half_a_surrogate_is_a_line_that_is_skipped() -> None:
    write_json("a.jsonl", [{"en": src, "xnd": tgt} for src, tgt in PAIRS])
    with Path("a.jsonl").open("ab") as file:
        file.write(b'{"en": "\\ud83d", "xnd": "Ka."}\n{"en": "Gr\xf6\xdfe", "xnd": "Ka."}\n')
    command = hint("a.jsonl").partition(": ")[2]
    subprocess.run(["sh", "-c", command], check=True, timeout=120)
    assert Path("a.tsv").read_bytes() == in_tsv(PAIRS).encode() + b"Gr\xf6\xdfe\tKa.\n"


def test_json_lines_without_two_texts_are_named() -> None:
    write_json("a.jsonl", [{"text": src, "n": {"m": {"en": tgt}}} for src, tgt in PAIRS])
    assert hint("a.jsonl").startswith("no two texts are found in its objects, or in objects within")


@pytest.mark.parametrize("command", ["init", "prepare"])
def test_the_given_languages_are_the_order_of_the_fields(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_json("a.jsonl", [{"xnd": tgt, "note": 3 * src, "English": src} for src, tgt in PAIRS])
    assert main([command, "--train-tsv", "a.jsonl", *LANGUAGES]) == 65
    assert "with `English` as source and `xnd` as target" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a.jsonl", "a.tmx", "a.csv"])
def test_the_given_languages_count_for_a_table_in_place_of_the_directory(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_json("a.jsonl", [{"xnd": tgt, "en": src} for src, tgt in PAIRS])
    write_tmx("a.tmx", "xnd", "en")
    Path("a.csv").write_text("id,xnd,en\n" + "1,Ka mi,A dog\n" * 9)
    assert main(["init", name, *LANGUAGES]) == 2
    err = capsys.readouterr().err
    (last,) = (line for line in err.splitlines() if line.startswith("hint: "))
    written = run(last.removeprefix("hint: "))[0].splitlines()
    assert written[-1].split("\t") in ([*PAIRS[-1]], ["in en", "in xnd"], ["A dog", "Ka mi"])


# -- TMX -------------------------------------------------------------------------------------------


def write_tmx(name: str, *codes: str, encoding: str = "UTF-8") -> None:
    """Segments that name their language; the codes are in this order in each unit."""
    unit = "".join(f'<tuv xml:lang="{c}"><seg>in {c.lower()}</seg></tuv>' for c in codes)
    units = "".join(f"<tu>{unit}</tu>\n" for _ in range(3))
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n<tmx><body>{units}</body></tmx>\n'
    Path(name).write_text(text, encoding)


@pytest.mark.parametrize(
    ("codes", "taken"),
    [
        (("quz", "qu", "en"), ("quz", "qu")), (("swh", "SW", "en"), ("swh", "sw")),
        (("en-US", "de_DE"), ("en-us", "de_de")), (("en-US", "en", "de"), ("en", "de")),
        (("pt-BR", "pt-PT"), ("pt-br", "pt-pt")),
    ],
)  # fmt: skip
def test_codes_in_tmx_are_whole_codes(codes: tuple[str, ...], taken: tuple[str, ...]) -> None:
    write_tmx("a.tmx", *codes)
    assert run(hint("a.tmx"))[0] == 3 * f"in {taken[0]}\tin {taken[1]}\n"


def test_segments_whose_codes_are_left_out_are_counted() -> None:
    """Those of the two languages; the marked text of <hi> is kept, but no codes within it."""
    en = (
        "<seg>Press <hi>the<ph>{1}</ph> key</hi>.</seg>", "<seg>Wait.</seg>",
        "<seg><bpt>b</bpt>No<ept>/b</ept>, <hi>no</hi>.</seg>",
    )  # fmt: skip
    de = "<seg><ph/>Ja.</seg>", "<seg>Halt.</seg>", "<seg><hi>Nein</hi>.</seg>"
    units = "".join(
        f'<tu><tuv xml:lang="en">{src}</tuv><tuv xml:lang="de">{tgt}</tuv>'
        '<tuv xml:lang="fr"><seg><ph/>Oui.</seg></tuv></tu>\n'
        for src, tgt in zip(en, de, strict=True)
    )
    Path("a.tmx").write_text(f"<tmx><body>{units}</body></tmx>\n", "utf-8")
    written, warned = run(hint("a.tmx"))
    assert written == "Press the key.\tJa.\nWait.\tHalt.\nNo, no.\tNein.\n"
    assert warned.startswith(
        "warning: segments from which codes of formats, such as <ph> and <bpt>, were left out: 3 ("
    )
    write_tmx("plain.tmx", "en", "de")
    assert run(hint("plain.tmx"))[1] == ""


def test_codes_that_are_changed_as_documented_are_whole_codes() -> None:
    write_tmx("a.tmx", "en", "swh", "sw")
    found = hint("a.tmx")
    assert " --columns en,swh -o a.en-swh.tsv" in found
    for code, text in (("sw", "in sw"), ("sv", "")):
        command = found.replace(
            " --columns en,swh -o a.en-swh.tsv", f" --columns EN,{code} -o {code}.tsv"
        )
        assert run(command)[0] == 3 * f"in en\t{text}\n"


@pytest.mark.parametrize("command", ["init", "prepare"])
@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16"])
@pytest.mark.parametrize(
    ("codes", "given", "shown"),
    [
        ("quz qu en", "en qu", "en qu"), ("quz qu en-US", "en quz", "en quz"),
        ("fr de en-US en-GB", "en_GB de", "en-gb de"), ("fra eng deu", "en de", "eng deu"),
        # What the file lacks is replaced by its first other language.
        ("de en fr", "en xnd", "en de"), ("en de fr", "xnd en", "de en"), ("a b", "en de", "a b"),
    ],
)  # fmt: skip
def test_the_given_languages_are_taken_from_tmx(
    command: str, encoding: str, codes: str, given: str, shown: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    write_tmx("a.tmx", *codes.split(), encoding=encoding)
    src, tgt = given.split()
    assert main([command, "--train-tsv", "a.tmx", "--src-lang", src, "--tgt-lang", tgt]) == 65
    err = capsys.readouterr().err
    first, second = shown.split()
    assert f"with `{first}` as source and `{second}` as target: nmt convert" in err
    assert f" --columns {first},{second} -o a.tsv" in err


# -- tables ----------------------------------------------------------------------------------------

DOGS = [(f"The dog {n} is not in the house.", f"Der Hund {n} ist nicht im Haus.") for n in range(9)]


def converted(
    table: str, src: str, tgt: str, capsys: pytest.CaptureFixture[str], command: str = "prepare"
) -> tuple[str, str]:
    """What the hint for a table says before the command, and the last row that it writes."""
    capsys.readouterr()
    assert main([command, "--train-tsv", table, "--src-lang", src, "--tgt-lang", tgt]) == 65
    err = capsys.readouterr().err
    last = err.rpartition("hint: ")[2].rstrip("\n").removeprefix("each line must be: source, tab, ")
    said, _, option = last.partition(": --tsv-columns ")
    if option:
        *_, pair = read_pairs((table,), TableColumns(column_numbers(option)))
        return said, "\t".join(pair)
    return last.partition(": ")[0], run(last)[0].splitlines()[-1]


@pytest.mark.parametrize("command", ["init", "prepare"])
@pytest.mark.parametrize("mark", [";", ",", "\t"])
def test_columns_are_taken_in_the_order_of_the_given_languages(
    mark: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the name or the code of a language in the header, or by the languages of the text."""
    quoted = [(f'"{src}"', f'"{tgt}"') for src, tgt in PAIRS] if mark == "," else PAIRS
    rows = ["id;Ndara;English", *(f"{n};{tgt};{src}" for n, (src, tgt) in enumerate(quoted))]
    Path("a.txt").write_text("".join(row.replace(";", mark) + "\n" for row in rows))
    said, last = converted("a.txt", "en", "xnd", capsys, command)
    if mark == "\t":
        assert said.endswith(
            "column 3 (English) as source and column 2 (Ndara) as target, or others in their place"
        )
    else:
        assert said.startswith("convert it, with column 3 (English) as source and column")
    assert last == "\t".join(PAIRS[-1])
    assert converted("a.txt", "xnd", "en", capsys, command)[1] == "\t".join(PAIRS[-1][::-1])


@pytest.mark.parametrize("mark", [";", "\t"])
def test_recognised_columns_are_taken_in_the_order_of_the_given_languages(
    mark: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(mark.join([f"x{number}", *pair]) + "\n" for number, pair in enumerate(DOGS * 20))
    Path("a.txt").write_text(rows)
    columns = (
        "with column {} as source and column {} as target" if mark == ";" else "columns {} and {}"
    )
    german, english = "German (`de`)", "English (`en`)"
    said, last = converted("a.txt", "de", "en", capsys)
    assert said.endswith(f"{columns.format(3, 2)}, which look like {german} and {english}")
    assert last == "\t".join(DOGS[-1][::-1])
    for src, tgt, first, second, found in (
        ("xx", "en", 3, 2, f"{german} and {english}"),
        ("en", "de", 2, 3, f"{english} and {german}"),
    ):
        said = converted("a.txt", src, tgt, capsys)[0]
        assert said.endswith(f"{columns.format(first, second)}, which look like {found}")
    # A header that names both goes before the text.
    Path("a.txt").write_text(mark.join(["de", "note", "en"]) + "\n" + rows)
    assert converted("a.txt", "de", "en", capsys)[1] == f"x179\t{DOGS[-1][1]}"


def test_two_columns_are_changed_over_for_the_given_languages(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("a.csv").write_text("Ndara;English\n" + "".join(f"{tgt};{src}\n" for src, tgt in PAIRS))
    assert converted("a.csv", "en", "xnd", capsys)[1] == "\t".join(PAIRS[-1])
    assert converted("a.csv", "xnd", "en", capsys) == ("convert it", "\t".join(PAIRS[-1][::-1]))


@pytest.mark.parametrize("first", ["sep=;", '\ufeff"SEP=;"'])
def test_the_separator_that_excel_reads_is_no_row(first: str) -> None:
    for name, row in (("two.csv", "{src};{tgt}"), ("more.csv", "x1;{src};{tgt};")):
        rows = [row.format(src=src, tgt=tgt) for src, tgt in DOGS * 20]
        Path(name).write_text("\r\n".join([first, *rows]), "utf-8")
        assert run(hint(name))[0] == in_tsv(DOGS * 20)
