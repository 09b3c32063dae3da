"""Length penalties of single lengths and of tables."""

import numpy as np
import pytest
import torch

from nmt_cli.config.search import SearchConfig
from nmt_cli.search import ranking
from nmt_cli.search.arrays.numpy_arrays import NUMPY
from nmt_cli.search.arrays.torch_arrays import TorchArrays
from nmt_cli.search.length_penalty import LENGTH_PENALTIES, penalty_of, penalty_table
from nmt_cli.search.ranking import HypothesisRanker


@pytest.mark.parametrize("name", LENGTH_PENALTIES)
def test_penalty_of_a_length_has_the_bits_of_the_table(name: str) -> None:
    table = penalty_table(name, 0.6, 100)
    assert table.dtype == np.float32
    assert table.tolist() == [penalty_of(name, 0.6, length) for length in range(101)]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 0.7, 1.0, 1.3, 2.0, 3.0])
def test_penalties_are_powers_of_floats_of_32_bits(alpha: float) -> None:
    """A power of a float tensor of one number, which torch computes in 64 bits."""
    for length in range(300):
        base = (torch.tensor(length).float() + 5) / 6
        assert penalty_of("gnmt", alpha, length) == (base**alpha).item()
        power = (torch.tensor(length).float() ** alpha).item()
        assert penalty_of("power", alpha, length) == power


def test_a_penalty_beyond_floats_is_infinite() -> None:
    assert penalty_of("power", 10.0, 65_536) == float("inf")


@pytest.mark.parametrize("reward", [0.0, 0.3, -0.2])
@pytest.mark.parametrize("name", LENGTH_PENALTIES)
def test_score_of_one_hypothesis_has_the_bits_of_many(name: str, reward: float) -> None:
    ranker = HypothesisRanker(SearchConfig(length_penalty=name, word_reward=reward))
    log_probs = np.random.default_rng(1).normal(-20, 9, (50, 3)).astype(np.float32)
    lengths = np.arange(150).reshape(50, 3) + 1
    expected = [
        ranker.score_of(log_prob, length)
        for log_prob, length in zip(
            log_probs.ravel().tolist(), lengths.ravel().tolist(), strict=True
        )
    ]
    ranker.reserve(150, NUMPY)
    assert ranker.score(log_probs, lengths).ravel().tolist() == expected
    in_torch = HypothesisRanker(SearchConfig(length_penalty=name, word_reward=reward))
    in_torch.reserve(150, TorchArrays("cpu"))
    scores = in_torch.score(torch.from_numpy(log_probs), torch.from_numpy(lengths))
    assert scores.flatten().tolist() == expected


def test_score_of_a_long_text_computes_one_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that of every shorter length, which would take seconds for a line of a megabyte."""
    computed: list[int] = []

    def count(name: str, alpha: float, length: int) -> float:
        computed.append(length)
        return 2.0

    monkeypatch.setattr(ranking, "penalty_of", count)
    score = HypothesisRanker(SearchConfig()).score_of(-3.0, 500_000)
    assert (computed, score) == ([500_000], -1.5)
