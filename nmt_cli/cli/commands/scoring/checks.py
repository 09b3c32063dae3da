"""Checks of `nmt score`: conflicts of options, and references that are probably wrong."""

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, cast

from nmt_cli.cli.commands.scoring.languages import source_language_note
from nmt_cli.cli.text_io import STDIN
from nmt_cli.errors import DataError, UsageError
from nmt_cli.plurals import agreeing, counted

if TYPE_CHECKING:
    from nmt_cli.scoring import Gate, Score
    from nmt_cli.terminal.console import Console

NamedLines = tuple[str, Sequence[str]]
# Enough to be sure, in 15 ms.
LINES_LOOKED_AT = 300
LINES_NAMED = 5
# Options that do nothing unless another one is given, and how that one is written.
NEEDED = {
    "--fail-if-worse": ("--baseline", "--baseline FILE"),
    "--p": ("--baseline", "--baseline FILE"),
    "--each": ("--pairs", "--pairs SRC TGT"),
    "--lower-is-better": ("--scores-from", "--scores-from FILE"),
    "--force": ("--junit", "--junit FILE"),
}
# Options about metrics, which --pairs and --n-best-list do not compute.
OF_METRICS = (
    "--metric", "--paper", "--confidence", "--baseline", "--p", "--fail-if-worse", "--min-bleu",
    "--min", "--max", "--lowercase", "--tokenize", "--scores-from", "--worst", "--by", "--junit",
)  # fmt: skip
# The parameters of the command that are not named like their option.
RENAMED = {"minimum": "min", "maximum": "max", "as_json": "json"}


def only_model(models: Sequence[str]) -> str | None:
    """The model that translates or scores, None if none is given; UsageError for several.

    >>> only_model(["model"])
    'model'
    """
    if len(models) > 1:
        named = shlex.join(part for model in models for part in ("--model", model))
        raise UsageError(
            f"--model is given {len(models)} times, and `nmt score` uses one model",
            f"to score an ensemble: `nmt translate {named} SRC -o FILE`, then "
            "`nmt score FILE REFERENCE`",
        )
    return models[0] if models else None


def check_options(parameters: Mapping[str, object]) -> None:
    """Raise UsageError for options that cannot be combined, or that would have no effect.

    parameters: the values of the command's parameters, by their names.
    """
    given = {
        "--" + RENAMED.get(name, name).replace("_", "-")
        for name, value in parameters.items()
        if value is not None and value is not False and value != "" and value != []
    }
    by_model = [name for name in ("--pairs", "--n-best-list") if name in given]
    if parameters["files"] and not by_model:
        _refuse_options_of_models(given, parameters)
    if by_model and parameters["files"]:
        raise UsageError(
            "--pairs and --n-best-list are used without other files",
            f"leave out {shlex.join(cast('Sequence[str]', parameters['files']))}",
        )
    if "--score-only" in given and ("--json" in given or by_model):
        raise UsageError(
            "--score-only cannot be combined with --json, --pairs or --n-best-list",
            "leave out --score-only, or the other option",
        )
    if "--score-only" in given and given & {"--worst", "--by"}:
        raise UsageError(
            "--score-only cannot be combined with --worst or --by",
            "leave out --score-only, or the other option",
        )
    ignored = [name for name in OF_METRICS if name in given and by_model]
    if ignored:
        raise UsageError(
            f"{', '.join(ignored)}: {by_model[0]} computes no metric, so these have no effect",
            f"leave out either {by_model[0]} or the other options",
        )
    if "--json" in given and "--n-best-list" in given:
        raise UsageError(
            "--json cannot be combined with --n-best-list", "n-best lists are written as text"
        )
    missing = [
        f"{name} needs {spelling}"
        for name, (needed, spelling) in NEEDED.items()
        if name in given and needed not in given
    ]
    if missing:
        raise UsageError("; ".join(missing))


