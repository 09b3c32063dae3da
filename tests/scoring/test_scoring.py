"""Scores equal sacreBLEU's in every digit, and the paper's BLEU equals that of its scripts."""

from __future__ import annotations

import csv
import json
import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lanes import first_fast
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

from nmt_cli.errors import UnavailableError, UsageError
from nmt_cli.scoring import (
    METRICS,
    looks_tokenized,
    paper_text,
    sacrebleu_adapter,
    score,
    split_compounds,
)

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
WMT21 = DATA / "wmt" / "wmt21-en-de"
NEWSTEST = DATA / "wmt" / "newstest2014-full"
VECTORS = DATA / "vectors" / "sacrebleu" / "test_vectors.json"

needs_wmt21 = pytest.mark.skipif(
    not WMT21.is_dir(), reason="WMT21 en-de is not beside the checkout"
)
needs_newstest2014 = pytest.mark.skipif(
    not NEWSTEST.is_dir(), reason="newstest2014 is not beside the checkout"
)
needs_vectors = pytest.mark.skipif(not VECTORS.is_file(), reason="sacreBLEU's vectors are not here")

HYPOTHESES = ["The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."]
REFERENCES = [
    ["The dog bit the man.", "It was not unexpected.", "The man bit him first."],
    ["The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."],
]


def wmt21_lines(name: str) -> list[str]:
    return (WMT21 / name).read_text("utf-8").split("\n")[:-1]


def wmt21_reference(letter: str) -> list[str]:
    return wmt21_lines(f"newstest2021.en-de.ref.{letter}.de")


def wmt21_system(name: str) -> list[str]:
    return wmt21_lines(f"outputs/newstest2021.en-de.hyp.{name}.de")


def wmt21_systems() -> list[str]:
    paths = (WMT21 / "outputs").glob("*") if WMT21.is_dir() else []
    return sorted(path.name.split(".hyp.")[1].removesuffix(".de") for path in paths)


# -- equal to what others published --------------------------------------------------------------


