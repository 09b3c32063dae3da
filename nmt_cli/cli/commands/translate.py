"""`nmt translate`: one line in, one line out, always."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, NamedTuple

import typer

from nmt_cli.cli import search_options as options
from nmt_cli.cli.display.translations import Show, as_json_line, plain_lines
from nmt_cli.cli.display.verification import Checks
from nmt_cli.cli.environment import make_console
from nmt_cli.cli.loading import load_translator, require_models
from nmt_cli.cli.options import AsJson, ConfigFile, Quiet, Sets, Strict
from nmt_cli.cli.text_io import (
    STDIN,
    open_text_file,
    require_output,
    require_text_file,
    tell_invalid,
    tell_waiting,
)
from nmt_cli.plurals import agreeing, counted

if TYPE_CHECKING:
    from nmt_cli.config.schema import ResolvedConfig
    from nmt_cli.config.search import SearchConfig
    from nmt_cli.data.text.lines import Lines
    from nmt_cli.terminal.console import Console
    from nmt_cli.terminal.progress import Progress
    from nmt_cli.translation.constraints import Constraints
    from nmt_cli.translation.prefixes import Prefixes
    from nmt_cli.translation.result import Translation
    from nmt_cli.translation.translator import Translator

# A line is translated when nothing more has come for so long.
PATIENCE_SECONDS = 0.2

EXAMPLES = """
echo "Hello world." | nmt translate
nmt translate test.en -o test.de           a file; .gz, .xz, .zst and .bz2 are read too
nmt translate --n-best 4 test.en           several for each line
nmt translate --beam 1 --json test.en      fast; scores and flags for machines
nmt translate --glossary terms.tsv test.en
nmt translate --sample --top-p 0.9 --beam 32 --mbr chrf test.en
"""


class Precision(StrEnum):
    """Kinds of arithmetic."""

    float32 = "float32"
    bf16 = "bf16"
    int8 = "int8"
    fp16 = "fp16"


File = Annotated[str, typer.Argument(metavar="[FILE]", help="Text; `-` is stdin.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there; else stdout.")
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model", metavar="MODEL", help="Model directory; else model/. Several: an ensemble."
    ),
]
Device = Annotated[
    str, typer.Option("--device", help="cpu, cuda, cuda:1 ...; auto: a GPU where there is one.")
]
PrecisionOption = Annotated[
    Precision,
    typer.Option("--precision", help="Of the arithmetic; int8: for a CPU, fp16: for a GPU."),
]
Threads = Annotated[
    int | None, typer.Option("--threads", metavar="N", min=1, help="On a CPU; else all its cores.")
]
Verify = Annotated[
    bool, typer.Option("--verify", help="Translate each line again alone, by the plain model.")
]
VerifyEvery = Annotated[
    int | None, typer.Option("--verify-every", metavar="N", min=1, help="Each Nth line only.")
]


def command(
    file: File = STDIN,
    output: Output = None,
    model: Models = None,
    beam: options.Beam = None,
    n_best: options.NBest = None,
    alpha: options.Alpha = None,
    length_penalty: options.Penalty = None,
    word_reward: options.WordReward = None,
    coverage_penalty: options.CoveragePenalty = None,
    min_length: options.MinLength = None,
    max_length: options.MaxLength = None,
    max_extra_length: options.MaxExtraLength = None,
    no_repeat_ngram: options.NoRepeatNgram = None,
    repetition_penalty: options.RepetitionPenalty = None,
    ban: options.Ban = None,
    glossary: options.GlossaryFile = None,
    prefix: options.Prefix = None,
    shortlist: options.Shortlist = None,
    sample: options.Sample = False,
    temperature: options.Temperature = None,
    top_k: options.TopK = None,
    top_p: options.TopP = None,
    seed: options.Seed = None,
    mbr: options.Mbr = None,
    alignment: options.Alignment = False,
    scores: options.Scores = False,
    replace_unknown: options.ReplaceUnknown = False,
    batch_tokens: options.BatchTokens = None,
    device: Device = "auto",
    precision: PrecisionOption = Precision.float32,
    threads: Threads = None,
    verify: Verify = False,
    verify_every: VerifyEvery = None,
    strict: Strict = False,
    sets: Sets = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Translate lines of text.

    One line in, one line out: an empty line stays empty, a very long one is translated in pieces.
    Reads and writes UTF-8 and gives each line out as soon as it is ready.
    """
    from nmt_cli.data.text.lines import read_lines

    resolved = _resolve(locals())
    console = make_console(quiet=quiet)
    models = _require_files(file, model or [resolved.config.paths.model], output)
    with read_lines(file, strict=resolved.config.data.strict) as lines:
        constraints = _constraints(glossary, ban)
        translator = _load(models, device, precision, threads, console)
        search = _search(translator, resolved, constraints)
        progress = _begin(console, translator.engine.notice, file)
        with open_text_file(output, lines) as out, _prefixes(prefix) as prefixes:
            work = _Work(translator, search, constraints, prefixes)
            checks = _checks(work, precision, verify_every or int(verify), console)
            _translate(work, lines, out, _form(search, as_json, scores), checks, progress)
        progress.tell_written(output)


