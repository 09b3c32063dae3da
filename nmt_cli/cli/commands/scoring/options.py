"""The options of `nmt score`, and the headings of its help."""

from pathlib import Path
from typing import Annotated

import typer

from nmt_cli.cli.options.from_settings import SettingOption

LAYOUT = {
    "": ("sets", "config_file"),
    "Metrics": (
        "metric", "paper", "confidence", "lowercase", "tokenize",
        SettingOption("languages.tgt", default="that of nmt.toml"),
        "scores_from", "lower_is_better",
    ),
    "Comparison and thresholds": (
        "baseline", "p", "fail_if_worse", "min_bleu", "minimum", "maximum",
    ),
    "Details": ("worst", "by"),
    "Scoring with a model": (
        "model", "pairs", "each", "n_best_list", "threads",
    ),
    "Input and output": ("data.strict", "score_only", "as_json", "junit", "force", "quiet"),
}  # fmt: skip

Model = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="MODEL", help="Model directory [default: model]"),
]
Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[HYPOTHESIS REFERENCE...]", show_default=False,
        help="Text files (plain, gz, xz, zst, bz2; - is stdin), one sentence per line",
    ),
]  # fmt: skip
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric", metavar="NAME",
        help="bleu, chrf, chrf++, ter, bleu-paper (see --paper) or bleu-tokenized (the text is "
        "tokenised as by Moses first); repeatable [default: bleu]",
    ),
]  # fmt: skip
Paper = Annotated[
    bool,
    typer.Option(
        "--paper", help="Add the BLEU of the paper, on tokenised text with German compounds split"
    ),
]
Confidence = Annotated[
    bool, typer.Option("--confidence", help="Add 95 % confidence intervals (bootstrap resampling)")
]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Ignore case")]
Tokenize = Annotated[
    str,
    typer.Option(
        "--tokenize",
        metavar="NAME",
        help="sacreBLEU tokeniser for BLEU, such as intl [default: by the target language]",
    ),
]
ScoresFrom = Annotated[
    list[str] | None,
    typer.Option(
        "--scores-from", metavar="[NAME=]FILE",
        help="Add the mean of another tool's scores, such as COMET: a number at the end of each "
        "line; repeatable",
    ),
]  # fmt: skip
LowerIsBetter = Annotated[
    bool,
    typer.Option(
        "--lower-is-better", help="With --scores-from: low numbers are good, as in error counts"
    ),
]
Baselines = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        metavar="FILE",
        help="Output of another system, to test whether the difference is significant; repeatable",
    ),
]
Level = Annotated[
    float | None,
    typer.Option(
        "--p", metavar="P", min=0.0, max=1.0, show_default=False,
        help="Significance level of the comparison with --baseline [default: 0.05]",
    ),
]  # fmt: skip
FailIfWorse = Annotated[
    bool,
    typer.Option(
        "--fail-if-worse",
        help="Exit with code 3 if the score is significantly worse than that of a --baseline",
    ),
]
MinBleu = Annotated[
    float | None,
    typer.Option("--min-bleu", metavar="X", help="Exit with code 3 if BLEU is below X"),
]
Minimum = Annotated[
    list[str] | None,
    typer.Option(
        "--min", metavar="METRIC=X", help="Exit with code 3 if METRIC is below X; repeatable"
    ),
]
Maximum = Annotated[
    list[str] | None,
    typer.Option(
        "--max",
        metavar="METRIC=X",
        help="Exit with code 3 if METRIC (such as ter) is above X; repeatable",
    ),
]
Worst = Annotated[
    int | None,
    typer.Option(
        "--worst", metavar="N", min=1, show_default=False,
        help="Show the N lines with the lowest chrF, or the worst by --scores-from, with the words "
        "that differ from the reference",
    ),
]  # fmt: skip
By = Annotated[
    list[str] | None,
    typer.Option(
        "--by", metavar="FILE|length",
        help="Add scores by group: FILE has the group of each line, such as its document or "
        "origin; length groups by the words of the reference; repeatable",
    ),
]  # fmt: skip
ScoreOnly = Annotated[
    bool,
    typer.Option("--score-only", "-b", help="Print only the score, one line per metric"),
]
JUnit = Annotated[
    Path | None,
    typer.Option(
        "--junit", metavar="FILE",
        help="Write a JUnit report for CI: a test case for each metric, threshold and baseline",
    ),
]  # fmt: skip
ForceReport = Annotated[
    bool, typer.Option("--force", help="With --junit: replace any existing file")
]
