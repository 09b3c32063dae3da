"""`nmt translate`: one output line for each input line."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from nmt_cli.cli.commands.translation.constraints import read_constraints
from nmt_cli.cli.commands.translation.document import DocumentOptions, translate_document
from nmt_cli.cli.commands.translation.options import (
    LAYOUT,
    Ban,
    Device,
    Document,
    FailOn,
    Field,
    File,
    FlagFile,
    Fuzzy,
    GlossaryFile,
    JsonInput,
    Kind,
    Models,
    Output,
    Precision,
    PrecisionOption,
    Prefix,
    Scores,
    Threads,
    Verify,
    VerifyEvery,
)
from nmt_cli.cli.display.flags import FlagReport, check_flags
from nmt_cli.cli.display.line_progress import LineProgress
from nmt_cli.cli.display.misfit import warn_of_misfit
from nmt_cli.cli.display.translations import Show, as_json_line, plain_lines
from nmt_cli.cli.display.verification import Checks
from nmt_cli.cli.environment import make_console, use_threads
from nmt_cli.cli.loading import load_translator, require_models
from nmt_cli.cli.options.declarations import AsJson, ConfigFile, ForceFile, Quiet, Sets
from nmt_cli.cli.options.from_settings import with_options
from nmt_cli.cli.settings import chosen_search, resolve_settings
from nmt_cli.cli.text_io import (
    STDIN,
    note_waiting,
    open_text_file,
    require_output,
    require_text_file,
    warn_of_invalid,
)
from nmt_cli.errors import UsageError

if TYPE_CHECKING:
    from nmt_cli.config.schema import ResolvedConfig
    from nmt_cli.config.search import SearchConfig
    from nmt_cli.data.text.lines import Lines
    from nmt_cli.terminal.console import Console
    from nmt_cli.translation.constraints import Constraints
    from nmt_cli.translation.lines.prefixes import Prefixes
    from nmt_cli.translation.result import Translation
    from nmt_cli.translation.translator import Translator

# The lines read so far are translated when no other line has arrived for this long.
PATIENCE_SECONDS = 0.2

EXAMPLES = """
echo "Hello world." | nmt translate
nmt translate test.en -o output.de
nmt translate --n-best 4 test.en         4 translations of each line
nmt translate --beam 1 --json test.en    greedy search, scores as JSON
nmt translate --glossary terms.tsv test.en
nmt translate --document page.html -o page.de.html
nmt translate --sample --top-p 0.9 --beam 32 --mbr chrf test.en
"""


@with_options(LAYOUT)
def command(
    *,
    flags: Mapping[str, object],
    file: File = STDIN,
    model: Models = None,
    verify: Verify = False,
    verify_every: VerifyEvery = None,
    ban: Ban = None,
    glossary: GlossaryFile = None,
    prefix: Prefix = None,
    output: Output = None,
    force: ForceFile = False,
    scores: Scores = False,
    document: Document = None,
    kind: Kind = None,
    json_input: JsonInput = False,
    field: Field = None,
    fuzzy: Fuzzy = False,
    flag_file: FlagFile = None,
    fail_on: FailOn = None,
    device: Device = "auto",
    precision: PrecisionOption = Precision.float32,
    threads: Threads = None,
    sets: Sets = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Translate text line by line.

    Writes one line for each input line, as soon as it is ready. Empty lines stay empty, each
    sentence of a line is translated on its own, and very long sentences are translated in segments.
    With --n-best, output lines are `N ||| translation ||| score`, where N is the index of the input
    line, counted from 0. A model keeps the search settings that it was trained with; they are the
    defaults of the options for search. --document translates the text of a document and keeps its
    form.
    """
    from nmt_cli.data.text.lines import read_lines

    resolved = resolve_settings({**flags, "paths.model": _first(model)}, sets, config_file)
    check_flags(fail_on or ())
    chosen = DocumentOptions(document, kind, json_input, field, fuzzy)
    file = chosen.check(file, output, unfit=(scores, prefix, verify, verify_every), flags=flags)
    read, written = (file, glossary, ban, prefix), (output, flag_file)
    _check_output(written, resolved, config_file, model, files_read=read, force=force)
    console = make_console(quiet=quiet)
    models = _require_files(file, model or [resolved.config.paths.model], output, flag_file)
    constraining = partial(read_constraints, glossary, ban, file, console)
    start = partial(_start, models, device, precision, threads, constraining, resolved, console)
    reporting = partial(_flag_report, console, fail_on, flag_file)
    if chosen.is_document:
        translate_document(chosen, file, resolved.config, start, reporting, output, as_json)
        return
    form = partial(_form, as_json=as_json, scores=scores)
    checking = partial(_checks, precision=precision, every=verify_every or int(verify))
    with read_lines(file, strict=resolved.config.data.strict) as lines:
        _translate_lines(lines, file, prefix, start, reporting, checking, form, output)


