"""What callers may give to `translate`, for one model and for several in turn."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Self, TypeVar, Unpack, overload

from nmt_cli.config.python_spelling import python_errors
from nmt_cli.config.search import SearchConfig
from nmt_cli.translation.calls import (
    ARGUMENTS,
    SearchOptions,
    each_line,
    each_prefix,
    one_line,
    require_constraints,
    require_lines,
    require_prefixes,
)
from nmt_cli.translation.constraints import NO_CONSTRAINTS, Constraints
from nmt_cli.translation.lines.inputs import windows
from nmt_cli.translation.lines.prefixes import NAME, Prefixes, require_as_many
from nmt_cli.translation.result import Translation

if TYPE_CHECKING:
    from nmt_cli.translation.callers.pivot import PivotTranslator
    from nmt_cli.translation.translator import Translator

# The settings that a translator searches with: those of one model, or of each of several.
Chosen = TypeVar("Chosen")


class LineTranslator(ABC, Generic[Chosen]):
    """Translates lines, and is a context manager that frees the memory at its end."""

    @abstractmethod
    def close(self) -> None:
        """Free the memory of the model; to translate then raises ValueError."""

    @property
    @abstractmethod
    def steps(self) -> "tuple[Translator, ...]":
        """The translators that work one after another: one, unless there is a pivot language."""

    @abstractmethod
    def _chosen(
        self, search: SearchConfig | None, options: SearchOptions, constraints: Constraints
    ) -> Chosen:
        """The settings of a call; raises TypeError or an NmtError for those that do not fit."""

    @abstractmethod
    def _window(
        self,
        lines: Sequence[str],
        chosen: Chosen,
        constraints: Constraints,
        prefixes: Sequence[str] | None,
        first: int,
    ) -> list[Translation]:
        """The translations of some lines; first: the index of the first in the whole text."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def then(self, *others: "Translator | PivotTranslator") -> "PivotTranslator":
        """A translator by way of a pivot language: `others` translate what this one has translated.

        The translations are handed on as text, so that the vocabularies need not be equal. Raises
        ConfigError where the target language of one is not the source language of the next.
        """
        from nmt_cli.translation.callers.pivot import PivotTranslator

        translators = (self, *others)
        return PivotTranslator([step for translator in translators for step in translator.steps])

    @overload
    def translate(  # type: ignore[overload-overlap]  # A str is one line, and not its letters.
        self,
        lines: str,
        *,
        search: SearchConfig | None = None,
        constraints: Constraints = NO_CONSTRAINTS,
        prefixes: str | Iterable[str] | None = None,
        **options: Unpack[SearchOptions],
    ) -> Translation: ...

    @overload
    def translate(  # type: ignore[overload-overlap]
        self,
        lines: list[str] | tuple[str, ...],
        *,
        search: SearchConfig | None = None,
        constraints: Constraints = NO_CONSTRAINTS,
        prefixes: Iterable[str] | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Translation]: ...

    @overload
    def translate(
        self,
        lines: Iterable[str],
        *,
        search: SearchConfig | None = None,
        constraints: Constraints = NO_CONSTRAINTS,
        prefixes: Iterable[str] | None = None,
        **options: Unpack[SearchOptions],
    ) -> Iterator[Translation]: ...

    def translate(
        self,
        lines: str | Iterable[str],
        *,
        search: SearchConfig | None = None,
        constraints: Constraints = NO_CONSTRAINTS,
        prefixes: str | Iterable[str] | None = None,
        **options: Unpack[SearchOptions],
    ) -> Translation | list[Translation] | Iterator[Translation]:
        """Translate lines, and return one translation for each, in the same order.

        A str is one line and gives one Translation; a list or tuple gives a list; any other
        iterable gives an iterator, which reads and translates some lines at a time, so that
        neither the text nor its translations are held in memory as a whole.

        options: search settings by name, such as `beam=2, n_best=2`; they override those of
        `search`, and these override the settings of the model. constraints: banned phrases, a
        glossary and kept names. prefixes: the beginning of the translation of each line, "" for
        none.

        Raises TypeError if `lines` are no lines or an option is unknown, ArgumentError for a str
        with a line break, and ConfigError for an invalid value. The elements of an iterator are
        checked when they are read, everything else at the call.
        """
        require_constraints(constraints)
        with python_errors(ARGUMENTS):
            chosen = self._chosen(search, options, constraints)
        if isinstance(lines, str):
            starts = [prefixes] if isinstance(prefixes, str) else prefixes
            if isinstance(starts, list | tuple):
                require_as_many(1, len(starts), NAME)
            [translation] = self._translations([one_line(lines)], chosen, constraints, starts)
            return translation
        require_lines(lines)
        if prefixes is not None:
            require_prefixes(prefixes)
        if isinstance(lines, list | tuple) and isinstance(prefixes, list | tuple):
            require_as_many(len(lines), len(prefixes), NAME)
        translations = self._translations(each_line(lines), chosen, constraints, prefixes)
        return list(translations) if isinstance(lines, list | tuple) else translations

    def _translations(
        self,
        lines: Iterable[str],
        chosen: Chosen,
        constraints: Constraints,
        prefixes: Iterable[str] | None,
    ) -> Iterator[Translation]:
        """One translation per line, computed as they are asked for."""
        stream = None if prefixes is None else Prefixes(each_prefix(prefixes), NAME)
        count = 0
        for window in windows(iter(lines)):
            starts = stream.take(len(window)) if stream else None
            with python_errors(ARGUMENTS):
                translations = self._window(window, chosen, constraints, starts, count)
            yield from translations
            count += len(window)
        if stream:
            stream.end()
