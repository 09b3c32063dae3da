"""Faults of validation and test text of which training text is repaired are warned of."""

import subprocess
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from corpora import tiny_config, write_pairs
from synthetic_pairs import two_languages

from nmt_cli.cli import main
from nmt_cli.data.cleaning.held_out.faults import (
    fault_notes,
    form_notes,
    pairs_with_faults,
    references_with_faults,
)
from nmt_cli.data.cleaning.held_out.texts import HeldOutText
from nmt_cli.data.preparation.prepare import prepare
from nmt_cli.extras.project_files import ProjectTexts, check_text_files

Pair = tuple[str, str]
TEXT = [
    (src.capitalize(), f"{tgt.capitalize()} Für Größe.")
    for src, tgt in dict.fromkeys(two_languages(900, 8))
]
SCORED = "is not changed, and is scored as it is"

FAULTS: dict[str, Callable[[str, str], Pair]] = {
    "HTML entities": lambda src, tgt: (f"{src} &amp; so on", f"{tgt} &amp; so on"),
    "UTF-8 read in another encoding (Ã¼)": lambda src, tgt: (src, tgt.encode().decode("latin-1")),
    "line numbers on one side only": lambda src, tgt: (f"MRK 1:4 {src}", f"4 {tgt}"),
    "tags on one side only": lambda src, tgt: (src, f"<i>{tgt}</i>"),
    "marks of subwords (@@, ▁)": lambda src, tgt: (src.replace("a", "a@@ ", 1), tgt),
    "invisible characters": lambda src, tgt: (src, tgt.replace("ü", "ü\u00ad")),
    "repeated or mixed combining marks": lambda src, tgt: (src, tgt.replace("ö", "ö\u0308")),
    "cells quoted as in a spreadsheet": lambda src, tgt: (src, f'"Er sagt ""{tgt}"""'),
}


def with_fault(kind: str, places: range) -> list[Pair]:
    """300 pairs, of which those at some places have a fault."""
    return [FAULTS[kind](*pair) if n in places else pair for n, pair in enumerate(TEXT[-300:])]


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_of_held_out_text_are_warned_of(tmp_path: Path, kind: str) -> None:
    train = write_pairs(tmp_path, "train", TEXT[:500])
    held_out = write_pairs(tmp_path, "held-out", with_fault(kind, range(4, 300, 24)))
    text = Path(held_out[1]).read_bytes()
    for clean in ("safe", "off"):
        config = tiny_config(
            data_train=[train], data_valid=held_out, data_test=held_out, data_vocab_size=200,
            data_clean=clean,
        )  # fmt: skip
        notes = prepare(config, tmp_path / clean, workers=1).notes
        for role in ("validation", "test"):
            start = f"300 {role} pairs: 13 have {kind} (lines 5, 29, 53, 77, 101, ...); "
            said = [note for note in notes if note.startswith(start)]
            assert len(said) == (clean == "safe")
            assert all(SCORED in note for note in said)
            command = "correct its files, `@@` by `sed -E 's/@@( |$)//g'`"
            assert all((command in note) == ("@@" in kind) for note in said)
    said = check_text_files(ProjectTexts((train,), valid=held_out), "xx", "yy")
    assert any(f"300 validation pairs: 13 have {kind} (" in note for note in said)
    assert Path(held_out[1]).read_bytes() == text


def test_a_few_lines_are_not_warned_of() -> None:
    for count, expected in ((3, ""), (4, "4 have HTML entities (lines 1, 2, 3, 4)")):
        assert pairs_with_faults(*zip(*with_fault("HTML entities", range(count)), strict=True)) == (
            expected
        )
    many = with_fault("HTML entities", range(4)) + TEXT
    assert pairs_with_faults(*zip(*many, strict=True)) == ""
    assert pairs_with_faults(*zip(*TEXT, strict=True)) == pairs_with_faults([], []) == ""