@needs_wmt21
@pytest.mark.parametrize("system", first_fast(wmt21_systems(), 2))
def test_published_wmt21_scores_are_reproduced(system: str) -> None:
    with (WMT21 / "automatic-scores.tsv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["pair"] == "en-de"]
    published = {row["metric"]: float(row["score"]) for row in rows if row["system"] == system}
    references = {letter: [wmt21_reference(letter)] for letter in "ACD"}
    references["all"] = [wmt21_reference(letter) for letter in "ACD"]
    ours = {
        f"{metric}-{kind}": score_.value
        for kind, lines in references.items()
        for metric, score_ in zip(
            ("bleu", "chrf"), score(wmt21_system(system), lines, ["bleu", "chrf"]), strict=True
        )
    }
    assert len(published) == 8
    assert ours == pytest.approx(published, abs=1e-6, rel=0)


# From Moses' own Perl scripts as of June 2017: replace-unicode-punctuation, tokenizer -l de, the
# substitution for compounds, multi-bleu.
MULTI_BLEU = {
    ("Facebook-AI", "A"): (32.23, "63.4/37.9/25.4/17.7", 29340, 28891),
    ("Facebook-AI", "C"): (43.25, "71.1/48.7/36.3/27.8", 29340, 29322),
    ("ICL", "A"): (25.69, "59.4/32.0/19.6/12.8", 28252, 28891),
    ("ICL", "C"): (31.64, "65.0/38.6/25.8/18.1", 28252, 29322),
    ("Online-G", "A"): (28.19, "61.1/34.7/22.1/14.7", 28259, 28891),
    ("Online-G", "C"): (34.71, "67.4/42.2/29.0/20.5", 28259, 29322),
    ("UEdin", "A"): (30.73, "61.9/36.5/24.0/16.5", 29332, 28891),
    ("UEdin", "C"): (39.15, "68.5/45.0/32.2/23.7", 29332, 29322),
}


@needs_wmt21
@pytest.mark.parametrize(("system", "letter"), MULTI_BLEU)
def test_paper_bleu_equals_the_papers_scripts(system: str, letter: str) -> None:
    value, precisions, hypothesis_length, reference_length = MULTI_BLEU[system, letter]
    references = [wmt21_reference(letter)]
    (ours,) = score(wmt21_system(system), references, ["bleu-paper"], tgt_lang="de")
    assert round(ours.value, 2) == value
    assert ours.details.startswith(precisions)
    assert f"hyp_len = {hypothesis_length} ref_len = {reference_length})" in ours.details


# The same scripts without the substitution, and on the paper's test sets.
WHOLE_COMPOUNDS = {
    ("Facebook-AI", "A"): (31.62, "62.7/37.4/24.8/17.2", 28624, 28271),
    ("ICL", "C"): (31.03, "64.6/38.2/25.3/17.6", 27498, 28670),
    ("Online-G", "A"): (27.26, "60.7/34.2/21.4/14.2", 27363, 28271),
    ("UEdin", "C"): (38.46, "68.2/44.7/31.8/23.4", 28410, 28670),
}
NEWSTEST2014 = {
    ("de", "bleu-paper"): (65.89, "100.0/86.7/72.6/58.3", 55275, 64496),
    ("de", "bleu-tokenized"): (65.39, "100.0/86.4/71.9/57.3", 54067, 63078),
    ("fr", "bleu-paper"): (65.87, "100.0/86.7/72.6/58.5", 69496, 81149),
    ("fr", "bleu-tokenized"): (65.87, "100.0/86.7/72.6/58.5", 69496, 81149),
}
OFFICIAL = {"bleu-paper": (65.93, 50830, 59301), "bleu-tokenized": (65.44, 49722, 57987)}


def thinned(lines: list[str]) -> list[str]:
    """Something to score: each line without every seventh word, another one in each."""
    return [
        " ".join(
            word for word_index, word in enumerate(line.split(" ")) if (word_index + line_index) % 7
        )
        for line_index, line in enumerate(lines)
    ]


def newstest2014(language: str) -> list[str]:
    name = f"newstest2014.en-{language}.{language}"
    return (NEWSTEST / name).read_text("utf-8").split("\n")[:-1]


@needs_wmt21
@pytest.mark.parametrize(("system", "letter"), WHOLE_COMPOUNDS)
def test_tokenized_bleu_equals_moses(system: str, letter: str) -> None:
    value, precisions, hypothesis_length, reference_length = WHOLE_COMPOUNDS[system, letter]
    references = [wmt21_reference(letter)]
    (ours,) = score(wmt21_system(system), references, ["bleu-tokenized"], tgt_lang="de")
    assert round(ours.value, 2) == value
    assert ours.details.startswith(precisions)
    assert f"hyp_len = {hypothesis_length} ref_len = {reference_length})" in ours.details


@needs_newstest2014
@pytest.mark.parametrize(("language", "metric"), NEWSTEST2014)
def test_scores_of_the_papers_test_sets_equal_moses(language: str, metric: str) -> None:
    value, precisions, hypothesis_length, reference_length = NEWSTEST2014[language, metric]
    lines = newstest2014(language)
    assert len(lines) == 3_003
    (ours,) = score(thinned(lines), [lines], [metric], tgt_lang=language)
    assert round(ours.value, 2) == value
    assert ours.details.startswith(precisions)
    assert f"hyp_len = {hypothesis_length} ref_len = {reference_length})" in ours.details


@needs_newstest2014
def test_scores_of_the_official_test_set_part_equal_moses() -> None:
    numbers = (NEWSTEST / "wmt14-official-2737.line-numbers.txt").read_text().split()
    everything = newstest2014("de")
    lines = [everything[int(number) - 1] for number in numbers]
    assert len(lines) == 2_737
    results = score(thinned(lines), [lines], list(OFFICIAL), tgt_lang="de")
    for ours, (value, hypothesis_length, reference_length) in zip(
        results, OFFICIAL.values(), strict=True
    ):
        assert round(ours.value, 2) == value
        assert f"hyp_len = {hypothesis_length} ref_len = {reference_length})" in ours.details


@needs_vectors
def test_bleu_of_sacrebleus_test_vectors() -> None:
    vectors = json.loads(VECTORS.read_text("utf-8"))
    bleu = [
        (hypotheses, references, options, expected)
        for hypotheses, references, options, expected in vectors["test_bleu"][
            "test_corpus_bleu_cases"
        ]
        if set(options) <= {"tokenize", "lowercase"}
    ]
    assert len(bleu) >= 4
    for hypotheses, references, options, expected in bleu:
        (ours,) = score(hypotheses, references, ["bleu"], **options)
        assert ours.value == pytest.approx(expected, abs=1e-6)
    for hypotheses, reference, expected in vectors["test_chrf"]["test_cases_effective_order"]:
        (ours,) = score(hypotheses, [reference], ["chrf"])
        assert ours.value == pytest.approx(expected, abs=1e-4)
    for hypotheses, reference, expected in vectors["test_ter"]["test_cases"]:
        (ours,) = score(hypotheses, [reference], ["ter"])
        assert ours.value == pytest.approx(100 * expected, abs=0.1)


# -- equal to sacreBLEU's API --------------------------------------------------------------------


def noisy(lines: list[str], seed: int, dropped: float) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(w for w in line.split() if chance.random() > dropped) for line in lines]


