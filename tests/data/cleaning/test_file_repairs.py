"""`nmt convert --repair` repairs a text line by line, and leaves all else as it is."""

import gzip
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.cli.commands.convert import RepairName
from nmt_cli.data.cleaning.file_repairs import REPAIRS


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def repaired(content: str | bytes, *names: str) -> str:
    """The content of the file after these repairs."""
    Path("a b.de").write_bytes(content if isinstance(content, bytes) else content.encode())
    options = [word for name in names for word in ("--repair", name)]
    assert main(["convert", "a b.de", *options, "-o", "out", "--force"]) == 0
    return Path("out").read_bytes().decode()


def test_the_option_has_all_repairs() -> None:
    assert {*RepairName} == {*REPAIRS, "merged-verses"}


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("straight-apostrophes", "l'un\nl’an d‘or\n'oui’\n", "l'un\nl'an d'or\n'oui’\n"),
        ("curly-apostrophes", "l'un\nl’an d`or\n'oui’\n", "l’un\nl’an d’or\n'oui’\n"),
        ("turned-apostrophes", "Hawai'i ka'a\n", "Hawai‘i ka‘a\n"),
        # Before words that have one nearly always; quoted ones are found without one, too.
        ("straight-apostrophes", 4 * "so ‘yan, ‘so’ it\n" + "’Yan\t(`yan ‘so it ‘ya\n\n",
         4 * "so 'yan, ‘so’ it\n" + "'Yan\t('yan ‘so it ‘ya\n\n"),
        ("curly-apostrophes", 4 * "’yan\nyan\n" + "'yan\n", 4 * "’yan\nyan\n" + "'yan\n"),
        ("divided-words", "Gram- mar\nEin- und\n\ta grammar\n", "Grammar\nEin- und\n\ta grammar\n"),
        ("entities", "a &amp;lt; b\r\nx&#10;y\tA&B &c;\r\n&quot;", 'a < b\r\nx y\tA&B &c;\r\n"\n'),
        ("entities", "&#9;&#13;&#10;&nbsp;\n", " \xa0\n"),
        ("invisible", "\u200fa\u00adb\u200c\tc\ufeff\u200b\n", "ab\u200c\tc\n"),
        ("joiners", "a\u200cb\u200d\u00ad\n", "ab\u00ad\n"),
        ("label-cells", "a\tb\nA:\ta\tB:\tb\nA:\tb\na\tb\tc:\n", "a\tb\na\tb\nA:\tb\na\tb\tc:\n"),
        ("labels", "Ja: a\nJa : b\nNo: Ja: c\n" + "Ja: d\n" * 9, "a\nb\nNo: Ja: c\n" + "d\n" * 9),
        ("labels", "a\tNo: b\tc\nd\tNo: e\n", "a\tb\tc\nd\te\n"),
        ("labels", "Ja: a\nNo: b\n", "Ja: a\nNo: b\n"),
        ("line-numbers", "1. a 2. b\n(2) c\n3\td\n4.5 e\n", "a 2. b\nc\nd\n4.5 e\n"),
        ("line-numbers", "1\ta\n2\tb\n", "a\nb\n"),
        ("line-numbers", "1. a\t1. 2. b\n2 c\t3 d\te\n", "a\t2. b\nc\td\te\n"),
        ("line-numbers", "MRK 1:1 a\n2 dogs\n1:2 c\n1:3 d\n", "a\n2 dogs\nc\nd\n"),
        ("marks", "\u1ecd\u0323\te\u0301 \u00e9\u0301\r\ne\u0301 e\u0329\n",
         "\u1ecd\t\u00e9 \u00e9\r\ne\u0301 e\u0329\n"),
        ("marks", 8 * "k\u1eb9\n" + "ke\u0329\te\u0301\nko\u0329\n",
         8 * "k\u1eb9\n" + "k\u1eb9\t\u00e9\nko\u0329\n"),
        ("nfc", "e\u0301\r\n\u00e9\n", "\u00e9\r\n\u00e9\n"),
        ("torn-words", "ch ’ usa, 'a'\nni 'i\n", "ch’usa, 'a'\nni’i\n"),
        # Most of the marks behind a space begin quotations.
        ("torn-words", "is n ' t\nsaid 'so'\nand 'no'\n", "is n't\nsaid 'so'\nand 'no'\n"),
        # Each cell by itself, as in training text: the second one has letters that lost bytes.
        ("wrong-encoding", "fÃ¼r â€œdas, voilÃ \tÃ¤ laÌ? tse\r\nüber Spaß…\nРџСЂРёРІРµС‚ \x93a\n",
         "für “das, voilà\tÃ¤ laÌ? tse\r\nüber Spaß…\nПривет “a\n"),
    ],
)  # fmt: skip
def test_only_the_fault_is_repaired(
    name: str, content: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert repaired(content, name) == expected
    lines, new_lines = (text.split("\n")[: content.count("\n")] for text in (content, expected))
    changed = sum(map(str.__ne__, lines, new_lines)) + (not content.endswith("\n"))
    assert f" to out, {changed} of them repaired\n" in capsys.readouterr().err
    assert repaired(expected, name) == expected


def test_words_that_begin_with_an_apostrophe_are_learnt_from_the_first_lines() -> None:
    lines = ["so"] * 1_996 + ["‘yan"] * 5
    for dropped, mark in ((0, "‘"), (1, "'")):
        content = "".join(f"{line}\n" for line in lines[dropped:])
        assert repaired(content, "straight-apostrophes") == content.replace("‘", mark)


def test_only_invalid_bytes_are_read_as_windows_1252() -> None:
    content = "\ufeffd\u00e9j\u00e0\n".encode() + b"d\xe9j\xe0 \x93ici\x94 \x81\r\n"
    assert repaired(content, "invalid-bytes") == "d\u00e9j\u00e0\nd\u00e9j\u00e0 “ici” \ufffd\r\n"
    Path("a b.de").write_bytes(content)
    assert main(["convert", "a b.de", "--repair", "nfc", "-o", "kept"]) == 0
    assert Path("kept").read_bytes() == content[3:]


def test_several_repairs_are_made_one_after_another(capsys: pytest.CaptureFixture[str]) -> None:
    """What one repair writes, the next one reads, also to find out what the text has."""
    content = "&#49;. l&rsquo;un\n&#50;. l&rsquo;an\n3. l'or\n"
    repairs = ["entities", "line-numbers", "straight-apostrophes"]
    assert repaired(content, *repairs) == "l'un\nl'an\nl'or\n"
    said = capsys.readouterr().err
    begin = "`a b.de` is text\nrepaired: HTML entities become characters; numbers that begin"
    assert said.startswith(begin)
    assert repaired(content, *reversed(repairs)) == "1. l’un\n2. l’an\n3. l'or\n"


def test_cells_that_are_chosen_are_repaired(capsys: pytest.CaptureFixture[str]) -> None:
    """The notes about reading the file come once, however often it is read."""
    Path("a.csv").write_text('id;en;de\n1;"A\ndog ’s &amp;";d’or\n' + "2;A cat.;l’un\n" * 9)
    options = ["--columns", "3,2", "--repair", "entities", "--repair", "straight-apostrophes"]
    assert main(["convert", "a.csv", *options, "--repair", "labels"]) == 0
    out, err = capsys.readouterr()
    assert out == "de\ten\nd'or\tA dog ’s &\n" + "l'un\tA cat.\n" * 9
    assert "column 3 is the source, column 2 the target\nrepaired: HTML" in err
    assert err.count("rows with line breaks in cells") == 1
    assert "wrote 11 lines, 10 of them repaired" in err
    Path("q.tsv").write_text('"Say ""no"" &lt;"\t"a"\n' * 9)
    assert main(["convert", "q.tsv", "--unquote", "--repair", "entities", "-q"]) == 0
    assert capsys.readouterr().out == 'Say "no" <\ta\n' * 9


def test_compressed_and_empty_files_are_repaired(capsys: pytest.CaptureFixture[str]) -> None:
    assert repaired(gzip.compress(b"a &amp; b\n"), "entities") == "a & b\n"
    assert repaired("", "entities") == ""
    assert "wrote 0 lines to out, 0 of them repaired" in capsys.readouterr().err


def test_nothing_is_overwritten() -> None:
    Path("a.de").write_text("a &amp; b\n")
    assert main(["convert", "a.de", "--repair", "entities", "-o", "a.de"]) == 73
    assert main(["convert", "a.de", "--repair", "entities", "-o", "a.de", "--force"]) == 73
    assert Path("a.de").read_text() == "a &amp; b\n"
