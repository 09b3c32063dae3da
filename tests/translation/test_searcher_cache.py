"""Searches that are kept: one of each size, and none for rules that are others."""

from dataclasses import dataclass, field

from tables import EOS, Table, TableDecoder

from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.engines import Engine
from nmt_cli.search.decoder import Source
from nmt_cli.search.logits_processors import LogitsProcessor, MinimumLength
from nmt_cli.translation.searcher_cache import KEPT, SearcherCache


class Counting(TableDecoder):
    """Tells how many sources it was given first."""

    first = 0

    def admit(self, slots, sources) -> None:
        self.first = self.first or len(slots)
        super().admit(slots, sources)


@dataclass
class Made:
    """What was asked of an engine."""

    sizes: list[tuple[int, int]] = field(default_factory=list)
    decoders: list[Counting] = field(default_factory=list)

    def engine(self, *, lasting: bool, slots: int = 6) -> Engine:
        def decoder(slots: int, beam: int) -> Counting:
            self.sizes.append((slots, beam))
            self.decoders.append(Counting(Table(8), slots, beam))
            return self.decoders[-1]

        return Engine("table", "", decoder, slots=slots, batch_tokens=90, lasting=lasting)


CONFIG = SearchConfig(beam=2)
NO_RULES: list[LogitsProcessor] = []


def test_an_engine_that_does_not_last_is_made_each_time_as_large_as_needed() -> None:
    made = Made()
    searchers = SearcherCache(made.engine(lasting=False))
    for sources in (3, 3, 9):
        searchers.searcher(sources, 2, CONFIG, NO_RULES, None, set())
    assert made.sizes == [(3, 2), (3, 2), (6, 2)]


def test_one_that_lasts_is_kept_in_few_sizes() -> None:
    made = Made()
    searchers = SearcherCache(made.engine(lasting=True, slots=64))
    kept = [
        searchers.searcher(sources, 2, CONFIG, NO_RULES, None, set()) for sources in (3, 4, 900)
    ]
    assert kept[0] is kept[1]
    assert made.sizes == [(4, 2), (64, 2)]
    rules: list[LogitsProcessor] = [MinimumLength(3, EOS)]
    assert searchers.searcher(4, 2, CONFIG, rules, None, set()) is not kept[0]
    found = searchers.searcher(4, 2, CONFIG, rules, None, set()).run(iter([Source((4, EOS))]))
    assert all(len(one.ids) >= 4 for _, hypotheses in found for one in hypotheses)
    for beam in range(1, KEPT + 2):
        last = searchers.searcher(4, beam, CONFIG, NO_RULES, None, set())
    assert last is searchers.searcher(4, KEPT + 1, CONFIG, NO_RULES, None, set())
    before = len(made.sizes)
    searchers.searcher(4, 1, CONFIG, NO_RULES, None, set())
    assert len(made.sizes) == before + 1, "the oldest is gone"


def test_as_many_at_a_time_as_suits_the_engine_unless_a_number_is_given() -> None:
    sources = [Source((4, 5, EOS)) for _ in range(40)]
    for tokens, together in (("auto", 15), (30, 5)):
        made = Made()
        searchers = SearcherCache(made.engine(lasting=False, slots=64))
        config = SearchConfig(beam=2, batch_tokens=tokens)
        searcher = searchers.searcher(40, 2, config, NO_RULES, None, set())
        next(searcher.run(iter(sources)))
        assert made.decoders[0].first == together
