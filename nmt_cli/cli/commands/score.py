"""`nmt score`: compare translations with references, or translate and score the test set."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from nmt_cli.cli.commands.scoring import options
from nmt_cli.cli.commands.scoring.checks import (
    check_options,
    only_model,
    warn_of_empty_hypotheses,
    warn_of_empty_references,
    warn_of_fractions,
    warn_of_missing_rules,
    warn_of_spellings,
    warn_of_unspaced_words,
)
from nmt_cli.cli.commands.scoring.details import (
    given_files,
    show_worst,
    worst_as_json,
    worst_of,
)
from nmt_cli.cli.commands.scoring.faults import (
    warn_of_entities,
    warn_of_faults,
    warn_of_placeholders,
)
from nmt_cli.cli.commands.scoring.pairs import Each, NBestList, Pairs, score_by_model
from nmt_cli.cli.commands.scoring.texts import Texts, Wanted, read_texts
from nmt_cli.cli.display.scores import (
    escaped_for_github,
    score_as_json,
    show_groups,
    show_score,
)
from nmt_cli.cli.options.declarations import AsJson, ConfigFile, Quiet, SearchSets, Threads
from nmt_cli.cli.options.from_settings import with_options
from nmt_cli.cli.text_io import STDIN, require_output
from nmt_cli.errors import NmtError, QualityGateError

if TYPE_CHECKING:
    from pathlib import Path

    from nmt_cli.config.schema import ResolvedConfig
    from nmt_cli.scoring import Gate, Score
    from nmt_cli.terminal.console import Console

SIGNIFICANT = 0.05

EXAMPLES = """
nmt score hypothesis.txt reference.txt --metric bleu --metric chrf
cat test.en | nmt translate | nmt score - reference-a.txt reference-b.txt.gz
nmt score new.txt reference.txt --baseline old.txt --fail-if-worse
nmt score --min-bleu 27 --junit score.xml    score the test set of nmt.toml
nmt score --model model --set 'data.test=["test.en", "test.de"]'    translate and score a test set
nmt score hypothesis.txt reference.txt --worst 20 --by documents.txt --by length
nmt score hypothesis.txt --scores-from comet=comet.txt --min comet=0.8
nmt score --pairs test.en test.de    perplexity of test.de
"""


class Judging(NamedTuple):
    """What decides about success.

    level: the significance level of comparisons; fail_if_worse: a significantly better baseline is
    a failure.
    """

    gates: "Sequence[Gate]"
    level: float
    fail_if_worse: bool

    @property
    def limit(self) -> float | None:
        """The level at which a better baseline is a failure; None: it is none."""
        return self.level if self.fail_if_worse else None


@with_options(options.LAYOUT)
def command(
    *,
    flags: Mapping[str, object],
    files: options.Files = None,
    metric: options.Metrics = None,
    paper: options.Paper = False,
    confidence: options.Confidence = False,
    lowercase: options.Lowercase = False,
    tokenize: options.Tokenize = "",
    scores_from: options.ScoresFrom = None,
    lower_is_better: options.LowerIsBetter = False,
    baseline: options.Baselines = None,
    p: options.Level = None,
    fail_if_worse: options.FailIfWorse = False,
    min_bleu: options.MinBleu = None,
    minimum: options.Minimum = None,
    maximum: options.Maximum = None,
    worst: options.Worst = None,
    by: options.By = None,
    model: options.Model = None,
    pairs: Pairs = None,
    each: Each = False,
    n_best_list: NBestList = None,
    threads: Threads = None,
    score_only: options.ScoreOnly = False,
    as_json: AsJson = False,
    junit: options.JUnit = None,
    force: options.ForceReport = False,
    quiet: Quiet = False,
    config_file: ConfigFile = None,
    sets: SearchSets = None,
) -> None:
    """Score translations with BLEU, chrF or TER, or with a model.

    Prints each score with its signature, as sacreBLEU does. Without REFERENCE, the references are
    those of the test set of nmt.toml; without any file, this test set is translated first.
    """
    flags = {**flags, "paths.model": only_model(model or [])}
    check_options({**locals(), "model": flags["paths.model"]})
    resolved, console = _settings(flags, sets, config_file, threads, quiet=quiet)
    if pairs or n_best_list:
        score_by_model(pairs, n_best_list, resolved, console, each=each, as_json=as_json)
        return
    tgt_lang, given = _target_language(resolved), given_files(scores_from or [])
    directions = dict.fromkeys(given, lower_is_better)
    gates = _gates(min_bleu, minimum or [], maximum or [], directions, console)
    computed = _metrics(metric or [], gates, given, paper=paper, compared=bool(baseline))
    wanted = Wanted(
        files or [], baseline or [], list(dict.fromkeys(by or [])), given, lower_is_better,
        needs_reference=bool(computed or (worst and not given)), gated=bool(gates or baseline),
    )  # fmt: skip
    _check_report(junit, wanted, resolved, config_file, force=force)
    how = {"lowercase": lowercase, "tokenize": tokenize, "confidence": confidence}
    with _reporting_errors(junit, wanted.files):
        texts = read_texts(wanted, resolved, console)
        results = _scores(texts, computed, tgt_lang, how, console)
    judging = Judging(gates, SIGNIFICANT if p is None else p, fail_if_worse=fail_if_worse)
    _show(results, texts, worst, judging, console, score_only=score_only, as_json=as_json)
    _write_report(junit, texts, results, judging)
    _enforce(results, gates, judging.limit, texts.names[0])


def _settings(
    flags: Mapping[str, object],
    sets: Sequence[str] | None,
    config_file: "Path | None",
    threads: int | None,
    *,
    quiet: bool,
) -> "tuple[ResolvedConfig, Console]":
    """The settings and the console; the threads of the model are set."""
    from nmt_cli.cli.environment import apply_threads, make_console
    from nmt_cli.cli.settings import resolve_settings
    from nmt_cli.cli.used_settings import SCORING

    resolved = resolve_settings(flags, sets, config_file, used=SCORING)
    console = make_console(quiet=quiet)
    apply_threads(threads, console)
    return resolved, console


def _target_language(resolved: "ResolvedConfig") -> str:
    """The code of the target language, or "" if none was given; UsageError for a name."""
    from nmt_cli.data.languages.names import require_codes

    if resolved.origins["languages.tgt"] == "default":
        return ""
    require_codes(resolved.config.languages.tgt)
    return resolved.config.languages.tgt


def _gates(
    min_bleu: float | None,
    minimum: Sequence[str],
    maximum: Sequence[str],
    given: Mapping[str, bool],
    console: "Console",
) -> list["Gate"]:
    """The thresholds; given: the names of other tools' scores, and whether lower is better."""
    from nmt_cli.scoring import make_gate

    gates = [] if min_bleu is None else [make_gate("--min-bleu", str(min_bleu), given)]
    gates += [make_gate("--min", text, given) for text in minimum]
    gates += [make_gate("--max", text, given) for text in maximum]
    # The scores of other tools have scales of their own.
    warn_of_fractions([gate for gate in gates if gate.metric not in given], console)
    return gates


