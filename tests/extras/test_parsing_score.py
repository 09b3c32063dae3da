"""Labelled brackets: every figure is the one that EVALB gives.

What stands here as EVALB's output was recorded from the version that prints an F-measure.
NMT_TREEBANK names a folder with EVALB's parameter files and sample in `evalb`.
"""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from nmt_cli.errors import DataError
from nmt_cli.extras.parsing.brackets import SentenceScore
from nmt_cli.extras.parsing.parameters import COLLINS, Parameters, read_parameters
from nmt_cli.extras.parsing.summary import (
    Summary,
    by_length,
    score_lines,
    sentence_table,
    summarize,
    summary_lines,
    unlabelled,
)

PARAMETERS = """\
# a comment
DEBUG 0
MAX_ERROR 10
CUTOFF_LEN 6
LABELED 1
DELETE_LABEL TOP
DELETE_LABEL -NONE-
DELETE_LABEL ''
DELETE_LABEL .
DELETE_LABEL_FOR_LENGTH -NONE-
QUOTE_LABEL ''
QUOTE_LABEL POS
EQ_LABEL ADVP PRT
EQ_WORD Dog dog
"""

# What each is about, the gold line, the parsed line.
CASES = [
    (
        "the same",
        "(S (NP (DT a) (NN dog)) (VP (VBZ runs)) (. .))",
        "(S (NP (DT a) (NN dog)) (VP (VBZ runs)) (. .))",
    ),
    (
        "another label",
        "(S (NP (DT a) (NN dog)) (VP (VBZ runs)))",
        "(S (NX (DT a) (NN dog)) (VP (VBZ runs)))",
    ),
    (
        "crossing brackets",
        "(S (NP (DT a) (NN dog)) (VP (VBZ runs)))",
        "(S (NP (DT a)) (VP (NN dog) (VBZ runs)))",
    ),
    (
        "crossed on the left and twice",
        "(S (DT a) (VP (NP (NN dog) (VBZ runs)) (RB on)))",
        "(S (X (Y (DT a) (NN dog)) (VBZ runs)) (RB on))",
    ),
    (
        "a bracket too many",
        "(S (NP (NN dogs)) (VP (VBP run)))",
        "(S (NP (NP (NN dogs))) (VP (VBP run)))",
    ),
    (
        "a bracket too few",
        "(S (NP (NP (NN dogs))) (VP (VBP run)))",
        "(S (NP (NN dogs)) (VP (VBP run)))",
    ),
    (
        "function tags",
        "(S-1 (NP-SBJ=2 (NN dogs)) (VP=2 (VBP run)))",
        "(S (NP (NN dogs)) (VP-X (VBP run)))",
    ),
    (
        "equal labels",
        "(S (ADVP (RB up)) (PRT (RB up)) (PRT (VB go)))",
        "(S (PRT (RB up)) (ADVP (RB up)) (XX (VB go)))",
    ),
    (
        "equal labels, greedily",
        "(S (ADVP (PRT (XX (RB up)))))",
        "(S (PRT (ADVP (PRT (RB up)))))",
    ),
    (
        "an outer bracket that is deleted",
        "(TOP (S (NP (NN dogs))))",
        "(S (NP (NN dogs)))",
    ),
    (
        "an outer bracket without a label",
        "( (S (NP (NN dogs))))",
        "(S (NP (NN dogs)))",
    ),
    (
        "an empty line",
        "(S (NP (NN dogs)))",
        "",
    ),
    (
        "a parser that failed",
        "(S (NP (NN dogs)))",
        "(())",
    ),
    (
        "other words",
        "(S (NP (NN dogs)))",
        "(S (NP (NN cats)))",
    ),
    (
        "equal words",
        "(S (NP (NN Dog) (NN dog)))",
        "(S (NP (NN dog) (NN Dog)))",
    ),
    (
        "more words",
        "(S (NP (NN dogs)))",
        "(S (NP (NN dogs) (NN run)))",
    ),
    (
        "another tag",
        "(S (NP (NN dogs)) (VP (VBP run)))",
        "(S (NP (NNS dogs)) (VP (VBP run)))",
    ),
    (
        "a tag that deletes the word",
        "(S (NP (NN dogs)) (. .))",
        "(S (NP (NN dogs)) (SYM .))",
    ),
    (
        "traces",
        "(S (NP (-NONE- *)) (VP (VBP run) (NP (-NONE- *T*))))",
        "(S (VP (VBP run)))",
    ),
    (
        "a quotation mark that one takes for a word",
        "(S (NP (NP (NN dogs)) ('' ')) (VP (VBP run) (NP (NN on))))",
        "(S (NP (NP (NN dogs) (POS '))) (VP (VBP run) (NP (NN on))))",
    ),
    (
        "the other way round, twice",
        "(S (NP (NN dogs) (POS ')) (NP (POS ') (NN run)) ('' '))",
        "(S (NP (NN dogs) ('' ')) (NP ('' ') (NN run)) ('' '))",
    ),
    (
        "several trees on a line",
        "(S (NP (NN dogs)) (VP (VBP run)))",
        "(NP (NN dogs)) (VP (VBP run))",
    ),
    (
        "a long sentence",
        "(S (NP (DT a) (JJ big) (JJ old) (JJ black) (NN dog)) (VP (VBZ runs) (RB on)))",
        "(S (NP (DT a) (JJ big) (JJ old) (JJ black) (NN dog)) (VP (VBZ runs)) (RB on))",
    ),
    (
        "long by its punctuation",
        "(S (NP (NN dogs)) (. .) (. .) (. .) (. .) (. .) (. .))",
        "(S (NP (NN dogs)) (. .) (. .) (. .) (. .) (. .) (. .))",
    ),
    (
        "other marks are not put back",
        "(S (NP (NN dogs) ('' '')) (VP (VBP run)))",
        "(S (NP (NN dogs) (POS '')) (VP (VBP run)))",
    ),
]

