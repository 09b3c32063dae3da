"""Ensembles: the probabilities of several models are averaged behind the decoder interface."""

import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords
from hypothesis import given
from hypothesis import strategies as st
from tables import EOS, Table, TableDecoder, exhaustive, run
from torch import Tensor

from nmt_cli.config.schema import Config
from nmt_cli.config.search import SearchConfig
from nmt_cli.data.subwords.model import Subwords
from nmt_cli.data.subwords.segmenters import Bytes
from nmt_cli.errors import ConfigError
from nmt_cli.inference.engines import fastest_engine, kernels_of, reference_engine
from nmt_cli.inference.ensemble import PIECE, Ensemble
from nmt_cli.model_dir import save_model
from nmt_cli.search.decoder import Decoder, Edits, Source
from nmt_cli.search.full_distribution import FullDistributionStep
from nmt_cli.translation.translator import Translator

SOURCE = (5, 4, EOS)


class Mean(Table):
    """The mean of the probabilities of some tables."""

    def row(self, source, prefix):
        rows = [Table(7, seed, -1.0).row(source, prefix).exp() for seed in (1, 2, 3)]
        return torch.stack(rows).mean(0).log()


def three(slots: int, beam: int) -> Ensemble:
    return Ensemble([TableDecoder(Table(7, seed, -1.0), slots, beam) for seed in (1, 2, 3)])


def test_ensemble_search_equals_a_model_of_mean_probabilities() -> None:
    assert isinstance(three(1, 2), Decoder)
    config = SearchConfig(beam=85, n_best=20, max_extra_length=2)
    hypotheses = run(three(2, 85), [SOURCE], config)[0]
    expected = exhaustive(Mean(7), SOURCE, config)[:20]
    assert [hypothesis.ids for hypothesis in hypotheses] == [ids for _, ids in expected]
    assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx(
        [s for s, _ in expected], abs=1e-5
    )


def test_slots_are_admitted_and_retired_in_every_member() -> None:
    config = SearchConfig(beam=3, n_best=3, max_extra_length=4, batch_tokens=20, min_length=2)
    sources = [(*[4 + n % 3] * (n % 4), EOS) for n in range(9)]
    assert run(three(2, 3), sources, config) == [run(three(1, 3), [s], config)[0] for s in sources]


class Given(TableDecoder):
    """A decoder that says what it is given."""

    def __init__(self, log_probs: Tensor) -> None:
        super().__init__(Table(log_probs.shape[1]), len(log_probs), 1)
        self.log_probs = log_probs

    def step(self, parents: Tensor, ids: Tensor) -> FullDistributionStep:
        return FullDistributionStep(self.log_probs)


def mean_of(members: Sequence[Tensor]) -> Tensor:
    nothing = torch.zeros(0, dtype=torch.int64)
    return Ensemble([Given(member) for member in members]).step(nothing, nothing).full()


