"""What holds for every engine: it equals the reference engine, in any batch."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from engine_cases import (
    ENGINES,
    EOS,
    assert_same,
    engine_of,
    random_sources,
    translations,
    use_small_buckets,
)
from fake_graphs import graphs
from native_cases import TorchSteps
from torch import Tensor
from variants import VARIANTS, Settings

from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.cuda.decoder import CudaDecoder
from nmt_cli.inference.engines import Engine, reference_engine
from nmt_cli.inference.native import decoder as native_decoder
from nmt_cli.inference.packed import decoder as packed_decoder
from nmt_cli.inference.packed.decoder import PackedDecoder
from nmt_cli.model.transformer import Transformer
from nmt_cli.search.decoder import Decoder, Recorder, Source, Step

__all__ = ["graphs"]

MakeEngine = Callable[[str, Transformer], Engine]
# Other engines than the reference; the GPU engine also with recorded graphs.
FAST_ENGINES = ("packed", "native", "cuda", "recorded")
ROTARY: Settings = {"model.positions": "rotary", "model.d_k": 2, "model.d_v": 5}
REFERENCE_SETTINGS: list[Settings] = [
    {},
    {"model.positions": "learned", "model.norm_order": "pre"},
    {"model.positions": "rotary", "model.activation": "swiglu", "model.tie_embeddings": "none"},
    {"model.decoder_layers": 1, "model.d_k": 3, "model.d_v": 5},
]


@pytest.fixture
def make_engine(request, kernel_cache: Path, monkeypatch) -> MakeEngine:
    """Makes one of ENGINES, or `recorded`; the GPU engine has small buckets."""

    def make(name: str, model: Transformer) -> Engine:
        if name == "recorded":
            request.getfixturevalue("graphs")
        if name in ("cuda", "recorded"):
            use_small_buckets(monkeypatch)
            name = "cuda"
        engine = engine_of(name, model, kernel_cache)
        assert engine.name == name
        return engine

    return make


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        *((name, settings) for name in ("packed", "native") for settings in VARIANTS[::5]),
        *(("cuda", settings) for settings in VARIANTS[::20]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_translations_equal_those_of_the_reference(
    name: str, settings: Settings, late_model, make_engine: MakeEngine
) -> None:
    model = late_model(settings)
    engine = make_engine(name, model)
    for beam in (1, 4):
        config = SearchConfig(beam=beam, n_best=min(beam, 3), max_extra_length=4, batch_tokens=60)
        sources = random_sources(7)
        expected = translations(reference_engine(model).decoder(4, beam), sources, config)
        assert_same(translations(engine.decoder(4, beam), sources, config), expected)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        *(("reference", settings) for settings in REFERENCE_SETTINGS),
        *((name, ROTARY) for name in ENGINES[1:]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_translations_do_not_depend_on_batch_order_or_slots(
    name: str, settings: Settings, late_model, make_engine: MakeEngine, monkeypatch
) -> None:
    monkeypatch.setattr(packed_decoder, "GROWTH", 2)
    monkeypatch.setattr(native_decoder, "GROWTH", 2)
    engine = make_engine(name, late_model(settings))
    words = 14 if name == "reference" else 11
    sources = random_sources(16, longest=14, words=words)
    config = SearchConfig(beam=3, n_best=3, max_extra_length=8)
    alone = [translations(engine.decoder(1, 3), [source], config)[0] for source in sources]
    assert len({len(hypotheses[0].ids) for hypotheses in alone}) >= 3, "the lengths must vary"
    for slots, tokens in ((16, 10_000), (3, 60)):
        order = random.Random(slots).sample(range(16), 16)
        config = SearchConfig(beam=3, n_best=3, max_extra_length=8, batch_tokens=tokens)
        shuffled = [sources[index] for index in order]
        together = translations(engine.decoder(slots, 3), shuffled, config)
        assert_same(together, [alone[index] for index in order])


@torch.no_grad()
@pytest.mark.parametrize("name", FAST_ENGINES)
def test_rows_follow_their_parents_while_slots_are_refilled(
    name: str, late_model, make_engine: MakeEngine
) -> None:
    model = late_model({})
    both: list[Decoder] = [
        make_engine(name, model).decoder(3, 2),
        reference_engine(model).decoder(3, 2),
    ]
    chooser = torch.Generator().manual_seed(1)

    def step(starts: tuple[int, ...] = ()) -> None:
        parents = torch.randint(2, (6,), generator=chooser) + torch.tensor([0, 0, 2, 2, 4, 4])
        ids = torch.randint(4, 11, (6,), generator=chooser)
        for slot in starts:
            ids[2 * slot : 2 * slot + 2] = 2
        actual, expected = (TorchSteps(decoder).step(parents, ids).full() for decoder in both)
        torch.testing.assert_close(actual, expected, atol=1e-4, rtol=1e-4)

    def admit(slots: list[int], *sources: list[int]) -> None:
        for decoder in both:
            decoder.admit(slots, [Source(ids) for ids in sources])

    def retire(*slots: int) -> None:
        for decoder in both:
            decoder.retire(slots)

    # Four steps at a time outgrow a bucket of the GPU engine.
    admit([2, 0], [4, 5, 6, EOS], [7, EOS])
    for index in range(4):
        step((0, 2) if not index else ())
    admit([1], [5, 6, 7, 8, 9, EOS])
    for index in range(4):
        step((1,) if not index else ())
    retire(2)
    step()
    admit([2], [9, EOS])
    step((2,))
    retire(0, 1)
    step()


def cache_of(decoder: Decoder) -> list[list[Tensor]]:
    """The keys and values of each layer, by slot."""
    if isinstance(decoder, PackedDecoder):
        return [*decoder._own, *decoder._cross]
    assert isinstance(decoder, CudaDecoder)
    return [*decoder._cache.own, *decoder._cache.cross]


@torch.inference_mode()
@pytest.mark.parametrize("name", ["packed", "cuda"])
def test_nan_left_in_the_cache_does_not_spread(
    name: str, late_model, make_engine: MakeEngine
) -> None:
    decoder = make_engine(name, late_model({})).decoder(2, 1)
    decoder.admit([0, 1], [Source([4, 5, EOS]), Source([4, 5, EOS])])
    for token_id in (2, 4, 5):
        decoder.step(torch.arange(2), torch.full((2,), token_id))
    for layer in cache_of(decoder):
        for cached in layer:
            cached[1] = torch.nan
    decoder.retire([1])
    decoder.admit([1], [Source([4, EOS])])
    assert decoder.step(torch.arange(2), torch.full((2,), 2)).full().isfinite().all()


@pytest.mark.parametrize("name", ENGINES)
def test_decoders_implement_the_protocol(name: str, late_model, make_engine: MakeEngine) -> None:
    decoder = make_engine(name, late_model({})).decoder(2, 2)
    assert isinstance(decoder, Decoder)
    assert isinstance(decoder, Recorder) == (name == "cuda")
    decoder.admit([1], [Source([4, EOS])])
    arrays = decoder.arrays
    step = decoder.step(arrays.arange(4), arrays.filled((4,), 2))
    assert isinstance(step, Step)
    log_probs = arrays.to_numpy(step.full())
    assert np.isneginf(log_probs[:2]).all()
    assert np.isfinite(log_probs[2:]).all()
