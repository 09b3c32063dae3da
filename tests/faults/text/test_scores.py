"""`nmt score`: one score for one text wherever it comes from, equal to sacreBLEU's, and bounds."""

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from faults.support.forked import Ended, forked
from faults.tally import fault
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER

from nmt_cli.errors import DataError, UsageError
from nmt_cli.scoring import score

Checks = Callable[..., None]

REFERENCE = ["Der Hund schläft nicht im Haus.", "Die Katze ist weiß.", "Ein US-Präsident spricht."]
GOOD = ["Der Hund schläft nicht im Garten.", "Die Katze ist weiß.", "Ein US-Präsident spricht."]
BAD = ["Hund schlafen.", "Katze weiß.", "Präsident."]
# Line ends of other programs, bytes that are no UTF-8, controls, no newline at the end.
HOSTILE = (
    b"\xef\xbb\xbfeins zwei\rdrei vier\n"
    b"fuenf\xc2\x85sechs sieben\xe2\x80\xa8acht neun\r\n"
    b"kaputt \xff\xfe hier und da\n"
    b"\n"
    b"a\x0bb\x0cc\x1cd e f g \x00 \x1b[31mrot"
)
HOSTILE_REFERENCE = ["eins zwei drei vier", "fuenf sechs sieben", "kaputt hier und da", "", "x"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of its own with the files that every test wants."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    for name, lines in (("ref.txt", REFERENCE), ("good.txt", GOOD), ("bad.txt", BAD)):
        write(name, lines * 40)
    return tmp_path


def write(name: str, lines: Sequence[str]) -> None:
    Path(name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def nmt_score(*arguments: str, stdin: bytes = b"") -> Ended:
    return forked("score", *arguments, stdin=stdin)


def bleu(hypotheses: Sequence[str]) -> float:
    result: float = BLEU().corpus_score(hypotheses * 40, [REFERENCE * 40]).score
    return result


# -- where the text comes from ---------------------------------------------------------------------


@fault("Q1")
def test_score_of_stdin_and_compressed_files_is_the_same(checks: Checks) -> None:
    ways = {
        "plain": HOSTILE, "gz": gzip.compress(HOSTILE), "xz": lzma.compress(HOSTILE),
        "bz2": bz2.compress(HOSTILE),
    }  # fmt: skip
    write("five.txt", HOSTILE_REFERENCE)
    metrics = ("five.txt", "--json", "--metric", "bleu,chrf,ter")
    results = []
    for name, data in ways.items():
        Path(f"named-{name[::-1]}").write_bytes(data)
        results += [
            nmt_score(f"named-{name[::-1]}", *metrics),
            nmt_score("-", *metrics, stdin=data),
        ]
    for result in results:
        assert (result.code, result.out) == (0, results[0].out)
        assert b"not UTF-8" in result.err
        checks()
    assert json.loads(results[0].out.splitlines()[1])["value"] > 10


# -- what cannot be scored -------------------------------------------------------------------------


@fault("Q2")
def test_score_refuses_different_line_counts(checks: Checks) -> None:
    write("short.txt", REFERENCE[:2])
    write("empty.txt", [])
    for name, count in (("short.txt", 2), ("empty.txt", 0)):
        result = nmt_score("good.txt", name)
        assert (result.code, result.out) == (65, b"")
        assert f"good.txt: 120, {name}: {count}".encode() in result.err
        checks()
    with pytest.raises(DataError, match="the hypotheses: 1, reference 1: 1, reference 2: 2"):
        score(["a"], [["a"], ["a", "b"]])
    with pytest.raises(DataError, match="baseline `old`: 3"):
        score(["a"], [["a"]], baselines={"old": ["a", "b", "c"]})
    checks(2)


@fault("Q2")
def test_score_refuses_empty_files(checks: Checks) -> None:
    write("empty.txt", [])
    result = nmt_score("empty.txt", "empty.txt")
    assert result.code == 65
    assert b"nothing to score" in result.err
    with pytest.raises(DataError, match="nothing to score"):
        score([], [[]])
    with pytest.raises(UsageError, match="at least one reference"):
        score(["a"], [])
    checks(3)


@fault("Q2")
@pytest.mark.parametrize("hypothesis", ["", "a", "..."])
def test_score_accepts_empty_lines(hypothesis: str, checks: Checks) -> None:
    for result in score([hypothesis, "a"], [["", ""]], ["bleu", "chrf", "chrf++", "ter"]):
        assert result.value == result.value
        checks()


# -- equal to sacreBLEU's API ----------------------------------------------------------------------

words = st.sampled_from(
    ["der", "Die", "das", "Hund", "bell-t", "Ä", "U\u00a0S", ",", ".", "12", "漢"]
)
lines = st.lists(words, max_size=8).map(" ".join)


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    """Hypotheses and one to three references of as many lines; any of them may be empty lines."""
    count = draw(st.integers(1, 12))
    texts = [
        draw(st.lists(lines, min_size=count, max_size=count))
        for _ in range(1 + draw(st.integers(1, 3)))
    ]
    return texts[0], texts[1:]


@pytest.mark.slow
@fault("Q3")
def test_scores_and_signatures_equal_sacrebleus(checks: Checks) -> None:
    @settings(max_examples=200, phases=[Phase.generate])
    @given(corpora(), st.booleans(), st.sampled_from(["", "none", "intl", "char", "zh"]))
    def equal(corpus: tuple[list[str], list[list[str]]], lowercase: bool, tokenize: str) -> None:
        engines = [
            BLEU(lowercase=lowercase, tokenize=tokenize or None),
            CHRF(lowercase=lowercase),
            CHRF(lowercase=lowercase, word_order=2),
            TER(),
        ]
        metrics = ["bleu", "chrf", "chrf++", "ter"]
        ours = score(*corpus, metrics, lowercase=lowercase, tokenize=tokenize)
        for score_, engine in zip(ours, engines, strict=True):
            expected = engine.corpus_score(*corpus)
            assert (score_.name, score_.value) == (expected.name, expected.score)
            assert score_.signature == str(engine.get_signature())

    equal()
    checks(200)


@fault("Q3")
def test_signature_is_printed_with_the_score() -> None:
    result = nmt_score("good.txt", "ref.txt")
    start = f"BLEU {bleu(GOOD):.2f}  nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:"
    assert result.out.decode().startswith(start)


# -- bounds ----------------------------------------------------------------------------------------


@fault("Q4")
@pytest.mark.parametrize("option", [["--min-bleu", "{}"], ["--min", "bleu={}"]])
def test_score_bound_is_compared_with_the_exact_value(option: list[str], checks: Checks) -> None:
    value = bleu(GOOD)
    kept = nmt_score("good.txt", "ref.txt", *(part.format(repr(value)) for part in option))
    missed = nmt_score("good.txt", "ref.txt", *(part.format(repr(value + 1e-6)) for part in option))
    assert (kept.code, missed.code) == (0, 3)
    assert missed.out == kept.out
    assert b"is below" in missed.err
    checks(2)


@fault("Q4")
def test_all_missed_score_bounds_are_named(checks: Checks) -> None:
    bounds = ("--min", "chrf=99", "--min", "bleu=30", "--max", "ter=1")
    result = nmt_score("bad.txt", "ref.txt", *bounds, "--json")
    assert result.code == 3
    for name in (b"chrF2", b"BLEU", b"TER", b"is above 1"):
        assert name in result.err
        checks()
    values = [json.loads(line)["metric"] for line in result.out.splitlines()]
    assert values == ["chrf", "bleu", "ter"]
    Path("same.txt").write_bytes(Path("ref.txt").read_bytes())
    assert nmt_score("same.txt", "ref.txt", *bounds).code == 0
    checks(2)


@fault("Q4")
def test_missed_score_bound_is_a_github_annotation(
    monkeypatch: pytest.MonkeyPatch, checks: Checks
) -> None:
    assert b"::error" not in nmt_score("bad.txt", "ref.txt", "--min-bleu", "99").err
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    shown = nmt_score("bad.txt", "ref.txt", "--min-bleu", "99").err
    assert b"::error title=nmt score::bad.txt: BLEU" in shown
    checks(2)


@fault("Q4")
def test_significantly_worse_system_fails(checks: Checks) -> None:
    better = nmt_score("good.txt", "ref.txt", "--baseline", "bad.txt", "--fail-if-worse")
    assert better.code == 0
    assert better.out.endswith(b": better\n")
    Path("same.txt").write_bytes(Path("bad.txt").read_bytes())
    same = nmt_score("bad.txt", "ref.txt", "--baseline", "same.txt", "--fail-if-worse")
    assert same.code == 0
    assert same.out.endswith(b"p = 1.0000: no significant difference\n")
    worse = nmt_score("bad.txt", "ref.txt", "--baseline", "good.txt", "--fail-if-worse")
    assert worse.code == 3
    assert b"significantly worse than good.txt" in worse.err
    sure = ("--baseline", "good.txt", "--fail-if-worse", "--p", "0.0001")
    assert nmt_score("bad.txt", "ref.txt", *sure).code == 0
    checks(4)


# -- what it needs ---------------------------------------------------------------------------------


@fault("Q5")
def test_comparing_files_imports_no_torch(tmp_path: Path) -> None:
    """That is a second and a half; the paper's tokeniser is not needed either."""

    program = (
        "import sys; from nmt_cli.cli import main; "
        "code = main(['score', 'good.txt', 'ref.txt', '--metric', 'bleu,chrf', '--confidence']); "
        "sys.exit(code or ' '.join({'torch', 'rich', 'sacremoses'} & set(sys.modules)) or 0)"
    )
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "BLEU" in done.stdout