def _form(search: "SearchConfig", as_json: bool, scores: bool) -> Show:
    """How a translation is written: as JSON, or as plain lines."""
    if as_json:
        return as_json_line
    return plain_lines(n_best=search.n_best > 1, scores=scores, alignment=search.alignment)


def _require_files(file: str, models: list[str], output: Path | None) -> list[str]:
    """The `models`; refuses, before torch is loaded, what cannot be read or written."""
    require_text_file(file)
    require_models(models)
    require_output(output)
    return models


def _search(
    translator: "Translator", resolved: "ResolvedConfig", constraints: "Constraints"
) -> "SearchConfig":
    """The search settings; raises where they, the constraints or the model conflict."""
    from nmt_cli.cli.settings import chosen_search
    from nmt_cli.translation.constraints import check_constraints

    translator.bind(constraints)
    search = chosen_search(resolved, translator.config)
    check_constraints(constraints, search)
    translator.shortlist_for(search)
    return search


# Options that are settings of search by the same name.
_SETTINGS = (
    "beam", "n_best", "alpha", "length_penalty", "word_reward", "coverage_penalty", "min_length",
    "max_length", "max_extra_length", "no_repeat_ngram", "repetition_penalty", "temperature",
    "top_k", "top_p", "seed", "mbr", "batch_tokens", "shortlist",
)  # fmt: skip
_SWITCHES = ("sample", "alignment", "replace_unknown")


def _begin(console: "Console", notice: str, file: str) -> "_Progress":
    """Say what there is to know before the first line."""
    if notice:
        console.note(notice)
    tell_waiting(console, file)
    return _Progress(console, file)


def _resolve(given: Mapping[str, Any]) -> "ResolvedConfig":
    """The settings of the command's arguments; an option that is None or False is not given.

    Refuses an output that would replace what is still needed.
    """
    from nmt_cli.cli.settings import resolve_settings

    flags = {f"search.{name}": given[name] for name in _SETTINGS}
    flags |= {f"search.{name}": given[name] or None for name in _SWITCHES}
    flags["paths.model"] = (given["model"] or [None])[0]
    flags["data.strict"] = given["strict"] or None
    flags = {key: one.value if isinstance(one, StrEnum) else one for key, one in flags.items()}
    resolved = resolve_settings(flags, given["sets"], given["config_file"])
    _check_output(given, resolved)
    return resolved


def _check_output(given: Mapping[str, Any], resolved: "ResolvedConfig") -> None:
    """Refuse to write over what is read here, and over what the project needs."""
    from nmt_cli.cli.outputs import check_outputs
    from nmt_cli.config.protected_files import needed_files

    read = [
        *needed_files("is the file that is read", given["file"]),
        *needed_files("is read, too", *(given[name] for name in ("glossary", "ban", "prefix"))),
    ]
    check_outputs(
        [given["output"]], read,
        resolved=resolved, config_file=given["config_file"], models=given["model"] or (),
    )  # fmt: skip


class _Work(NamedTuple):
    """What translates, and how."""

    translator: "Translator"
    search: "SearchConfig"
    constraints: "Constraints"
    prefixes: "Prefixes | None"

    def translated(
        self,
        window: Sequence[str],
        starts: Sequence[str] | None,
        first: int,
        on_progress: Callable[[float], None],
    ) -> "list[Translation]":
        """Some lines; starts: their prefixes, first: the number of the first of them.

        on_progress: called with the share of them that is finished.
        """
        return self.translator.translate_window(
            window,
            search=self.search,
            constraints=self.constraints,
            prefixes=starts,
            first=first,
            on_progress=on_progress,
        )


