"""The search for the translations of marked lines: with the given settings, or quickly."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from nmt_cli.config.search import SearchConfig
from nmt_cli.translation.constraints import BoundConstraints
from nmt_cli.translation.lines.line_search import LineSearch, Request, SearchedLine


class MarkedSearch:
    """The search of one model with some settings and constraints.

    quick_is_final: whether a translation of the quick search may be the result; otherwise it only
    chooses between stand-ins.
    """

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
        self._quick = quick_settings(config)
        self._bound = bound
        self._on_progress = on_progress
        self.quick_is_final = self._quick == replace(config, beam=1)

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
