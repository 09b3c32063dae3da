"""`nmt score`: compare translations with references, or translate and score the test set."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.cli.commands.scoring.checks import (
    check_baselines,
    check_options,
    check_references,
    warn_of_fractions,
)
from nmt_cli.cli.commands.scoring.pairs import Each, NBestList, Pairs, score_by_model
from nmt_cli.cli.display.scores import escaped_for_github, score_as_json, show_score
from nmt_cli.cli.options.declarations import AsJson, ConfigFile, Quiet, Sets
from nmt_cli.cli.options.from_settings import SettingOption, with_options
from nmt_cli.cli.text_io import STDIN, note_waiting, warn_of_invalid
from nmt_cli.errors import NoInputError, QualityGateError, UsageError

if TYPE_CHECKING:
    from nmt_cli.config.schema import ResolvedConfig
    from nmt_cli.scoring import Gate, Score
    from nmt_cli.terminal.console import Console

SIGNIFICANT = 0.05

EXAMPLES = """
nmt score hypothesis.txt reference.txt --metric bleu --metric chrf
cat test.en | nmt translate | nmt score - reference-a.txt reference-b.txt.gz
nmt score new.txt reference.txt --baseline old.txt --fail-if-worse
nmt score --min-bleu 27              score the test set of nmt.toml
nmt score --pairs test.en test.de    perplexity of test.de
"""

LAYOUT = {
    "": ("sets", "config_file"),
    "Metrics": (
        "metric", "paper", "confidence", "lowercase", "tokenize",
        SettingOption("languages.tgt", default="that of nmt.toml"),
    ),
    "Comparison and thresholds": (
        "baseline", "p", "fail_if_worse", "min_bleu", "minimum", "maximum",
    ),
    "Scoring with a model": (
        SettingOption("paths.model", "--model"), "pairs", "each", "n_best_list",
    ),
    "Input and output": ("data.strict", "score_only", "as_json", "quiet"),
}  # fmt: skip

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
        help="bleu, chrf, chrf++, ter, bleu-paper (see --paper) or bleu-tokenized (for tokenised "
        "text); repeatable [default: bleu]",
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
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Ignore case")]
Tokenize = Annotated[
    str,
    typer.Option(
        "--tokenize",
        metavar="NAME",
        help="sacreBLEU tokeniser for BLEU, such as intl [default: by the target language]",
    ),
]
ScoreOnly = Annotated[
    bool,
    typer.Option("--score-only", "-b", help="Print only the score, one line per metric"),
]


@with_options(LAYOUT)
def command(
    *,
    flags: Mapping[str, object],
    files: Files = None,
    metric: Metrics = None,
    paper: Paper = False,
    confidence: Confidence = False,
    baseline: Baselines = None,
    p: Level = None,
    fail_if_worse: FailIfWorse = False,
    min_bleu: MinBleu = None,
    minimum: Minimum = None,
    maximum: Maximum = None,
    lowercase: Lowercase = False,
    tokenize: Tokenize = "",
    pairs: Pairs = None,
    each: Each = False,
    n_best_list: NBestList = None,
    score_only: ScoreOnly = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    config_file: ConfigFile = None,
    sets: Sets = None,
) -> None:
    """Score translations with BLEU, chrF or TER, or with a model.

    Prints each score with its signature, as sacreBLEU does. Without REFERENCE, the references are
    those of the test set of nmt.toml; without any file, this test set is translated first.
    """
    check_options({**locals(), "model": flags["paths.model"]})
    from nmt_cli.cli.environment import make_console
    from nmt_cli.cli.settings import resolve_settings
    from nmt_cli.scoring import score

    resolved = resolve_settings(flags, sets, config_file)
    if pairs or n_best_list:
        _check_files([*(pairs or ()), *(n_best_list or ())])
        console = make_console(quiet=quiet)
        score_by_model(pairs, n_best_list, resolved, console, each=each, as_json=as_json)
        return
    console, tgt_lang = make_console(quiet=quiet), _target_language(resolved)
    gates = _gates(min_bleu, minimum or [], maximum or [], console)
    metrics = _metrics(metric or [], gates, paper=paper)
    level = SIGNIFICANT if p is None else p
    limit = level if fail_if_worse else None
    hypotheses, references, baselines = _texts(
        files or [], baseline or [], resolved, console, gated=bool(gates or baseline)
    )
    results = score(
        hypotheses, references, metrics, lowercase=lowercase, tokenize=tokenize,
        tgt_lang=tgt_lang, confidence=confidence, baselines=baselines,
    )  # fmt: skip
    _warn(hypotheses, tokenize, console)
    by_metric = dict(zip(metrics, results, strict=True))
    for name, result in by_metric.items():
        if as_json:
            typer.echo(score_as_json(name, result, len(hypotheses), gates, level, limit))
        else:
            show_score(name, result, level, console, score_only=score_only)
    _enforce(by_metric, gates, limit)


def _target_language(resolved: "ResolvedConfig") -> str:
    """The code of the target language, or "" if none was given; UsageError for a name."""
    from nmt_cli.data.languages.names import require_codes

    if resolved.origins["languages.tgt"] == "default":
        return ""
    require_codes(resolved.config.languages.tgt)
    return resolved.config.languages.tgt


def _gates(
    min_bleu: float | None, minimum: Sequence[str], maximum: Sequence[str], console: "Console"
) -> list["Gate"]:
    from nmt_cli.scoring import make_gate

    at_least = [*minimum, *([] if min_bleu is None else [f"bleu={min_bleu}"])]
    gates = [make_gate("--min", text) for text in at_least]
    gates += [make_gate("--max", text) for text in maximum]
    warn_of_fractions(gates, console)
    return gates


def _metrics(names: Sequence[str], gates: Sequence["Gate"], *, paper: bool) -> list[str]:
    """The metrics to compute, each once: those given and those with a threshold, or else bleu."""
    from nmt_cli.scoring import check_metrics

    named = [part.strip().lower() for name in names for part in name.split(",")]
    wanted = [*named, *(gate.metric for gate in gates)] or ["bleu"]
    metrics = list(dict.fromkeys([*wanted, *(["bleu-paper"] if paper else [])]))
    check_metrics(metrics)
    return metrics


def _texts(
    files: Sequence[str],
    baselines: Sequence[str],
    resolved: "ResolvedConfig",
    console: "Console",
    *,
    gated: bool,
) -> tuple[list[str], list[list[str]], dict[str, list[str]]]:
    """The lines of hypotheses, references and baselines, checked to have the same number.

    The test set of the project file replaces files that are not given. gated: the score has a
    threshold or is compared with a baseline.
    """
    from nmt_cli.data.corpus.layout import test_text
    from nmt_cli.scoring import check_aligned

    src_file, *test_references = test_text(resolved.config) or ("",)
    is_tsv = bool(src_file) and not test_references
    test_references = [src_file] if is_tsv else test_references
    reference_files = list(files[1:]) or test_references
    if not reference_files:
        raise UsageError(
            "there is no reference to score against",
            "`nmt score HYPOTHESIS REFERENCE`, or name a test set: data.test in nmt.toml",
        )
    _check_files([*(files[:1] or [src_file]), *reference_files, *baselines])
    check_baselines(files[:1], baselines)
    note_waiting(console, *files, *baselines)
    strict = resolved.config.data.strict
    # Of a test set in one TSV file the second column is the reference.
    column = 1 if is_tsv and not files[1:] else None
    references = [
        (name, _read(name, console, strict=strict, column=column)) for name in reference_files
    ]
    others = [(name, _read(name, console, strict=strict)) for name in baselines]
    if files:
        hypotheses = _read(files[0], console, strict=strict)
    else:
        src = _read(src_file, console, strict=strict, column=0 if is_tsv else None)
        check_aligned([(src_file, src), *references, *others])
        hypotheses = translate_test_set(src, resolved, console)
    check_aligned([(files[0] if files else "the translation", hypotheses), *references, *others])
    if files:
        check_references((files[0], hypotheses), references, console, gated=gated)
    return hypotheses, [lines for _, lines in references], dict(others)


def _check_files(names: Sequence[str]) -> None:
    """Raise one error that names every file which cannot be read."""
    from nmt_cli.storage.files import require_file

    if names.count(STDIN) > 1:
        raise UsageError("only one of the texts can come from stdin (`-`)")
    problems: list[NoInputError] = []
    for name in names:
        try:
            if name != STDIN:
                require_file(Path(name))
        except NoInputError as problem:
            problems.append(problem)
    if problems:
        hints = dict.fromkeys(problem.hint for problem in problems if problem.hint)
        raise NoInputError("; ".join(problem.message for problem in problems), "; ".join(hints))


def _read(name: str, console: "Console", *, strict: bool, column: int | None = None) -> list[str]:
    """The lines of a file, or with `column` that column of a TSV file."""
    from nmt_cli.data.text.lines import read_lines, read_pairs

    if column is not None:
        return [pair[column] for pair in read_pairs((name,), strict=strict)]
    reading = read_lines(name, strict=strict)
    lines = list(reading)
    warn_of_invalid(console, reading)
    return lines


def translate_test_set(
    src: Sequence[str], resolved: "ResolvedConfig", console: "Console"
) -> list[str]:
    """The translations of `src` by the model of the settings."""
    from nmt_cli.cli.loading import load_translator
    from nmt_cli.cli.settings import chosen_search

    translator = load_translator(resolved.config.paths.model, console=console)
    search = chosen_search(resolved, translator.config)
    texts = []
    with console.progress("translating", len(src), "line") as progress:
        for translation in translator.translate(iter(src), search=search):
            texts.append(translation.text)
            progress.update(len(texts))
    return texts


def _warn(hypotheses: Sequence[str], tokenize: str, console: "Console") -> None:
    from nmt_cli.scoring import looks_tokenized

    if tokenize != "none" and looks_tokenized(hypotheses):
        console.warning(
            "the hypotheses look tokenised (many lines end in ` .`): "
            "the metrics expect plain text, and score this lower"
        )


def _enforce(results: Mapping[str, "Score"], gates: Sequence["Gate"], level: float | None) -> None:
    """Raise QualityGateError with every threshold missed and every baseline that is better."""
    from nmt_cli.scoring import missed, verdict

    failed = missed(results, gates)
    if level is not None:
        failed += [
            f"{score.name} is significantly worse than {comparison.baseline}'s"
            for metric, score in results.items()
            for comparison in score.comparisons
            if verdict(metric, comparison, level) == "worse"
        ]
    if not failed:
        return
    if os.environ.get("GITHUB_ACTIONS") == "true":
        typer.echo(f"::error title=nmt score::{escaped_for_github('; '.join(failed))}", err=True)
    raise QualityGateError("; ".join(failed))