def _metrics(
    names: Sequence[str],
    gates: Sequence["Gate"],
    given: Mapping[str, str],
    *,
    paper: bool,
    compared: bool,
) -> list[str]:
    """The metrics to compute, each once: those given, then those with a threshold, or else bleu.

    given: the scores of other tools, beside which no metric is needed unless systems are compared.
    """
    from nmt_cli.scoring import check_metrics

    named = [part.strip().lower() for name in names for part in name.split(",")]
    wanted = [*named, *(gate.metric for gate in gates if gate.metric not in given)]
    if not wanted and (compared or not given):
        wanted = ["bleu"]
    metrics = list(dict.fromkeys([*wanted, *(["bleu-paper"] if paper else [])]))
    check_metrics(metrics)
    return metrics


def _check_report(
    junit: "Path | None",
    wanted: Wanted,
    resolved: "ResolvedConfig",
    config_file: "Path | None",
    *,
    force: bool,
) -> None:
    """Raise an error, before any work, if the report cannot be written."""
    if junit is None:
        return
    from nmt_cli.cli.commands.scoring.junit import is_own_report
    from nmt_cli.cli.outputs import check_outputs
    from nmt_cli.config.protected_files import needed_files

    read = [*wanted.files, *wanted.baselines, *wanted.label_files, *wanted.given.values()]
    check_outputs(
        [junit], needed_files("is read by this command", *read), resolved=resolved,
        config_file=config_file, force=force or is_own_report(junit),
    )  # fmt: skip
    require_output(junit, "--junit")


