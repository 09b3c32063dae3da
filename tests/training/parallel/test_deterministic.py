"""Sums along one tree: the same bits however many ranks share the leaves."""

from pathlib import Path

import pytest
import torch
from corpora import reversal_corpus
from ranks import in_ranks

from nmt_cli.config.schema import Config, with_values
from nmt_cli.data.corpus.batch_plan import count_shards
from nmt_cli.errors import ConfigError
from nmt_cli.training.loop import train
from nmt_cli.training.parallel.deterministic import (
    check_ranks,
    compute_deterministically,
    next_power_of_two,
    own_batches_notes,
    subtree_sum,
)
from nmt_cli.training.parallel.ranks import Ranks


def make_leaves(count: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(4)
    scales = 10.0 ** torch.randint(-6, 7, (count, 1), generator=generator)
    return list(torch.randn(count, 50, generator=generator) * scales)


@pytest.mark.parametrize("shards", [1, 2, 8, 16])
def test_the_sum_over_any_number_of_ranks_has_the_same_bits(shards: int) -> None:
    leaves = make_leaves(shards)
    asked: list[int] = []

    def leaf(number: int) -> torch.Tensor:
        asked.append(number)
        return leaves[number].clone()

    whole = subtree_sum(0, 1, shards, leaf)
    assert sorted(asked) == list(range(shards))
    torch.testing.assert_close(
        whole.double(), torch.stack(leaves).double().sum(0), rtol=1e-4, atol=1
    )
    world_size = 2
    while world_size <= shards:
        parts = [subtree_sum(rank, world_size, shards, leaf) for rank in range(world_size)]
        half = world_size // 2
        while half:
            for rank in range(half):
                parts[rank] += parts[rank + half]
            half //= 2
        assert torch.equal(parts[0], whole)
        world_size *= 2


def test_another_order_of_addition_gives_other_bits() -> None:
    """Or the test above would show nothing."""
    leaves = make_leaves(16)
    whole = subtree_sum(0, 1, 16, lambda number: leaves[number].clone())
    assert not torch.equal(whole, sum(leaves, torch.zeros(50)))


@pytest.mark.parametrize(("world_size", "shards"), [(3, 8), (3, 6), (16, 8), (2, 1)])
def test_ranks_that_cannot_share_the_tree_are_refused(world_size: int, shards: int) -> None:
    with pytest.raises(ConfigError, match=f"{world_size} ranks cannot share the {shards} micro"):
        check_ranks(world_size, shards)


def test_the_hint_names_the_numbers_of_ranks_that_are_possible() -> None:
    for shards, hint in ((8, "use 1, 2, 4 or 8 ranks; "), (1, "use 1 rank; ")):
        with pytest.raises(ConfigError) as caught:
            check_ranks(3, shards)
        assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("batch_tokens", "micro_batch_tokens", "ranks", "is_noted"),
    [(25_000, 4_096, 8, False), (25_000, 4_096, 16, True), (1_000, 4_096, 1, False),
     (1_000, 4_096, 2, True), (3_000, 4_096, 4, True)],
)  # fmt: skip
def test_a_run_whose_batches_are_those_of_its_ranks_says_how_to_begin_others(
    batch_tokens: int, micro_batch_tokens: int, ranks: int, is_noted: bool
) -> None:
    settings = with_values(Config(), {"train.batch_tokens": batch_tokens}).train

    def shards_of(limit: int, world_size: int) -> int:
        return next_power_of_two(count_shards(batch_tokens, limit, world_size))

    shards = shards_of(micro_batch_tokens, ranks)
    notes = own_batches_notes(settings, micro_batch_tokens, shards, ranks)
    assert bool(notes) == is_noted
    for note in notes:
        limit = int(note.partition("micro_batch_tokens=")[2].rstrip("`"))
        # With the setting that is named, each number of ranks has the same batches.
        numbers = [1 << power for power in range(ranks.bit_length())]
        assert len({shards_of(limit, number) for number in numbers}) == 1


def test_ranks_that_are_a_power_of_two_share_the_tree() -> None:
    for world_size in (1, 2, 4, 8):
        check_ranks(world_size, 8)
    assert [next_power_of_two(number) for number in (1, 3, 4, 5, 9)] == [1, 4, 4, 8, 16]


@pytest.mark.parametrize(("device", "threads"), [("cpu", [1]), ("cuda", [])])
def test_compute_deterministically_uses_one_order_of_addition(
    device: str, threads: list[int], monkeypatch
) -> None:
    """Whatever the number of threads that it is given; kernels without an order are errors."""
    ordered: list[bool] = []
    given: list[int] = []
    monkeypatch.setattr(torch, "use_deterministic_algorithms", ordered.append)
    monkeypatch.setattr(torch, "set_num_threads", given.append)
    compute_deterministically(torch.device(device))
    assert ordered == [True]
    assert given == threads


def test_a_run_on_a_number_of_ranks_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    config, corpus = reversal_corpus(tmp_path)
    config = with_values(config, {"train.deterministic": True})

    def work(ranks: Ranks) -> None:
        for _ in train(config, corpus, tmp_path / "m", ranks):
            pass

    done = in_ranks(work, 3)
    assert all(isinstance(outcome.error, ConfigError) for outcome in done), done
