"""The search for the translations of marked lines: with the given settings, or quickly."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

from nmt_cli.config.search import SearchConfig
from nmt_cli.data.lexical.glossary import Match
from nmt_cli.data.markup.kept import Kept
from nmt_cli.data.markup.marked_text import MarkedText
from nmt_cli.translation.constraints import BoundConstraints
from nmt_cli.translation.lines.line_search import LineSearch, Request, SearchedLine
from nmt_cli.translation.markup.carrier import with_repaired_words


class MarkedSearch:
    """The search of one model with some settings and constraints."""

    def __init__(
        self,
        line_search: LineSearch,
        config: SearchConfig,
        bound: BoundConstraints,
        on_progress: Callable[[float], None],
    ) -> None:
        """on_progress: called with the share of the search with the given settings."""
        self._line_search = line_search
        self._config = config
        self._bound = bound
        self._on_progress = on_progress

    @cached_property
    def _quick(self) -> SearchConfig:
        return quick_settings(self._config)

    @property
    def quick_is_final(self) -> bool:
        """Whether the quick search may give the result; else it only chooses stand-ins."""
        return self._quick == replace(self._config, beam=1)

    @property
    def kept(self) -> Kept:
        """The numbers and names that are kept like placeholders."""
        return Kept(self._config.keep_numbers, self._bound.kept_names)

    @property
    def languages(self) -> tuple[str, str]:
        """The codes of source and target."""
        return self._bound.languages

    def repaired(self, text: MarkedText) -> MarkedText:
        """The text with the letters of its words repaired as the model's training text was."""
        return with_repaired_words(text, self._line_search.repair)

    def copies(self, text: str) -> bool:
        """Whether a text has nothing to translate."""
        return self._line_search.copies(text, self._config, self._bound)

    def sentence_ends(self, text: str) -> list[int]:
        """Where the sentences of a text end which others follow."""
        return self._line_search.sentence_ends(text)

    def terms_in(self, text: str) -> list[Match]:
        """Each occurrence of a term of the glossary in a text."""
        return self._bound.terms_in(text)

    def full(self, requests: Sequence[Request]) -> list[SearchedLine]:
        """The lines, searched with the given settings."""
        return self._line_search.run(requests, self._config, self._bound, self._on_progress)

    def quick(self, requests: Sequence[Request]) -> list[SearchedLine]:
        """The lines, searched greedily, to compare stand-ins."""
        return self._line_search.run(requests, self._quick, self._bound, lambda _: None)


def quick_settings(search: SearchConfig) -> SearchConfig:
    """The settings of a quick search, which compares stand-ins."""
    return replace(
        search,
        beam=1, n_best=1, mbr="off", coverage_penalty=0.0, alignment=False, sample=False,
        temperature=1.0, top_k=0, top_p=1.0,
    )  # fmt: skip
