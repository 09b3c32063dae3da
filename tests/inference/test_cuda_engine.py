"""The GPU engine, run on the CPU: it equals the reference engine, recorded or not."""

import random

import pytest
import torch
from fake_graphs import FakeGraph, graphs
from torch import Tensor
from variants import VARIANTS, Settings, every_variant

from nmt_cli.batch import Segments
from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.cuda import decoder as cuda_decoder
from nmt_cli.inference.cuda import kv_cache
from nmt_cli.inference.cuda.decoder import CudaDecoder
from nmt_cli.inference.cuda.model import make_cuda_model
from nmt_cli.inference.reference import ReferenceDecoder
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.beam import Searcher, search
from nmt_cli.search.decoder import Decoder, Hypothesis, Recorder, Source, Step

EOS = 3
__all__ = ["graphs"]


@pytest.fixture
def late_model(make_model):
    """Random models like to end at once: their EOS is made less likely."""

    def make(settings: Settings) -> Transformer:
        model = make_model({**settings, "model.output_bias": True}).float()
        with torch.no_grad():
            model.output_bias[EOS] -= 2.0
        return model

    return make


def random_sources(count: int, seed: int = 1, longest: int = 9) -> list[Source]:
    chooser = random.Random(seed)
    return [
        Source((*(chooser.randrange(4, 11) for _ in range(chooser.randrange(longest))), EOS))
        for _ in range(count)
    ]


def run(decoder: Decoder, sources: list[Source], config: SearchConfig) -> list[list[Hypothesis]]:
    results = dict(search(decoder, iter(sources), config))
    return [results[number] for number in range(len(sources))]


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    for result, other in zip(found, expected, strict=True):
        assert [h.ids for h in result] == [h.ids for h in other]
        for first, second in zip(result, other, strict=True):
            assert first.score == pytest.approx(second.score, abs=1e-4)
            assert first.token_scores == pytest.approx(second.token_scores, abs=1e-4)