def _refuse_options_of_models(given: Collection[str], parameters: Mapping[str, object]) -> None:
    """Raise UsageError for options of a model beside a hypothesis, for which no model is needed."""
    files = cast("Sequence[str]", parameters["files"])
    if "--model" in given:
        source, reference = files if len(files) == 2 else ("SRC", "REFERENCE")
        command = command_for_test_set(str(parameters["model"]), source, reference)
        what = f"`{source}`" if len(files) == 2 else "a test set"
        raise UsageError(
            "--model cannot be combined with a hypothesis: the model translates the test set",
            "to score a finished translation, leave out --model; to translate "
            f"{what} and score that: {command}",
        )
    if "--threads" in given:
        raise UsageError(
            "--threads is for the model, and a finished translation is scored without one",
            "leave it out",
        )
    sets = cast("Sequence[str]", parameters.get("sets") or ())
    keys = [text.partition("=")[0].strip() for text in sets]
    if searching := [key for key in keys if key.startswith("search.")]:
        raise UsageError(
            f"--set {searching[0]} is for the model, and a finished translation is scored without "
            "one",
            "leave it out",
        )


def command_for_test_set(
    model: str | None, source: str = "SRC", reference: str = "REFERENCE"
) -> str:
    """The command that translates a text with a model and scores the translation, for hints.

    model: None where the command need not name it.

    >>> print(command_for_test_set("m", "a.en", "a.de"))
    `nmt score --model m --set 'data.test=["a.en", "a.de"]'`
    """
    named = "" if model is None else f" --model {shlex.quote(model)}"
    setting = f"data.test={json.dumps([source, reference], ensure_ascii=False)}"
    return f"`nmt score{named} --set {shlex.quote(setting)}`"


def warn_of_fractions(gates: Sequence["Gate"], console: "Console") -> None:
    """Warn of thresholds such as 0.27: scores go up to 100, so almost every text would pass."""
    for gate in gates:
        if 0 < gate.bound < 1:
            console.warning(
                f"the threshold {gate.metric}={gate.bound:g} is a fraction, but scores are given "
                f"in percent: is {gate.metric}={100 * gate.bound:g} meant?"
            )


def warn_of_spellings(
    hypotheses: Sequence[str], references: Sequence[NamedLines], console: "Console"
) -> None:
    """Warn of a reference that writes the same words with other characters, which never match."""
    from nmt_cli.data.text.repair_commands import compose_command, without_invisible_command
    from nmt_cli.scoring.invisible import invisible_difference
    from nmt_cli.scoring.typography import typography_note
    from nmt_cli.scoring.unicode_forms import form_difference

    if forms := form_difference(hypotheses, references):
        command = compose_command(forms.reference)
        console.warning(f"{forms.note}, which this command gives to a file: {command}")
    if invisible := invisible_difference(hypotheses, references):
        command = without_invisible_command(invisible.reference, invisible.characters)
        console.warning(f"{invisible.note}; this command does so with the reference: {command}")
    if typography := typography_note(hypotheses, references):
        console.warning(typography)


def warn_of_empty_references(
    hypotheses: Sequence[str], references: Sequence[NamedLines], console: "Console"
) -> None:
    """Warn of lines that no reference has, so that all words of their hypotheses count as wrong.

    Lines that are empty in the hypotheses, too, are those between paragraphs.
    """
    rows = zip(*(lines for _, lines in references), strict=False)
    empty = [
        number
        for number, (row, hypothesis) in enumerate(zip(rows, hypotheses, strict=False), 1)
        if hypothesis.strip() and not any(map(str.strip, row))
    ]
    if not empty:
        return
    names = " and ".join(f"`{name}`" for name, _ in references)
    console.warning(
        f"{_empty_lines(names, empty)}, but the hypotheses have text there, all of whose words "
        "count as wrong; fill in what is missing, or remove it from all files"
    )


def warn_of_empty_hypotheses(
    hypotheses: NamedLines, references: Sequence[Sequence[str]], console: "Console"
) -> None:
    """Warn of lines that have no hypothesis, though every reference has text there."""
    name, lines = hypotheses
    rows = zip(*references, strict=False)
    empty = [
        number
        for number, (line, row) in enumerate(zip(lines, rows, strict=False), 1)
        if not line.strip() and all(map(str.strip, row))
    ]
    if empty:
        console.warning(
            f"{_empty_lines(f'`{name}`', empty)}, but the references have text there; "
            "`nmt translate --min-length 1` writes no such lines"
        )


def _empty_lines(names: str, numbers: Sequence[int]) -> str:
    """How many lines of a text are empty, with the first of their numbers, from 1."""
    shown = ", ".join(f"{number:,}" for number in numbers[:LINES_NAMED])
    more = ", ..." if len(numbers) > LINES_NAMED else ""
    return (
        f"{counted(len(numbers), 'line')} of {names} {agreeing(len(numbers), 'is', 'are')} empty "
        f"({agreeing(len(numbers), 'line', 'lines')} {shown}{more})"
    )