def made_up_reference() -> list[str]:
    chance = random.Random(3)
    words = ["der", "die", "das", "Hund", "bellt", "und", "schläft", "nicht"]
    return [" ".join(chance.choices(words, k=9)) + "." for _ in range(60)]


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_interval_and_p_values_equal_sacrebleus(metric: str) -> None:
    reference = made_up_reference()
    baseline, close, far = (noisy(reference, n, p) for n, p in ((1, 0.2), (2, 0.22), (3, 0.3)))
    engine = {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()}[metric]
    systems = [("baseline", baseline), ("close", close), ("far", far)]
    _, expected = PairedTest(systems, {metric: engine}, [reference], "bs", n_samples=200)()
    of_baseline, of_close, of_far = expected[engine.corpus_score(close, [reference]).name]
    p_values = []
    for lines, theirs in ((close, of_close), (far, of_far)):
        (ours,) = score(
            lines, [reference], [metric], baselines={"baseline": baseline}, resamples=200
        )
        assert ours.interval is not None
        low, high = ours.interval
        # sacreBLEU resamples in float32, whose seventh digit is lost.
        assert (high - low) / 2 == pytest.approx(theirs.ci, abs=1e-4)
        assert low < ours.value < high
        (comparison,) = ours.comparisons
        assert comparison.value == of_baseline.score
        assert comparison.difference == pytest.approx(theirs.score - of_baseline.score)
        assert comparison.p_value == pytest.approx(theirs.p_value, abs=1e-9)
        p_values.append(comparison.p_value)
    assert p_values[0] > 0.1 > p_values[1]


def test_signature_with_resamples_is_sacrebleus() -> None:
    engine = BLEU()
    engine.corpus_score(HYPOTHESES, REFERENCES, n_bootstrap=50)
    (ours,) = score(HYPOTHESES, REFERENCES, confidence=True, resamples=50)
    assert ours.signature == str(engine.get_signature())
    assert "bs:50|seed:12345" in ours.signature
    assert ours.interval is not None
    assert score(HYPOTHESES, REFERENCES)[0].interval is None


def test_significance_of_a_system_against_itself_is_none() -> None:
    (ours,) = score(HYPOTHESES, REFERENCES, baselines={"itself": HYPOTHESES}, resamples=100)
    (comparison,) = ours.comparisons
    assert comparison.difference == 0
    assert comparison.p_value > 0.9


def test_bootstrap_draws_depend_on_the_seed() -> None:
    reference = [made_up_reference()]
    system = noisy(reference[0], 1, 0.3)
    intervals = [
        score(system, reference, confidence=True, resamples=100, seed=seed)[0].interval
        for seed in (1, 1, 2)
    ]
    assert intervals[0] == intervals[1] != intervals[2]


def test_bootstrap_scores_do_not_depend_on_chunk_size(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = [made_up_reference(), noisy(made_up_reference(), 8, 0.1)]
    system = noisy(reference[0], 1, 0.3)
    whole = score(system, reference, list(METRICS), tgt_lang="de")
    monkeypatch.setattr(sacrebleu_adapter, "LINES_AT_ONCE", 7)
    assert score(system, reference, list(METRICS), tgt_lang="de") == whole


# -- the paper's BLEU ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a-b-c", "a ##AT##-##AT## b-c"),
        ("aa-bb-cc", "aa ##AT##-##AT## bb ##AT##-##AT## cc"),
        ("a-b-c-d", "a ##AT##-##AT## b-c ##AT##-##AT## d"),
        ("a-ü-c", "a ##AT##-##AT## ü ##AT##-##AT## c"),
        ("- a - b -c d-", "- a - b -c d-"),
        ("a--b", "a ##AT##-##AT## -b"),
        ("US-Präsident", "US ##AT##-##AT## Präsident"),
        ("10–12", "10–12"),
        ("", ""),
    ],
)
def test_split_compounds_at_hyphens(line: str, expected: str) -> None:
    assert split_compounds(line) == expected


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_split_compounds_only_inserts(line: str) -> None:
    parts = split_compounds(line).split(" ##AT##-##AT## ")
    if "##AT##" not in line:
        assert "-".join(parts) == line
        assert all(left[-1:].strip() and right[:1].strip() for left, right in pairwise(parts))


