"""`nmt score` for CI: JUnit reports, worst lines, scores of groups and of other tools."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as Xml

import pytest
from sacrebleu.metrics import BLEU, CHRF

from nmt_cli.cli import main

REFERENCE = [
    "Der Hund schläft nicht im Haus.", "Die Katze ist weiß.", "Ein Präsident spricht.",
    "Er kommt morgen mit dem langen blauen Zug nach Hause.",
]  # fmt: skip
HYPOTHESIS = [
    "Der Hund schläft nicht im Garten.", "Die Katze ist weiß.", "Das ist falsch, ja.",
    "Er kommt morgen mit dem Zug nach Hause.",
]  # fmt: skip
SCORES = ["0.9", "0.95", "0.1", "0.6"]


class Result(NamedTuple):
    code: int
    out: str
    err: str


Nmt = Callable[..., Result]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    for name, lines in {
        "ref.txt": REFERENCE, "hyp.txt": HYPOTHESIS, "comet.scores": SCORES,
        "documents": ["news", "talk", "news", "talk"],
    }.items():  # fmt: skip
        write(name, lines)
    return tmp_path


def write(name: str, lines: Sequence[str]) -> None:
    Path(name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


@pytest.fixture
def nmt(capfd: pytest.CaptureFixture[str]) -> Nmt:
    def run(*arguments: str) -> Result:
        code = main(["score", *arguments])
        sys.stdout.flush()
        return Result(code, *capfd.readouterr())

    return run


def documents(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.out.splitlines()]


# -- groups of lines -------------------------------------------------------------------------------


def test_groups_have_the_scores_of_their_lines_alone(nmt: Nmt) -> None:
    result = nmt("hyp.txt", "ref.txt", "--metric", "bleu,chrf", "--by", "documents", "--json")
    bleu, chrf = documents(result)
    assert bleu["groups"] == [
        {
            "by": "documents", "label": label, "lines": 2,
            "value": BLEU().corpus_score(HYPOTHESIS[part], [REFERENCE[part]]).score,
        }
        for label, part in (("news", slice(0, None, 2)), ("talk", slice(1, None, 2)))
    ]  # fmt: skip
    news, talk = chrf["groups"]
    assert news["value"] == CHRF().corpus_score(HYPOTHESIS[::2], [REFERENCE[::2]]).score
    assert talk["value"] > news["value"]
    assert "groups" not in documents(nmt("hyp.txt", "ref.txt", "--json"))[0]


def test_groups_are_a_table_with_a_column_for_each_metric(nmt: Nmt) -> None:
    result = nmt(
        "hyp.txt", "ref.txt", "--metric", "chrf", "--scores-from", "comet.scores",
        "--by", "length", "--by", "documents",
    )  # fmt: skip
    first, second, *tables = (line.split() for line in result.out.splitlines() if line)
    assert (first[0], second[:2]) == ("chrF2", ["comet", "0.6375"])
    # The reference counts: its lines have 6, 4, 3 and 10 words.
    values = [
        CHRF().corpus_score(HYPOTHESIS[part], [REFERENCE[part]]).score
        for part in (slice(1, 3), slice(0, 4, 3))
    ]
    assert tables == [
        ["by", "length", "lines", "chrF2", "comet"],
        ["1-5", "words", "2", f"{values[0]:.2f}", "0.5250"],
        ["6-10", "words", "2", f"{values[1]:.2f}", "0.7500"],
        ["by", "documents", "lines", "chrF2", "comet"],
        ["news", "2", tables[4][2], "0.5000"],
        ["talk", "2", tables[5][2], "0.7750"],
    ]


def test_labels_must_be_as_many_as_lines(nmt: Nmt) -> None:
    write("documents", ["news"])
    result = nmt("hyp.txt", "ref.txt", "--by", "documents")
    assert (result.code, result.out) == (65, "")
    assert "hyp.txt: 4, ref.txt: 4, documents: 1" in result.err
    assert nmt("hyp.txt", "ref.txt", "--by", "absent").code == 66


# -- worst lines -----------------------------------------------------------------------------------


def test_worst_lines_by_sentence_chrf_show_differing_words(nmt: Nmt) -> None:
    result = nmt("hyp.txt", "ref.txt", "--worst", "3", "--by", "documents")
    assert result.code == 0
    shown = result.out[result.out.index("worst 3 of 4") :]
    values = [
        CHRF().sentence_score(hypothesis, [reference]).score
        for hypothesis, reference in zip(HYPOTHESIS, REFERENCE, strict=True)
    ]
    assert shown == (
        "worst 3 of 4 lines by chrF of the sentence\n"
        f"\nline 3: {values[2]:.2f}, news\n"
        "  hypothesis  Das ist falsch, ja.\n"
        "  difference  [-Ein Präsident spricht.-] {+Das ist falsch, ja.+}\n"
        f"\nline 4: {values[3]:.2f}, talk\n"
        "  hypothesis  Er kommt morgen mit dem Zug nach Hause.\n"
        "  difference  Er kommt morgen mit dem [-langen blauen-] Zug nach Hause.\n"
        f"\nline 1: {values[0]:.2f}, news\n"
        "  hypothesis  Der Hund schläft nicht im Garten.\n"
        "  difference  Der Hund schläft nicht im [-Haus.-] {+Garten.+}\n"
    )


def test_worst_lines_as_json_follow_the_scores(nmt: Nmt) -> None:
    write("other.txt", [*REFERENCE[:3], "Er kommt morgen mit dem Zug nach Hause!"])
    result = nmt("hyp.txt", "ref.txt", "other.txt", "--worst", "2", "--json")
    score, worst, second = documents(result)
    assert score["metric"] == "bleu"
    assert (worst["worst"], worst["line"], worst["metric"]) == (1, 3, "chrf")
    assert second["worst"] == 2
    # The reference that is nearer to the hypothesis.
    everything = documents(nmt("hyp.txt", "ref.txt", "other.txt", "--worst", "99", "--json"))
    fourth = next(line for line in everything[1:] if line["line"] == 4)
    assert fourth["reference"] == "Er kommt morgen mit dem Zug nach Hause!"
    assert fourth["differences"] == [
        ["=", "Er kommt morgen mit dem Zug nach"], ["-", "Hause!"], ["+", "Hause."],
    ]  # fmt: skip
    assert len(everything) == 5


def test_worst_lines_of_the_test_set_show_its_source(nmt: Nmt) -> None:
    write("src.txt", ["The dog.", "The cat.", "A president speaks.", "He comes."])
    Path("nmt.toml").write_text('[data]\ntest = ["src.txt", "ref.txt"]\n', "utf-8")
    result = nmt("hyp.txt", "--worst", "1")
    assert "  source      A president speaks.\n" in result.out
    assert "source" not in nmt("hyp.txt", "ref.txt", "--worst", "1").out


def test_of_very_long_worst_lines_the_beginning_is_shown(nmt: Nmt) -> None:
    numbers = range(100, 1_000)
    hypothesis = " ".join(f"{number} c" for number in numbers)
    reference = " ".join(f"{number} e" for number in numbers)
    write("hyp.txt", ["a" * 200_000, hypothesis, *HYPOTHESIS[2:]])
    write("ref.txt", ["d" * 100_000, reference, *REFERENCE[2:]])
    result = nmt("hyp.txt", "ref.txt", "--worst", "4")
    assert f"  hypothesis  {'a' * 2_000} [... 198,000 more characters]\n" in result.out
    missing = f"[-{'d' * 500} [... 99,500 more characters]-]"
    added = f"{{+{'a' * 500} [... 199,500 more characters]+}}"
    assert f"  difference  {missing} {added}\n" in result.out
    # Of 900 times a number, "e" and "c", as many as have 2,000 letters are shown.
    start = " ".join(f"{number} [-e-] {{+c+}}" for number in numbers[:400])
    assert f"  difference  {start} [... 2,500 more characters]\n" in result.out
    # JSON has the whole lines.
    lines = documents(nmt("hyp.txt", "ref.txt", "--worst", "4", "--json"))[1:]
    assert "a" * 200_000 in [line["hypothesis"] for line in lines]


def test_worst_lines_have_no_control_characters_of_the_text(nmt: Nmt) -> None:
    write("hyp.txt", ["\x1b[31mrot\x9b", *HYPOTHESIS[1:]])
    result = nmt("hyp.txt", "ref.txt", "--worst", "4")
    assert "\x1b" not in result.out
    assert r"{+\x1b[31mrot\x9b+}" in result.out


# -- scores of other tools -------------------------------------------------------------------------


def test_scores_of_another_tool_need_no_reference(nmt: Nmt) -> None:
    result = nmt("hyp.txt", "--scores-from", "comet=comet.scores", "--min", "comet=0.7")
    assert result.code == 3
    assert result.out == "comet 0.6375  mean|lines:4\n"
    assert result.err == "error: hyp.txt: comet 0.6375 is below 0.7, by 0.0625\n"
    passed = nmt("hyp.txt", "--scores-from", "comet.scores", "--min", "comet=0.6", "--json")
    (document,) = documents(passed)
    assert passed.code == 0
    assert (document["metric"], document["value"]) == ("comet", 0.6375)
    assert document["checks"] == [{"option": "--min", "bound": 0.6, "passed": True}]


def test_scores_of_another_tool_rank_the_worst_lines(nmt: Nmt) -> None:
    write("errors", ["hyp\tSegment 0\tscore: 1.5", "hyp\tSegment 1\tscore: 0", "2", "7e0"])
    options = ("--scores-from", "mqm=errors", "--lower-is-better", "--worst", "1", "--max", "mqm=2")
    result = nmt("hyp.txt", "ref.txt", *options)
    assert result.code == 3
    assert "mqm 2.6250 is above 2" in result.err
    assert "worst 1 of 4 lines by mqm\n\nline 4: 7.0000\n" in result.out
    assert "BLEU" not in result.out
    assert "[-langen blauen-]" in result.out
    assert "line 3: 0.1000" in nmt("hyp.txt", "--scores-from", "comet.scores", "--worst", "1").out


def test_interval_of_given_scores_surrounds_their_mean(nmt: Nmt) -> None:
    (document,) = documents(
        nmt("hyp.txt", "--scores-from", "comet.scores", "--confidence", "--json")
    )
    low, high = document["interval"]
    assert 0.1 <= low < 0.6375 < high <= 0.95
    assert document["signature"] == "mean|lines:4|bs:1000|seed:12345"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--scores-from", "bleu=comet.scores"], 2, "another metric `bleu`"),
        (["--scores-from", "a=comet.scores", "--scores-from", "a=x"], 2, "another metric `a`"),
        (["--scores-from", "-"], 2, "need a name"),
        (["--scores-from", "documents"], 65, "`documents`, line 1: there is no number at its end"),
        (["--scores-from", "nan"], 65, "line 2: there is no number"),
        (["--scores-from", "one"], 65, "one: 1"),
        (["--scores-from", "comet.scores", "--max", "comet=1"], 2, "comet is better when higher"),
        (["--scores-from", "comet.scores", "--min", "comit=1"], 2, "did you mean `comet`?"),
        (["--lower-is-better"], 2, "--lower-is-better needs --scores-from FILE"),
        (["--force"], 2, "--force needs --junit FILE"),
        (["--worst", "0"], 2, "--worst"),
        (["--worst", "1", "--score-only"], 2, "cannot be combined with --worst or --by"),
        (["--pairs", "hyp.txt", "ref.txt", "--worst", "1"], 2, "used without other files"),
    ],
)
def test_wrong_details_are_refused(nmt: Nmt, options: list[str], code: int, message: str) -> None:
    write("nan", ["1", "nan", "3", "4"])
    write("one", ["1"])
    result = nmt("hyp.txt", "ref.txt", *options)
    assert (result.code, result.out) == (code, "")
    assert message in result.err


# -- JUnit -----------------------------------------------------------------------------------------


def test_junit_has_a_case_for_each_metric_threshold_and_baseline(nmt: Nmt) -> None:
    write("ref.txt", REFERENCE * 30)
    write("hyp.txt", ["Das ist es."] * 120)
    write("old.txt", HYPOTHESIS * 30)
    result = nmt(
        "hyp.txt", "ref.txt", "--metric", "chrf", "--min-bleu", "20", "--min", "chrf=1",
        "--baseline", "old.txt", "--fail-if-worse", "--junit", "score.xml",
    )  # fmt: skip
    assert result.code == 3
    root = Xml.parse("score.xml").getroot()
    (suite,) = root
    assert (root.tag, suite.tag, suite.get("name")) == (
        "testsuites",
        "testsuite",
        "hyp.txt ref.txt",
    )
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert {name: case.get("classname") for name, case in cases.items()} == {
        "chrF2": "nmt.score.metric",
        "BLEU": "nmt.score.metric",
        "chrF2 at least 1": "nmt.score.threshold",
        "BLEU at least 20": "nmt.score.threshold",
        "chrF2 not worse than old.txt": "nmt.score.baseline",
        "BLEU not worse than old.txt": "nmt.score.baseline",
    }
    failed = {name: case.find("failure") for name, case in cases.items()}
    messages = {
        name: failure.get("message") for name, failure in failed.items() if failure is not None
    }
    assert messages.keys() == {
        "BLEU at least 20", "chrF2 not worse than old.txt", "BLEU not worse than old.txt",
    }  # fmt: skip
    bleu = BLEU().corpus_score(["Das ist es."] * 120, [REFERENCE * 30]).score
    assert messages["BLEU at least 20"] == f"BLEU {bleu:.4f} is below 20, by {20 - bleu:.4g}"
    assert "tok:13a" in failed["BLEU at least 20"].text
    for element in (root, suite):
        assert (element.get("tests"), element.get("failures")) == ("6", "3")


def test_error_replaces_the_report_of_an_earlier_score(nmt: Nmt) -> None:
    assert nmt("hyp.txt", "ref.txt", "--junit", "score.xml").code == 0
    write("short.txt", HYPOTHESIS[1:])
    result = nmt("short.txt", "ref.txt", "--junit", "score.xml")
    assert result.code == 65
    root = Xml.parse("score.xml").getroot()
    (suite,) = root
    (case,) = suite.findall("testcase")
    for element in (root, suite):
        assert [element.get(name) for name in ("tests", "failures", "errors")] == ["1", "0", "1"]
    assert suite.get("name") == "short.txt ref.txt"
    assert case.find("error").get("message") in result.err.replace("\n", " ")
    assert nmt("missing.txt", "ref.txt", "--junit", "new.xml").code == 66
    assert "missing.txt" in Path("new.xml").read_text("utf-8")


def test_junit_holds_any_text_and_replaces_only_its_own_report(nmt: Nmt) -> None:
    strange = 'a\x01"<&ü.txt'
    write(strange, REFERENCE)
    assert nmt("hyp.txt", strange, "--junit", "score.xml", "--by", "documents").code == 0
    first = Path("score.xml").read_bytes()
    (suite,) = Xml.fromstring(first)
    assert suite.get("name") == 'hyp.txt a�"<&ü.txt'
    values = {item.get("name"): item.get("value") for item in suite.iter("property")}
    assert (
        values["documents: news"]
        == f"{BLEU().corpus_score(HYPOTHESIS[::2], [REFERENCE[::2]]).score:.4f}"
    )
    assert nmt("hyp.txt", "ref.txt", "--junit", "score.xml").code == 0
    assert Path("score.xml").read_bytes() != first
    for name in ("ref.txt", "documents", "comet.scores", "hyp.txt"):
        before = Path(name).read_bytes()
        options = ("--by", "documents", "--scores-from", "comet.scores", "--force")
        result = nmt("hyp.txt", "ref.txt", *options, "--junit", name)
        assert (result.code, result.out) == (73, "")
        assert Path(name).read_bytes() == before
    write("mine", ["My only copy."])
    assert nmt("hyp.txt", "ref.txt", "--junit", "mine").code == 73
    assert nmt("hyp.txt", "ref.txt", "--junit", "mine", "--force").code == 0
    result = nmt("hyp.txt", "ref.txt", "--junit", "no/folder.xml")
    # Before any work: nothing was scored.
    assert (result.code, result.out) == (73, "")
    assert "with --junit" in result.err


def test_texts_of_different_unicode_forms_are_warned_of(nmt: Nmt, tmp_path: Path) -> None:
    for form in ("NFC", "NFD"):
        lines = [unicodedata.normalize(form, line) for line in REFERENCE]
        (tmp_path / f"{form}.de").write_text("\n".join(lines) + "\n", "utf-8")
    result = nmt("NFC.de", "NFD.de")
    assert "2 lines of `NFD.de` and of the hypotheses have different Unicode forms" in result.err
    command = result.err[result.err.index("nmt convert") :].partition("\n")[0]
    subprocess.run(command, shell=True, check=True, capture_output=True)
    assert (tmp_path / "NFD.nfc.de").read_bytes() == (tmp_path / "NFC.de").read_bytes()
    assert "Unicode" not in nmt("NFC.de", "NFC.de").err
    assert "Unicode" not in nmt("NFD.de", "NFD.de").err


@pytest.mark.parametrize(
    ("line", "other", "named"),
    [
        ("होम्\u200cमे एक", "होम्मे एक", "U+200C ZWNJ"),
        ("क्\u200dहि एक", "क्हि एक", "U+200D ZWJ"),
        ("eins zwei", "\ufeffeins zwei", "U+FEFF byte order mark"),
        ("eins\u200e zwei", "eins zwei", "U+200E left-to-right mark"),
        ("Bahn\u00adhof", "Bahnhof", "U+00AD soft hyphen"),
    ],
)
def test_texts_with_different_invisible_characters_are_warned_of(
    nmt: Nmt, tmp_path: Path, line: str, other: str, named: str
) -> None:
    # A byte order mark at the beginning of a file is none of its text.
    for name, text in (("with.xx", line), ("without.xx", other)):
        (tmp_path / name).write_text(f"1 2\n{text}\n{text} x\n", "utf-8")
    result = nmt("with.xx", "without.xx")
    assert "2 lines of `without.xx` and of the hypotheses have different invisible" in result.err
    assert f"({named})" in result.err
    visible = []
    for name, reference in (("with", "without"), ("without", "with")):
        err = nmt(f"{reference}.xx", f"{name}.xx").err
        command = err[err.index("nmt convert") :].partition("\n")[0]
        subprocess.run(command, shell=True, check=True, capture_output=True)
        visible.append((tmp_path / f"{name}.visible.xx").read_bytes())
    assert visible[0] == visible[1]
    assert "invisible" not in nmt("with.xx", "with.xx").err


def test_invisible_characters_of_other_words_are_not_warned_of(nmt: Nmt, tmp_path: Path) -> None:
    (tmp_path / "a.xx").write_text("होम्\u200cमे एक होम्मे\neins\u200e\n", "utf-8")
    (tmp_path / "b.xx").write_text("होम्मे एक\nzwei\n", "utf-8")
    assert "invisible" not in nmt("a.xx", "b.xx").err


@pytest.mark.parametrize(("lines", "is_warned_of"), [(1, False), (2, True)])
@pytest.mark.parametrize(
    ("line", "other", "warning"),
    [("a\u200cb é", "ab é", "invisible"), ("e\u0301", "\u00e9", "Unicode forms")],
)
def test_a_few_lines_with_other_characters_are_not_warned_of(
    nmt: Nmt, line: str, other: str, warning: str, lines: int, is_warned_of: bool
) -> None:
    """Less than 1 % of the lines hardly changes a score."""
    same = [f"eins {number}" for number in range(200 - lines)]
    write("some.xx", [line] * lines + same)
    write("others.xx", [other] * lines + same)
    assert (warning in nmt("some.xx", "others.xx").err) == is_warned_of


def test_invisible_characters_are_listed_once_and_all_removed(nmt: Nmt, tmp_path: Path) -> None:
    letters = "\u200c\u200d\u061c\u202a\u2066\u2060\ufeff"
    write("with.xx", [f"a{letter}b {index}" for index, letter in enumerate(letters)])
    write("without.xx", [f"ab {index}" for index in range(len(letters))])
    err = nmt("without.xx", "with.xx", "with.xx").err
    assert err.count("different invisible") == 1
    assert err.partition("invisible characters (")[2].partition(")")[0].count("U+") == 5
    assert ", ...)" in err
    command = err[err.index("nmt convert") :].partition("\n")[0]
    subprocess.run(command, shell=True, check=True, capture_output=True)
    assert (tmp_path / "with.visible.xx").read_bytes() == (tmp_path / "without.xx").read_bytes()


def test_characters_that_other_words_of_a_line_have_are_not_named(nmt: Nmt) -> None:
    write("a.xx", ["a\u200cb x\u00ady \u200c", "eins"])
    write("b.xx", ["ab x\u00ady", "eins"])
    assert "(U+200C ZWNJ) in the same words" in nmt("a.xx", "b.xx").err
    write("c.xx", ["\u200d \u00ad eins", "eins"])
    write("d.xx", ["\u200c eins", "eins"])
    assert "invisible" not in nmt("c.xx", "d.xx").err


@pytest.mark.parametrize(
    ("plain", "printed", "name"),
    [("l'eau {}", "l\u2019eau {}", "apostrophes"), ("ng'ombe {}", "ng\u02bcombe {}", "apostrophes"),
     ('"a" {}', "\u201ea\u201c {}", "quotation marks"), ("a - {}", "a \u2013 {}", "dashes")],
)  # fmt: skip
def test_marks_that_are_written_in_different_ways_are_warned_of(
    nmt: Nmt, tmp_path: Path, plain: str, printed: str, name: str
) -> None:
    for file, pattern in (("plain", plain), ("printed", printed)):
        lines = [pattern.format(f"word {number}") for number in range(20)]
        (tmp_path / file).write_text("\n".join(lines) + "\n", "utf-8")
    for names in (("plain", "printed"), ("printed", "plain")):
        said = nmt(*names).err
        assert f"and the reference `{names[1]}` write {name} in different ways (" in said
        assert "in 20 lines)" in said
        assert "different ways" not in nmt(names[0], names[0]).err


def test_marks_of_few_lines_or_of_both_forms_are_not_warned_of(nmt: Nmt, tmp_path: Path) -> None:
    texts = {
        "plain": ["l'eau"] * 20,
        "mixed": ["l'eau", *["l\u2019eau"] * 19],
        "few": [*["l\u2019eau"] * 9, *["eau"] * 11],
        # Quotation marks, not apostrophes; hyphens, not dashes.
        "quotes": ["\u2018eau\u2019 et le bien-\u00eatre"] * 20,
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")
    for name in ("few", "quotes"):
        assert "different ways" not in nmt("plain", name).err, name
    assert "different ways" in nmt("plain", "mixed").err
    (tmp_path / "mixed").write_text("l'eau\n" * 2 + "l\u2019eau\n" * 18, "utf-8")
    assert "different ways" not in nmt("plain", "mixed").err