def small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that short sentences outgrow them."""
    monkeypatch.setattr(cuda_decoder, "bucket", lambda length: -(-length // 4) * 4)
    monkeypatch.setattr(kv_cache, "bucket", lambda length: -(-length // 4) * 4)
    monkeypatch.setattr(cuda_decoder, "MORE_STEPS", 0)


def steps_of(decoder: Decoder) -> list[Tensor]:
    """What a decoder says while rows change places, slots come and go, and buckets are outgrown."""
    chooser = torch.Generator().manual_seed(1)
    said = []
    for number in range(7):
        if number in (0, 3):
            slot, source = (1, [4, 5, 6, 7, EOS]) if number else (0, [9, EOS])
            decoder.admit([slot], [Source(source)])
        if number == 5:
            decoder.retire([0])
        ids = torch.randint(4, 11, (4,), generator=chooser)
        if number in (0, 3):
            ids[2 * slot : 2 * slot + 2] = 2
        parents = torch.randint(2, (4,), generator=chooser) + torch.tensor([0, 0, 2, 2])
        said.append(decoder.step(parents, ids).full())
    return said


@every_variant
def test_log_probabilities_equal_those_of_the_reference(
    settings: Settings, late_model, monkeypatch
) -> None:
    small_buckets(monkeypatch)
    model = late_model(settings)
    found = steps_of(CudaDecoder(make_cuda_model(model), 2, 2))
    for result, expected in zip(found, steps_of(ReferenceDecoder(model, 2, 2)), strict=True):
        torch.testing.assert_close(result, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("settings", VARIANTS[::20], ids=range(0, len(VARIANTS), 20))
def test_translations_equal_those_of_the_reference(
    settings: Settings, late_model, monkeypatch
) -> None:
    small_buckets(monkeypatch)
    model = late_model(settings)
    config = SearchConfig(beam=3, n_best=2, max_extra_length=4, batch_tokens=60)
    sources = random_sources(4)
    expected = run(ReferenceDecoder(model, 3, 3), sources, config)
    assert_same(run(CudaDecoder(make_cuda_model(model), 3, 3), sources, config), expected)


CONFIGS = {
    "beam": SearchConfig(beam=3, n_best=3, max_extra_length=8, batch_tokens=60),
    "greedy": SearchConfig(beam=1, max_extra_length=8, batch_tokens=20),
    "shortest": SearchConfig(beam=2, min_length=5, max_extra_length=8, batch_tokens=40),
    "power": SearchConfig(beam=2, length_penalty="power", max_extra_length=2, word_reward=0.3),
}


@pytest.mark.parametrize(("name", "slots"), [*((name, 3) for name in CONFIGS), ("greedy", 1)])
def test_replayed_graphs_give_the_same_translations(
    name: str, slots: int, late_model, graphs: type[FakeGraph], monkeypatch
) -> None:
    small_buckets(monkeypatch)
    settings = {"model.positions": "rotary", "model.d_k": 2, "model.d_v": 5}
    model, config = late_model(settings), CONFIGS[name]
    sources = random_sources(7, longest=12)
    expected = run(ReferenceDecoder(model, slots, config.beam), sources, config)
    assert len({len(expected_item[0].ids) for expected_item in expected}) >= 3, (
        "the lengths must vary"
    )
    found = run(CudaDecoder(make_cuda_model(model), slots, config.beam), sources, config)
    assert_same(found, expected)
    assert graphs.made >= 2, "more than one bucket"
    assert graphs.replays > 2 * graphs.made


def test_prefixes_and_vocabulary_masks_are_recorded(late_model, graphs: type[FakeGraph]) -> None:
    model, config = (
        late_model({}),
        SearchConfig(beam=3, n_best=2, max_extra_length=4, batch_tokens=60),
    )
    words = torch.tensor([3, 4, 6, 8, 9])
    sources = [
        Source(one.ids, prefix, allowed=allowed)
        for one in random_sources(3)
        for prefix, allowed in (((), None), ((5, 0, 6), None), ((4,), words), ((), words))
    ]
    expected = run(ReferenceDecoder(model, 3, 3), sources, config)
    assert_same(run(CudaDecoder(make_cuda_model(model), 3, 3), sources, config), expected)
    assert graphs.replays > 0
    assert expected[1][0].ids[:3] == (5, 0, 6)


def test_a_searcher_runs_again_after_an_abandoned_run(late_model, graphs: type[FakeGraph]) -> None:
    model, config = late_model({}), SearchConfig(beam=2, max_extra_length=6)
    searcher = Searcher(CudaDecoder(make_cuda_model(model), 3, 2), config)
    for longest in (4, 30, 60, 5):
        sources = random_sources(5, longest, longest)
        next(searcher.run(iter(sources)))
        found = dict(searcher.run(iter(sources)))
        expected = run(ReferenceDecoder(model, 3, 2), sources, config)
        assert_same([found[number] for number in range(5)], expected)
    assert graphs.replays > graphs.made


def test_steps_outside_a_recorded_search_are_recorded(late_model, graphs: type[FakeGraph]) -> None:
    model = late_model({"model.positions": "learned"})
    for more in ({"no_repeat_ngram": 2}, {"sample": True, "top_k": 3}):
        config = SearchConfig(beam=2, max_extra_length=6, **more)
        sources = random_sources(4)
        expected = run(ReferenceDecoder(model, 2, config.rows), sources, config)
        before = graphs.replays
        found = run(CudaDecoder(make_cuda_model(model), 2, config.rows), sources, config)
        assert_same(found, expected)
        assert graphs.replays > before


@torch.no_grad()
@pytest.mark.parametrize("recorded", [False, True])
def test_rows_follow_their_parents_while_slots_are_refilled(
    recorded: bool, late_model, request, monkeypatch
) -> None:
    if recorded:
        request.getfixturevalue("graphs")
    small_buckets(monkeypatch)
    model = late_model({})
    both: list[Decoder] = [CudaDecoder(make_cuda_model(model), 3, 2), ReferenceDecoder(model, 3, 2)]
    chooser = torch.Generator().manual_seed(1)

    def step(starts: tuple[int, ...] = ()) -> None:
        parents = torch.randint(2, (6,), generator=chooser) + torch.tensor([0, 0, 2, 2, 4, 4])
        ids = torch.randint(4, 11, (6,), generator=chooser)
        for slot in starts:
            ids[2 * slot : 2 * slot + 2] = 2
        found, expected = (decoder.step(parents, ids).full() for decoder in both)
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)

    def admit(slots: list[int], *sources: list[int]) -> None:
        for decoder in both:
            decoder.admit(slots, [Source(ids) for ids in sources])

    def retire(*slots: int) -> None:
        for decoder in both:
            decoder.retire(slots)

    admit([2, 0], [4, 5, 6, EOS], [7, EOS])
    for number in range(4):
        step((0, 2) if not number else ())
    admit([1], [5, 6, 7, 8, 9, EOS])
    for number in range(4):
        step((1,) if not number else ())
    retire(2)
    step()
    admit([2], [9, EOS])
    step((2,))
    retire(0, 1)
    step()


@torch.no_grad()
def test_graphs_are_dropped_when_the_cache_is_reallocated(
    late_model, graphs: type[FakeGraph], monkeypatch
) -> None:
    small_buckets(monkeypatch)
    model = late_model({})
    # The second slot stays free, and must not run away.
    both = CudaDecoder(make_cuda_model(model), 2, 1), ReferenceDecoder(model, 2, 1)
    # Room for steps grows in the second, for sources in the fourth; then the first bucket again.
    for turn, (length, steps) in enumerate(((3, 3), (3, 6), (3, 3), (7, 2), (3, 3))):
        for number in range(steps):
            said = []
            for decoder in both:
                if not number:
                    decoder.admit([0], [Source((*range(4 + turn, 3 + turn + length), EOS))])
                ids = torch.tensor([4 + number if number else 2, 4])
                said.append(decoder.step(torch.arange(2), ids).full())
            torch.testing.assert_close(*said, atol=1e-4, rtol=1e-4)
        for decoder in both:
            decoder.retire([0])
    assert graphs.made >= 4


@torch.inference_mode()
def test_nan_left_in_the_cache_does_not_spread(late_model) -> None:
    decoder = CudaDecoder(make_cuda_model(late_model({})), 2, 1)
    decoder.admit([0, 1], [Source([4, 5, EOS]), Source([4, 5, EOS])])
    for one in (2, 4, 5):
        decoder.step(torch.arange(2), torch.full((2,), one))
    for layer in (*decoder._cache.own, *decoder._cache.cross):
        for cached in layer:
            cached[1] = torch.nan
    decoder.retire([1])
    decoder.admit([1], [Source([4, EOS])])
    assert decoder.step(torch.arange(2), torch.full((2,), 2)).full().isfinite().all()


def test_the_decoder_implements_the_protocol(late_model) -> None:
    decoder = CudaDecoder(make_cuda_model(late_model({})), 2, 2)
    assert isinstance(decoder, Decoder)
    assert isinstance(decoder, Recorder)
    assert not isinstance(ReferenceDecoder(late_model({}), 2, 2), Recorder)
    decoder.admit([1], [Source([4, EOS])])
    step = decoder.step(torch.arange(4), torch.full((4,), 2))
    assert isinstance(step, Step)
    assert step.full()[:2].isneginf().all()
    assert step.full()[2:].isfinite().all()


def test_position_tables_are_reallocated_only_with_the_cache(make_model) -> None:
    fast = make_cuda_model(make_model({}).float())
    decoder = CudaDecoder(fast, 1, 1)
    tables = fast.inputs.positions
    place = tables["tgt"].table.data_ptr()
    # Longer than the tables are: that of the sources grows.
    fast.encode(torch.full((1_500,), 4), Segments.from_lengths([1_500]))
    assert len(tables["src"].table) > 1_500
    assert tables["tgt"].table.data_ptr() == place
    moves = decoder._cache.moves
    decoder._cache.reserve(1_500, 1)
    assert decoder._cache.moves > moves
    assert len(tables["tgt"].table) >= decoder._cache.capacity
