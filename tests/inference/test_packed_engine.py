"""The CPU engines: they equal the reference engine in any batch."""

import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor
from variants import VARIANTS, Settings

from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.engines import Engine, fastest_engine, kernels_of, reference_engine
from nmt_cli.inference.logits_step import BusyRows, LogitsStep
from nmt_cli.inference.native import decoder as native_decoder
from nmt_cli.inference.packed import decoder as packed_decoder
from nmt_cli.inference.packed import head, linear
from nmt_cli.inference.packed.decoder import PackedDecoder
from nmt_cli.inference.packed.head import BLOCK, PackedHead, block_step
from nmt_cli.inference.packed.model import PackedModel
from nmt_cli.inference.packed.weights import Affine
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.beam import search
from nmt_cli.search.decoder import Decoder, Edits, Hypothesis, Source, Step
from nmt_cli.search.top_k import top_k

EOS = 3

MakeEngine = Callable[[Transformer], Engine]


@pytest.fixture(params=["packed", "native"])
def make_engine(request, kernel_cache: Path) -> MakeEngine:
    """The engine in torch alone, and the one with kernels of its own."""
    if request.param == "packed":
        return fastest_engine
    kernels, reason = kernels_of(kernel_cache)
    if shutil.which("cc") is None:
        pytest.skip(reason)
    assert kernels is not None, reason
    return partial(fastest_engine, cache=kernel_cache)


@pytest.fixture
def late_model(make_model):
    """Random models like to end at once: their EOS is made less likely."""

    def make(settings: Settings) -> Transformer:
        model = make_model({**settings, "model.output_bias": True}).float()
        with torch.no_grad():
            model.output_bias[EOS] -= 2.0
        return model

    return make


def random_sources(count: int, seed: int = 1, longest: int = 9) -> list[tuple[int, ...]]:
    chooser = random.Random(seed)
    return [
        (*(chooser.randrange(4, 11) for _ in range(chooser.randrange(longest))), EOS)
        for _ in range(count)
    ]


def run(engine: Engine, sources, config: SearchConfig, slots: int = 4) -> list[list[Hypothesis]]:
    decoder = engine.decoder(slots, config.beam)
    results = dict(search(decoder, iter([Source(source) for source in sources]), config))
    return [results[number] for number in range(len(sources))]