def _checks(work: _Work, precision: Precision, every: int, console: "Console") -> Checks | None:
    """What looks at each n-th line; None for n = 0."""
    if not every:
        return None
    return Checks(
        work.translator, work.search, work.constraints,
        precision=precision.value, every=every, console=console,
    )  # fmt: skip


def _constraints(glossary: Path | None, ban: Path | None) -> "Constraints":
    from nmt_cli.data.lexical.glossary import read_glossary
    from nmt_cli.translation.constraints import Constraints, read_banned

    return Constraints(read_banned(ban) if ban else (), read_glossary(glossary) if glossary else ())


@contextlib.contextmanager
def _prefixes(path: Path | None) -> Iterator["Prefixes | None"]:
    """Those of a file; when all went well, it must be at its end."""
    from nmt_cli.data.text.lines import read_lines
    from nmt_cli.translation.prefixes import Prefixes

    if path is None:
        yield None
        return
    with read_lines(path) as lines:
        prefixes = Prefixes(lines, f"`{lines.name}`")
        yield prefixes
        prefixes.end()


def _load(
    models: Sequence[str],
    device: str,
    precision: Precision,
    threads: int | None,
    console: "Console",
) -> "Translator":
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    first, *others = models
    return load_translator(first, device, precision=precision.value, others=others, console=console)


def _translate(
    work: _Work,
    lines: "Lines",
    out: BinaryIO,
    show: Show,
    checks: Checks | None,
    progress: "_Progress",
) -> None:
    from nmt_cli.translation.inputs import windows

    count, failed, missing = 0, 0, 0
    console = progress.console
    with progress.shown(out):
        for window in windows(lines, lambda: lines.must_wait(PATIENCE_SECONDS)):
            starts = work.prefixes.take(len(window)) if work.prefixes else None
            on_progress = partial(progress.update_within, count, len(window))
            translations = work.translated(window, starts, count, on_progress)
            for number, translation in enumerate(translations, count):
                out.write(show(number, translation).encode("utf-8", errors="replace"))
                failed += "failed" in translation.flags
                missing += "term_missing" in translation.flags
            out.flush()
            if checks:
                checks.look(translations, starts, count)
            count += len(translations)
            progress.update(count)
    tell_invalid(console, lines)
    if failed:
        console.warning(
            f"{counted(failed, 'line')} {agreeing(failed, 'has', 'have')} no translation: "
            "the model gives no finite numbers"
        )
    if missing:
        console.warning(
            f"{counted(missing, 'line')} {agreeing(missing, 'lacks', 'lack')} a term of the "
            "glossary: raise --max-extra-length"
        )
    if checks:
        checks.end()


class _Progress:
    """How many lines are translated, and how fast: for a person who does not see them come."""

    def __init__(self, console: "Console", file: str) -> None:
        """file: what is translated. The clock starts now."""
        self.console = console
        self._file = file
        self._bar: Progress | None = None
        self._lines = 0
        self._began = time.monotonic()

    @contextlib.contextmanager
    def shown(self, out: BinaryIO) -> Iterator[None]:
        """A bar while the block runs, on a terminal that does not get the lines themselves."""
        from nmt_cli.data.text.line_count import count_lines
        from nmt_cli.translation.inputs import FIRST_WINDOW

        if out.isatty() or not self.console.interactive:
            yield
            return
        # The first window is small and includes what is done once: its parts tell no speed.
        total = count_lines(self._file)
        with self.console.progress("translating", total, "line", FIRST_WINDOW - 1) as bar:
            self._bar = bar
            self.update(0)
            yield

    def update_within(self, before: int, lines: int, share: float) -> None:
        """A share of so many lines is found, and so many before them are written."""
        self.update(before + int(share * lines))

    def update(self, lines: int) -> None:
        """So many lines are translated."""
        self._lines = lines
        if self._bar is not None:
            self._bar.update(lines)

    def tell_written(self, output: Path | None) -> None:
        """Say what the file `output` holds now, on a terminal."""
        from nmt_cli.terminal.progress import duration, speed

        if output is None or not self.console.interactive:
            return
        seconds = time.monotonic() - self._began
        lines = f"{self._lines:,} line" + ("" if self._lines == 1 else "s")
        rate = speed(self._lines, seconds, "line")
        self.console.note(f"wrote {output}: {lines} in {duration(seconds)} ({rate})")
