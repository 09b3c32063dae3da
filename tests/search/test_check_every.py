"""How often the host asks what is done changes no translation: what is done comes to rest."""

import random

import pytest
import torch
from tables import EOS, Table, TableDecoder
from tables import run as run_table

from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.search.beam import Searcher, search
from nmt_cli.search.constrained_beam import ConstrainedBeamSearch
from nmt_cli.search.decoder import Hypothesis, Source

CONFIGS = {
    "beam": SearchConfig(beam=3, n_best=3, max_extra_length=6, batch_tokens=60),
    "greedy": SearchConfig(beam=1, max_extra_length=6, batch_tokens=12),
    "no room": SearchConfig(beam=2, n_best=2, max_extra_length=0, batch_tokens=40),
    "no repeats": SearchConfig(
        beam=2, no_repeat_ngram=2, repetition_penalty=1.5, max_extra_length=9
    ),
    "patience": SearchConfig(beam=3, n_best=2, patience=1.0, max_extra_length=6),
    "reward": SearchConfig(beam=2, word_reward=0.5, min_length=4, max_extra_length=6),
    "samples": SearchConfig(sample=True, n_best=3, max_extra_length=6),
}


def random_sources(count: int) -> list[Source]:
    chooser = random.Random(1)
    return [
        Source(
            (*(chooser.randrange(4, 11) for _ in range(chooser.randrange(9))), EOS),
            (6, 5) if index % 3 == 1 else (), sample_key=(index,),
        )
        for index in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_check_every_gives_the_same_hypotheses(name: str, make_model) -> None:
    model, config = make_model({"model.output_bias": True}).float(), CONFIGS[name]
    with torch.no_grad():
        model.output_bias[EOS] -= 2.0
    found: list[list[list[Hypothesis]]] = []
    steps = []
    for every in (1, 3, 8):
        decoder = ReferenceDecoder(model, 3, config.rows)
        decoder.check_every = every
        steps.append(count_steps(decoder))
        results = dict(search(decoder, iter(random_sources(7)), config))
        found.append([results[index] for index in range(7)])
    assert len({len(result[0].ids) for result in found[0]}) >= 3, "the lengths must vary"
    for other in found[1:]:
        for actual, expected in zip(other, found[0], strict=True):
            assert [h.ids for h in actual] == [h.ids for h in expected]
            scores, wanted = ([h.score for h in some] for some in (actual, expected))
            assert scores == pytest.approx(wanted, abs=1e-5)
    assert len(steps[2]) % 8 == 0


def count_steps(decoder: ReferenceDecoder) -> list[int]:
    """Grows at each step."""
    taken: list[int] = []
    step = decoder.step

    def counted(*given):
        taken.append(1)
        return step(*given)

    decoder.step = counted  # type: ignore[method-assign]
    return taken


@pytest.mark.parametrize("every", [3, 8])
def test_check_every_gives_the_same_constrained_hypotheses(every: int) -> None:
    table, config = Table(9, 3, -1.0), SearchConfig(beam=4, n_best=2, max_extra_length=5)
    sources = [Source((4, 5, EOS)), Source((5, EOS)), Source((6, 6, 7, EOS))]
    results = []
    for interval in (1, every):
        decoder = TableDecoder(table, 2, 4)
        decoder.check_every = interval
        results.append(run_table(decoder, sources, config, (), ConstrainedBeamSearch(4, EOS)))
    assert results[0] == results[1]


def test_check_every_retires_finished_rows_and_abandoned_runs() -> None:
    table, config = Table(8, 2), SearchConfig(beam=2, max_extra_length=5, batch_tokens=30)
    sources = [Source((*[4 + n % 3] * (n % 4), EOS)) for n in range(9)]
    decoder = TableDecoder(table, 3, 2)
    decoder.check_every = 3
    searcher = Searcher(decoder, config)
    expected = run_table(TableDecoder(table, 1, 2), sources, config)
    for _ in range(2):
        next(searcher.run(iter(sources)))
        assert decoder.sources
        results = sorted(searcher.run(iter(sources)), key=lambda item: item[0])
        assert results == list(enumerate(expected))
        assert not decoder.sources


def test_check_every_respects_the_maximum_length() -> None:
    config = SearchConfig(beam=1, max_length=31)
    results = []
    for every in (1, 7):
        decoder = TableDecoder(Table(6, end=-40.0), 1, 1)
        decoder.check_every = every
        results.append(run_table(decoder, [Source((4, EOS))], config))
    assert results[0] == results[1]
    assert len(results[0][0][0].ids) == 32


def test_check_every_refills_slots_together() -> None:
    class Uneven(Table):
        """A translation has as many words as its source."""

        def row(self, source, prefix):
            log_probs = torch.full((10,), -20.0)
            log_probs[EOS if len(prefix) >= len(source) else 4] = 0.0
            return log_probs

    admitted = {}
    for every in (1, 2):
        decoder = TableDecoder(Uneven(10), 16, 1)
        decoder.check_every = every
        counts: list[int] = []
        admit = decoder.admit

        def counted(slots, sources, counts=counts, admit=admit) -> None:
            counts.append(len(slots))
            admit(slots, sources)

        decoder.admit = counted
        sources = [Source((*[4] * n, EOS)) for n in range(24)]
        run_table(decoder, sources, SearchConfig(beam=1, batch_tokens=10_000))
        admitted[every] = counts
    assert min(admitted[1]) == 1
    assert min(admitted[2][:-1]) >= 2, "all but the last"
