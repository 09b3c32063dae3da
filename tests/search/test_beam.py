"""Beam search: exact where it can be, equal to a naive one, and independent of the batch."""

import math
import random
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tables import BOS, EOS, PAD, SYMBOLS, UNK, Table, TableDecoder, exhaustive, penalty, run

from nmt_cli.config.schema import ModelConfig
from nmt_cli.config.search import SearchConfig
from nmt_cli.errors import ConfigError
from nmt_cli.search.arrays.numpy_arrays import NUMPY
from nmt_cli.search.arrays.torch_arrays import TorchArrays
from nmt_cli.search.arrays.torch_top_k import top_k
from nmt_cli.search.beam import search
from nmt_cli.search.decoder import Hypothesis, Source, Symbols
from nmt_cli.search.ranking import HypothesisRanker


def naive(table: Table, source: tuple[int, ...], config: SearchConfig) -> list[tuple[float, tuple]]:
    """Beam search with lists: nothing kept but prefixes, no early stop but that of `patience`."""
    limit = len(source) - 1 + config.max_extra_length
    count = 2 * config.beam if config.beam > 1 else 1
    live, finished, ends = [(0.0, ())], [], 0
    for length in range(limit + 1):
        candidates = []
        for log_prob, prefix in live:
            row = table.row(source, prefix)
            for token in range(table.vocabulary):
                if token not in SYMBOLS.banned_ids and (length < limit or token == EOS):
                    candidates.append((log_prob + row[token].item(), (*prefix, token)))
        candidates.sort(key=lambda candidate: -candidate[0])
        best = candidates[:count]
        finished += [(s / penalty(len(p), config), p) for s, p in best if p[-1] == EOS]
        live = [candidate for candidate in best if candidate[1][-1] != EOS][: config.beam]
        ends += sum(prefix[-1] == EOS for _, prefix in best[: config.beam])
        if config.patience and ends >= max(config.n_best, config.patience * config.beam):
            break
    return sorted(finished, key=lambda hypothesis: -hypothesis[0])[: config.n_best]


def assert_same(result: list[Hypothesis], expected: list[tuple[float, tuple[int, ...]]]) -> None:
    assert [hypothesis.ids for hypothesis in result] == [ids for _, ids in expected]
    for hypothesis, (score, _) in zip(result, expected, strict=True):
        assert hypothesis.score == pytest.approx(score, abs=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_wide_beam_equals_exhaustive_search(seed: int) -> None:
    table = Table(vocabulary=7, seed=seed, end=(-3.0, 0.0, 2.0)[seed % 3])
    config = SearchConfig(beam=100, n_best=20, alpha=(0.0, 0.6, 1.5)[seed % 3], max_extra_length=2)
    source = (5, 4, EOS)
    hypotheses = run(TableDecoder(table, 2, 100), [source], config)[0]
    assert_same(hypotheses, exhaustive(table, source, config)[:20])


def test_eos_is_forced_at_the_maximum_length() -> None:
    # EOS is so unlikely that it never comes by itself.
    table = Table(vocabulary=6, end=-40.0)
    config = SearchConfig(beam=2, n_best=2, max_extra_length=3)
    hypotheses = run(TableDecoder(table, 1, 2), [(5, EOS)], config)[0]
    assert [len(hypothesis.ids) for hypothesis in hypotheses] == [5, 5]
    for hypothesis in hypotheses:
        assert hypothesis.ids[-1] == EOS
        assert hypothesis.token_scores[-1] == pytest.approx(
            table.row((5, EOS), hypothesis.ids[:-1])[EOS].item()
        )
        assert hypothesis.log_prob < -30.0


def test_a_maximum_length_of_zero_gives_the_empty_translation() -> None:
    table = Table(vocabulary=6)
    config = SearchConfig(beam=3, n_best=3, max_extra_length=0)
    assert [
        hypothesis.ids for hypothesis in run(TableDecoder(table, 1, 3), [(EOS,)], config)[0]
    ] == [(EOS,)]


def test_n_best_returns_fewer_hypotheses_where_there_are_no_more() -> None:
    table = Table(vocabulary=5)
    config = SearchConfig(beam=8, n_best=8, max_extra_length=2)
    hypotheses = run(TableDecoder(table, 1, 8), [(EOS,)], config)[0]
    assert sorted(hypothesis.ids for hypothesis in hypotheses) == [(3,), (4, 3), (4, 4, 3)]


@given(
    seed=st.integers(0, 10**6), vocabulary=st.integers(5, 12), beam=st.integers(1, 6),
    n_best=st.integers(1, 6), alpha=st.sampled_from([0.0, 0.6, 1.0, 3.0]),
    end=st.sampled_from([-4.0, -1.0, 0.0, 2.0]), extra=st.integers(0, 9),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=5), slots=st.integers(1, 4),
    batch_tokens=st.integers(1, 60), patience=st.sampled_from([0.0, 0.5, 1.0, 1.5, 4.0]),
)  # fmt: skip
def test_beam_search_equals_a_naive_beam_search(
    seed, vocabulary, beam, n_best, alpha, end, extra, lengths, slots, batch_tokens, patience
) -> None:
    table = Table(vocabulary, seed, end)
    config = SearchConfig(
        beam, alpha, extra, min(n_best, beam), batch_tokens=batch_tokens, patience=patience
    )
    sources = [(*[4 + n] * (length - 1), EOS) for n, length in enumerate(lengths)]
    hypotheses = run(TableDecoder(table, slots, beam), sources, config)
    for source, hypothesis in zip(sources, hypotheses, strict=True):
        assert_same(hypothesis, naive(table, source, config))


