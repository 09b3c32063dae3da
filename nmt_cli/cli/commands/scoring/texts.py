"""The texts that `nmt score` compares: files, or the test set, translated if need be."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.cli.commands.scoring.checks import (
    check_baselines,
    check_references,
    command_for_test_set,
)
from nmt_cli.cli.commands.scoring.languages import languages_of_project
from nmt_cli.cli.commands.scoring.test_set import warn_of_test_set
from nmt_cli.cli.text_io import STDIN, note_waiting, warn_of_invalid
from nmt_cli.errors import NoInputError, UsageError

if TYPE_CHECKING:
    from nmt_cli.config.schema import ResolvedConfig
    from nmt_cli.data.cleaning.held_out.texts import HeldOutText
    from nmt_cli.scoring import GivenScores
    from nmt_cli.terminal.console import Console

TRANSLATION = "the translation"


@dataclass(frozen=True)
class Texts:
    """Lines that have been checked to be as many in each text.

    names: the file of the hypotheses and those of the references. source: the lines translated
    from, where the test set has them. references: none if only scores of another tool are used.
    baselines, labelings: by the names of their files, or `length`. is_translated: whether the
    hypotheses are translations of the test set that were made for the score.
    """

    names: tuple[str, ...]
    hypotheses: list[str]
    references: list[list[str]]
    source: list[str] | None
    baselines: Mapping[str, list[str]]
    labelings: Mapping[str, list[str]]
    given: Sequence["GivenScores"]
    is_translated: bool = False


@dataclass(frozen=True)
class Wanted:
    """What is to be read. by: files of labels, or `length`; given: name to file of scores.

    gated: the score has a threshold or is compared with a baseline.
    """

    files: Sequence[str]
    baselines: Sequence[str]
    by: Sequence[str]
    given: Mapping[str, str]
    lower_is_better: bool
    needs_reference: bool
    gated: bool

    @property
    def label_files(self) -> list[str]:
        """The files of labels."""
        from nmt_cli.scoring.grouping import LENGTH

        return [name for name in self.by if name != LENGTH]


def read_texts(wanted: Wanted, resolved: "ResolvedConfig", console: "Console") -> Texts:
    """Read all texts; the test set of the project file replaces files that are not given."""
    from nmt_cli.scoring import check_aligned, require_plain_text

    src_file, reference_files, is_tsv = _test_set(wanted, resolved)
    extra = [*wanted.baselines, *wanted.label_files, *wanted.given.values()]
    check_files([*(wanted.files[:1] or [src_file]), *reference_files, *extra])
    check_baselines(wanted.files[:1], wanted.baselines)
    note_waiting(console, *wanted.files, *extra)
    strict = resolved.config.data.strict
    # Of a test set in one TSV file the second column is the reference.
    has_table = is_tsv and bool(reference_files) and not wanted.files[1:]
    table = _read_table(src_file, resolved, console) if has_table else None
    references = [
        (name, list(table.tgt) if table else _read(name, console, strict=strict))
        for name in reference_files
    ]
    others, labels, numbers = (
        {name: _below_header(_read(name, console, strict=strict), table) for name in names}
        for names in (wanted.baselines, wanted.label_files, wanted.given.values())
    )
    test_set = [src_file] if is_tsv else [src_file, *reference_files[:1]]
    named = [*references, *others.items(), *labels.items(), *numbers.items()]
    source = list(table.src) if table else _source(src_file, wanted, resolved, console)
    if wanted.files:
        hypotheses = _below_header(_read(wanted.files[0], console, strict=strict), table)
    else:
        check_aligned([(src_file, source or []), *named])
        model = resolved.config.paths.model
        console.note(f"translating `{src_file}` with `{model}` to score it by `{references[0][0]}`")
        warn_of_test_set(test_set, source or [], references[0][1], resolved.config, console)
        hypotheses = translate_test_set(source or [], resolved, console)
    name = wanted.files[0] if wanted.files else TRANSLATION
    compared = [("stdin" if name == STDIN else name, hypotheses), *references, *others.items()]
    require_plain_text(compared)
    check_aligned([*compared, *labels.items(), *numbers.items()])
    translated = not wanted.files
    # The languages of a test set that was translated have been compared with those of the model.
    check_references(
        (name, hypotheses), references, console, gated=wanted.gated, translated=translated,
        languages=None if translated else languages_of_project(resolved), test_set=test_set,
    )  # fmt: skip
    if wanted.files[2:]:
        shown = ", ".join(f"`{file}`" for file in reference_files)
        console.note(
            f"`{name}` is scored by {len(references)} references together: {shown}; if only "
            f"`{wanted.files[-1]}` is a reference, and the others are translations of several "
            f"systems: {_comparison(wanted.files)}"
        )
    reference_lines = [lines for _, lines in references]
    return Texts(
        (name, *reference_files),
        hypotheses,
        reference_lines,
        source if source and len(source) == len(hypotheses) else None,
        others,
        _labelings(wanted.by, labels, [*reference_lines, hypotheses][0]),
        _given(wanted, numbers),
        translated,
    )


def _comparison(files: Sequence[str]) -> str:
    """The command that compares several systems, if the last file is the only reference.

    >>> _comparison(["a", "b", "c", "ref"])
    'nmt score a ref --baseline b --baseline c'
    """
    first, *others, reference = files
    baselines = (part for other in others for part in ("--baseline", other))
    return shlex.join(["nmt", "score", first, reference, *baselines])


def _read_table(name: str, resolved: "ResolvedConfig", console: "Console") -> "HeldOutText":
    """The test set in one TSV file; a note says if it has a header, which is no pair."""
    from nmt_cli.data.cleaning.held_out.texts import HeldOutText

    table = HeldOutText.read("test", (name,), resolved.config)
    if table.header:
        console.note(f"{table.header_note}, from which the lines are counted")
    return table


def _below_header(lines: list[str], table: "HeldOutText | None") -> list[str]:
    """The lines of a text beside a table, without those of its header if they are among them."""
    if table is None or len(lines) != table.header + len(table.src):
        return lines
    return lines[table.header :]


def _test_set(wanted: Wanted, resolved: "ResolvedConfig") -> tuple[str, list[str], bool]:
    """The source file of the test set, the reference files, and whether the set is one TSV file."""
    from nmt_cli.data.corpus.layout import test_text

    src_file, *test_references = test_text(resolved.config) or ("",)
    is_tsv = bool(src_file) and not test_references
    test_references = [src_file] if is_tsv else test_references
    reference_files = list(wanted.files[1:]) or test_references
    if not wanted.needs_reference and not wanted.files[1:] and wanted.files:
        reference_files = []
    elif not reference_files:
        raise UsageError(
            "there is no reference to score against",
            _hint_at_references(wanted, resolved),
            missing="data.test",
        )
    return src_file, reference_files, is_tsv


def _hint_at_references(wanted: Wanted, resolved: "ResolvedConfig") -> str:
    """How to name the references of a translation, or a test set for the model."""
    if wanted.files:
        name = "-" if wanted.files[0] == STDIN else shlex.quote(wanted.files[0])
        return f"name them: `nmt score {name} REFERENCE`, or a test set: data.test in nmt.toml"
    named = resolved.origins["paths.model"] != "default"
    command = command_for_test_set(resolved.config.paths.model if named else None)
    return (
        f"to translate a test set and score that: {command}, or data.test in nmt.toml; to score a "
        "finished translation: `nmt score HYPOTHESIS REFERENCE`"
    )


def _source(
    src_file: str, wanted: Wanted, resolved: "ResolvedConfig", console: "Console"
) -> list[str] | None:
    """The source lines: of the test set where it is used, and where something shows them."""
    strict = resolved.config.data.strict
    if not wanted.files:
        return _read(src_file, console, strict=strict)
    is_used = src_file and len(wanted.files) == 1 and wanted.needs_reference
    if not is_used or not Path(src_file).is_file():
        return None
    return _read(src_file, console, strict=strict)


def _labelings(
    by: Sequence[str], labels: Mapping[str, list[str]], measured: Sequence[str]
) -> dict[str, list[str]]:
    from nmt_cli.scoring.grouping import LENGTH, length_labels

    return {name: length_labels(measured) if name == LENGTH else labels[name] for name in by}


def _given(wanted: Wanted, numbers: Mapping[str, list[str]]) -> list["GivenScores"]:
    from nmt_cli.scoring.given import GivenScores, parse_scores

    return [
        GivenScores(name, file, parse_scores(file, numbers[file]), wanted.lower_is_better)
        for name, file in wanted.given.items()
    ]


def check_files(names: Sequence[str]) -> None:
    """Raise one error that names every file which cannot be read or is in another encoding."""
    from nmt_cli.data.preparation.encoding_check import require_utf8
    from nmt_cli.storage.files import require_file

    if names.count(STDIN) > 1:
        raise UsageError(
            "only one of the texts can come from stdin (`-`)", "write the others to files"
        )
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
    require_utf8(names)


def _read(name: str, console: "Console", *, strict: bool) -> list[str]:
    """The lines of a file."""
    from nmt_cli.data.text.lines import read_lines

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