def warn_of_missing_rules(metrics: Collection[str], tgt_lang: str, console: "Console") -> None:
    """Warn of metrics that tokenise by the rules of a language which Moses' tokeniser lacks."""
    from nmt_cli.data.languages.codes import base_code
    from nmt_cli.data.languages.names import is_language_code
    from nmt_cli.scoring import has_rules_for

    concerned = [name for name in ("bleu-paper", "bleu-tokenized") if name in metrics]
    if not concerned or not tgt_lang or has_rules_for(base_code(tgt_lang)):
        return
    known = "" if is_language_code(tgt_lang) else f"nmt knows no language `{tgt_lang}`, and "
    console.warning(
        f"{known}Moses' tokeniser has no rules for `{tgt_lang}`: "
        f"{' and '.join(concerned)} {agreeing(len(concerned), 'takes', 'take')} the abbreviations "
        "of English and rules for all languages"
    )


def warn_of_unspaced_words(
    bleu: "Score", references: Sequence[NamedLines], console: "Console"
) -> None:
    """Warn of BLEU with the usual tokeniser of a reference without spaces between words."""
    from nmt_cli.scoring import unspaced_tokenizer

    if "|tok:13a|" not in bleu.signature:
        return
    for name, lines in references:
        if tokenizer := unspaced_tokenizer(lines):
            console.warning(
                f"the reference `{name}` has next to no spaces between words, and BLEU (tok:13a) "
                "takes what is between spaces for words: it is low also of good translations; "
                f"use `--tokenize {tokenizer}`, or `--metric chrf`"
            )
            return


def check_references(
    hypotheses: NamedLines,
    references: Sequence[NamedLines],
    console: "Console",
    *,
    gated: bool,
    translated: bool,
    languages: tuple[str, str] | None = None,
    test_set: Sequence[str] = (),
) -> None:
    """Warn once if a reference is the hypothesis itself, in another language or another order.

    gated: the score decides about success, which a wrong reference would make meaningless:
    DataError is raised instead, also if `console` is quiet; otherwise a quiet console is no check
    at all. Two files with the same text are only warned of, and not if the hypotheses were
    `translated` by the model for this score. languages: the codes of source and target, if the
    settings name them; test_set: the names of the test set's files if the references are of it.
    """
    from nmt_cli.scoring.notes import order_note

    if console.quiet and not gated:
        return
    for reference in references:
        wrong = _same_file(hypotheses, reference) or _other_language(hypotheses, reference)
        if languages and not wrong:
            wrong = source_language_note(hypotheses, reference, test_set, languages)
        if wrong and gated:
            raise DataError(
                wrong, "name the right files; without a threshold or --baseline, this is a warning"
            )
        same = "" if translated else _same_text(hypotheses, reference)
        warning = wrong or same or order_note(hypotheses[1], *reference)
        if warning:
            console.warning(warning)
            return


def check_baselines(files: Sequence[str], baselines: Sequence[str]) -> None:
    """Raise UsageError if a baseline is one of these files: they would never differ."""
    for name, baseline in product(files, baselines):
        if _are_same_file(name, baseline):
            raise UsageError(
                f"`{name}` is compared with itself: hypothesis and --baseline are the same file",
                "name the output of another system with --baseline",
            )


def _are_same_file(name: str, other: str) -> bool:
    return STDIN not in (name, other) and Path(name).resolve() == Path(other).resolve()


def _same_file(hypotheses: NamedLines, reference: NamedLines) -> str:
    name, other = hypotheses[0], reference[0]
    if _are_same_file(name, other):
        return f"`{name}` is scored against itself: hypothesis and reference are the same file"
    return ""


def _same_text(hypotheses: NamedLines, reference: NamedLines) -> str:
    other = reference[0]
    if hypotheses[1] == reference[1]:
        return f"the hypotheses and the reference `{other}` are identical: is this the right file?"
    return ""


def _other_language(hypotheses: NamedLines, reference: NamedLines) -> str:
    from nmt_cli.data.languages.english_names import shown_language
    from nmt_cli.data.languages.words import differing_languages

    differing = differing_languages(
        *(islice(lines, LINES_LOOKED_AT) for _, lines in (hypotheses, reference))
    )
    if differing is None:
        return ""
    first, second = map(shown_language, differing)
    return f"the hypotheses seem to be in {first}, the reference `{reference[0]}` in {second}"