def test_paper_text_is_tokenised_and_split_for_german_only() -> None:
    line = "Der US-Präsident sagt: „Nein“…"
    assert paper_text([line], "de") == ["Der US ##AT##-##AT## Präsident sagt : „ Nein &quot; ..."]
    assert paper_text(["l'arc-en-ciel, vite!"], "fr") == ["l&apos; arc-en-ciel , vite !"]


def test_paper_text_keeps_the_lines() -> None:
    hostile = ["a\rb.", "", "c\x0b d\x85e", "\u2028", "x\r"]
    assert len(paper_text(hostile, "de")) == len(hostile)
    assert all(len(line.split("\n")) == 1 for line in paper_text(hostile, "de"))


def test_paper_bleu_is_cased_and_not_smoothed() -> None:
    assert score(["der Hund"], [["der Hund"]], ["bleu-paper"], tgt_lang="de")[0].value == 0
    reference = [["Der Hund schläft hier nicht"]]
    cased = score(["der hund schläft hier nicht"], reference, ["bleu-paper"], tgt_lang="de")[0]
    lowercase = score(
        ["der hund schläft hier nicht"],
        reference,
        ["bleu-paper"],
        tgt_lang="de",
        lowercase=True,
    )[0]
    assert cased.value == 0
    assert lowercase.value == pytest.approx(100)
    assert "case:mixed" in cased.signature
    assert "case:lc" in lowercase.signature


def test_paper_signature_names_each_step() -> None:
    german, french, other = (
        score(["x"], [["x"]], ["bleu-paper"], tgt_lang=code)[0].signature
        for code in ("de_AT", "fr", "deu_Latn")
    )
    assert other == german
    assert "tok:moses-de|smooth:none|punct:replaced|compounds:split|version:nmt-" in german
    assert "tok:moses-fr|smooth:none|punct:replaced|compounds:whole|version:nmt-" in french
    assert "+sacremoses-" in german
    assert "+sacrebleu-" in german
    (whole,) = score(["x-y"], [["x-y"]], ["bleu-tokenized"], tgt_lang="de")
    assert whole.name == "BLEU-tokenized"
    assert whole.signature == german.replace("compounds:split", "compounds:whole")


# -- what cannot be scored -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": ["blue"]}, "unknown metric `blue`"),
        ({"tokenize": "13b"}, "BLEU has no tokenizer `13b`"),
        ({"metrics": ["bleu-paper"]}, "the paper's BLEU needs the language"),
        ({"metrics": ["bleu-tokenized"]}, "tokenised BLEU needs the language"),
        ({"confidence": True, "resamples": 0}, "at least one resample"),
    ],
)
def test_wrong_metric_options_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        score(["a"], [["a"]], **arguments)  # type: ignore[arg-type]
    assert caught.value.exit_code == 2


def test_unknown_metric_suggests_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        score(["a"], [["a"]], ["chr++"])
    assert caught.value.hint == "did you mean `chrf++`?"


def test_tokenizer_that_is_not_installed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from sacrebleu.tokenizers import tokenizer_ja_mecab

    monkeypatch.setattr(tokenizer_ja_mecab, "MeCab", None)
    with pytest.raises(UnavailableError, match="for `ja` cannot be used") as caught:
        score(["a"], [["a"]], tgt_lang="ja")
    assert "--tokenize" in caught.value.hint
    assert score(["a"], [["a"]], tgt_lang="ja", tokenize="char")[0].signature.count("tok:char")


def test_chinese_gets_its_tokenizer() -> None:
    assert "tok:zh" in score(["漢字"], [["漢字"]], tgt_lang="zh-CN")[0].signature
    assert "tok:13a" in score(["漢字"], [["漢字"]], tgt_lang="de")[0].signature


def test_tokenised_input_is_detected() -> None:
    assert looks_tokenized(["Ein Satz ."] * 100)
    assert not looks_tokenized(["Ein Satz ."] * 99 + ["Ein Satz."] * 500)
    # Of few lines, half.
    assert looks_tokenized(["Ein Satz ."] * 25 + ["Ein Satz"] * 25)
    assert not looks_tokenized(["Ein Satz ."] * 24 + ["Ein Satz"] * 26)
    assert not looks_tokenized(["Ein Satz ."] * 9)


def test_scoring_prints_and_logs_nothing(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    score(["Ein Satz ."] * 120, [["Ein Satz ."] * 120], list(METRICS), tgt_lang="de")
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []
