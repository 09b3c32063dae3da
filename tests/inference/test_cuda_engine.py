"""The GPU engine, run on the CPU: recorded graphs, buckets and reallocation."""

import numpy as np
import pytest
import torch
from engine_cases import EOS, assert_same, random_sources, translations, use_small_buckets
from fake_graphs import FakeGraph, graphs
from torch import Tensor
from variants import Settings, every_variant

from nmt_cli.batch import Segments
from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.cuda.decoder import CudaDecoder
from nmt_cli.inference.cuda.model import make_cuda_model
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.search.beam import Searcher
from nmt_cli.search.decoder import Decoder, Source

__all__ = ["graphs"]


def steps_of(decoder: Decoder) -> list[Tensor]:
    """What a decoder says while rows change places, slots come and go, and buckets are outgrown."""
    chooser = torch.Generator().manual_seed(1)
    said = []
    for index in range(7):
        if index in (0, 3):
            slot, source = (1, [4, 5, 6, 7, EOS]) if index else (0, [9, EOS])
            decoder.admit([slot], [Source(source)])
        if index == 5:
            decoder.retire([0])
        ids = torch.randint(4, 11, (4,), generator=chooser)
        if index in (0, 3):
            ids[2 * slot : 2 * slot + 2] = 2
        parents = torch.randint(2, (4,), generator=chooser) + torch.tensor([0, 0, 2, 2])
        said.append(decoder.step(parents, ids).full())
    return said


@every_variant
def test_log_probabilities_equal_those_of_the_reference(
    settings: Settings, late_model, monkeypatch
) -> None:
    use_small_buckets(monkeypatch)
    model = late_model(settings)
    found = steps_of(CudaDecoder(make_cuda_model(model), 2, 2))
    for result, expected in zip(found, steps_of(ReferenceDecoder(model, 2, 2)), strict=True):
        torch.testing.assert_close(result, expected, atol=1e-4, rtol=1e-4)


CONFIGS = {
    "beam": SearchConfig(beam=3, n_best=3, max_extra_length=8, batch_tokens=60),
    "patience": SearchConfig(beam=3, n_best=2, max_extra_length=8, patience=1.0),
    "greedy": SearchConfig(beam=1, max_extra_length=8, batch_tokens=20),
    "shortest": SearchConfig(beam=2, min_length=5, max_extra_length=8, batch_tokens=40),
    "power": SearchConfig(beam=2, length_penalty="power", max_extra_length=2, word_reward=0.3),
}


@pytest.mark.parametrize(("name", "slots"), [*((name, 3) for name in CONFIGS), ("greedy", 1)])
def test_replayed_graphs_give_the_same_translations(
    name: str, slots: int, late_model, graphs: type[FakeGraph], monkeypatch
) -> None:
    use_small_buckets(monkeypatch)
    settings = {"model.positions": "rotary", "model.d_k": 2, "model.d_v": 5}
    model, config = late_model(settings), CONFIGS[name]
    sources = random_sources(7, longest=12)
    expected = translations(ReferenceDecoder(model, slots, config.beam), sources, config)
    assert len({len(hypotheses[0].ids) for hypotheses in expected}) >= 3, "the lengths must vary"
    found = translations(CudaDecoder(make_cuda_model(model), slots, config.beam), sources, config)
    assert_same(found, expected)
    assert graphs.made >= 2, "more than one bucket"
    assert graphs.replays > 2 * graphs.made


def test_prefixes_and_vocabulary_masks_are_recorded(late_model, graphs: type[FakeGraph]) -> None:
    model, config = (
        late_model({}),
        SearchConfig(beam=3, n_best=2, max_extra_length=4, batch_tokens=60),
    )
    words = np.array([3, 4, 6, 8, 9])
    sources = [
        Source(source.ids, prefix, allowed=allowed)
        for source in random_sources(3)
        for prefix, allowed in (((), None), ((5, 0, 6), None), ((4,), words), ((), words))
    ]
    expected = translations(ReferenceDecoder(model, 3, 3), sources, config)
    assert_same(translations(CudaDecoder(make_cuda_model(model), 3, 3), sources, config), expected)
    assert graphs.replays > 0
    assert expected[1][0].ids[:3] == (5, 0, 6)


def test_a_searcher_runs_again_after_an_abandoned_run(late_model, graphs: type[FakeGraph]) -> None:
    model, config = late_model({}), SearchConfig(beam=2, max_extra_length=6)
    searcher = Searcher(CudaDecoder(make_cuda_model(model), 3, 2), config)
    for longest in (4, 30, 60, 5):
        sources = random_sources(5, longest, longest)
        next(searcher.run(iter(sources)))
        found = dict(searcher.run(iter(sources)))
        expected = translations(ReferenceDecoder(model, 3, 2), sources, config)
        assert_same([found[index] for index in range(5)], expected)
    assert graphs.replays > graphs.made


def test_steps_outside_a_recorded_search_are_recorded(late_model, graphs: type[FakeGraph]) -> None:
    model = late_model({"model.positions": "learned"})
    for more in ({"no_repeat_ngram": 2}, {"sample": True, "top_k": 3}):
        config = SearchConfig(beam=2, max_extra_length=6, **more)
        sources = random_sources(4)
        expected = translations(ReferenceDecoder(model, 2, config.rows), sources, config)
        before = graphs.replays
        found = translations(CudaDecoder(make_cuda_model(model), 2, config.rows), sources, config)
        assert_same(found, expected)
        assert graphs.replays > before


@torch.no_grad()
def test_graphs_are_dropped_when_the_cache_is_reallocated(
    late_model, graphs: type[FakeGraph], monkeypatch
) -> None:
    use_small_buckets(monkeypatch)
    model = late_model({})
    # The second slot stays free, and must not run away.
    both = CudaDecoder(make_cuda_model(model), 2, 1), ReferenceDecoder(model, 2, 1)
    # Room for steps grows in the second, for sources in the fourth; then the first bucket again.
    for turn, (length, steps) in enumerate(((3, 3), (3, 6), (3, 3), (7, 2), (3, 3))):
        for index in range(steps):
            said = []
            for decoder in both:
                if not index:
                    decoder.admit([0], [Source((*range(4 + turn, 3 + turn + length), EOS))])
                ids = torch.tensor([4 + index if index else 2, 4])
                said.append(decoder.step(torch.arange(2), ids).full())
            torch.testing.assert_close(*said, atol=1e-4, rtol=1e-4)
        for decoder in both:
            decoder.retire([0])
    assert graphs.made >= 4


def test_position_tables_are_reallocated_only_with_the_cache(make_model) -> None:
    fast = make_cuda_model(make_model({}).float())
    decoder = CudaDecoder(fast, 1, 1)
    tables = fast.inputs.positions
    address = tables["tgt"].table.data_ptr()
    # Longer than the tables are: that of the sources grows.
    fast.encode(torch.full((1_500,), 4), Segments.from_lengths([1_500]))
    assert len(tables["src"].table) > 1_500
    assert tables["tgt"].table.data_ptr() == address
    before = decoder._cache.reallocations
    decoder._cache.reserve(1_500, 1)
    assert decoder._cache.reallocations > before
    assert len(tables["tgt"].table) >= decoder._cache.capacity