def test_beam_one_is_greedy_search() -> None:
    table = Table(vocabulary=9, end=-1.0)
    for length in range(1, 6):
        source = (*range(4, 3 + length), EOS)
        ids: tuple[int, ...] = ()
        while not ids or ids[-1] != EOS:
            row = table.row(source, ids).clone()
            row[list(SYMBOLS.banned_ids)] = -torch.inf
            ids = (*ids, int(row.argmax()) if len(ids) < length - 1 + 50 else EOS)
        decoder = TableDecoder(table, 1, 1)
        hypotheses = run(decoder, [source], SearchConfig(beam=1))[0]
        assert [hypothesis.ids for hypothesis in hypotheses] == [ids]
        assert decoder.steps == len(ids)


def test_hypothesis_score_is_the_sum_of_token_scores() -> None:
    table = Table(vocabulary=12, end=1.0)
    config = SearchConfig(beam=4, n_best=4, alpha=0.6)
    source = (6, 5, EOS)
    for hypothesis in run(TableDecoder(table, 1, 4), [source], config)[0]:
        expected = [
            table.row(source, hypothesis.ids[:n])[i].item() for n, i in enumerate(hypothesis.ids)
        ]
        assert hypothesis.token_scores == pytest.approx(expected, abs=1e-5)
        assert hypothesis.log_prob == pytest.approx(sum(expected), abs=1e-4)
        assert hypothesis.score == pytest.approx(
            hypothesis.log_prob / penalty(len(hypothesis.ids), config), abs=1e-5
        )


def test_n_best_is_sorted_and_distinct() -> None:
    table = Table(vocabulary=10, end=0.5)
    results = run(
        TableDecoder(table, 3, 6), [(4, EOS), (5, 6, EOS)], SearchConfig(beam=6, n_best=6)
    )
    for hypotheses in results:
        assert len({hypothesis.ids for hypothesis in hypotheses}) == 6
        assert [hypothesis.score for hypothesis in hypotheses] == sorted(
            (hypothesis.score for hypothesis in hypotheses), reverse=True
        )


def test_banned_ids_are_never_produced_even_if_likeliest() -> None:
    class Banned(Table):
        def row(self, source, prefix):
            log_probs = super().row(source, prefix).clone()
            log_probs[[PAD, UNK, BOS]] = 5.0
            return log_probs

    results = run(
        TableDecoder(Banned(8, 3), 2, 4), [(4, EOS), (5, EOS)], SearchConfig(beam=4, n_best=4)
    )
    for hypotheses in results:
        assert len(hypotheses) == 4
        assert not {token_id for hypothesis in hypotheses for token_id in hypothesis.ids} & {
            PAD,
            UNK,
            BOS,
        }


