"""Length penalties of single lengths and of tables."""

import pytest
import torch

from nmt_cli.config.search import SearchConfig
from nmt_cli.search import length_penalty
from nmt_cli.search.length_penalty import LENGTH_PENALTIES, penalties_of, penalty_table
from nmt_cli.search.ranking import HypothesisRanker


@pytest.mark.parametrize("name", LENGTH_PENALTIES)
def test_penalties_of_lengths_have_the_bits_of_the_table(name: str) -> None:
    table = penalty_table(name, 0.6, 100)
    lengths = torch.tensor([[3, 100], [0, 17]])
    assert torch.equal(penalties_of(name, 0.6, lengths), table[lengths])


def test_score_of_a_long_text_computes_one_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that of every shorter length, which would take seconds for a line of a megabyte."""
    computed: list[int] = []

    def count(name: str, alpha: float, length: int) -> float:
        computed.append(length)
        return 2.0

    monkeypatch.setattr(length_penalty, "_penalty_of", count)
    score = HypothesisRanker(SearchConfig()).score(torch.tensor(-3.0), torch.tensor(500_000))
    assert (computed, float(score)) == ([500_000], -1.5)