def test_what_translating_mends_in_a_source_is_no_fault() -> None:
    src = [f"\ufeffa\u00ad line\u200e with Cafe\u0301\u0301 n\u043et {n}" for n in range(40)]
    tgt = [f"une ligne {n}" for n in range(40)]
    assert pairs_with_faults(src, tgt) == ""
    faults = pairs_with_faults(tgt, src)
    assert "invisible characters" in faults
    assert "combining marks" in faults
    assert "look-alike letters" in faults


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_of_references_are_warned_of_beside_hypotheses_without_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    pairs = [
        pair[::-1] if kind.startswith(("marks", "line")) else pair
        for pair in with_fault(kind, range(9))
    ]
    right = [pair[::-1] if kind.startswith(("marks", "line")) else pair for pair in TEXT[-300:]]
    files = {"faulty": pairs, "right": right}
    for name, sides in files.items():
        (tmp_path / name).write_text("".join(f"{tgt}\n" for _, tgt in sides), "utf-8")
    faulty, good = str(tmp_path / "faulty"), str(tmp_path / "right")
    assert main(["score", good, faulty]) == 0
    err = " ".join(capsys.readouterr().err.split())
    assert f"`{faulty}` has 300 lines, of which 9 have {kind} (lines 1, 2, 3, 4, 5, ...)" in err
    # A fault of the hypothesis lowers the score rightly.
    for files_of in ((faulty, good), (faulty, faulty), (good, faulty, "--quiet")):
        assert main(["score", *files_of]) == 0
        is_said = files_of == (faulty, good) and kind == "HTML entities"
        assert (f"have {kind}" in capsys.readouterr().err) is is_said


def test_entities_of_hypotheses_or_references_are_warned_of_with_a_command_that_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Moses' tokeniser writes them."""
    monkeypatch.chdir(tmp_path)
    plain = [f"Der {number}. Hund & 'seine' [Katze]" for number in range(40)]
    escaped = [
        line.replace("&", "&amp;").replace("'", "&apos;").replace("[", "&#91;") for line in plain
    ]
    for name, lines in (("plain.de", plain), ("moses.de", escaped)):
        Path(name).write_text("".join(f"{line}\n" for line in lines), "utf-8")

    def warning(*files: str) -> str:
        assert main(["score", *files]) == 0
        return " ".join(capsys.readouterr().err.split())

    said = warning("moses.de", "plain.de")
    assert "`moses.de` has 40 lines, of which 40 have HTML entities (lines 1, 2, 3, 4, 5" in said
    command = "nmt convert moses.de --repair entities -o moses.unescaped.de"
    assert f"gives the characters: {command} " in said
    subprocess.run(["sh", "-c", command], check=True, timeout=120)
    assert Path("moses.unescaped.de").read_text("utf-8") == Path("plain.de").read_text("utf-8")
    Path("moses.unescaped.de").rename("hyp.de")
    assert "nmt convert moses.de --repair entities -o moses.unescaped.de" in warning(
        "plain.de", "moses.de"
    )
    for files in (("hyp.de", "plain.de"), ("moses.de", "plain.de", "moses.de")):
        assert "as wrong; if a tokeniser" not in warning(*files)
    # Few lines may be about them.
    few = [*escaped[:3], *plain[3:]]
    Path("few.de").write_text("".join(f"{line}\n" for line in few), "utf-8")
    assert "entities" not in warning("few.de", "plain.de")