def test_search_stops_once_no_hypothesis_can_improve() -> None:
    # EOS takes nearly everything: what lives on can never win.
    decoder = TableDecoder(Table(vocabulary=8, end=12.0), 1, 4)
    run(decoder, [(4, EOS)], SearchConfig(beam=4, n_best=1))
    assert decoder.steps == 1


def test_search_does_not_stop_while_a_hypothesis_can_improve() -> None:
    """Ending at once looks best for long; with a strong alpha the longer one wins in the end."""

    class Long(Table):
        def row(self, source, prefix):
            log_probs = torch.full((6,), -20.0)
            log_probs[EOS], log_probs[4] = (-0.5, -0.95) if not prefix else (-9.0, -0.01)
            if len(prefix) == 30:
                log_probs[EOS] = -0.01
            return log_probs

    source, config = (4, EOS), SearchConfig(beam=4, alpha=1.0)
    hypothesis = run(TableDecoder(Long(6), 1, 4), [source], config)[0][0]
    assert len(hypothesis.ids) == 31
    hypothesis = run(TableDecoder(Long(6), 1, 4), [source], SearchConfig(alpha=0.0))[0][0]
    assert hypothesis.ids == (EOS,)


def test_beam_search_breaks_ties_alike_in_every_batch() -> None:
    class Flat(Table):
        def row(self, source, prefix):
            return torch.full((self.vocabulary,), -math.log(self.vocabulary))

    config = SearchConfig(beam=3, n_best=3, alpha=0.0, max_extra_length=3)
    sources = [(4, EOS), (5, 6, EOS), (7, EOS)]
    alone = [run(TableDecoder(Flat(9), 1, 3), [source], config)[0] for source in sources]
    assert run(TableDecoder(Flat(9), 3, 3), sources, config) == alone
    assert alone[0][0].ids == (EOS,)
    # Of equal continuations those of the first hypothesis are taken, and the lowest ids.
    assert [hypothesis.ids for hypothesis in alone[0]][1:] == [(4, EOS), (4, 4, EOS)]


@pytest.mark.parametrize("slots", [1, 2, 3, 7])
@pytest.mark.parametrize("batch_tokens", [1, 30, 10_000])
def test_hypotheses_do_not_depend_on_batch_order_or_slots(slots: int, batch_tokens: int) -> None:
    table = Table(vocabulary=10, seed=5, end=-0.5)
    chooser = random.Random(3)
    sources = [
        (*[chooser.randrange(4, 10) for _ in range(chooser.randrange(5))], EOS) for _ in range(17)
    ]
    config = SearchConfig(beam=3, n_best=2, max_extra_length=6, batch_tokens=batch_tokens)
    alone = [run(TableDecoder(table, 1, 3), [source], config)[0] for source in sources]
    assert run(TableDecoder(table, slots, 3), sources, config) == alone
    order = chooser.sample(range(17), 17)
    mixed = run(TableDecoder(table, slots, 3), [sources[index] for index in order], config)
    assert mixed == [alone[index] for index in order]


@pytest.mark.parametrize(
    "settings",
    [{"alpha": 1.1}, {"alpha": 1.3, "length_penalty": "power"},
     {"word_reward": 0.3, "repetition_penalty": 1.2, "alpha": 0.9},
     {"sample": True, "temperature": 0.7}, {"sample": True, "top_p": 0.8},
     {"sample": True, "top_k": 4}],
    ids=str,
)  # fmt: skip
def test_scores_are_bitwise_equal_for_any_number_of_slots(settings: dict[str, object]) -> None:
    """There are more slots than the widest vectors hold numbers."""
    table = Table(vocabulary=10, seed=6, end=-0.5)
    chooser = random.Random(4)
    sources = [
        Source((*chooser.choices(range(4, 10), k=index % 5), EOS), sample_key=(index,))
        for index in range(40)
    ]
    config = replace(SearchConfig(beam=3, n_best=2, max_extra_length=6), **settings)
    alone = [run(TableDecoder(table, 1, config.rows), [source], config)[0] for source in sources]
    assert run(TableDecoder(table, 40, config.rows), sources, config) == alone