# What EVALB prints for them, without the line of totals.
ROWS = """\
   1    4    0  100.00 100.00     3      3    3      0      3     3   100.00
   2    3    0   66.67  66.67     2      3    3      0      3     3   100.00
   3    3    0   33.33  33.33     1      3    3      1      3     3   100.00
   4    4    0   33.33  33.33     1      3    3      2      4     4   100.00
   5    2    0  100.00  75.00     3      3    4      0      2     2   100.00
   6    2    0   75.00 100.00     3      4    3      0      2     2   100.00
   7    2    0  100.00 100.00     3      3    3      0      2     2   100.00
   8    3    0   75.00  75.00     3      4    4      0      3     3   100.00
   9    1    0   75.00  75.00     3      4    4      0      1     1   100.00
  10    1    0  100.00 100.00     2      2    2      0      1     1   100.00
  11    1    0   66.67 100.00     2      3    2      0      1     1   100.00
  12    1    2    0.00   0.00     0      0    0      0      0     0     0.00
  13    1    2    0.00   0.00     0      0    0      0      0     0     0.00
  14    1    1    0.00   0.00     0      0    0      0      0     0     0.00
  15    2    0  100.00 100.00     2      2    2      0      2     2   100.00
  16    1    1    0.00   0.00     0      0    0      0      0     0     0.00
  17    2    0  100.00 100.00     3      3    3      0      2     1    50.00
  18    2    1    0.00   0.00     0      0    0      0      0     0     0.00
  19    1    0  100.00 100.00     2      2    2      0      1     1   100.00
  20    4    0   80.00  80.00     4      5    5      0      4     3    75.00
  21    5    0  100.00 100.00     3      3    3      0      4     2    50.00
  22    2    0   66.67 100.00     2      3    2      0      2     2   100.00
  23    7    0   66.67  66.67     2      3    3      0      7     7   100.00
  24    7    0  100.00 100.00     2      2    2      0      1     1   100.00
  25    3    1    0.00   0.00     0      0    0      0      0     0     0.00
"""
SUMMARY = """\
=== Summary ===

-- All --
Number of sentence        =     25
Number of Error sentence  =      4
Number of Skip  sentence  =      2
Number of Valid sentence  =     19
Bracketing Recall         =  79.31
Bracketing Precision      =  82.14
Bracketing FMeasure       =  80.70
Complete match            =  42.11
Average crossing          =   0.16
No crossing               =  89.47
2 or less crossing        = 100.00
Tagging accuracy          =  91.67

-- len<=6 --
Number of sentence        =     23
Number of Error sentence  =      4
Number of Skip  sentence  =      2
Number of Valid sentence  =     17
Bracketing Recall         =  79.25
Bracketing Precision      =  82.35
Bracketing FMeasure       =  80.77
Complete match            =  41.18
Average crossing          =   0.18
No crossing               =  88.24
2 or less crossing        = 100.00
Tagging accuracy          =  90.00
"""
TREEBANK = Path(os.environ.get("NMT_TREEBANK", ""))


