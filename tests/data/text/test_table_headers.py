"""Headers of tables tell which column is the source, and do not become pairs."""

import gzip
import shlex
import subprocess
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.config.tsv_columns import column_numbers
from nmt_cli.data.languages.labels import place_of_language
from nmt_cli.data.text.line_pairs import read_pairs
from nmt_cli.data.text.tables.columns import TableColumns
from nmt_cli.data.text.tables.header_rows import is_header, names_columns, names_target_first

PAIRS = [(f"the house {n} is old", f"s Huus {n} isch alt") for n in range(40)]
SWISS = ("en", "gsw")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, *rows: tuple[str, ...]) -> None:
    Path(name).write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")


def refused(name: str, src: str, tgt: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The error of `nmt init` for this training table."""
    capsys.readouterr()
    assert main(["init", "--train-tsv", name, "--src-lang", src, "--tgt-lang", tgt]) == 65
    return capsys.readouterr().err


def two_columns(err: str) -> list[str]:
    """The pairs of the columns that a hint for a wider table names, as rows."""
    named = err.rpartition(": --tsv-columns ")[2].strip()
    pairs = read_pairs(("d.tsv",), TableColumns(column_numbers(named)))
    return ["\t".join(pair) for pair in pairs]


@pytest.mark.parametrize(
    "header",
    [
        ("en-GB", "gsw-CH"), ("Englisch", "Schweizerdeutsch"), ("English", "Swiss German"),
        ("text_en", "text_gsw"), ("Lemma (English)", "Lemma (gsw)"), ("EN", "GSW"),
        ("english", "züritüütsch"), ("English (UK)", "gsw text"), ("anglais", "suisse allemand"),
        ("English-ft@Ama", "Züri-tx@Ama"), ("ft en@A B", "tx@A B"), ("English@Ama", "Züri@Ama"),
        ("Sentence 1 (en)", "Sentence 2 (gsw)"), ('"English"', '"Swiss German"'),
    ],
)  # fmt: skip
def test_languages_in_any_usual_form_are_a_header(header: tuple[str, str]) -> None:
    assert is_header(*header, SWISS)
    assert is_header(*header[::-1], SWISS)
    assert not names_target_first(*header, SWISS)
    assert names_target_first(*header[::-1], SWISS)


@pytest.mark.parametrize("name", ["Target", "Corrected", "Machine translation", "Post-edited"])
def test_names_of_the_sides_are_a_header(name: str) -> None:
    assert is_header("Source", name, SWISS)
    assert not is_header("Dog", name, SWISS)


@pytest.mark.parametrize(
    ("first", "codes"),
    [
        (("In English.", "Uf Änglisch."), SWISS), (("I speak English", "Je parle anglais"),
        ("en", "fr")), (("it", "es"), ("en", "de")), (("The house", "S Huus"), SWISS),
        (("English Channel", "Ärmelkanal"), ("en", "de")), (("no", "nein"), ("en", "de")),
        (("English", "The language of the English"), SWISS), (("en", "in"), ("nl", "en")),
        (("info@a.example", "hoi@a.example"), SWISS), (("a@b", "a@b"), SWISS),
        (("English-ft@Ama", "Uf Änglisch."), SWISS), (("See you @ noon", "Bis @ zmittag"), SWISS),
        (("English", "Englisch"), ("en", "de")), (("German", "Deutsch"), ("en", "de")),
    ],
)  # fmt: skip
def test_pairs_about_languages_are_no_header(
    first: tuple[str, str], codes: tuple[str, str]
) -> None:
    assert not is_header(*first, codes)


def test_two_forms_of_a_language_are_a_header() -> None:
    assert is_header("Portuguese", "pt-BR", ("pt-PT", "pt-BR"))


def test_first_rows_with_long_cells_or_more_cells_than_the_others_name_no_columns() -> None:
    body = [["a dog", "der Hund"], ["a cat", "die Katze"]]
    assert names_columns([["English", "x" * 40], *body], ())
    assert not names_columns([["English", "x" * 41], *body], ())
    # The last column has nothing below.
    assert not names_columns([["a cow", "die Kuh", "note"], *([*row, ""] for row in body)], ())


@pytest.mark.parametrize(
    ("labels", "chosen", "place"),
    [
        (["id", "a", "word en"], (0, 1), 2),
        (["word en", "gloss en", "a"], (1, 2), 1),
        (["a", "word en", "gloss en"], (0, 0), None),
        (["word en", "gloss en"], (0, 1), None),
    ],
)
def test_a_label_with_other_words_names_a_language_if_it_is_the_only_one(
    labels: list[str], chosen: tuple[int, int], place: int | None
) -> None:
    assert place_of_language(labels, chosen, "en") == place


@pytest.mark.parametrize(
    "header",
    [
        ("en-GB", "gsw-CH"), ("English", "Swiss German"), ("\\ft", "\\tx"),
        ("English-ft@Ama", "Züri-tx@Ama"),
    ],
)  # fmt: skip
def test_such_a_header_does_not_become_a_pair(
    header: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    write("a.tsv", header, *PAIRS)
    options = ["--src-lang", "en", "--tgt-lang", "gsw", "--set", "data.subwords=chars"]
    assert main(["prepare", "--train-tsv", "a.tsv", *options, "--dropped", "d.tsv"]) == 0
    assert "\t".join(["a.tsv", "1", "header of a table", *header]) in Path("d.tsv").read_text()


def test_a_header_below_rows_without_a_pair_does_not_become_one() -> None:
    """Empty rows and a title have an empty side; a row below a pair is no header."""
    header = ("English", "Swiss German")
    write("a.tsv", ("", ""), ("Session 12", ""), ("  ", ""), header, *PAIRS, header)
    options = ["--src-lang", "en", "--tgt-lang", "gsw", "--set", "data.subwords=chars"]
    assert main(["prepare", "--train-tsv", "a.tsv", *options, "--dropped", "d.tsv"]) == 0
    dropped = [row for row in Path("d.tsv").read_text().split("\n") if "\theader of" in row]
    assert dropped == ["\t".join(["a.tsv", "4", "header of a table", *header])]


def test_a_header_with_the_target_first_below_other_rows_is_a_reason_to_refuse_a_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("a.tsv", ("Session 12", ""), ("gsw", "en"), *(pair[::-1] for pair in PAIRS))
    assert "has the header `gsw`, tab, `en`" in refused("a.tsv", *SWISS, capsys)


@pytest.mark.parametrize("name", ["my a.tsv", "a.tsv.gz"])
@pytest.mark.parametrize("role", ["train", "valid"])
@pytest.mark.parametrize(
    "header", [("gsw", "en"), ("Swiss German", "English"), ("Schweizerdeutsch", "Englisch")]
)
def test_a_table_with_the_target_first_is_refused_with_the_way_to_swap_it(
    header: tuple[str, str], role: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(name, header, *(pair[::-1] for pair in PAIRS))
    if name.endswith(".gz"):
        Path(name).write_bytes(gzip.compress(Path(name).read_bytes()))
    write("train.tsv", *PAIRS)
    others = ["--train-tsv", "train.tsv", "--valid-tsv"] if role == "valid" else ["--train-tsv"]
    command = ["init", *others, name, "--src-lang", "en", "--tgt-lang", "gsw"]
    assert main(command) == 65
    err = capsys.readouterr().err
    assert f"has the header `{header[0]}`, tab, `{header[1]}`" in err
    if role == "train":
        assert err.rstrip().endswith(" --tsv-columns 2,1")
        assert main([*command, "--tsv-columns", "2,1"]) == 0
    else:
        program = "gzip -dc" if name.endswith(".gz") else "awk"
        swapping = err[err.index(f"columns: {program}") + len("columns: ") :].strip()
        subprocess.run(["sh", "-c", swapping], check=True, timeout=120)
        swapped = shlex.split(swapping)[-1]
        rows = [tuple(row.split("\t")) for row in Path(swapped).read_text("utf-8").splitlines()]
        assert rows == [header[::-1], *PAIRS]
        assert main(["init", *others, swapped, "--src-lang", "en", "--tgt-lang", "gsw"]) == 0
    # The other direction is that of the file.
    capsys.readouterr()
    arguments = ["init", "--force", "--train-tsv", name, "--src-lang", "gsw", "--tgt-lang", "en"]
    assert main(arguments) == 0


def test_a_header_that_the_text_contradicts_is_no_reason_to_refuse_a_table(
    capsys: pytest.CaptureFixture[str],
) -> None:
    english = "the dog of the man is in the garden and it was not with her for he is old"
    german = "der Hund des Mannes ist in dem Garten und er war nicht mit ihr weil er alt ist"
    for rows, status in ((40, 0), (2, 65)):
        write("a.tsv", ("German", "English"), *rows * [(english, german)])
        arguments = ["init", "--train-tsv", "a.tsv", "--src-lang", "en", "--tgt-lang", "de"]
        assert main(arguments) == status, capsys.readouterr().err


WORDS = ("the", "house", "of", "a", "dog", "and", "to", "go", "with", "it", "in", "the", "sun")


@pytest.mark.parametrize(
    "header",
    [
        ("gsw", "POS", "en"), ("Lemma", "POS", "English"), ("Mundart", "Wortart", "Englisch"),
        ("word gsw", "pos", "word en"), ("gsw-CH", "class", "en-GB"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["init", "prepare"])
def test_columns_of_a_dictionary_are_taken_in_the_order_of_its_header(
    command: str, header: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(f"Wort{n % 9}uu", "noun", f"thing {n}") for n in range(60)]
    write("d.tsv", header, *rows)
    arguments = [command, "--train-tsv", "d.tsv", "--src-lang", "en", "--tgt-lang", "gsw"]
    assert main(arguments) == 65
    err = capsys.readouterr().err
    assert f"column 3 ({header[2]}) as source and column 1 ({header[0]}) as target" in err
    taken = two_columns(err)
    assert taken == [f"{row[2]}\t{row[0]}" for row in [header, *rows]]
    arguments = [command, "--train-tsv", "d.tsv", "--src-lang", "gsw", "--tgt-lang", "en"]
    assert main(arguments) == 65
    assert two_columns(capsys.readouterr().err)[-1] == f"{rows[-1][0]}\t{rows[-1][2]}"


def test_columns_without_a_header_are_ordered_by_the_language_that_is_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [
        (f"Huus{n} ond Wält ane Bärg ufm Hübel", "noun", " ".join(WORDS[n % 6 : n % 6 + 7]))
        for n in range(60)
    ]
    write("d.tsv", *rows)
    err = refused("d.tsv", *SWISS, capsys)
    assert (
        "to take column 3 (looks like English) as source and column 1 as target, or others in"
        in err
    )
    assert two_columns(err)[0] == f"{rows[0][2]}\t{rows[0][0]}"
    assert "column 1 as source and column 3 (looks like English)" in refused(
        "d.tsv", "gsw", "en", capsys
    )
    # Too little text to be sure.
    write("d.tsv", *rows[:9])
    assert "column 1 as source and column 3 as target" in refused("d.tsv", *SWISS, capsys)