@pytest.mark.parametrize("kind", ["gnmt", "power", "none"])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.6, 1.0, 1.1, 2.0])
def test_length_penalty_does_not_depend_on_other_lengths(kind: str, alpha: float) -> None:
    lengths = torch.arange(1, 200)
    config = SearchConfig(length_penalty=kind, alpha=alpha)
    alone = [-1 / HypothesisRanker(config).score_of(-1.0, length) for length in lengths.tolist()]
    bases = {"gnmt": lambda n: (5 + n) / 6, "power": float, "none": lambda n: 1.0}
    expected = [bases[kind](length) ** alpha for length in lengths.tolist()]
    assert alone == pytest.approx(expected, rel=1e-6)
    for arrays in (NUMPY, TorchArrays("cpu")):
        ranker = HypothesisRanker(config)
        ranker.reserve(150, arrays)
        ranker.reserve(199, arrays)
        for rows in (199, 163, 40, 17, 3):
            log_probs = arrays.filled_floats((rows, 1), -1.0)
            some = arrays.integers(lengths[-rows:, None].tolist())
            for result in (
                ranker.score(log_probs, some),
                ranker.upper_bound(log_probs, some, some),
            ):
                assert (-1 / arrays.as_doubles(result[:, 0])).tolist() == alone[-rows:]


def test_free_slots_are_refilled_while_others_are_busy() -> None:
    class Uneven(Table):
        """Source 9 goes on to its limit; the others end at once."""

        def row(self, source, prefix):
            log_probs = torch.full((10,), -20.0)
            log_probs[EOS if source[0] != 9 else 4] = 0.0
            return log_probs

    sources = [(9, EOS), *[(4 + n % 5, EOS) for n in range(7)]]
    decoder = TableDecoder(Uneven(10), 2, 2)
    results = run(decoder, sources, SearchConfig(beam=2, max_extra_length=7))
    assert [len(hypotheses[0].ids) for hypotheses in results] == [9] + [1] * 7
    # As many steps as the longest takes alone; rows of free slots are not computed.
    assert decoder.steps == 9
    assert decoder.rows_computed == 2 * (9 + 7)


def test_sources_are_read_only_as_far_as_slots_allow() -> None:
    read = []

    def sources():
        for index in range(100):
            read.append(index)
            yield Source((4, EOS))

    decoder = TableDecoder(Table(vocabulary=8), 4, 2)
    next(search(decoder, sources(), SearchConfig(beam=2)))
    assert len(read) <= 4 * 2 + 1


def test_no_sources_take_no_steps() -> None:
    decoder = TableDecoder(Table(vocabulary=8), 4, 2)
    assert run(decoder, [], SearchConfig()) == []
    assert decoder.steps == 0


def test_search_ends_where_the_model_gives_nan() -> None:
    class Broken(Table):
        def row(self, source, prefix):
            return torch.full((self.vocabulary,), torch.nan)

    assert run(TableDecoder(Broken(8), 2, 3), [(4, EOS)], SearchConfig(beam=3)) == [[]]


def test_a_model_that_bans_eos_is_refused() -> None:
    with pytest.raises(ConfigError, match="eos_id"):
        Symbols.of(ModelConfig(banned_ids=(0, 3)))


def test_symbols_are_taken_from_the_model_config() -> None:
    assert Symbols.of(ModelConfig()) == Symbols(2, 3, (0, 1, 2))
    assert Symbols.of(ModelConfig(start_id=0, eos_id=1, banned_ids=(0,))) == Symbols(0, 1, (0,))


@given(st.lists(st.lists(st.integers(-3, 3), min_size=6, max_size=6), min_size=1, max_size=4),
       st.integers(1, 8))  # fmt: skip
def test_top_k_breaks_ties_by_the_lowest_id(rows: list[list[int]], k: int) -> None:
    scores = torch.tensor(rows, dtype=torch.float32)
    scores[scores == -3] = -torch.inf
    values, ids = top_k(scores, k)
    for row, found_values, result in zip(
        scores.tolist(), values.tolist(), ids.tolist(), strict=True
    ):
        expected = sorted(range(6), key=lambda token: (-row[token], token))[:k]
        assert result == expected
        assert found_values == [row[expected_item] for expected_item in expected]