def assert_same(found: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    for result, other in zip(found, expected, strict=True):
        assert [h.ids for h in result] == [h.ids for h in other]
        for first, second in zip(result, other, strict=True):
            assert first.score == pytest.approx(second.score, abs=1e-4)
            assert first.token_scores == pytest.approx(second.token_scores, abs=1e-4)


@pytest.mark.parametrize("settings", VARIANTS[::5], ids=range(0, len(VARIANTS), 5))
def test_translations_equal_those_of_the_reference(
    settings: Settings, late_model, make_engine: MakeEngine
) -> None:
    model = late_model(settings)
    engine = make_engine(model)
    assert engine.name in ("packed", "native")
    for beam in (1, 4):
        config = SearchConfig(beam=beam, n_best=min(beam, 3), max_extra_length=4, batch_tokens=60)
        sources = random_sources(7)
        expected = run(reference_engine(model), sources, config)
        assert_same(run(engine, sources, config), expected)


def test_translations_do_not_depend_on_batch_order_or_slots(
    late_model, make_engine: MakeEngine, monkeypatch
) -> None:
    monkeypatch.setattr(packed_decoder, "GROWTH", 2)
    monkeypatch.setattr(native_decoder, "GROWTH", 2)
    model = late_model({"model.positions": "rotary", "model.d_k": 2, "model.d_v": 5})
    engine = make_engine(model)
    sources = random_sources(16, longest=14)
    config = SearchConfig(beam=3, n_best=3, max_extra_length=8)
    alone = [run(engine, [source], config, slots=1)[0] for source in sources]
    assert len({len(result[0].ids) for result in alone}) >= 3, "the lengths must vary"
    for slots, tokens in ((16, 10_000), (3, 60)):
        order = random.Random(slots).sample(range(16), 16)
        config = SearchConfig(beam=3, n_best=3, max_extra_length=8, batch_tokens=tokens)
        together = run(engine, [sources[index] for index in order], config, slots)
        assert_same(together, [alone[index] for index in order])


@torch.no_grad()
def test_rows_follow_their_parents_while_slots_are_refilled(
    late_model, make_engine: MakeEngine
) -> None:
    model = late_model({})
    one, other = (engine(model).decoder(3, 2) for engine in (make_engine, reference_engine))
    both: list[Decoder] = [one, other]
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
    step((0, 2))
    step()
    admit([1], [5, 6, 7, 8, 9, EOS])
    step((1,))
    step()
    retire(2)
    step()
    admit([2], [9, EOS])
    step((2,))
    retire(0, 1)
    step()


@torch.inference_mode()
def test_nan_left_in_the_cache_does_not_spread(late_model) -> None:
    decoder = PackedDecoder(PackedModel(late_model({})), 2, 1)
    decoder.admit([0, 1], [Source([4, 5, EOS]), Source([4, 5, EOS])])
    for one in (2, 4, 5):
        decoder.step(torch.arange(2), torch.full((2,), one))
    for layer in (*decoder._own, *decoder._cross):
        for cached in layer:
            cached[1] = torch.nan
    decoder.retire([1])
    decoder.admit([1], [Source([4, EOS])])
    assert decoder.step(torch.arange(2), torch.full((2,), 2)).full().isfinite().all()


def test_the_decoder_implements_the_protocol(late_model, make_engine: MakeEngine) -> None:
    decoder = make_engine(late_model({})).decoder(2, 2)
    assert isinstance(decoder, Decoder)
    decoder.admit([1], [Source([4, EOS])])
    step = decoder.step(torch.arange(4), torch.full((4,), 2))
    assert isinstance(step, Step)
    assert step.full()[:2].isneginf().all()


class TestHead:
    WORDS = 3 * BLOCK + 7

    def step(self, values: Tensor, rows: Tensor, all_rows: int) -> LogitsStep:
        """A step whose logits are `values`."""
        head = PackedHead(Affine(torch.eye(self.WORDS), None))
        return block_step(head.logits(values), self.WORDS, BusyRows(rows, all_rows))

    @pytest.mark.parametrize("k", [1, 8, 70, 1000])
    def test_top_k_includes_ties(self, k: int, monkeypatch) -> None:
        monkeypatch.setattr(head, "CHUNK", 2)
        values = torch.randint(9, (5, self.WORDS), generator=torch.Generator().manual_seed(k))
        rows = torch.tensor([0, 2, 3, 4, 6])
        found, ids = self.step(values.float(), rows, 7).top(k, Edits.ban([], 7, rows.device))
        expected = top_k(values.float().log_softmax(1), k)
        assert torch.equal(ids[rows], expected[1])
        torch.testing.assert_close(found[rows], expected[0])
        assert found[[1, 5]].isneginf().all()

    def test_edits_change_the_choice_and_are_restored(self) -> None:
        values = torch.randn(2, self.WORDS, generator=torch.Generator().manual_seed(1))
        step = self.step(values, torch.tensor([1, 0]), 3)
        before = step.full()
        torch.testing.assert_close(before[[1, 0]], values.log_softmax(1))
        best = int(values[0].argmax())
        edits = Edits(
            torch.tensor([1, 1, 2, 0]),
            torch.tensor([best, 5, 6, 7]),
            torch.tensor([-torch.inf, 30.0, 99.0, 40.0]),
            torch.tensor([-1, -1, -1]),
        )
        expected = before.clone()
        expected[1, best] = -torch.inf
        expected[1, 5] += 30.0
        expected[0, 7] += 40.0
        assert torch.equal(step.top(1, edits)[1][:2], expected[:2].argmax(1, keepdim=True))
        found, ids = step.top(6, edits)
        assert torch.equal(ids[:2], expected[:2].topk(6).indices)
        torch.testing.assert_close(found[:2], expected[:2].topk(6).values)
        assert torch.equal(step.full(), before)
        edits.forced[1] = 9
        found, ids = step.top(6, edits)
        assert ids[1, 0] == 9
        assert found[1, 0] == pytest.approx(before[1, 9].item())
        assert found[1, 1:].isneginf().all()
        torch.testing.assert_close(found[0], expected[0].topk(6).values)

    def test_nan_logits_give_valid_ids(self) -> None:
        step = self.step(torch.full((1, self.WORDS), torch.nan), torch.tensor([0]), 1)
        values, ids = step.top(self.WORDS, Edits.ban([], 1, torch.device("cpu")))
        assert values.isnan().all()
        assert int(ids.max()) < self.WORDS


class TestPacking:
    @pytest.fixture(autouse=True)
    def forget(self):
        linear.packing_works.cache_clear()
        yield
        linear.packing_works.cache_clear()

    def broken(self, *arguments: object) -> linear.Product:
        raise RuntimeError("no such operator")

    def wrong(self, weight: Tensor, bias: Tensor | None, rows: int) -> linear.Product:
        return lambda x: torch.nn.functional.linear(x, weight, bias) * 1.001

    @pytest.mark.parametrize("kind", ["broken", "wrong"])
    def test_the_plain_product_is_used_where_packing_fails(
        self, kind: str, late_model, monkeypatch
    ) -> None:
        monkeypatch.setattr(linear, "pack_linear", getattr(self, kind))
        assert not linear.packing_works()
        model = late_model({})
        engine = fastest_engine(model)
        assert "do not work" in engine.about
        sources, config = random_sources(3), SearchConfig(beam=2, max_extra_length=3)
        assert_same(run(engine, sources, config), run(reference_engine(model), sources, config))

    def test_packing_works_here(self) -> None:
        assert linear.packing_works() == torch.backends.mkldnn.is_available()


def test_unsupported_dtypes_fall_back_to_the_reference_engine(make_model) -> None:
    engine = fastest_engine(make_model({}))
    assert engine.name == "reference"
    assert "float64" in engine.about
