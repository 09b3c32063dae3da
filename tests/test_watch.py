"""A rank that dies, fails or hangs is named by the others, which all end."""

import os
import signal
import time
from pathlib import Path

import pytest
from corpora import reversal_corpus
from ranks import in_ranks

from nmt_cli.config import with_values
from nmt_cli.errors import UnavailableError
from nmt_cli.training.checkpoints import Checkpoints
from nmt_cli.training.distributed import Ranks
from nmt_cli.training.loop import train
from nmt_cli.training.watch import LostRankError, named_pairs


def messages(ranks: Ranks, count: int) -> None:
    """What a step does, seen from outside."""
    for step in range(1, count + 1):
        ranks.begins(step, [10 * step, 4])
        ranks.wait()


def test_a_killed_rank_is_named_with_its_step_and_pairs():
    def work(ranks: Ranks) -> None:
        messages(ranks, 5 - ranks.rank)
        if ranks.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        ranks.wait()

    first, second = in_ranks(work)
    assert second == (None, None, False)
    assert isinstance(first.error, LostRankError)
    assert "rank 1 gives no sign of life since step 4, pairs 41, 5 of the corpus" in str(
        first.error
    )
    assert "rank 0 ends in step 5" in str(first.error)


def test_a_rank_that_raises_is_named_with_its_error():
    def work(ranks: Ranks) -> None:
        messages(ranks, 2)
        if ranks.rank == 1:
            raise ValueError("no such thing")
        messages(ranks, 3)

    first, second = in_ranks(work)
    assert isinstance(second.error, ValueError)
    assert isinstance(first.error, LostRankError)
    assert "rank 1 ended in step 2, pairs 21, 5 of the corpus: no such thing" in str(first.error)


def test_a_rank_that_hangs_is_named_and_all_end():
    """Rank 1 lives, but never comes to the message that rank 0 waits for."""

    def work(ranks: Ranks) -> None:
        messages(ranks, 4 - ranks.rank)
        time.sleep(600)

    first, second = in_ranks(work, timeout=1.0)
    assert first.gave_up
    assert isinstance(first.error, LostRankError)
    assert "rank 1 hangs in step 3, pairs 31, 5 of the corpus" in str(first.error)
    assert "no answer for 1 seconds" in str(first.error)
    assert second.gave_up
    assert isinstance(second.error, UnavailableError)
    assert "rank 1 hangs in step 3" in str(second.error)


def test_long_work_of_the_first_rank_is_no_hang(monkeypatch):
    """The others wait for longer than the timeout, but never long for one message."""
    monkeypatch.setattr("nmt_cli.training.distributed.POLL_SECONDS", 0.2)

    def work(ranks: Ranks) -> int:
        def long(poll) -> None:
            for _ in range(30):
                time.sleep(0.1)
                assert not poll()

        assert not ranks.first_works(long, lambda: False)
        ranks.wait()
        return ranks.watch.sign.waits

    first, second = in_ranks(work, timeout=1.0)
    assert first.error is None
    assert second.error is None
    assert first.result == second.result > 5


@pytest.mark.parametrize("asked", [0, 1])
def test_work_of_the_first_rank_ends_when_any_rank_wants_to_stop(monkeypatch, asked):
    monkeypatch.setattr("nmt_cli.training.distributed.POLL_SECONDS", 0.0)

    def work(ranks: Ranks) -> bool:
        begun = time.monotonic()

        def long(poll) -> None:
            while not poll():
                assert time.monotonic() - begun < 20
                time.sleep(0.05)

        stop = ranks.first_works(
            long, lambda: ranks.rank == asked and time.monotonic() - begun > 0.3
        )
        ranks.wait()
        return stop

    assert [one.result for one in in_ranks(work)] == [True, True]


def test_the_steps_before_a_rank_was_lost_are_saved(tmp_path: Path, monkeypatch):
    config, corpus = reversal_corpus(tmp_path, pairs=60)
    config = with_values(
        config, {"train.checkpoint_every": 100, "train.log_every": 1, "train.batch_tokens": 100}
    )
    real = Ranks.begins

    def begins(ranks: Ranks, step: int, pairs) -> None:
        real(ranks, step, pairs)
        if step == 4 and ranks.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(Ranks, "begins", begins)

    def work(ranks: Ranks) -> None:
        for _ in train(config, corpus, tmp_path / "model", ranks):
            pass

    first, _ = in_ranks(work)
    assert isinstance(first.error, LostRankError)
    assert "rank 1 gives no sign of life since step 4, pairs" in str(first.error)
    (saved,) = Checkpoints(tmp_path / "model" / "checkpoints", 5, 1).all()
    assert saved.step == 3
    assert not saved.state().member


def test_pairs_are_named_from_one_and_not_all_of_them():
    assert named_pairs([0]) == "1 of the corpus"
    assert named_pairs(range(4)) == "1, 2, 3, ... of the corpus"