def test_files_with_faulty_marks_are_named_with_a_command_that_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sides, one of them or a table, also beside finished translations."""
    monkeypatch.chdir(tmp_path)
    write_pairs(tmp_path, "train", TEXT[:500])
    right = [(f"{src} \u1eb9", f"{tgt} \u1eb9") for src, tgt in TEXT[-300:]]
    line = [(src.replace("\u1eb9", "e\u0329"), tgt) for src, tgt in right[:9]] + right[9:]
    # Translating repairs these in a source.
    twice = [(src + "\u0323", tgt + "\u0323") for src, tgt in right[:30]] + right[30:]

    def commands(files: tuple[str, ...]) -> list[str]:
        config = tiny_config(
            data_train=[("train.src", "train.tgt")], data_test=files, data_vocab_size=200
        )
        notes = prepare(config, tmp_path / "corpus", workers=1, force=True).notes
        [note] = [note for note in notes if " have repeated or mixed combining marks (" in note]
        return note.partition("correct its files, combining marks by ")[2].split("`")[1::2]

    write_pairs(tmp_path, "line", line)
    source = "nmt convert line.src --repair marks -o line.marks.src"
    assert commands(("line.src", "line.tgt")) == [source]
    write_pairs(tmp_path, "twice", twice)
    target = "nmt convert twice.tgt --repair marks -o twice.marks.tgt"
    assert commands(("twice.src", "twice.tgt")) == [target]
    assert commands(("line.src", "twice.tgt")) == [source, target]
    rows = [f"{src}\t{tgt}\n" for (src, _), (_, tgt) in zip(right, twice, strict=True)]
    Path("all.tsv").write_text("".join(rows), "utf-8")
    [table] = commands(("all.tsv",))
    assert table == "nmt convert all.tsv --repair marks -o all.marks.tsv"
    for command in (source, target, table):
        subprocess.run(["sh", "-c", command], check=True, timeout=120)
    for name, index in (("line.marks.src", 0), ("twice.marks.tgt", 1)):
        expected = "".join(f"{pair[index]}\n" for pair in right)
        assert Path(name).read_text("utf-8") == expected
    expected = "".join(f"{src}\t{tgt}\n" for src, tgt in right)
    assert Path("all.marks.tsv").read_text("utf-8") == expected
    Path("twice.marks.tgt").rename("hyp.tgt")
    assert main(["score", "hyp.tgt", "twice.tgt"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert f"correct the reference, for combining marks by this command: {target} " in f"{said} "


@pytest.mark.parametrize(
    ("kind", "written", "read"),
    [
        ("UTF-8 read in another encoding (Ã¼)", "utf-8", "cp1252"),
        ("Windows-1252 read as Latin-1", "cp1252", "latin-1"),
    ],
)
def test_files_read_in_another_encoding_are_named_with_a_command_that_works(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    written: str,
    read: str,
) -> None:
    """Only the target, or a table, also beside finished translations."""
    monkeypatch.chdir(tmp_path)
    train = write_pairs(tmp_path, "train", TEXT[:500])
    right = [(src, f"{tgt} “so–") for src, tgt in TEXT[-40:]]
    wrong = [(src, tgt.encode(written).decode(read)) for src, tgt in right]
    write_pairs(tmp_path, "wrong", wrong)
    write_pairs(tmp_path, "right", right)
    for name, pairs in (("wrong.tsv", wrong), ("right.tsv", right)):
        Path(name).write_text("".join(f"{src}\t{tgt}\n" for src, tgt in pairs), "utf-8")
    target = "nmt convert wrong.tgt --repair wrong-encoding -o wrong.decoded.tgt"
    table = "nmt convert wrong.tsv --repair wrong-encoding -o wrong.decoded.tsv"
    for given, command in ((("wrong.src", "wrong.tgt"), target), (("wrong.tsv",), table)):
        notes = check_text_files(ProjectTexts((train,), test=given), "xx", "yy")
        [note] = [note for note in notes if f" 40 have {kind} (" in note]
        assert note.endswith(f"correct its files, text read in another encoding by `{command}`")
        subprocess.run(["sh", "-c", command], check=True, timeout=120)
    for name in ("decoded.tgt", "decoded.tsv"):
        expected = Path(f"right{Path(name).suffix}").read_text("utf-8")
        assert Path(f"wrong.{name}").read_text("utf-8") == expected
    Path("wrong.decoded.tgt").rename("hyp.tgt")
    assert main(["score", "hyp.tgt", "wrong.tgt"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert f"for text read in another encoding by this command: {target} " in f"{said} "


def test_marks_that_are_entities_have_no_command() -> None:
    lines = [f"o&#803;&#803; {number}" for number in range(40)]
    [note] = fault_notes([HeldOutText("test", ["a"] * 40, lines, ("a", "b"))])
    assert "40 have HTML entities (" in note
    assert "40 have repeated or mixed combining marks (" in note
    assert note.endswith("correct its files")


def test_targets_in_another_unicode_form_are_warned_of_with_the_command(tmp_path: Path) -> None:
    train = write_pairs(tmp_path, "train", TEXT[:500])
    decomposed = [
        # The form of a source does not matter.
        (src + " cafe\u0301", unicodedata.normalize("NFD", tgt) if n % 30 == 4 else tgt)
        for n, (src, tgt) in enumerate(TEXT[-300:])
    ]
    held_out = write_pairs(tmp_path, "held-out", decomposed)
    (table := tmp_path / "test.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in decomposed))
    for files in (held_out, (str(table),)):
        config = tiny_config(
            data_train=[train], data_valid=held_out, data_test=files, data_vocab_size=200
        )
        notes = prepare(config, tmp_path / "corpus", workers=1, force=True).notes
        for role in ("validation", "test"):
            [note] = [note for note in notes if f"300 {role} targets: " in note]
            assert "10 have another Unicode form than NFC (lines 5, 35, 65, 95, 125, ...)" in note
        command = note.rpartition("copy in NFC: ")[2]
        subprocess.run(["sh", "-c", command], check=True, timeout=120)
        written = Path(command.rpartition("-o ")[2]).read_text("utf-8")
        assert written == unicodedata.normalize("NFC", Path(files[-1]).read_text("utf-8"))
    said = check_text_files(ProjectTexts((train,), test=held_out), "xx", "yy")
    assert any("300 test targets: 10 have another Unicode form" in note for note in said)
    off = tiny_config(data_train=[train], data_test=held_out, data_clean="off")
    said = prepare(off, tmp_path / "off", workers=1).notes
    assert not any("Unicode form" in note for note in said)


def test_a_few_targets_in_another_unicode_form_are_not_warned_of() -> None:
    for count in (3, 4):
        tgt = ["cafe\u0301"] * count + ["caf\u00e9"] * 90
        notes = form_notes([HeldOutText("test", tgt, tgt, ("a", "b"))])
        assert len(notes) == (count == 4)


def test_another_unicode_form_has_a_warning_of_its_own() -> None:
    lines = [f"cafe\u0301 {n}" for n in range(40)]
    assert references_with_faults([f"café {n}" for n in range(40)], lines) == ""
    assert pairs_with_faults([f"coffee {n}" for n in range(40)], lines) == ""


def test_entities_of_both_texts_count_where_the_other_text_has_the_character(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two texts of Moses' tokeniser have them in the lines that have these characters."""
    monkeypatch.chdir(tmp_path)
    plain = [f"Der {number}. Hund ist rot ." for number in range(60)]
    quoted = [f"Der {number}. &quot; Hund &quot; ist rot ." for number in range(60)]
    typed = [f'Der {number}. " Hund " ist rot .' for number in range(60)]
    texts = {
        "reference.de": [*quoted[:20], *plain[20:]],
        "moses.de": [*plain[:20], *quoted[20:22], *plain[22:]],
        "mixed.de": [*typed[:20], *quoted[20:22], *plain[22:]],
    }
    for name, lines in texts.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines), "utf-8")

    def warning(*files: str) -> str:
        assert main(["score", *files, "--tokenize", "none"]) == 0
        return " ".join(capsys.readouterr().err.split())

    for files in (("moses.de", "reference.de"), ("reference.de", "moses.de")):
        assert "entities" not in warning(*files)
    for files in (("mixed.de", "reference.de"), ("reference.de", "mixed.de")):
        said = warning(*files)
        assert "20 have HTML entities (lines 1, 2, 3, 4, 5, ...), unlike the" in said
        assert "`mixed.de` has HTML entities, too (line 21), so replace them in both" in said
        for name in ("reference", "mixed"):
            assert f"nmt convert {name}.de --repair entities -o {name}.unescaped.de" in said


def test_cells_of_a_table_are_judged_as_they_are_read(tmp_path: Path) -> None:
    """The quotation marks of a spreadsheet are removed from the cells of all tables."""
    train = write_pairs(tmp_path, "train", TEXT[:100])
    rows = [f'"{src} ""so"""\t{tgt}\n' for src, tgt in TEXT[100:160]]
    (table := tmp_path / "test.tsv").write_text("".join(rows), encoding="utf-8")
    assert check_text_files(ProjectTexts((train,), test=(str(table),)), "xx", "yy") == []
    files = write_pairs(tmp_path, "test", [(f'"{src} ""so"""', tgt) for src, tgt in TEXT[100:160]])
    (note,) = check_text_files(ProjectTexts((train,), test=files), "xx", "yy")
    assert "60 have cells quoted as in a spreadsheet (lines 1, 2, 3, 4, 5, ...)" in note