def _translate_lines(
    lines: "Lines",
    file: str,
    prefix: Path | None,
    start: "Callable[[], _Work]",
    reporting: Callable[[], contextlib.AbstractContextManager[FlagReport]],
    checking: "Callable[[_Work], Checks | None]",
    form: "Callable[[SearchConfig], Show]",
    output: Path | None,
) -> None:
    """Translate the lines of `file`; start, reporting, checking, form: make what is needed."""
    _require_as_many_prefixes(file, prefix)
    work = start()
    progress = _begin(work.console, work.translator.engine.notice, file)
    with (
        open_text_file(output, lines) as out,
        _prefixes(prefix) as prefixes,
        reporting() as report,
    ):
        work = work._replace(prefixes=prefixes)
        _translate(work, lines, out, form(work.search), checking(work), report, progress)
    progress.note_written(output)
    report.end()


def _first(models: Sequence[str] | None) -> str | None:
    return models[0] if models else None


def _form(search: "SearchConfig", *, as_json: bool, scores: bool) -> Show:
    """The function that formats a translation, as JSON or as plain lines."""
    if as_json:
        return as_json_line
    return plain_lines(n_best=search.n_best > 1, scores=scores, alignment=search.alignment)


def _require_files(file: str, models: list[str], *outputs: Path | None) -> list[str]:
    """The `models`; raises before anything is loaded if a file cannot be read or written."""
    require_text_file(file)
    require_models(models)
    for output in outputs:
        require_output(output)
    if None not in outputs and len({output.resolve() for output in outputs if output}) == 1:
        raise UsageError("--output and --flag-file name the same file", "name two files")
    return models


def _search(
    translator: "Translator", resolved: "ResolvedConfig", constraints: "Constraints"
) -> "SearchConfig":
    """The search settings; raises if settings, constraints and model cannot be combined."""
    from nmt_cli.translation.constraints import check_constraints

    translator.bind(constraints)
    search = chosen_search(resolved, translator.config)
    check_constraints(constraints, search)
    translator.shortlist_for(search)
    return search


def _begin(console: "Console", notice: str, file: str) -> LineProgress:
    """Write the notes before the first line, and make the progress bar."""
    from nmt_cli.data.text.line_count import count_lines

    if notice:
        console.note(notice)
    note_waiting(console, file)
    return LineProgress(console, partial(count_lines, file))


def _check_output(
    outputs: Sequence[Path | None],
    resolved: "ResolvedConfig",
    config_file: Path | None,
    models: Sequence[str] | None,
    *,
    files_read: tuple[str | Path | None, ...],
    force: bool,
) -> None:
    """Raise CannotCreateError if an output would overwrite what the command or project reads.

    files_read: the text, and the files of constraints. force: replace any other file.
    """
    from nmt_cli.cli.outputs import check_outputs
    from nmt_cli.config.protected_files import needed_files

    text, *others = files_read
    read = [
        *needed_files("is the file that is read", text),
        *needed_files("is read, too", *others),
    ]
    check_outputs(
        outputs, read,
        resolved=resolved, config_file=config_file, models=models or (), force=force,
    )  # fmt: skip


