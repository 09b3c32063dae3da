"""A rank that dies, fails or hangs is named by the others, which all end."""

import time

import pytest
from ranks import in_ranks

from nmt_cli.training.parallel.heartbeat import named_pairs
from nmt_cli.training.parallel.ranks import Ranks


@pytest.mark.parametrize("asked", [0, 1])
def test_run_on_first_ends_when_any_rank_wants_to_stop(monkeypatch, asked):
    monkeypatch.setattr("nmt_cli.training.parallel.ranks.POLL_SECONDS", 0.0)

    def work(ranks: Ranks) -> bool:
        begun = time.monotonic()

        def long(poll) -> None:
            while not poll():
                assert time.monotonic() - begun < 20
                time.sleep(0.05)

        stop = ranks.run_on_first(
            long, lambda: ranks.rank == asked and time.monotonic() - begun > 0.3
        )
        ranks.wait()
        return stop

    assert [outcome.result for outcome in in_ranks(work)] == [True, True]


def test_named_pairs_counts_from_one_and_is_limited():
    assert named_pairs([0]) == "1 of the corpus"
    assert named_pairs(range(4)) == "1, 2, 3, ... of the corpus"