def parameters_of(folder: Path, text: str) -> Parameters:
    (folder / "some.prm").write_text(text)
    return read_parameters(folder / "some.prm")


def scored(parameters: Parameters) -> list[SentenceScore]:
    return score_lines([case[2] for case in CASES], [case[1] for case in CASES], parameters)


def printed(scores: list[SentenceScore], cutoff: int) -> list[str]:
    """The two summaries as EVALB prints them."""
    short = [score for score in scores if score.length <= cutoff]
    return [
        "=== Summary ===",
        "",
        *summary_lines("All", summarize(scores)),
        "",
        *summary_lines(f"len<={cutoff}", summarize(short)),
    ]


@pytest.mark.parametrize("index", range(len(CASES)), ids=[case[0] for case in CASES])
def test_parse_score_of_each_sentence_equals_evalb(tmp_path: Path, index: int) -> None:
    scores = scored(parameters_of(tmp_path, PARAMETERS))
    assert list(sentence_table(scores))[3 + index] == ROWS.splitlines()[index]


def test_the_table_of_sentences_ends_with_their_sums() -> None:
    words, tags = "(S (A a) (B b))", "(S (A a) (C b))"
    scores = score_lines([words, "(S (NP (A a)) (B c))", "", tags], [words, words, words, words])
    *_, rule, sums = sentence_table(scores)
    assert set(rule) == {"="}
    assert sums == "                100.00 100.00      2     2     2      0      4     3    75.00"
    *_, rule, sums = sentence_table(score_lines([""], [words]))
    assert sums == "      0     0     0.00"


def test_parse_score_summary_equals_evalb(tmp_path: Path) -> None:
    parameters = parameters_of(tmp_path, PARAMETERS)
    assert printed(scored(parameters), parameters.cutoff) == SUMMARY.splitlines()


def test_unlabelled_parse_scores_compare_spans_only(tmp_path: Path) -> None:
    parameters = parameters_of(tmp_path, PARAMETERS.replace("LABELED 1", "LABELED 0"))
    score = scored(parameters)[1]
    assert (score.matched, score.gold, score.parsed, score.tags) == (3, 3, 3, 3)


@pytest.mark.skipif(
    not (TREEBANK / "evalb" / "sample").is_dir(),
    reason="NMT_TREEBANK does not name a folder with EVALB's sample in evalb/sample",
)
def test_evalb_sample_has_evalbs_result() -> None:
    sample = TREEBANK / "evalb" / "sample"
    parameters = read_parameters(sample / "sample.prm")
    gold = (sample / "sample.gld").read_text().splitlines()
    parsed = (sample / "sample.tst").read_text().splitlines()
    wanted = (sample / "sample.rsl").read_text().splitlines()
    scores = score_lines(parsed, gold, parameters)
    start = wanted.index("=== Summary ===")
    # The recorded result is older: without F-measure, and with the words of what does not count.
    shown = [line for line in printed(scores, 40) if line and "FMeasure" not in line]
    assert shown == [line.rstrip() for line in wanted[start:] if line]
    *rows, _, sums = list(sentence_table(scores))[3:]
    # The column of crossing brackets has another meaning in the older result.
    assert sums.split() == wanted[start - 1].replace("  16 ", "   1 ").split()
    for row, line, score in zip(rows, wanted[3 : 3 + len(rows)], scores, strict=True):
        assert row.split()[:9] == line.split()[:9]
        assert score.status != "valid" or row.split() == line.split()
    collins = TREEBANK / "evalb" / "COLLINS.prm"
    assert read_parameters(collins) == replace(COLLINS, max_errors=10)
    assert read_parameters(collins.with_name("new.prm")).quotes >= {"``", "''", "POS"}