def random_members(count: int, rows: int, words: int, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [
        (4 * torch.randn(rows, words, generator=generator)).log_softmax(1) for _ in range(count)
    ]


@given(
    st.integers(2, 4), st.integers(1, 300), st.lists(st.integers(1, 25), min_size=1, max_size=7),
    st.integers(0, 2**32),
)  # fmt: skip
def test_a_row_is_bitwise_equal_in_any_batch(
    count: int, words: int, parts: list[int], seed: int
) -> None:
    members = random_members(count, sum(parts), words, seed)
    whole = mean_of(members)
    split = zip(*(member.split(parts) for member in members), strict=True)
    assert torch.equal(whole, torch.cat([mean_of(part) for part in split]))
    expected = torch.stack(members).double().logsumexp(0) - math.log(count)
    torch.testing.assert_close(whole.double(), expected, atol=1e-5, rtol=1e-6)


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_the_mean_is_bitwise_equal_for_any_number_of_threads(threads) -> None:
    """Each number is one that vectors and the rest of a tensor may give other last bits."""
    pair = random_members(2, 1, 10_000, 1)
    apart = [torch.stack([tensor, tensor], dim=2)[:, :, 0] for tensor in pair]
    differing = torch.logaddexp(*pair) != torch.logaddexp(*apart)
    index = int(differing.flatten().int().argmax())
    members = [tensor[:, index : index + 1].expand(3, 2 * PIECE + 1_001).clone() for tensor in pair]
    results = []
    for count in (1, 2, 3, 4):
        torch.set_num_threads(count)
        results.append(mean_of(members))
    assert all(torch.equal(results[0], other) for other in results[1:])


def test_rows_of_free_slots_stay_at_minus_infinity() -> None:
    members = random_members(2, 3, 7, 1)
    for member in members:
        member[1] = -torch.inf
    result = mean_of(members)
    assert result[1].isneginf().all()
    assert result[[0, 2]].isfinite().all()


@pytest.mark.parametrize("kind", ["float32", "bf16", "int8"])
def test_native_engines_are_bitwise_equal_in_any_batch(
    kind: str, make_model, kernel_cache: Path
) -> None:
    """Members whose own numbers depend on their row alone make a mean that does so too."""
    kernels, reason = kernels_of(kernel_cache)
    if kernels is None:
        pytest.skip(reason)
    sizes = {"model.src_vocab_size": 21, "model.tgt_vocab_size": 21}
    variants = {}, {"model.activation": "swiglu", "model.norm_order": "pre"}
    engines = [
        fastest_engine(make_model({**sizes, **variant}).float(), kernel_cache, kind)
        for variant in variants
    ]
    chooser = random.Random(1)
    sources = [
        Source([*(chooser.randrange(4, 21) for _ in range(chooser.randrange(1, 15))), EOS])
        for _ in range(23)
    ]

    def steps(sources: Sequence[Source]) -> list[np.ndarray]:
        """(steps, 3, words) of each source."""
        joint = Ensemble([engine.decoder(len(sources), 3) for engine in engines])
        joint.admit(range(len(sources)), sources)
        rows = np.arange(3 * len(sources))
        results = [joint.step(rows, rows % 3 + index).full() for index in range(2, 8)]
        return np.split(np.stack(results), len(sources), axis=1)

    alone = [steps([source])[0] for source in sources]
    assert all(map(np.array_equal, steps(sources), alone))


def test_edits_apply_once_to_the_mean() -> None:
    decoder = three(1, 1)
    decoder.admit([0], [Source(SOURCE)])
    step = decoder.step(torch.tensor([0]), torch.tensor([2]))
    expected = Mean(7).row(SOURCE, ())
    torch.testing.assert_close(step.full()[0], expected)
    edits = Edits(
        torch.tensor([0, 0, 0]), torch.tensor([4, 4, 5]), torch.tensor([-1.0, -1.0, -torch.inf]),
        torch.tensor([-1]),
    )  # fmt: skip
    values, ids = step.top(7, edits)
    expected[4] -= 2.0
    expected[5] = -torch.inf
    torch.testing.assert_close(values[0], expected.sort(descending=True).values)
    assert ids[0, -1] == 5
    edits.forced[0] = 6
    values, ids = step.top(2, edits)
    assert ids[0, 0] == 6
    assert values[0].tolist() == [pytest.approx(expected[6].item()), -math.inf]


@pytest.fixture(scope="module")
def config() -> Config:
    return byte_config({"search.beam": 3})


class TestTranslator:
    LINES = ("some words", "more of them here", "", "x")

    def translators(self, config: Config, engine=reference_engine) -> list[Translator]:
        return [
            Translator(byte_model(config, seed), config, byte_subwords(), engine) for seed in (1, 2)
        ]

    def test_two_equal_models_equal_a_single_one(self, config: Config) -> None:
        single, _ = self.translators(config)
        both = Translator(single.model, config, single.subwords, reference_engine, [single])
        for alone, joint in zip(
            single.translate(self.LINES), both.translate(self.LINES), strict=True
        ):
            assert joint.text == alone.text
            assert joint.score == pytest.approx(alone.score, abs=1e-4)

    def test_two_models_translate_with_every_engine(self, config: Config, tmp_path) -> None:
        texts = []
        for engine in (reference_engine, fastest_engine):
            first, second = self.translators(config, engine)
            both = Translator(first.model, config, first.subwords, engine, [second])
            assert both.engine.name == "ensemble"
            texts.append([translation.text for translation in both.translate(self.LINES)])
            assert texts[-1] != [translation.text for translation in first.translate(self.LINES)]
        assert texts[0] == texts[1]
        for name, model in zip("ab", (first, second), strict=True):
            save_model(tmp_path / name, model.model.state_dict(), config, model.subwords, {})
        loaded = Translator.load(tmp_path / "a", others=[tmp_path / "b"])
        assert [translation.text for translation in loaded.translate(self.LINES)] == texts[0]

    def test_score_averages_the_probabilities_of_pairs(self, config: Config) -> None:
        first, second = self.translators(config)
        both = Translator(first.model, config, first.subwords, reference_engine, [second])
        pair = ("some words", "other words")
        (joint,), (first_score,), (other,) = (list(t.score([pair])) for t in (both, first, second))
        means = [
            math.log((math.exp(a) + math.exp(b)) / 2)
            for a, b in zip(first_score.token_scores, other.token_scores, strict=True)
        ]
        assert joint.token_scores == pytest.approx(means, abs=1e-5)

    def test_a_member_with_another_vocabulary_is_refused(self, config: Config) -> None:
        first, second = self.translators(config)
        pieces = {piece: index for index, piece in enumerate(Bytes().pieces())}
        pieces["<0x41>"], pieces["<0x42>"] = pieces["<0x42>"], pieces["<0x41>"]
        second.subwords = Subwords(Bytes(), source_ids=pieces)
        with pytest.raises(ConfigError, match=r"model 2 .* source vocabulary .* id 69 is `<0x42>`"):
            Translator(first.model, config, first.subwords, reference_engine, [second])
        other = byte_config({"model.start_id": 0})
        odd = Translator(byte_model(other), other, byte_subwords())
        with pytest.raises(ConfigError, match=r"model 2 .* special ids"):
            Translator(first.model, config, first.subwords, reference_engine, [odd])
