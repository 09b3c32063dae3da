"""The searcher cache: one searcher of each size, made again for other logits processors."""

from dataclasses import dataclass, field

from tables import EOS, Table, TableDecoder

from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.engines import Engine
from nmt_cli.search.decoder import Source
from nmt_cli.search.logits_processors import LogitsProcessor, MinimumLength
from nmt_cli.translation.lines.searcher_cache import MAX_SEARCHERS, SearcherCache


class Counting(TableDecoder):
    """Tells how many sources it was given first."""

    first = 0

    def admit(self, slots, sources) -> None:
        self.first = self.first or len(slots)
        super().admit(slots, sources)


@dataclass
class EngineLog:
    """What was asked of an engine."""

    sizes: list[tuple[int, int]] = field(default_factory=list)
    decoders: list[Counting] = field(default_factory=list)

    def engine(self, *, reusable: bool, slots: int = 6) -> Engine:
        def decoder(slots: int, beam: int) -> Counting:
            self.sizes.append((slots, beam))
            self.decoders.append(Counting(Table(8), slots, beam))
            return self.decoders[-1]

        return Engine("table", "", decoder, slots=slots, batch_tokens=90, reusable=reusable)


CONFIG = SearchConfig(beam=2)
NO_PROCESSORS: list[LogitsProcessor] = []


def test_a_decoder_that_is_not_reusable_is_made_for_each_search() -> None:
    engine_log = EngineLog()
    searchers = SearcherCache(engine_log.engine(reusable=False))
    for sources in (3, 3, 9):
        searchers.searcher(sources, 2, CONFIG, NO_PROCESSORS, None, set())
    assert engine_log.sizes == [(3, 2), (3, 2), (6, 2)]


def test_reusable_searchers_are_cached_in_few_sizes() -> None:
    engine_log = EngineLog()
    searchers = SearcherCache(engine_log.engine(reusable=True, slots=64))
    kept = [
        searchers.searcher(sources, 2, CONFIG, NO_PROCESSORS, None, set())
        for sources in (3, 4, 900)
    ]
    assert kept[0] is kept[1]
    assert engine_log.sizes == [(4, 2), (64, 2)]
    processors: list[LogitsProcessor] = [MinimumLength(3, EOS)]
    assert searchers.searcher(4, 2, CONFIG, processors, None, set()) is not kept[0]
    result = searchers.searcher(4, 2, CONFIG, processors, None, set()).run(iter([Source((4, EOS))]))
    assert all(len(hypothesis.ids) >= 4 for _, hypotheses in result for hypothesis in hypotheses)
    for beam in range(1, MAX_SEARCHERS + 2):
        last = searchers.searcher(4, beam, CONFIG, NO_PROCESSORS, None, set())
    assert last is searchers.searcher(4, MAX_SEARCHERS + 1, CONFIG, NO_PROCESSORS, None, set())
    before = len(engine_log.sizes)
    searchers.searcher(4, 1, CONFIG, NO_PROCESSORS, None, set())
    assert len(engine_log.sizes) == before + 1, "the oldest is gone"


def test_batch_tokens_auto_is_the_engines_own() -> None:
    sources = [Source((4, 5, EOS)) for _ in range(40)]
    for tokens, together in (("auto", 15), (30, 5)):
        engine_log = EngineLog()
        searchers = SearcherCache(engine_log.engine(reusable=False, slots=64))
        config = SearchConfig(beam=2, batch_tokens=tokens)
        searcher = searchers.searcher(40, 2, config, NO_PROCESSORS, None, set())
        next(searcher.run(iter(sources)))
        assert engine_log.decoders[0].first == together
