"""Sampling: from the right distribution, and reproducible with the same seed."""

import math
from collections import Counter
from dataclasses import replace

import pytest
import torch
from tables import EOS, Table, TableDecoder, run

from nmt_cli.config.search import SearchConfig
from nmt_cli.search import sampler
from nmt_cli.search.decoder import Source

ONE = SearchConfig(beam=1, n_best=1, sample=True, max_extra_length=6)
SOURCES = [Source((*[4 + n % 5] * (n % 4), EOS), sample_key=(n, 0)) for n in range(12)]


def ids_of(result) -> list[list[tuple[int, ...]]]:
    return [[hypothesis.ids for hypothesis in hypotheses] for hypotheses in result]


def sampled(config: SearchConfig, sources=SOURCES, slots: int = 5, **table):
    decoder = TableDecoder(Table(9, **{"seed": 3, "end": -1.0, **table}), slots, config.rows)
    return run(decoder, sources, config)


def first_ids(config: SearchConfig, count: int = 3_000) -> Counter[int]:
    """The first id of many samples of one source."""
    config = replace(config, n_best=100, max_extra_length=0)
    sources = [Source((7, EOS), sample_key=(n,)) for n in range(count // 100)]
    result = sampled(config, sources, slots=count // 100)
    return Counter(hypothesis.ids[0] for hypotheses in result for hypothesis in hypotheses)


def chances(table: Table, temperature: float = 1.0) -> torch.Tensor:
    row = table.row((7, EOS), ()).clone()
    row[:3] = -torch.inf
    return (row / temperature).softmax(0)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_ids_are_sampled_with_their_probabilities(temperature: float) -> None:
    expected = chances(Table(9, 3, -1.0), temperature).tolist()
    result = first_ids(replace(ONE, temperature=temperature))
    for token, chance in enumerate(expected):
        # Five standard deviations.
        room = 5 * math.sqrt(max(chance * (1 - chance), 1e-9) / 3_000)
        assert result[token] / 3_000 == pytest.approx(chance, abs=room), token


def test_top_k_samples_from_the_best_k_only() -> None:
    expected = chances(Table(9, 3, -1.0))
    best = expected.topk(3)
    result = first_ids(replace(ONE, top_k=3))
    assert set(result) == set(best.indices.tolist())
    shares = best.values / best.values.sum()
    for index, share in zip(best.indices.tolist(), shares.tolist(), strict=True):
        assert result[index] / 3_000 == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize("top_p", [0.0, 0.5, 0.8, 0.97])
@pytest.mark.parametrize("temperature", [0.6, 1.0])
def test_top_p_samples_from_the_fewest_ids_that_reach_it(top_p: float, temperature: float) -> None:
    values, ids = chances(Table(9, 3, -1.0), temperature).sort(descending=True)
    needed = int((values.cumsum(0) < top_p).sum()) + 1
    config = replace(ONE, top_p=top_p, temperature=temperature)
    assert set(first_ids(config)) == set(ids[:needed].tolist())


def test_the_nucleus_does_not_depend_on_how_many_ids_are_looked_at(monkeypatch) -> None:
    """More are looked at until all rows reach top_p, and each row chooses as before."""
    config = replace(ONE, top_p=0.9, n_best=20)
    results = []
    for count, wider in ((64, 16), (1, 2), (2, 16)):
        monkeypatch.setattr(sampler, "NUCLEUS", count)
        monkeypatch.setattr(sampler, "WIDER", wider)
        results.append(ids_of(sampled(config)))
    assert results[0] == results[1] == results[2]
    assert len({ids for samples in results[0] for ids in samples}) > 20


def test_top_k_and_top_p_together() -> None:
    values, ids = chances(Table(9, 3, -1.0)).sort(descending=True)
    assert values[:2].sum() / values[:3].sum() < 0.99
    result = first_ids(replace(ONE, top_k=3, top_p=float(values[0] / values[:3].sum()) + 0.01))
    assert set(result) == set(ids[:2].tolist())


def test_samples_of_a_seed_are_the_same_in_any_batch() -> None:
    config = replace(ONE, n_best=3)
    expected = sampled(config)
    assert len({ids for some in ids_of(expected) for ids in some}) > 15
    for slots in (1, 12):
        assert ids_of(sampled(config, slots=slots)) == ids_of(expected)
    turned = sampled(config, SOURCES[::-1])
    assert ids_of(turned)[::-1] == ids_of(expected)
    assert ids_of(sampled(replace(config, seed=2))) != ids_of(expected)
    assert ids_of(sampled(replace(config, batch_tokens=1))) == ids_of(expected)


def test_every_line_is_sampled_independently() -> None:
    sources = [Source((7, 6, 5, EOS), sample_key=(n, 0)) for n in range(20)]
    assert len({ids for (ids,) in ids_of(sampled(ONE, sources))}) > 10
    again = [Source((7, 6, 5, EOS), sample_key=(4, 0))] * 2
    first, second = sampled(ONE, again)
    assert first == second


def test_samples_have_model_scores_and_are_ranked() -> None:
    table = Table(9, 3, -1.0)
    config = replace(ONE, n_best=4, temperature=0.7, top_k=5, alpha=0.8)
    for source, hypotheses in zip(SOURCES, sampled(config), strict=True):
        assert len(hypotheses) == 4
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
        for hypothesis in hypotheses:
            expected = [
                table.row(source.ids, hypothesis.ids[:n])[i].item()
                for n, i in enumerate(hypothesis.ids)
            ]
            assert hypothesis.token_scores == pytest.approx(expected, abs=1e-5)
            assert hypothesis.log_prob == pytest.approx(sum(expected), abs=1e-4)
            assert hypothesis.ids[-1] == EOS
            assert not set(hypothesis.ids) & {0, 1, 2}
            assert len(hypothesis.ids) <= len(source.ids) + 6


def test_sampling_applies_logits_processors_and_prefixes() -> None:
    config = replace(ONE, n_best=5, no_repeat_ngram=1, min_length=2, max_length=3)
    sources = [replace(source, prefix=(5,)) for source in SOURCES]
    for hypotheses in sampled(config, sources):
        for hypothesis in hypotheses:
            assert hypothesis.ids[0] == 5
            assert 3 <= len(hypothesis.ids) <= 4
            assert len(set(hypothesis.ids)) == len(hypothesis.ids)


def test_search_ends_where_the_model_gives_nan() -> None:
    class Broken(Table):
        def row(self, source, prefix):
            return torch.full((self.vocabulary,), torch.nan)

    for config in (ONE, replace(ONE, top_k=2), replace(ONE, top_p=0.5)):
        assert run(TableDecoder(Broken(8), 2, 1), SOURCES[:2], config) == [[], []]


def test_mbr_samples_as_many_candidates_as_the_beam() -> None:
    config = SearchConfig(beam=8, n_best=1, sample=True, mbr="chrf")
    assert [len(result) for result in sampled(config)] == [8] * len(SOURCES)