def _scores(
    texts: Texts,
    metrics: Sequence[str],
    tgt_lang: str,
    how: "Mapping[str, Any]",
    console: "Console",
) -> "dict[str, Score]":
    """The scores by name: the computed metrics, then those of other tools.

    how: the arguments lowercase, tokenize and confidence of `scoring.score`.
    """
    from nmt_cli.scoring import score
    from nmt_cli.scoring.given import score_given

    warn_of_missing_rules(metrics, tgt_lang, console)
    _warn_of_tokens(texts, how["tokenize"], console)
    references = list(zip(texts.names[1:], texts.references, strict=False))
    warn_of_empty_references(texts.hypotheses, references, console)
    warn_of_empty_hypotheses((texts.names[0], texts.hypotheses), texts.references, console)
    warn_of_placeholders(texts.hypotheses, references, console)
    warn_of_spellings(texts.hypotheses, references, console)
    # Of a test set that was translated, the first reference was checked beside the source.
    unchecked = references[1:] if texts.is_translated else references
    name = "" if texts.is_translated else texts.names[0]
    warn_of_faults((name, texts.hypotheses), unchecked, console)
    if not texts.is_translated:
        warn_of_entities((name, texts.hypotheses), references, console)
    results: dict[str, Score] = {}
    if metrics:
        computed = score(
            texts.hypotheses, texts.references, metrics, tgt_lang=tgt_lang, **how,
            baselines=texts.baselines, labelings=texts.labelings,
        )  # fmt: skip
        results.update(zip(metrics, computed, strict=True))
        if "bleu" in results and not how["tokenize"]:
            warn_of_unspaced_words(results["bleu"], references, console)
    for given in texts.given:
        results[given.name] = score_given(
            given, confidence=how["confidence"], labelings=texts.labelings
        )
    return results


def _show(
    results: "Mapping[str, Score]",
    texts: Texts,
    worst: int | None,
    judging: Judging,
    console: "Console",
    *,
    score_only: bool,
    as_json: bool,
) -> None:
    """Write the scores to stdout, then the scores of groups and the worst lines."""
    lines = len(texts.hypotheses)
    for name, result in results.items():
        if as_json:
            gates, level, limit = judging.gates, judging.level, judging.limit
            typer.echo(score_as_json(name, result, lines, gates, level, limit))
        else:
            show_score(name, result, judging.level, console, score_only=score_only)
    _show_details(results, texts, worst, as_json=as_json)


def _show_details(
    results: "Mapping[str, Score]", texts: Texts, worst: int | None, *, as_json: bool
) -> None:
    """Write the scores of groups, unless the JSON of each score has them, and the worst lines."""
    import sys

    from nmt_cli.cli.environment import make_console

    console = make_console(sys.stdout)
    if texts.labelings and not as_json:
        show_groups(results, console)
    if worst is None:
        return
    lines = list(worst_of(texts, worst))
    if not as_json:
        show_worst(lines, len(texts.hypotheses), console)
        return
    for rank, line in enumerate(lines, 1):
        typer.echo(worst_as_json(line, rank))


@contextlib.contextmanager
def _reporting_errors(junit: "Path | None", files: Sequence[str]) -> Iterator[None]:
    """Write a report of an error that ends the command, in place of an earlier report."""
    try:
        yield
    except NmtError as error:
        if junit is not None:
            from nmt_cli.cli.commands.scoring.junit import report_of_error
            from nmt_cli.storage.files import write_bytes

            write_bytes(junit, report_of_error(files, error.message))
        raise


def _write_report(
    junit: "Path | None",
    texts: Texts,
    results: "Mapping[str, Score]",
    judging: Judging,
) -> None:
    if junit is not None:
        from nmt_cli.cli.commands.scoring.junit import report
        from nmt_cli.storage.files import write_bytes

        write_bytes(
            junit, report(texts.names, len(texts.hypotheses), results, judging.gates, judging.limit)
        )


def _warn_of_tokens(texts: Texts, tokenize: str, console: "Console") -> None:
    """Warn of texts that look tokenised, which the metrics tokenise themselves."""
    from nmt_cli.scoring import looks_tokenized

    if tokenize == "none":
        return
    named = [("the hypotheses", texts.hypotheses)]
    named += [
        (f"the reference `{name}`", lines)
        for name, lines in zip(texts.names[1:], texts.references, strict=False)
    ]
    tokenised = [name for name, lines in named if looks_tokenized(lines)]
    if not tokenised:
        return
    verb = "look" if len(tokenised) > 1 or tokenised[0] == "the hypotheses" else "looks"
    advice = "score detokenised text"
    if len(tokenised) == len(named):
        advice += ", or use `--tokenize none`, which splits at spaces only"
    console.warning(
        f"{' and '.join(tokenised)} {verb} tokenised (many lines end in ` .`): the metrics expect "
        f"plain text, and the score is another one; {advice}"
    )


def _enforce(
    results: Mapping[str, "Score"], gates: Sequence["Gate"], level: float | None, name: str
) -> None:
    """Raise QualityGateError with every threshold missed and every baseline that is better.

    name: the file of the hypotheses.
    """
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
    message = f"{'stdin' if name == STDIN else name}: {'; '.join(failed)}"
    if os.environ.get("GITHUB_ACTIONS") == "true":
        typer.echo(f"::error title=nmt score::{escaped_for_github(message)}", err=True)
    raise QualityGateError(message)
