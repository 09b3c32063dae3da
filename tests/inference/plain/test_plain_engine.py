"""The engine and teacher forcing in NumPy agree with the model in torch."""

import numpy as np
import pytest
from engine_cases import assert_same, random_sources, translations
from native_cases import arrays_of_model
from variants import Settings, every_variant

from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.engines import plain_engine, reference_engine
from nmt_cli.inference.plain.forcing import PlainForcer
from nmt_cli.inference.plain.model import PlainModel
from nmt_cli.inference.teacher_forcing import TorchForcer
from nmt_cli.search.decoder import Source

PAIRS = [([5, 6, 7, 8, 3], [9, 10, 3]), ([5, 3], [9, 10, 4, 5, 3]), ([7, 7, 3], [3])]


@every_variant
def test_forced_scores_and_attention_are_those_of_torch(make_model, settings: Settings) -> None:
    model = make_model(settings).float()
    plain, expected = PlainForcer(PlainModel(arrays_of_model(model))), TorchForcer(model)
    pairs = zip(
        plain.force(PAIRS, attention=True), expected.force(PAIRS, attention=True), strict=True
    )
    for result, other in pairs:
        assert result.token_scores == pytest.approx(other.token_scores, abs=1e-4)
        assert np.allclose(result.attention, other.attention.numpy(), atol=1e-5)
    for layers in (1, 2):
        maps = zip(
            plain.cross_attentions(PAIRS, layers), expected.cross_attentions(PAIRS, layers),
            strict=True,
        )  # fmt: skip
        assert all(np.allclose(weights, other.numpy(), atol=1e-5) for weights, other in maps)
    assert plain.force(PAIRS)[0].attention is None


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize(
    "settings",
    [{}, {"model.positions": "rotary", "model.norm_order": "pre"}, {"model.activation": "swiglu"}],
    ids=["paper", "rotary", "gated"],
)
def test_translations_are_those_of_the_reference(late_model, settings, beam: int) -> None:
    model = late_model(settings)
    engine = plain_engine(arrays_of_model(model), "there is no C compiler (cc)", "float32")
    assert engine.notice == "NumPy translates, which is slower: there is no C compiler (cc)"
    sources = random_sources(12)
    sources[3] = Source(sources[3].ids, allowed=np.array([3, 5, 7, 9]))
    config = SearchConfig(beam=beam, n_best=beam, max_extra_length=6)
    found = translations(engine.decoder(5, beam), sources, config)
    assert_same(found, translations(reference_engine(model).decoder(5, beam), sources, config))
    assert set(found[3][0].ids) <= {3, 5, 7, 9}


def test_other_precisions_are_float32_and_say_so(make_model) -> None:
    model = make_model({}).float()
    engine = plain_engine(arrays_of_model(model), "no compiler", "int8")
    assert engine.notice == (
        "NumPy translates, which is slower, in float32 instead of int8: no compiler"
    )