def test_evalb_parameter_file_is_read_like_evalb(tmp_path: Path) -> None:
    assert parameters_of(tmp_path, PARAMETERS) == Parameters(
        labeled=True,
        deleted=frozenset({"TOP", "-NONE-", "''", "."}),
        deleted_for_length=frozenset({"-NONE-"}),
        quotes=frozenset({"''", "POS"}),
        equal_labels=frozenset({("ADVP", "PRT"), ("PRT", "ADVP")}),
        equal_words=frozenset({("Dog", "dog"), ("dog", "Dog")}),
        cutoff=6,
        max_errors=10,
    )
    assert parameters_of(tmp_path, "#\n\n  \nLABELED 0   \nMAX_ERROR\t3\n") == Parameters(
        labeled=False, max_errors=3
    )
    labels = ["TOP", "-NONE-", ",", ":", "``", "''", "."]
    collins = "\n".join(f"DELETE_LABEL {label}" for label in labels)
    collins += "\nDELETE_LABEL_FOR_LENGTH -NONE-\nEQ_LABEL ADVP PRT\nCUTOFF_LEN 40\nMAX_ERROR 10\n"
    assert parameters_of(tmp_path, collins) == replace(COLLINS, max_errors=10)
    assert parameters_of(tmp_path, "DELETE_LABEL A\nEQ_LABEL B A").deleted_brackets == {"A", "B"}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("LABELLED 1", "unknown parameter `LABELLED`; did you mean `LABELED`?"),
        ("CUTOFF_LEN forty", "CUTOFF_LEN `forty` is not a number"),
        ("DELETE_LABEL", "DELETE_LABEL has no value"),
        ("EQ_LABEL ADVP", "EQ_LABEL needs two values, `ADVP` are 1"),
        ("EQ_WORD a b c", "EQ_WORD needs two values, `a b c` are 3"),
    ],
)
def test_wrong_evalb_parameters_are_named_with_their_line(
    tmp_path: Path, line: str, what: str
) -> None:
    with pytest.raises(DataError) as caught:
        parameters_of(tmp_path, f"DEBUG 0\n{line}\n")
    assert caught.value.message == f"`{tmp_path / 'some.prm'}`, line 2: {what}"


def test_parse_score_refuses_files_that_do_not_match() -> None:
    tree = "(S (NN a))"
    with pytest.raises(DataError, match="`x` has 2 lines, `y` has 1"):
        score_lines([tree, tree], [tree], names=("x", "y"))
    with pytest.raises(DataError, match="the files have no lines"):
        score_lines([], [])
    with pytest.raises(DataError, match=r"`x`, line 2: .*never closed"):
        score_lines([tree, "(S (NN a)"], [tree, tree], names=("x", "y"))
    with pytest.raises(DataError, match="`y`, line 1: `b` has no bracket"):
        score_lines([tree], ["(S (NN a) b)"], names=("x", "y"))


def test_parse_score_stops_after_as_many_errors_as_evalb() -> None:
    parameters = Parameters(max_errors=2)
    gold, other = ["(S (NN a))"] * 20, "(S (NN b))"
    scores = score_lines([other] * 3 + gold[3:], gold, parameters)
    assert [score.status for score in scores] == ["error"] * 3 + ["valid"] * 17
    assert summarize(score_lines([other] * 20, gold, COLLINS)).errors == 20
    with pytest.raises(DataError) as caught:
        score_lines([gold[0], *[other] * 4, *gold[5:]], gold, parameters, ("x", "y"))
    assert caught.value.message == (
        "`x`, line 5: the word `b`, the gold tree has `a`; the words of lines 2, 3, 4 differ too"
    )


def test_parse_score_of_no_sentences_is_zero() -> None:
    figures = summarize([]).figures()
    assert set(figures.values()) == {0}
    assert summarize(score_lines(["(A (NN a))"], ["(B (NN a))"])).f1 == 0


def test_parse_scores_by_sentence_length() -> None:
    def sentence(words: int) -> SentenceScore:
        return SentenceScore(words, matched=words, gold=2 * words, parsed=words)

    buckets = by_length([sentence(1), sentence(10), sentence(11), sentence(30), SentenceScore(0)])
    assert [(longest, summary.sentences, summary.gold) for longest, summary in buckets] == [
        (10, 3, 22),
        (20, 1, 22),
        (30, 1, 60),
    ]
    assert isinstance(buckets[0][1], Summary)
    assert (buckets[0][1].recall, buckets[0][1].precision) == (50, 100)
    assert buckets[0][1].f1 == pytest.approx(66.6667, abs=1e-4)


def test_outer_brackets_without_label_are_counted() -> None:
    assert unlabelled(["( (S (NN a)))", "(S (NN a))", "", "(X (NN c))", "(S (NN b)) ((NN a))"]) == 2
