"""`nmt score`: what it reads, what it prints, and the exit codes that scripts rely on."""

from __future__ import annotations

import json
import random
import re
import shlex
import subprocess
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as Xml

import pytest
from sacrebleu.metrics import BLEU

from nmt_cli.cli import main
from nmt_cli.config.schema import Config, with_values
from nmt_cli.config.search import SearchConfig

REFERENCE = ["Der Hund schläft nicht im Haus.", "Die Katze ist weiß.", "Ein US-Präsident spricht."]
GOOD = ["Der Hund schläft nicht im Garten.", "Die Katze ist weiß.", "Ein US-Präsident spricht."]
BAD = ["Hund schlafen.", "Katze weiß.", "Präsident."]
SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:"
HOSTILE = (
    b"\xef\xbb\xbfeins zwei\rdrei vier\n"
    b"fuenf\xc2\x85sechs sieben\xe2\x80\xa8acht neun\r\n"
    b"kaputt \xff\xfe hier und da\n"
    b"\n"
    b"a\x0bb\x0cc\x1cd e f g \x00 \x1b[31mrot"
)


class Result(NamedTuple):
    code: int
    out: str
    err: str


Nmt = Callable[..., Result]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of its own with the files that every test wants, and a plain environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    # `main` would set what is missing for the whole test process.
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    for name, lines in (("ref.txt", REFERENCE), ("good.txt", GOOD), ("bad.txt", BAD)):
        write(name, lines)
    return tmp_path


@pytest.fixture
def nmt(capfd: pytest.CaptureFixture[str]) -> Nmt:
    def run(*arguments: str) -> Result:
        code = main(["score", *arguments])
        sys.stdout.flush()
        return Result(code, *capfd.readouterr())

    return run


def write(name: str, lines: Sequence[str]) -> None:
    Path(name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def bleu(hypotheses: Sequence[str], *references: Sequence[str]) -> float:
    return BLEU().corpus_score(hypotheses, references).score


# -- what it reads -------------------------------------------------------------------------------


def test_missing_files_are_named_with_one_hint(nmt: Nmt) -> None:
    result = nmt("absent", "ref.txt", "gone")
    assert result.code == 66
    error, hint = (line for line in result.err.splitlines() if line)
    assert "`absent`" in error
    assert "`gone`" in error
    assert "hint" not in error
    assert hint.startswith("hint: check the path")


# -- what it prints ------------------------------------------------------------------------------


def test_score_prints_only_value_and_signature_on_stdout(nmt: Nmt) -> None:
    result = nmt("good.txt", "ref.txt")
    assert result.code == 0
    assert nmt("good.txt", "ref.txt", "--quiet").err == ""
    assert result.out.startswith(f"BLEU {bleu(GOOD, REFERENCE):.2f}  {SIGNATURE}")
    assert result.out.count("\n") == 1


def test_bleu_details_on_stderr_equal_sacrebleus(nmt: Nmt) -> None:
    result = nmt("good.txt", "ref.txt", "--metric", "bleu,chrf")
    whole = BLEU().corpus_score(GOOD, [REFERENCE])
    assert result.err == whole.format(width=2).split(" ", 3)[3] + "\n"
    assert f"{whole.score:.2f} " in result.out
    assert f"{whole.score:.2f} " not in result.err
    assert "hyp_len" in result.err
    assert nmt("good.txt", "ref.txt", "--json").err == ""


def test_score_only_prints_one_value_per_metric(nmt: Nmt) -> None:
    for option in ("-b", "--score-only"):
        result = nmt("good.txt", "ref.txt", option, "--min-bleu", "100")
        assert result.out == f"{bleu(GOOD, REFERENCE):.2f}\n"
        assert result.code == 3
    assert nmt("good.txt", "ref.txt", "-b", "--metric", "bleu,chrf").out.count("\n") == 2
    for other in (["good.txt", "ref.txt", "--json"], ["--pairs", "good.txt", "ref.txt"]):
        result = nmt("-b", *other)
        assert result.code == 2
        assert "--score-only cannot be combined with" in result.err


def test_score_of_text_against_itself_is_warned_of(nmt: Nmt) -> None:
    for files in (["ref.txt", "ref.txt"], ["ref.txt", "./ref.txt"]):
        result = nmt(*files, "--score-only")
        assert (result.code, result.out) == (0, "100.00\n")
        assert result.err == (
            "warning: `ref.txt` is scored against itself: hypothesis and reference are the same "
            "file\n"
        )
    write("copy.txt", REFERENCE)
    copied = nmt("copy.txt", "good.txt", "ref.txt", "ref.txt", "--json")
    assert copied.err.splitlines()[0] == (
        "warning: the hypotheses and the reference `ref.txt` are identical: is this the right file?"
    )
    assert json.loads(copied.out)["value"] == pytest.approx(100)
    assert nmt("ref.txt", "ref.txt", "--quiet").err == ""
    assert "warning" not in nmt("good.txt", "ref.txt").err


def test_a_baseline_that_is_the_hypothesis_is_refused(nmt: Nmt) -> None:
    """A system is never worse than itself, so the threshold would always be passed."""
    result = nmt("good.txt", "ref.txt", "--baseline", "./good.txt", "--fail-if-worse")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: `good.txt` is compared with itself")


def test_the_name_of_a_language_is_refused(nmt: Nmt) -> None:
    result = nmt("good.txt", "ref.txt", "--tgt-lang", "german")
    assert (result.code, result.out) == (2, "")
    assert "`german` is not a language code" in result.err
    assert "for german use de" in result.err


def test_a_threshold_between_0_and_1_is_warned_of(nmt: Nmt) -> None:
    result = nmt("good.txt", "ref.txt", "--min-bleu", "0.27", "--quiet")
    assert result.code == 0
    assert "bleu=0.27 is a fraction" in result.err
    assert "is bleu=27 meant?" in result.err
    for bound in ("0", "1", "27"):
        assert "fraction" not in nmt("good.txt", "ref.txt", "--min-bleu", bound).err


GATES = (
    ["--min-bleu", "5"], ["--min", "chrf=5"], ["--max", "ter=99"], ["--baseline", "bad.txt"],
    ["--baseline", "bad.txt", "--fail-if-worse", "--quiet"],
)  # fmt: skip


@pytest.mark.parametrize("gate", GATES, ids=" ".join)
def test_a_gate_does_not_pass_for_the_wrong_file(nmt: Nmt, gate: list[str]) -> None:
    itself = nmt("ref.txt", "./ref.txt", *gate)
    assert (itself.code, itself.out) == (65, "")
    assert itself.err.startswith("error: `ref.txt` is scored against itself")
    write("en.txt", ENGLISH)
    write("bad.txt", ENGLISH)
    write("de.txt", GERMAN)
    foreign = nmt("en.txt", "de.txt", *gate)
    assert (foreign.code, foreign.out) == (65, "")
    seem = "error: the hypotheses seem to be in English (`en`), the reference `de.txt` in German ("
    assert foreign.err.startswith(seem)
    # A perfect translation may be the same text.
    write("copy.txt", GERMAN)
    assert nmt("copy.txt", "de.txt", *gate).code == 0


ENGLISH = ["She said that the house is on the hill and that it was not for sale at all"] * 30
GERMAN = ["Sie sagte, dass das Haus auf dem Berg ist und nicht mit dem Garten verkauft wird"] * 30
RUSSIAN = ["Она сказала, что дом на холме не продаётся"] * 30


@pytest.mark.parametrize(
    ("reference", "language"), [(GERMAN, "German (`de`)"), (RUSSIAN, "Cyrillic script")]
)
def test_score_warns_of_differing_languages(nmt: Nmt, reference: list[str], language: str) -> None:
    write("en.txt", ENGLISH)
    write("other.txt", reference)
    result = nmt("en.txt", "other.txt", "--json")
    assert result.code == 0
    assert result.err == (
        f"warning: the hypotheses seem to be in English (`en`), the reference `other.txt` in "
        f"{language}\n"
    )
    assert nmt("en.txt", "other.txt", "--quiet").err == ""
    write("same.txt", [line.replace("house", "hut").replace("Haus", "Heim") for line in reference])
    assert "seem to be" not in nmt("same.txt", "other.txt").err
    # Too few words to tell.
    write("en.txt", ENGLISH[:5])
    write("other.txt", GERMAN[:5])
    assert "seem to be" not in nmt("en.txt", "other.txt").err


def test_several_references_and_metrics_keep_their_order(nmt: Nmt) -> None:
    write("other.txt", BAD)
    result = nmt("good.txt", "ref.txt", "other.txt", "--metric", "chrf", "--metric", "ter,bleu")
    rows = [line.split() for line in result.out.splitlines()]
    names, values, signatures = zip(*rows, strict=True)
    assert names == ("chrF2", "TER", "BLEU")
    assert values[2] == f"{bleu(GOOD, REFERENCE, BAD):.2f}"
    assert all(signature.startswith("nrefs:2|") for signature in signatures)
    said = " ".join(result.err.split())
    assert "`good.txt` is scored by 2 references together: `ref.txt`, `other.txt`; if only" in said
    assert "`other.txt` is a reference, and the others are translations of several systems" in said
    assert "systems: nmt score good.txt other.txt --baseline ref.txt" in said
    assert "together" not in nmt("good.txt", "ref.txt").err


def test_same_reference_twice_counts_as_two_references(nmt: Nmt) -> None:
    assert "nrefs:2|" in nmt("ref.txt", "ref.txt", "ref.txt").out


def test_score_json_is_one_object_per_line(nmt: Nmt) -> None:
    result = nmt("good.txt", "ref.txt", "--json", "--metric", "bleu,chrf", "--baseline", "bad.txt")
    first, second = (json.loads(line) for line in result.out.splitlines())
    assert first["schema"] == second["schema"] == 1
    assert (first["metric"], first["name"]) == ("bleu", "BLEU")
    assert first["value"] == bleu(GOOD, REFERENCE)
    assert first["lines"] == 3
    assert first["interval"][0] <= first["value"] <= first["interval"][1] + 1e-9
    assert "hyp_len" in first["details"]
    (comparison,) = first["comparisons"]
    assert comparison["baseline"] == "bad.txt"
    assert comparison["difference"] == pytest.approx(bleu(GOOD, REFERENCE) - bleu(BAD, REFERENCE))
    assert 0 < comparison["p_value"] <= 1
    assert second["metric"] == "chrf"


@pytest.mark.parametrize(
    ("options", "metrics"),
    [
        (["--metric", "ter,bleu"], ["ter", "bleu"]),
        (["--paper", "--tgt-lang", "de", "--metric", "chrf"], ["chrf", "bleu-paper"]),
        (["--max", "ter=99", "--min", "chrf=1", "--min-bleu", "1"], ["bleu", "chrf", "ter"]),
        (["--min-bleu", "1", "--metric", "chrf"], ["chrf", "bleu"]),
    ],
)
def test_metrics_come_as_given_and_then_those_with_a_threshold(nmt: Nmt, options, metrics) -> None:
    result = nmt("good.txt", "ref.txt", "--json", *options)
    assert [json.loads(line)["metric"] for line in result.out.splitlines()] == metrics


def test_score_json_holds_the_result_of_every_check(nmt: Nmt) -> None:
    plain = json.loads(nmt("good.txt", "ref.txt", "--json").out)
    assert (plain["checks"], plain["passed"]) == ([], None)
    options = ("--json", "--min-bleu", "101", "--min", "chrf=1", "--baseline", "good.txt",
               "--fail-if-worse", "--p", "1")  # fmt: skip
    result = nmt("bad.txt", "ref.txt", *options)
    assert result.code == 3
    first, second = (json.loads(line) for line in result.out.splitlines())
    worse = {"option": "--fail-if-worse", "baseline": "good.txt", "passed": False}
    assert first["checks"] == [{"option": "--min-bleu", "bound": 101.0, "passed": False}, worse]
    assert second["checks"] == [{"option": "--min", "bound": 1.0, "passed": True}, worse]
    assert (first["passed"], second["passed"]) == (False, False)
    assert first["comparisons"][0]["verdict"] == "worse"
    result = nmt("bad.txt", "ref.txt", "--json", "--max", "ter=900", "--baseline", "good.txt")
    scored = json.loads(result.out)
    assert scored["checks"] == [{"option": "--max", "bound": 900.0, "passed": True}]
    assert scored["passed"] is True


def test_confidence_option_adds_an_interval(nmt: Nmt) -> None:
    plain, sure = nmt("good.txt", "ref.txt").out, nmt("good.txt", "ref.txt", "--confidence").out
    assert "[" not in plain
    value, low, high = sure.split("  ")[0].replace("[", "").replace("]", "").split()[1:]
    assert float(low.rstrip(",")) <= float(value) <= float(high)
    assert "bs:1000|seed:12345" in sure


def test_paper_option_adds_paper_bleu(nmt: Nmt) -> None:
    result = nmt("good.txt", "ref.txt", "--paper", "--tgt-lang", "de")
    first, second = result.out.splitlines()
    assert first.startswith("BLEU ")
    assert second.startswith("BLEU-paper ")
    assert "compounds:split" in second
    assert "compounds:whole" in nmt("good.txt", "ref.txt", "--paper", "--tgt-lang", "fr").out


LANGUAGES = '[languages]\nsrc = "en"\ntgt = "xnd"\n'
NDARA = ["kag mur tol wun nef rik saw bor gul thad ndok yi"] * 30


def test_references_in_the_source_language_of_the_project_are_warned_of(nmt: Nmt) -> None:
    """Where a name or the text shows it, but not where a translation is in this language, too."""
    short = ["kag mur"]
    for name, lines in (
        ("ndara", NDARA), ("english", ENGLISH), ("other", [*ENGLISH[1:], "She is here"]),
        ("out.xnd", short), ("ref.en", short), ("ref.xnd", short),
    ):  # fmt: skip
        write(name, lines)
    seems = (
        "seems to be in English (`en`), which the settings name as the source language; the target "
        "language is `xnd`: name a reference in `xnd`"
    )
    assert seems not in nmt("ndara", "english").err
    write("nmt.toml", [LANGUAGES])
    for hypotheses, reference, is_wrong in (
        ("ndara", "english", True), ("english", "other", False), ("english", "ndara", False),
        ("out.xnd", "ref.en", True), ("out.xnd", "ref.xnd", False),
    ):  # fmt: skip
        said = nmt(hypotheses, reference)
        assert (f"warning: the reference `{reference}` {seems}" in said.err) is is_wrong, said.err
    assert nmt("ndara", "english", "--min-bleu", "1").code == 65
    write("nmt.toml", [LANGUAGES, "[data]", 'test = ["ref.xnd", "ref.en"]'])
    write("out", short)
    assert f"warning: the reference `ref.en` {seems}" in nmt("out").err
    write("nmt.toml", [LANGUAGES, "[data]", 'test = ["ref.en", "ref.xnd"]'])
    assert seems not in nmt("out").err


@pytest.mark.parametrize(
    ("language", "warned"),
    [("xx", "nmt knows no language `xx`, and Moses'"), ("hr", "warning: Moses' tokeniser"),
     ("de", ""), ("pt_BR", ""), ("ja", ""), ("deu", "")],
)  # fmt: skip
def test_languages_without_rules_of_moses_are_warned_of(
    nmt: Nmt, language: str, warned: str
) -> None:
    given = ("good.txt", "ref.txt", "--tgt-lang", language, "--tokenize", "13a")
    err = " ".join(nmt(*given, "--paper").err.split())
    assert ("has no rules for" in err) == bool(warned)
    assert warned in err
    assert "has no rules for" not in nmt(*given).err


def json_lines(lines: Sequence[str]) -> list[str]:
    return [
        json.dumps({"schema": 1, "line": index, "text": line}) for index, line in enumerate(lines)
    ]


def test_json_in_place_of_translations_is_refused_with_the_command_for_text(nmt: Nmt) -> None:
    lines = [GOOD[0], "", *GOOD[2:]]
    write("json.txt", json_lines(lines))
    result = nmt("json.txt", "ref.txt")
    assert result.code == 65
    assert "`json.txt`: each line is a JSON object" in result.err
    assert "`nmt translate` writes plain text without --json" in result.err
    command = result.err.rpartition("to take it out of this text: ")[2].strip()
    subprocess.run(command, shell=True, check=True)
    assert Path("json.text.txt").read_text("utf-8").splitlines() == lines
    baseline = nmt("good.txt", "ref.txt", "--baseline", "json.txt")
    assert baseline.code == 65


def test_json_is_refused_beside_plain_text_only(nmt: Nmt) -> None:
    objects = ['{"title": "a dog"}', '{"title": "a cat"}', '{"title": "b"}']
    write("json.txt", objects)
    write("other.txt", [*objects[:2], '{"title": "c"}'])
    write("braces.txt", ["{name} comes", '{"a": 1} is JSON', "{}"])
    assert nmt("json.txt", "other.txt").code == 0
    assert nmt("braces.txt", "ref.txt").code == 0
    refused = nmt("good.txt", "json.txt")
    assert refused.code == 65
    assert "`json.txt`: each line is a JSON object" in refused.err
    assert "nmt translate" not in refused.err


def test_lowercase_and_tokenize_options_reach_the_signature(nmt: Nmt) -> None:
    out = nmt("good.txt", "ref.txt", "--lowercase", "--tokenize", "intl").out
    assert "case:lc" in out
    assert "tok:intl" in out


def test_tokenised_text_is_warned_about_on_stderr(nmt: Nmt) -> None:
    write("tokenised.txt", ["Ein Satz ."] * 100)
    result = nmt("tokenised.txt", "tokenised.txt")
    assert "look tokenised" in result.err
    assert "tokenised" not in result.out
    assert "tokenised (" not in nmt("tokenised.txt", "tokenised.txt", "--tokenize", "none").err


LAO = ["ມື້ນີ້ອາກາດດີຫຼາຍແລະທ້ອງຟ້າແຈ່ມໃສ", "ຂ້ອຍຢາກໄປຕະຫຼາດກັບແມ່ຂອງຂ້ອຍ"]
# Spaces between phrases, and a name in Latin letters.
THAI = ["วันนี้อากาศดีมาก และท้องฟ้าก็แจ่มใส", "ฉันอยากไปตลาดกับ Anna และแม่ของฉัน"]
JAPANESE = ["今日はとても天気がいいです。", "私は母と市場に行きたい。"]
CHINESE = ["今天天气很好。", "我想去市场。"]


@pytest.mark.parametrize(
    ("lines", "tokenizer"),
    [(LAO, "char"), (THAI, "char"), (JAPANESE, "char"), (CHINESE, "zh")],
    ids=["Lao", "Thai", "Japanese", "Chinese"],
)
def test_words_without_spaces_lead_to_a_tokeniser(
    nmt: Nmt, monkeypatch, lines: list[str], tokenizer: str
) -> None:
    monkeypatch.setattr("nmt_cli.scoring.unspaced.find_spec", lambda _: None)
    write("ref.lo", lines)
    result = nmt("ref.lo", "ref.lo", "--metric", "bleu,chrf")
    assert "BLEU 0.00" in result.out
    said = " ".join(result.err.split())
    assert "warning: the reference `ref.lo` has next to no spaces between words, and" in said
    assert f"use `--tokenize {tokenizer}`, or `--metric chrf`" in said
    better = nmt("ref.lo", "ref.lo", "--tokenize", tokenizer)
    assert "BLEU 100.00" in better.out
    for options in (["--metric", "chrf"], ["--tokenize", "char"], ["--tgt-lang", "zh"]):
        assert "next to no spaces" not in nmt("ref.lo", "ref.lo", *options).err


def test_words_with_spaces_lead_to_no_tokeniser(nmt: Nmt) -> None:
    """Segmented text, Korean, and text with a few names in another script."""
    segmented = ["今天 天气 很 好 。", "ມື້ນີ້ ອາກາດ ດີ ຫຼາຍ ແລະ ທ້ອງຟ້າ ແຈ່ມໃສ"]
    for line in (*segmented, "오늘은 날씨가 매우 좋습니다.", "Wir fahren nach 北京 und 上海."):
        write("ref.txt", [line])
        assert "next to no spaces" not in nmt("ref.txt", "ref.txt").err


def test_a_tokenised_reference_is_named(nmt: Nmt) -> None:
    write("tokenised.txt", ["Ein Satz ."] * 100)
    write("plain.txt", ["Ein Satz."] * 100)
    err = nmt("plain.txt", "tokenised.txt").err
    assert "warning: the reference `tokenised.txt` looks tokenised" in err
    assert "--tokenize" not in err
    assert "or use `--tokenize none`" in nmt("tokenised.txt", "tokenised.txt").err


def test_references_in_another_order_are_warned_about(nmt: Nmt) -> None:
    words = random.Random(2)
    lines = [
        " ".join("".join(words.choices("aeioubdgklmnrst", k=7)) for _ in range(6))
        for _ in range(50)
    ]
    write("hyp.txt", lines)
    write("shifted.txt", [*lines[1:], lines[0]])
    result = nmt("hyp.txt", "shifted.txt")
    assert result.code == 0
    assert re.search(
        r"orders \(shifted by 1 line\): line (\d+) of the hypotheses resembles line (\d+) of the",
        result.err,
    )
    # The shifted line is found where the reference has it.
    found = re.search(r"line (\d+) of the hypotheses resembles line (\d+) of", result.err)
    assert found is not None
    assert lines[int(found[1]) - 1] == [*lines[1:], lines[0]][int(found[2]) - 1]
    write("gap.txt", [*lines[:20], *lines[21:], "ende"])
    assert re.search(
        r"shifted against each other from line \d+ to \d+, by 1 line: "
        r"line 22 of the hypotheses resembles line 21 of the reference",
        nmt("hyp.txt", "gap.txt").err,
    )
    write("similar.txt", [line[: len(line) // 2] for line in lines])
    assert "orders" not in nmt("hyp.txt", "similar.txt").err


# -- what it reads -------------------------------------------------------------------------------


def test_score_reads_stdin_only_once(nmt: Nmt) -> None:
    result = nmt("-", "-")
    assert result.code == 2
    assert "only one" in result.err


def test_score_of_one_file_uses_the_test_set_as_reference(nmt: Nmt) -> None:
    Path("nmt.toml").write_text('[data]\ntest = ["absent.txt", "ref.txt"]\n', "utf-8")
    assert nmt("good.txt").out == nmt("good.txt", "ref.txt").out


class FakeTranslation(NamedTuple):
    text: str


beams: list[int] = []


@pytest.fixture
def translated_lines(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """A translator that knows two sentences by heart; the list tells what it was asked."""
    asked: list[tuple[str, str]] = []
    beams.clear()

    class Translator:
        def __init__(self, path: Path) -> None:
            self.path = path
            self.config = with_values(Config(), {"search.beam": 7})

        @classmethod
        def load(cls, path: str, device: str, **options: object) -> Translator:
            assert (device, options["precision"]) == ("cpu", "float32")
            return cls(Path(path))

        def translate(
            self, lines: Sequence[str], *, search: SearchConfig
        ) -> Iterator[FakeTranslation]:
            for line, translation in zip(lines, GOOD, strict=True):
                asked.append((str(self.path), line))
                beams.append(search.beam)
                yield FakeTranslation(translation)

    module = types.ModuleType("nmt_cli.translation.translator")
    module.Translator = Translator  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nmt_cli.translation.translator", module)
    # What tells a model directory before torch is loaded.
    for model in ("m", "another"):
        Path(model).mkdir()
        for name in ("config.toml", "manifest.json"):
            Path(model, name).touch()
    return asked


def test_a_model_beside_a_finished_translation_is_refused(nmt: Nmt) -> None:
    write("hyp.txt", ["one"])
    result = nmt("hyp.txt", "ref.txt", "--model", "nothing")
    assert result.code == 2
    assert "--model cannot be combined with a hypothesis" in result.err


def test_score_without_arguments_translates_the_test_set(
    nmt: Nmt, translated_lines: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []
    write("src.txt", ["one", "two", "three"])
    Path("nmt.toml").write_text(
        '[languages]\ntgt = "de"\n[data]\ntest = ["src.txt", "ref.txt"]\n[paths]\nmodel = "m"\n',
        "utf-8",
    )
    result = nmt("--paper")
    assert result.code == 0
    assert result.out == nmt("good.txt", "ref.txt", "--paper").out
    assert translated_lines == [("m", "one"), ("m", "two"), ("m", "three")]
    nmt("--model", "another")
    assert translated_lines[-1] == ("another", "three")
    assert set(beams) == {7}  # The model's own setting, until the user says otherwise.
    nmt("--set", "search.beam=2")
    assert beams[-1] == 2
    assert nmt("--min-bleu", "99").code == 3
    monkeypatch.setattr("nmt_cli.cli.environment.use_threads", threads.append)
    assert nmt("--threads", "1", "--junit", "score.xml").code == 0
    assert threads == [1]
    suite = Xml.parse("score.xml").getroot()[0]
    assert suite.get("name") == "test set"


def test_several_models_are_refused_with_the_commands_that_score_an_ensemble(nmt: Nmt) -> None:
    result = nmt("--model", "m", "--model", "my model")
    assert result.code == 2
    assert "--model is given 2 times, and `nmt score` uses one model" in result.err
    assert "`nmt translate --model m --model 'my model' SRC -o FILE`" in result.err


def test_hints_about_a_test_set_are_commands_that_translate_it(
    nmt: Nmt, translated_lines: list[tuple[str, str]]
) -> None:
    write("src.txt", ["one", "two", "three"])
    command = 'nmt score --model m --set \'data.test=["src.txt", "ref.txt"]\''
    result = nmt("src.txt", "ref.txt", "--model", "m")
    assert result.code == 2
    assert f"to translate `src.txt` and score that: `{command}`" in result.err
    assert nmt(*shlex.split(command)[2:]).code == 0
    assert translated_lines == [("m", "one"), ("m", "two"), ("m", "three")]
    shown = f"`{command.replace('src.txt', 'SRC').replace('ref.txt', 'REFERENCE')}`"
    for arguments in (["--model", "m"], ["src.txt", "--model", "m"]):
        result = nmt(*arguments)
        assert (result.code, shown in result.err) == (2, True)
    assert "`nmt score --set 'data.test=[" in nmt().err
    assert "`nmt score src.txt REFERENCE`" in nmt("src.txt").err


def test_threads_beside_a_finished_translation_are_refused(nmt: Nmt) -> None:
    result = nmt("good.txt", "ref.txt", "--threads", "2")
    assert result.code == 2
    assert "--threads is for the model" in result.err


def test_score_translates_the_test_split_of_the_corpus(
    nmt: Nmt, translated_lines: list[tuple[str, str]]
) -> None:
    Path("data").mkdir()
    write("data/test.en", ["one", "two", "three"])
    write("data/test.de", Path("ref.txt").read_text("utf-8").splitlines())
    Path("nmt.toml").write_text(
        '[languages]\nsrc = "en"\ntgt = "de"\n[data]\ntest_split = 3\n'
        '[paths]\ncorpus = "data"\nmodel = "m"\n',
        "utf-8",
    )
    result = nmt("--paper")
    assert result.code == 0
    assert result.out == nmt("good.txt", "ref.txt", "--paper").out
    assert translated_lines == [("m", "one"), ("m", "two"), ("m", "three")]


@pytest.mark.parametrize("level", ["1.1", "-0.1"])
def test_a_significance_level_is_a_probability(nmt: Nmt, level: str) -> None:
    result = nmt("good.txt", "ref.txt", "--baseline", "bad.txt", "--p", level)
    assert result.code == 2
    assert "`--p`" in result.err


def test_a_misaligned_test_set_is_not_translated(
    nmt: Nmt, translated_lines: list[tuple[str, str]]
) -> None:
    write("src.txt", ["one", "two"])
    Path("nmt.toml").write_text('[data]\ntest = ["src.txt", "ref.txt"]\n', "utf-8")
    result = nmt()
    assert result.code == 65
    assert "src.txt: 2, ref.txt: 3" in result.err
    assert translated_lines == []


# -- exit codes ----------------------------------------------------------------------------------


def test_lower_ter_is_a_significant_improvement(nmt: Nmt) -> None:
    write("ref.txt", REFERENCE * 40)
    write("good.txt", GOOD * 40)
    write("bad.txt", BAD * 40)
    out = nmt("good.txt", "ref.txt", "--metric", "ter", "--baseline", "bad.txt").out
    assert "TER -" in out
    assert out.endswith(": better\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["absent", "ref.txt", "gone"], 66, "`gone`"),
        ([".", "ref.txt"], 66, "directory"),
        ([], 2, "no reference"),
        (["good.txt"], 2, "no reference"),
        (["good.txt", "ref.txt", "--metric", "blue"], 2, "did you mean `bleu`?"),
        (["good.txt", "ref.txt", "--min", "blue=3"], 2, "did you mean `bleu`?"),
        (["good.txt", "ref.txt", "--min", "bleu"], 2, "a number"),
        (["good.txt", "ref.txt", "--min-bleu", "nan"], 2, "--min-bleu nan: a number is needed"),
        (["good.txt", "ref.txt", "--min", "ter=3"], 2, "use --max"),
        (["good.txt", "ref.txt", "--max", "bleu=3"], 2, "use --min"),
        (["good.txt", "ref.txt", "--paper"], 2, "--tgt-lang"),
        (["good.txt", "ref.txt", "--tokenize", "13b"], 2, "did you mean `13a`?"),
        (["good.txt", "ref.txt", "--fail-if-worse"], 2, "--fail-if-worse needs --baseline FILE"),
        (["good.txt", "ref.txt", "--p", "0.01"], 2, "--p needs --baseline FILE"),
        (
            ["good.txt", "ref.txt", "--set", "search.seed=2"],
            2,
            "--set search.seed is for the model",
        ),
        (["good.txt", "ref.txt", "--seed", "2"], 2, "the seed of sacreBLEU, 12345"),
        (["good.txt", "ref.txt", "--beam", "2"], 2, "the test set, not a finished translation"),
        (["good.txt", "ref.txt", "--each"], 2, "--each needs --pairs SRC TGT"),
        (["--pairs", "good.txt", "ref.txt", "--min", "bleu=3"], 2, "--min: --pairs computes no"),
        (["--n-best-list", "a", "b", "--min-bleu", "0"], 2, "--min-bleu: --n-best-list computes"),
        (["--n-best-list", "a", "b", "--json"], 2, "--json cannot be combined with --n-best-list"),
    ],
)
def test_score_refuses_wrong_arguments_and_files(
    nmt: Nmt, arguments: list[str], code: int, message: str
) -> None:
    result = nmt(*arguments)
    assert result.code == code
    assert result.out == ""
    assert message in result.err
    assert "bug" not in result.err


def test_empty_hypotheses_are_warned_of(nmt: Nmt) -> None:
    write("gap.txt", [*REFERENCE[:2], " "])
    said = nmt("gap.txt", "ref.txt").err
    assert "warning: 1 line of `gap.txt` is empty (line 3), but the references have text" in said
    write("gaps.txt", ["", *REFERENCE[1:2], ""])
    said = nmt("gaps.txt", "ref.txt").err
    assert "warning: 2 lines of `gaps.txt` are empty (lines 1, 3), but the references" in said
    # One of the references lacks the line, too.
    assert "empty" not in nmt("gap.txt", "ref.txt", "gap.txt").err
    assert "empty" not in nmt("good.txt", "ref.txt").err


def test_empty_lines_of_the_references_are_warned_of(nmt: Nmt) -> None:
    many = [*REFERENCE, "", *9 * ["x"]]
    write("hyp.txt", many)
    write("gaps.txt", [*REFERENCE, "", *3 * ["x"], *6 * [" "]])
    said = nmt("hyp.txt", "gaps.txt").err
    assert "warning: 6 lines of `gaps.txt` are empty (lines 8, 9, 10, 11, 12, ...), but" in said
    write("gap.txt", [*REFERENCE[:2], ""])
    said = nmt("good.txt", "gap.txt").err
    assert "warning: 1 line of `gap.txt` is empty (line 3), but the hypotheses have" in said
    # Another reference has the line, or the translation is empty, too.
    for names in (("good.txt", "gap.txt", "ref.txt"), ("hyp.txt", "hyp.txt")):
        assert "empty" not in nmt(*names).err