class _Work(NamedTuple):
    """A translator with the settings, constraints and prefixes of this run."""

    console: "Console"
    translator: "Translator"
    search: "SearchConfig"
    constraints: "Constraints"
    prefixes: "Prefixes | None" = None

    def translate(
        self,
        window: Sequence[str],
        prefixes: Sequence[str] | None,
        first: int,
        on_progress: Callable[[float], None],
    ) -> "list[Translation]":
        """The translations of the lines `window`.

        prefixes: those of these lines; first: the index of the first line in the whole text;
        on_progress: called with the finished share of the lines, from 0 to 1.
        """
        return self.translator.translate_window(
            window,
            search=self.search,
            constraints=self.constraints,
            prefixes=prefixes,
            first=first,
            on_progress=on_progress,
        )


def _start(
    models: Sequence[str],
    device: str,
    precision: Precision,
    threads: int | None,
    constraining: "Callable[[], Constraints]",
    resolved: "ResolvedConfig",
    console: "Console",
) -> _Work:
    """Load the models, and check that they fit the settings and constraints."""
    constraints = constraining()
    translator = _load(models, device, precision, threads, console)
    return _Work(console, translator, _search(translator, resolved, constraints), constraints)


def _checks(work: _Work, *, precision: Precision, every: int) -> Checks | None:
    """The verification of every nth line; None if `every` is 0."""
    if not every:
        return None
    return Checks(
        work.translator, work.search, work.constraints,
        precision=precision.value, every=every, console=work.console,
    )  # fmt: skip


@contextlib.contextmanager
def _flag_report(
    console: "Console", fail_on: Sequence[str] | None, path: Path | None
) -> Iterator[FlagReport]:
    """The report of flags; `path` gets the flagged lines when the block ends without an error."""
    if path is None:
        yield FlagReport(console, fail_on or ())
        return
    with open_text_file(path) as file:
        yield FlagReport(console, fail_on or (), file)


@contextlib.contextmanager
def _prefixes(path: Path | None) -> Iterator["Prefixes | None"]:
    """The prefixes in a file; raises DataError if the file has more lines than the text."""
    from nmt_cli.data.text.lines import read_lines
    from nmt_cli.translation.lines.prefixes import Prefixes

    if path is None:
        yield None
        return
    with read_lines(path) as lines:
        prefixes = Prefixes(lines, f"`{lines.name}`")
        yield prefixes
        prefixes.end()


def _require_as_many_prefixes(text: Path | str, prefixes: Path | None) -> None:
    """Raise DataError before any work if two files have different numbers of lines.

    Streams can be read only once; for them this is known when one of the two ends.
    """
    from nmt_cli.data.text.lines import read_lines
    from nmt_cli.errors import DataError
    from nmt_cli.translation.lines.prefixes import require_as_many

    if prefixes is None or not (Path(text).is_file() and prefixes.is_file()):
        return
    try:
        with read_lines(text) as lines, read_lines(prefixes) as starts:
            counts = sum(1 for _ in lines), sum(1 for _ in starts)
    except DataError:
        return  # A damaged file is reported when the damage is reached.
    require_as_many(*counts, f"`{prefixes}`")


def _load(
    models: Sequence[str],
    device: str,
    precision: Precision,
    threads: int | None,
    console: "Console",
) -> "Translator":
    """Load the models onto the device, several of them as an ensemble."""
    if threads is not None:
        use_threads(threads)
    first, *others = models
    return load_translator(first, device, precision=precision.value, others=others, console=console)


def _translate(
    work: _Work,
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

    count = 0
    # A bar would stand between translations on the terminal.
    shown = contextlib.nullcontext() if out.isatty() else progress.shown()
    with shown:
        for window in windows(lines, lambda: lines.must_wait(PATIENCE_SECONDS)):
            if not count:
                is_marked = work.search.markup == "keep"
                texts = [without_marks(line) for line in window] if is_marked else window
                warn_of_misfit(texts, work.translator, progress.console)
            prefixes = work.prefixes.take(len(window)) if work.prefixes else None
            on_progress = partial(progress.update_within, count, len(window))
            translations = work.translate(window, prefixes, count, on_progress)
            for index, translation in enumerate(translations, count):
                out.write(show(index, translation).encode("utf-8", errors="replace"))
                report.add(index, translation)
            out.flush()
            if checks:
                checks.check(translations, prefixes, count)
            count += len(translations)
            progress.update(count)
    warn_of_invalid(progress.console, lines)
    report.show(work.translator.quality.left_out)
    if checks:
        checks.end()
