"""`nmt translate`: one output line for each input line."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from nmt_cli.cli.commands.translation.constraints import ConstraintFiles
from nmt_cli.cli.commands.translation.document import (
    DocumentOptions,
    require_no_document,
    translate_document,
)
from nmt_cli.cli.commands.translation.file_formats import warn_of_format
from nmt_cli.cli.commands.translation.options import (
    LAYOUT,
    Ban,
    Device,
    Document,
    FailOn,
    Field,
    File,
    FlagFile,
    FlagsField,
    Fuzzy,
    GlossaryFile,
    Join,
    JsonInput,
    Keep,
    Kind,
    Models,
    Output,
    PartOption,
    Precision,
    PrecisionOption,
    Prefix,
    Scores,
    Stats,
    Then,
    TranslationField,
    Verify,
    VerifyEvery,
)
from nmt_cli.cli.commands.translation.parts import join_parts, part_of
from nmt_cli.cli.commands.translation.pivots import check_pivots
from nmt_cli.cli.commands.translation.prefixes import open_prefixes, require_as_many_prefixes
from nmt_cli.cli.commands.translation.work import Loading, Work, starting
from nmt_cli.cli.display.flags import FlagReport
from nmt_cli.cli.display.line_progress import LineProgress
from nmt_cli.cli.display.misfit import UnusualCharacters, warn_of_misfit
from nmt_cli.cli.display.translations import Show, plain_lines
from nmt_cli.cli.display.verification import Checks
from nmt_cli.cli.environment import make_console
from nmt_cli.cli.loading import require_models
from nmt_cli.cli.options.declarations import (
    AsJsonLines,
    ConfigFile,
    ForceFile,
    Quiet,
    SearchSets,
    Threads,
)
from nmt_cli.cli.options.from_settings import with_options
from nmt_cli.cli.settings import resolve_settings
from nmt_cli.cli.text_io import (
    STDIN,
    note_waiting,
    open_text_file,
    require_output,
    require_text_file,
    warn_of_invalid,
)
from nmt_cli.cli.used_settings import TRANSLATING
from nmt_cli.errors import UsageError
from nmt_cli.translation.json_lines import as_json_line

if TYPE_CHECKING:
    from nmt_cli.config.schema import ResolvedConfig
    from nmt_cli.config.search import SearchConfig
    from nmt_cli.data.text.lines import Lines
    from nmt_cli.terminal.console import Console

# The lines read so far are translated when no other line has arrived for this long.
PATIENCE_SECONDS = 0.2

EXAMPLES = """
echo "Hello world." | nmt translate
nmt translate test.en -o output.de
nmt translate --n-best 4 test.en         4 translations of each line
nmt translate --beam 1 --json test.en    greedy search, scores as JSON
nmt translate --glossary terms.tsv test.en
nmt translate --keep names.txt test.en   names are copied
nmt translate --document page.html -o page.de.html
nmt translate --document strings.csv --field en -o strings.de.csv
nmt translate --model en-de --then de-fr test.en
nmt translate --sample --top-p 0.9 --beam 32 --mbr chrf test.en
"""


@with_options(LAYOUT)
def command(
    *,
    flags: Mapping[str, object],
    file: File = STDIN,
    model: Models = None,
    then: Then = None,
    verify: Verify = False,
    verify_every: VerifyEvery = None,
    ban: Ban = None,
    glossary: GlossaryFile = None,
    keep: Keep = None,
    prefix: Prefix = None,
    output: Output = None,
    force: ForceFile = False,
    part: PartOption = None,
    join: Join = None,
    scores: Scores = False,
    stats: Stats = False,
    document: Document = None,
    kind: Kind = None,
    json_input: JsonInput = False,
    field: Field = None,
    translation_field: TranslationField = "translation",
    flags_field: FlagsField = "flags",
    fuzzy: Fuzzy = False,
    flag_file: FlagFile = None,
    fail_on: FailOn = None,
    device: Device = "auto",
    precision: PrecisionOption = Precision.float32,
    threads: Threads = None,
    sets: SearchSets = None,
    config_file: ConfigFile = None,
    as_json: AsJsonLines = False,
    quiet: Quiet = False,
) -> None:
    """Translate text line by line.

    Writes one line for each input line, as soon as it is ready. Empty lines stay empty, sentences
    are translated one by one, very long ones in segments. A model keeps its own search settings.
    With --n-best, output lines are `N ||| translation ||| score`; N counts input lines from 0.
    """
    resolved = _settings({**flags, "paths.model": _first(model)}, sets, config_file)
    if join_parts(join, file, output, resolved, force=force, as_json=as_json, quiet=quiet):
        return
    text_part, output, flag_file = part_of(part, output, flag_file)
    doc = DocumentOptions(document, field, kind, json_input, translation_field, flags_field, fuzzy)
    file = doc.check(file, output, (scores, prefix, verify, verify_every, part), flags, as_json)
    check_pivots(then, flags, verify=verify or bool(verify_every))
    files, written = ConstraintFiles(glossary or (), keep or (), ban, prefix), (output, flag_file)
    models = _check_files(file, files, written, resolved, config_file, model, then, doc, force)
    console = make_console(quiet=quiet)
    loading = Loading(models, then or (), device, precision, threads, text_part, with_stats=stats)
    start = starting(loading, files, file, resolved, console)
    reporting = partial(_flag_report, console, fail_on, flag_file, force)
    if doc.is_document:
        translate_document(doc, file, loading.ends, start, reporting, output, as_json, force)
        return
    form = partial(_form, as_json=as_json, scores=scores)
    checking = partial(_checks, precision=precision, every=verify_every or int(verify))
    _translate_lines(file, resolved, prefix, start, reporting, checking, form, output, force)


def _translate_lines(
    file: str,
    resolved: "ResolvedConfig",
    prefix: Path | None,
    start: "Callable[[], Work]",
    reporting: Callable[[], contextlib.AbstractContextManager[FlagReport]],
    checking: "Callable[[Work], Checks | None]",
    form: "Callable[[SearchConfig], Show]",
    output: Path | None,
    force: bool,
) -> None:
    """Translate the lines of `file`; start, reporting, checking, form: make what is needed."""
    from nmt_cli.data.text.lines import read_lines

    with read_lines(file, strict=resolved.config.data.strict) as lines:
        require_as_many_prefixes(file, prefix)
        work = start()
        progress = _begin(work, file)
        with (
            # Ends last, so that the translations are there if the flags cannot be written.
            reporting() as report,
            open_text_file(output, lines, force=force) as out,
            open_prefixes(prefix, work) as prefixes,
        ):
            work = work._replace(prefixes=prefixes)
            _translate(work, lines, out, form(work.search), checking(work), report, progress)
    progress.note_written(output)
    work.show_stats()
    report.end()


def _settings(
    flags: Mapping[str, object], sets: list[str] | None, config_file: Path | None
) -> "ResolvedConfig":
    return resolve_settings(flags, sets, config_file, used=TRANSLATING)


def _first(models: Sequence[str] | None) -> str | None:
    return models[0] if models else None


def _form(search: "SearchConfig", *, as_json: bool, scores: bool) -> Show:
    """The function that formats a translation, as JSON or as plain lines."""
    if as_json:
        return as_json_line
    return plain_lines(n_best=search.n_best > 1, scores=scores, alignment=search.alignment)


def _check_files(
    text: str,
    files: ConstraintFiles,
    written: tuple[Path | None, ...],
    resolved: "ResolvedConfig",
    config_file: Path | None,
    models: list[str] | None,
    then: list[str] | None,
    doc: DocumentOptions,
    force: bool,
) -> list[str]:
    """The models; raises before torch is loaded if a file cannot be read or written.

    An output must overwrite neither the text nor the files of constraints, nor what the project
    reads. Lines must be UTF-8; a document may declare another encoding. force: replace any other
    file.
    """
    from nmt_cli.cli.outputs import check_outputs
    from nmt_cli.config.protected_files import needed_files
    from nmt_cli.data.preparation.encoding_check import require_utf8

    needed = [
        *needed_files("is the file that is read", text),
        *needed_files("is read, too", *files.paths),
    ]
    check_outputs(
        written, needed,
        resolved=resolved, config_file=config_file, force=force,
        models=[*(models or ()), *(then or ())],
    )  # fmt: skip
    require_text_file(text, "translate")
    if not doc.is_document:
        require_no_document(text)
        require_utf8([text])
    chosen = models or [resolved.config.paths.model]
    require_models([*chosen, *(then or ())])
    for output, option in zip(written, ("--output", "--flag-file"), strict=True):
        require_output(output, option)
    if None not in written and len({output.resolve() for output in written if output}) == 1:
        raise UsageError("--output and --flag-file name the same file", "name two files")
    return chosen


def _begin(work: Work, file: str) -> LineProgress:
    """Write the notes before the first line, and make the progress bar."""
    from nmt_cli.data.text.line_count import count_lines

    def count() -> int | None:
        lines = count_lines(file)
        return lines if lines is None else work.part.size(lines)

    work.show_notices()
    warn_of_format(work.console, file, work.translator.steps[0].config.languages.src)
    note_waiting(work.console, file)
    return LineProgress(work.console, count)


def _checks(work: Work, *, precision: Precision, every: int) -> Checks | None:
    """The verification of every nth line; None if `every` is 0."""
    if not every:
        return None
    return Checks(
        work.translator.steps[0], work.search, work.constraints,
        precision=precision.value, every=every, console=work.console,
    )  # fmt: skip


@contextlib.contextmanager
def _flag_report(
    console: "Console", fail_on: Sequence[str] | None, path: Path | None, force: bool
) -> Iterator[FlagReport]:
    """The report of flags; `path` gets the flagged lines when the block ends without an error."""
    if path is None:
        yield FlagReport(console, fail_on or ())
        return
    with open_text_file(path, force=force) as file:
        yield FlagReport(console, fail_on or (), file)


def _translate(
    work: Work,
    lines: "Lines",
    out: BinaryIO,
    show: Show,
    checks: Checks | None,
    report: FlagReport,
    progress: LineProgress,
) -> None:
    """Translate, write and verify `lines` window by window; warn of lines with problems."""
    from nmt_cli.data.markup.inline import without_marks
    from nmt_cli.translation.lines.inputs import windows

    is_marked = work.search.markup == "keep"
    count, unusual = 0, UnusualCharacters(work.part.index, resolves_entities=is_marked)
    # A bar would stand between translations on the terminal.
    shown = contextlib.nullcontext() if out.isatty() else progress.shown()
    with shown:
        own_lines = unusual.watch(work.part.lines(lines))
        for window in windows(own_lines, lambda: lines.must_wait(PATIENCE_SECONDS)):
            if not count:
                texts = [without_marks(line, work.kept) for line in window] if is_marked else window
                warn_of_misfit(texts, work.translator.steps[0], progress.console)
            prefixes = work.prefixes.take(len(window)) if work.prefixes else None
            on_progress = partial(progress.update_within, count, len(window))
            translations = work.translate(window, prefixes, count, on_progress)
            for own, translation in enumerate(translations, count):
                index = work.part.index(own)
                out.write(show(index, translation).encode("utf-8", errors="replace"))
                report.add(index, translation)
                work.note(translation)
            out.flush()
            if checks:
                checks.check(translations, prefixes, work.part.index(count), work.part.count)
            count += len(translations)
            progress.update(count)
    warn_of_invalid(progress.console, lines)
    unusual.warn(lines.name, progress.console)
    report.show(work.left_out)
    if checks:
        checks.end()
