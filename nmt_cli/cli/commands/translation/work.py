"""The models of `nmt translate`, loaded, with the settings and constraints of the run."""

import shlex
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nmt_cli.cli.commands.translation.constraints import (
    ConstraintFiles,
    read_constraints,
    without_headers,
)
from nmt_cli.cli.commands.translation.name_use import NameUse
from nmt_cli.cli.commands.translation.options import Precision
from nmt_cli.cli.commands.translation.parts import WHOLE, Part
from nmt_cli.cli.commands.translation.pivots import chain
from nmt_cli.cli.display.translation_stats import TranslationStats
from nmt_cli.cli.environment import apply_threads
from nmt_cli.cli.loading import load_translator
from nmt_cli.cli.settings import chosen_search

if TYPE_CHECKING:
    from nmt_cli.config.schema import ResolvedConfig
    from nmt_cli.config.search import SearchConfig
    from nmt_cli.data.markup.kept import Kept
    from nmt_cli.terminal.console import Console
    from nmt_cli.translation.callers.pivot import PivotTranslator
    from nmt_cli.translation.constraints import Constraints
    from nmt_cli.translation.lines.prefixes import Prefixes
    from nmt_cli.translation.result import Translation
    from nmt_cli.translation.translator import Translator


class Loading(NamedTuple):
    """What is loaded, and where to; the part of the text; whether the run is measured.

    models: one, or the members of an ensemble; then: those that translate after it, in turn.
    """

    models: Sequence[str]
    then: Sequence[str]
    device: str
    precision: Precision
    threads: int | None
    part: Part
    with_stats: bool

    @property
    def ends(self) -> tuple[str, str]:
        """The directories of the model that reads the text, and of that whose output is written."""
        return self.models[0], [self.models[0], *self.then][-1]


class Work(NamedTuple):
    """A translator with the settings, constraints and prefixes of this run."""

    console: "Console"
    translator: "Translator | PivotTranslator"
    search: "SearchConfig"
    constraints: "Constraints"
    stats: TranslationStats | None = None
    part: Part = WHOLE
    prefixes: "Prefixes | None" = None
    names: NameUse | None = None

    def note(self, translation: "Translation") -> None:
        """Count a translation for --stats, and look for the names of --keep in its source."""
        if self.names is not None:
            self.names.add(translation.source)
        if self.stats is not None:
            self.stats.add(translation)

    @property
    def kept(self) -> "Kept":
        """The names that are no words of the source language."""
        from nmt_cli.data.markup.kept import Kept

        bound = self.translator.steps[0].bind(self.constraints.only_kept)
        return Kept(names=bound.kept_names)

    @property
    def left_out(self) -> list[str]:
        """Flags that one of the models never gives."""
        steps = self.translator.steps
        return list(dict.fromkeys(flag for step in steps for flag in step.quality.left_out))

    def show_notices(self) -> None:
        """Write what the engines have to say, before the first line."""
        notices = [step.engine.notice for step in self.translator.steps]
        for notice in filter(None, dict.fromkeys(notices)):
            self.console.note(notice)

    def show_stats(self) -> None:
        """Write the figures of --stats, and which names of --keep the text does not have."""
        if self.names is not None and self.names.note:
            self.console.note(self.names.note)
        if self.stats is not None:
            self.stats.show(self.translator, self.console)

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
            first=self.part.index(first),
            every=self.part.count,
            on_progress=on_progress,
        )


def starting(
    loading: Loading,
    files: ConstraintFiles,
    file: str,
    resolved: "ResolvedConfig",
    console: "Console",
) -> "Callable[[], Work]":
    """A function that loads what is needed to translate `file`; time counts from now on."""
    # Terms are those of the last model: after --then, `file` is not its text.
    text = None if loading.then else file
    constraining = partial(read_constraints, files, text, console)
    stats = TranslationStats() if loading.with_stats else None
    # A stream or a part of a text may lack names that the rest of it has.
    is_whole = Path(file).is_file() and loading.part == WHOLE
    return partial(_start, loading, stats, constraining, resolved, console, is_whole=is_whole)


def _start(
    loading: Loading,
    stats: TranslationStats | None,
    constraining: "Callable[[], Constraints]",
    resolved: "ResolvedConfig",
    console: "Console",
    *,
    is_whole: bool,
) -> Work:
    """Load the models, and check that they fit the settings and constraints."""
    constraints = constraining()
    translator = _load(loading, resolved, console)
    constraints = without_headers(constraints, translator.steps[-1].config.languages, console)
    search = _search(translator.steps[-1], resolved, constraints)
    if stats is not None:
        stats.loaded()
    work = Work(console, translator, search, constraints, stats, loading.part)
    if not (constraints.keep and is_whole):
        return work
    return work._replace(names=NameUse(constraints.keep, work.kept.names))


def _search(
    translator: "Translator", resolved: "ResolvedConfig", constraints: "Constraints"
) -> "SearchConfig":
    """The search settings; raises if settings, constraints and model cannot be combined."""
    from nmt_cli.translation.constraints import check_constraints

    translator.bind(constraints)
    search = chosen_search(resolved, translator.config)
    check_constraints(constraints, search, typed=True)
    translator.shortlist_for(search)
    return search


def _load(
    loading: Loading, resolved: "ResolvedConfig", console: "Console"
) -> "Translator | PivotTranslator":
    """Load the models onto the device."""
    apply_threads(loading.threads, console)
    load = partial(
        load_translator, device=loading.device, precision=loading.precision.value, console=console
    )
    first, *others = loading.models
    if console.interactive and resolved.origins["paths.model"] == "default":
        _note_later_run(Path(first), console)
    translator = load(first, others=others)
    if not loading.then:
        return translator
    return chain([translator, *map(load, loading.then)], resolved)


def _note_later_run(model: Path, console: "Console") -> None:
    """Note that a model, which was not named, is not the one of the last training run."""
    from nmt_cli.data.corpus.users import later_run

    if later := later_run(model):
        console.note(
            f"`{model}` is used; `{later}` was trained later on the same corpus: "
            f"--model {shlex.quote(str(later))}"
        )
