"""A cache of searchers over one engine, for engines whose decoders are expensive to make."""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from typing import Protocol

from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.engines import Engine
from nmt_cli.search.beam import Searcher
from nmt_cli.search.decoder import Hypothesis, Source
from nmt_cli.search.logits_processors import LogitsProcessor
from nmt_cli.search.strategy import BeamStrategy

# Several sizes are kept: windows grow, and the last window is small again.
MAX_SEARCHERS = 4


class Search(Protocol):
    """Searches sources: a `Searcher`, or one whose slots several callers share."""

    def run(
        self, sources: Iterator[Source], on_step: Callable[[], None] = ...
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """The index and the finished hypotheses of each source, as sources finish."""
        ...


class Searchers(Protocol):
    """Makes or finds searches with given settings; the arguments are those of SearcherCache."""

    def halve(self, sources: int) -> bool:
        """Use fewer slots from now on, after memory ran out; False if that is not possible."""
        ...

    def searcher(
        self,
        sources: int,
        rows: int,
        config: SearchConfig,
        processors: Sequence[LogitsProcessor],
        strategy: BeamStrategy | None,
        unbanned_ids: Set[int],
    ) -> Search:
        """A search with these settings."""
        ...


class SearcherCache:
    """The searchers of an engine; those of a reusable one have few sizes, which are powers of two.

    The searcher that was not used for longest is dropped first.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._max_slots = engine.slots
        self._searchers: dict[
            tuple[int, int, SearchConfig, Set[int]], tuple[Sequence[LogitsProcessor], Searcher]
        ] = {}

    def halve(self, sources: int) -> bool:
        """Use half the slots that `sources` need from now on; False if that was a single slot."""
        slots = min(sources, self._max_slots)
        self._searchers.clear()
        self._max_slots = max(1, slots // 2)
        return slots > 1

    def searcher(
        self,
        sources: int,
        rows: int,
        config: SearchConfig,
        processors: Sequence[LogitsProcessor],
        strategy: BeamStrategy | None,
        unbanned_ids: Set[int],
    ) -> Searcher:
        """A searcher for this many sources, or the most that fit, with `rows` rows each."""
        engine = self._engine
        slots = min(sources, self._max_slots)
        if config.batch_tokens == "auto":
            config = replace(config, batch_tokens=engine.batch_tokens)
        if not engine.reusable or strategy is not None:
            decoder = engine.decoder(slots, rows)
            return Searcher(decoder, config, processors, strategy, unbanned_ids)
        slots = 1 << (slots - 1).bit_length()
        key = slots, rows, config, frozenset(unbanned_ids)
        cached_processors, searcher = self._searchers.pop(key, (None, None))
        if searcher is None or cached_processors is not processors:
            decoder = engine.decoder(slots, rows)
            searcher = Searcher(decoder, config, processors, None, unbanned_ids)
        self._searchers[key] = processors, searcher
        if len(self._searchers) > MAX_SEARCHERS:
            del self._searchers[next(iter(self._searchers))]
        return searcher
