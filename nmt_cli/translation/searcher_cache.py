"""Searches over one engine: made as they are asked for, and kept where that is dear."""

from collections.abc import Sequence, Set
from dataclasses import replace

from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.engines import Engine
from nmt_cli.search.beam import Searcher
from nmt_cli.search.logits_processors import LogitsProcessor
from nmt_cli.search.strategy import BeamStrategy

# Several sizes: windows grow, and the last one is small again.
KEPT = 4


class SearcherCache:
    """Those of an engine; one that lasts gets sizes that are powers of two, so that there are few.

    Of several the one that was used last is kept longest.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._most = engine.slots
        self._kept: dict[
            tuple[int, int, SearchConfig, Set[int]], tuple[Sequence[LogitsProcessor], Searcher]
        ] = {}

    def halve(self, sources: int) -> bool:
        """Take half as many of so many sources at a time from now on; False: it was one."""
        slots = min(sources, self._most)
        self._kept.clear()
        self._most = max(1, slots // 2)
        return slots > 1

    def searcher(
        self,
        sources: int,
        rows: int,
        config: SearchConfig,
        rules: Sequence[LogitsProcessor],
        strategy: BeamStrategy | None,
        allowed: Set[int],
    ) -> Searcher:
        """For so many sources with so many rows each, or as many at a time as the engine takes."""
        engine = self._engine
        slots = min(sources, self._most)
        if config.batch_tokens == "auto":
            config = replace(config, batch_tokens=engine.batch_tokens)
        if not engine.lasting or strategy is not None:
            decoder = engine.decoder(slots, rows)
            return Searcher(decoder, config, rules, strategy, allowed)
        slots = 1 << (slots - 1).bit_length()
        key = slots, rows, config, frozenset(allowed)
        of_rules, kept = self._kept.pop(key, (None, None))
        if kept is None or of_rules is not rules:
            kept = Searcher(engine.decoder(slots, rows), config, rules, None, allowed)
        self._kept[key] = rules, kept
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return kept
