"""The header of a validation or test table is no pair, as in training tables."""

import json
from pathlib import Path

import pytest

from nmt_cli.cli import main
from nmt_cli.cli.commands.scoring import texts
from nmt_cli.data.corpus.corpus import Corpus

PAIRS = [(f"the house {n} is old", f"s Huus {n} isch alt") for n in range(40)]
HEADERS = [("English", "Swiss German"), ("source", "target"), ("en", "gsw")]
CAPTION = [("Session 12", ""), ("", "")]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("a.tsv", *PAIRS)
    Path("nmt.toml").write_text(
        '[languages]\nsrc = "en"\ntgt = "gsw"\n[data]\nsubwords = "chars"\ntrain = ["a.tsv"]\n'
    )
    return tmp_path


def write(name: str, *rows: tuple[str, ...]) -> None:
    Path(name).write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")


def prepared(role: str, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What `nmt prepare` says with `held.tsv` for this role."""
    capsys.readouterr()
    table = ["--set", f'data.{role}=["held.tsv"]', "--set", 'data.train=[["a.tsv"]]']
    assert main(["prepare", *table, "--force", *options]) == 0
    captured = capsys.readouterr()
    return " ".join((captured.out + captured.err).split())


@pytest.mark.parametrize("role", ["valid", "test"])
@pytest.mark.parametrize("header", HEADERS)
def test_a_header_and_the_lines_above_it_are_no_pairs(
    role: str, header: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    write("held.tsv", *CAPTION, header, *PAIRS[:9])
    name = {"valid": "validation", "test": "test"}[role]
    said = prepared(role, capsys)
    assert f"line 3 of `held.tsv` names the columns, so the {name} pairs begin in line 4" in said
    assert "empty side" not in said
    assert f"9 {name}" in said or f"{name} 9" in said
    if role == "valid":
        assert Corpus.open(Path("corpus")).valid_text == tuple(
            map(list, zip(*PAIRS[:9], strict=True))
        )


@pytest.mark.parametrize("role", ["valid", "test"])
def test_the_numbers_of_lines_are_those_of_the_file(
    role: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [(f"the garden {n}", f"dr Garte &amp; {n}" if n < 4 else "dr Garte") for n in range(9)]
    write("held.tsv", HEADERS[0], *rows, ("one", ""))
    said = prepared(role, capsys)
    assert "1 of 10 " in said
    assert "an empty side: line 11" in said
    assert "4 have HTML entities (lines 2, 3, 4, 5)" in said


def test_the_first_line_of_a_form_is_that_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    write("held.tsv", HEADERS[0], *((src, f"{tgt} e\u0308") for src, tgt in PAIRS[:5]))
    assert "5 have another Unicode form" in (said := prepared("test", capsys))
    assert "(lines 2, 3, 4, 5, 6)" in said


def test_without_cleaning_a_header_stays_a_pair(capsys: pytest.CaptureFixture[str]) -> None:
    write("held.tsv", HEADERS[0], *PAIRS[:9])
    assert "names the columns" not in prepared("valid", capsys, "--no-clean")
    corpus = Corpus.open(Path("corpus"))
    assert corpus.valid is not None
    assert len(corpus.valid) == 10


@pytest.mark.parametrize("first", [("Yes", "Ja"), PAIRS[30]])
def test_other_first_lines_are_pairs(
    first: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    write("held.tsv", first, *PAIRS[:9], HEADERS[0])
    assert "names the columns" not in prepared("valid", capsys)
    corpus = Corpus.open(Path("corpus"))
    assert corpus.valid is not None
    assert len(corpus.valid) == 11


def scores(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[dict[str, object], str]:
    capsys.readouterr()
    assert main(["score", *arguments, "--json", "--set", 'data.test=["held.tsv"]']) == 0
    captured = capsys.readouterr()
    return json.loads(captured.out), " ".join(captured.err.split())


def test_a_translation_with_or_without_the_header_is_scored_alike(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = [tgt.replace("alt", "neu") if n % 3 else tgt for n, (_, tgt) in enumerate(PAIRS[:9])]
    files = {"all": ["Session", "", "Kopf", *lines], "pairs": lines}
    labels = {"all": ["", "", "genre"], "pairs": []}
    for name, text in files.items():
        Path(name).write_text("".join(f"{line}\n" for line in text), "utf-8")
        groups = [*labels[name], *(["x", "y", "z"] * 3)]
        Path(f"{name}.by").write_text("".join(f"{group}\n" for group in groups))
    write("held.tsv", *PAIRS[:9])
    Path("a-baseline.txt").write_text("s Huus\n" * 9)
    expected, said = scores(capsys, "pairs", "--by", "pairs.by", "--baseline", "a-baseline.txt")
    assert "names the columns" not in said
    write("held.tsv", *CAPTION, HEADERS[0], *PAIRS[:9])
    Path("b-baseline.txt").write_text("Kopf\n" * 3 + "s Huus\n" * 9)
    for name, baseline in (("all", "b-baseline.txt"), ("pairs", "a-baseline.txt")):
        found, said = scores(capsys, name, "--by", f"{name}.by", "--baseline", baseline)
        assert "line 3 of `held.tsv` names the columns, so the test pairs begin in line 4" in said
        assert without_names(found) == without_names(expected)
    Path("more").write_text("a\n" * 11)
    assert main(["score", "more", "--set", 'data.test=["held.tsv"]']) == 65
    assert "more: 11, held.tsv: 9" in capsys.readouterr().err


def without_names(report: dict[str, object]) -> str:
    text = json.dumps(report, sort_keys=True)
    for name in ("all", "pairs", "a-baseline.txt", "b-baseline.txt"):
        text = text.replace(f'"{name}"', '"-"').replace(f'"{name}.by"', '"-"')
    return text


def test_a_header_is_not_translated_for_a_score(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    translated: list[str] = []

    def translate(src: list[str], *_: object) -> list[str]:
        translated.extend(src)
        return [tgt for _, tgt in PAIRS[:9]]

    monkeypatch.setattr(texts, "translate_test_set", translate)
    write("held.tsv", HEADERS[0], *PAIRS[:9])
    report, _ = scores(capsys)
    assert translated == [src for src, _ in PAIRS[:9]]
    assert "100" in json.dumps(report)
