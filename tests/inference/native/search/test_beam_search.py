"""Plain beam search in C: equal to the one with arrays, to the bit."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from engine_cases import EOS, random_sources
from native_cases import native_model

from nmt_cli.config.search import SearchConfig
from nmt_cli.inference.native.decoder import GROWTH, NativeDecoder
from nmt_cli.inference.native.linear import BLOCK
from nmt_cli.inference.native.model import NativeModel
from nmt_cli.search.arrays.numpy_arrays import NUMPY
from nmt_cli.search.beam import Searcher
from nmt_cli.search.decoder import Decoder, Hypothesis, Source, Step
from nmt_cli.search.fused_search import FusedBeamSearch, is_fused

Found = list[tuple[int, list[Hypothesis]]]
WORDS = 30
UNK, FREQUENT = 1, 4


class StepsOnly:
    """The same engine, whose search is left to `BeamSearch`."""

    arrays = NUMPY

    def __init__(self, decoder: NativeDecoder) -> None:
        self._decoder = decoder
        self.slots, self.beam = decoder.slots, decoder.beam
        self.symbols, self.check_every = decoder.symbols, decoder.check_every

    def admit(self, slots: Sequence[int], sources: Sequence[Source]) -> None:
        self._decoder.admit(slots, sources)

    def retire(self, slots: Sequence[int]) -> None:
        self._decoder.retire(slots)

    def step(self, parents: np.ndarray, ids: np.ndarray) -> Step:
        return self._decoder.step(parents, ids)


@pytest.fixture(params=["ends", "ties"])
def model(kernels, make_model, request: pytest.FixtureRequest) -> NativeModel:
    """A model that ends its sentences early, or one with two words that are equally likely."""
    sizes = {"model.src_vocab_size": WORDS, "model.tgt_vocab_size": WORDS}
    made = make_model({**sizes, "model.output_bias": True}).float()
    with torch.no_grad():
        if request.param == "ends":
            made.output_bias[EOS] += 5.0
        else:
            made.output_weight[FREQUENT + 1] = made.output_weight[FREQUENT]
            made.output_bias[FREQUENT + 1] = made.output_bias[FREQUENT]
    return native_model(made, kernels)


def found(decoder: Decoder, sources: Sequence[Source], config: SearchConfig) -> Found:
    """The finished hypotheses of each source, in the order in which the sources were done."""
    return list(Searcher(decoder, config).run(iter(sources)))


def assert_equal(
    model: NativeModel, sources: Sequence[Source], config: SearchConfig, slots: int = 3
) -> None:
    fused = NativeDecoder(model, slots, config.rows)
    plain = StepsOnly(NativeDecoder(model, slots, config.rows))
    assert is_fused(fused)
    assert not is_fused(plain)
    assert isinstance(Searcher(fused, config)._beams, FusedBeamSearch)
    assert found(fused, sources, config) == found(plain, sources, config)


SETTINGS = (
    {"beam": 1},
    {"beam": 4, "n_best": 4, "alpha": 1.0, "length_penalty": "power"},
    {"beam": 2, "n_best": 1, "alpha": 0.0},
    {"beam": 5, "n_best": 3, "word_reward": 0.4},
    {"beam": 5, "n_best": 2, "word_reward": -1.0, "length_penalty": "none"},
    # More candidates than there are words, and rows wide enough to be sorted by keys.
    {"beam": 20, "n_best": 20},
    # Fewer words than hypotheses, of which the first step then finds too few.
    {"beam": 40, "n_best": 40},
    {"beam": 3, "max_extra_length": 0},
    {"beam": 3, "max_length": 2, "n_best": 3},
    {"beam": 4, "n_best": 2, "patience": 1.0},
    {"beam": 5, "n_best": 3, "patience": 0.3, "word_reward": 0.4},
    {"beam": 4, "n_best": 2, "min_length": 1},
    {"beam": 1, "min_length": 5},
    {"beam": 3, "n_best": 3, "min_length": 4, "max_length": 6, "word_reward": -1.0},
)


@pytest.mark.parametrize("settings", SETTINGS)
def test_hypotheses_are_bitwise_equal_and_found_in_the_same_order(model, settings) -> None:
    config = SearchConfig(**{"max_extra_length": 8, **settings})
    assert_equal(model, random_sources(13, words=WORDS), config)


def test_prefixes_are_equal_even_if_they_are_banned_or_too_long(model) -> None:
    assert UNK in model.config.banned_ids
    prefixes = [(), (FREQUENT,), (UNK, 7), tuple(range(4, 16)), (7, EOS, 8)]
    sources = [
        replace(source, prefix=prefixes[index % len(prefixes)])
        for index, source in enumerate(random_sources(10, words=WORDS))
    ]
    assert_equal(model, sources, SearchConfig(beam=3, n_best=3, max_extra_length=4))


def test_shortlists_are_equal(model) -> None:
    chooser = random.Random(3)
    sources = [
        replace(source, allowed=np.array(sorted({EOS, *chooser.sample(range(WORDS), 9)})))
        if index % 3
        else source
        for index, source in enumerate(random_sources(10, words=WORDS))
    ]
    assert_equal(model, sources, SearchConfig(beam=4, n_best=4, max_extra_length=5))


def test_words_after_likely_ones_that_are_banned_are_equal(kernels, make_model) -> None:
    """A greedy search has the logits of two blocks of words only, here of those of banned words."""
    words = 5 * BLOCK
    sizes = {"model.src_vocab_size": words, "model.tgt_vocab_size": words}
    made = make_model({**sizes, "model.output_bias": True}).float()
    with torch.no_grad():
        made.output_bias[UNK] += 9.0
    config = SearchConfig(beam=1, max_extra_length=5)
    assert_equal(native_model(made, kernels), random_sources(6, words=words), config)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_model_that_gives_no_numbers_ends_equally(kernels, make_model, value: float) -> None:
    made = make_model({"model.output_bias": True}).float()
    with torch.no_grad():
        made.output_bias[7] = value
    config = SearchConfig(beam=3, n_best=3, max_extra_length=3)
    assert_equal(native_model(made, kernels), random_sources(5), config)


def test_an_id_may_be_produced_where_it_is_not_banned(model) -> None:
    results = []
    for kind in (lambda decoder: decoder, StepsOnly):
        searcher = Searcher(
            kind(NativeDecoder(model, 2, 2)),
            SearchConfig(beam=2, n_best=2, max_extra_length=6),
            unbanned_ids=frozenset(model.config.banned_ids),
        )
        results.append(sorted(searcher.run(iter(random_sources(6, words=WORDS)))))
    assert results[0] == results[1]


def test_a_long_sentence_returns_to_its_caller_many_times(model) -> None:
    """So that it can be interrupted, and others be admitted."""
    config = SearchConfig(beam=1, max_extra_length=200)
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    prefix = tuple(FREQUENT + step % 5 for step in range(160))
    source = replace(random_sources(1, words=WORDS)[0], prefix=prefix)
    decoder = NativeDecoder(model, 1, 1)
    ((_, (found, *_)),) = Searcher(decoder, config).run(iter([source]), count)
    assert len(found.ids) > len(prefix)
    assert calls >= len(prefix) // GROWTH
