"""Gradients summed over ranks in buckets: the sums of one process, sent while it goes backward."""

import itertools
from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist
from corpora import reversal_corpus
from lanes import slow
from ranks import in_ranks
from tight_memory import failing_loss, hooked_loss, little_memory, real_loss
from torch import nn

import nmt_cli.training.step
from nmt_cli.config.schema import Config, with_values
from nmt_cli.data.corpus.batch_plan import BatchPlan, Position
from nmt_cli.errors import UnavailableError
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.parallel.gradient_sync import BucketedGradientSync, make_buckets, ready_order
from nmt_cli.training.parallel.heartbeat import LostRankError
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.parallel.thread_pool import ReplicaThreadPool
from nmt_cli.training.setup import complete
from nmt_cli.training.step import StepResult, take_step

SMALL = 2_000
real_reduce = dist.all_reduce

Gradients = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory):
    config, corpus = reversal_corpus(tmp_path_factory.mktemp("buckets"), pairs=60)
    values = {"model.dropout": 0.0, "train.batch_tokens": 150}
    return with_values(complete(config, corpus), values), corpus


class Catcher(torch.optim.SGD):
    """Plain gradient descent that remembers what it was given."""

    def step(self, closure=None):
        names = dict(self.model.named_parameters())
        self.seen.append({name: weight.grad.clone() for name, weight in names.items()})
        super().step()


def some_steps(
    setting, ranks: Ranks, shards: int, steps: int = 2, replicas: int = 1, **settings: object
) -> tuple[list[StepResult], list[Gradients]]:
    """Results of the first steps, and the gradients of each, with small buckets."""
    config, corpus = setting
    config: Config = with_values(config, {k.replace("_", ".", 1): v for k, v in settings.items()})
    model = initialise(Transformer(config.model), 1)
    optimizer = Catcher(model.parameters(), lr=0.0)
    optimizer.model, optimizer.seen = model, []
    plan = BatchPlan(corpus.train.src_lengths, corpus.train.tgt_lengths, 150, shards, 1)
    gradient_sync = BucketedGradientSync(ranks, model, ReplicaThreadPool(model, replicas), SMALL)
    results = [
        take_step(
            model, optimizer, config, ranks, corpus.train, plan, Position(0, step), step + 1,
            gradient_sync=gradient_sync,
        )
        for step in range(steps)
    ]  # fmt: skip
    return results, optimizer.seen


def assert_same(found: list[Gradients], expected: list[Gradients]) -> None:
    assert len(found) == len(expected)
    for gradients, other in zip(found, expected, strict=True):
        for name, gradient in other.items():
            torch.testing.assert_close(gradients[name], gradient, rtol=1e-5, atol=1e-7, msg=name)


def across(work: Callable[[Ranks], tuple], count: int) -> list[tuple]:
    """What `work` gave on each rank; tensors travel as arrays."""

    def sent(ranks: Ranks) -> tuple:
        results, gradients, *rest = work(ranks)
        return results, [{k: v.numpy() for k, v in of_step.items()} for of_step in gradients], *rest

    found = []
    for outcome in in_ranks(sent, count):
        assert outcome.error is None, outcome.error
        results, gradients, *rest = outcome.result
        arrays = [{k: torch.from_numpy(v) for k, v in of_step.items()} for of_step in gradients]
        found.append((results, arrays, *rest))
    return found


@pytest.mark.parametrize(
    ("count", "shards", "settings"),
    [
        (2, 2, {}),
        (2, 3, {"train_r_drop": 2.0, "model_dropout": 0.3}),
        (2, 5, {"model_tie_embeddings": "none"}),
        (3, 2, {"model_norm_order": "pre"}),
        (3, 4, {"model_positions": "learned"}),
        (3, 7, {}),
    ],
    ids=str,
)
def test_ranks_have_the_gradients_of_one_process(setting, count, shards, settings):
    """One shard on each rank, more on some, none on others; the second step uses them again."""
    results, expected = some_steps(setting, Ranks(), shards, **settings)
    for others, found in across(lambda r: some_steps(setting, r, shards, **settings), count):
        assert_same(found, expected)
        for result, other in zip(others, results, strict=True):
            assert result.loss == pytest.approx(other.loss, rel=1e-6)
            assert result.tokens == other.tokens


def test_gradients_of_replicas_are_summed_before_buckets_are_sent(setting):
    _, expected = some_steps(setting, Ranks(), 6)
    for _, found in across(lambda ranks: some_steps(setting, ranks, 6, replicas=2), 2):
        assert_same(found, expected)


def recording(events: list[str]) -> Callable:
    """An all_reduce that tells when it is called for a bucket, which goes without waiting."""

    def all_reduce(tensor, *arguments, **options):
        if options.get("async_op"):
            events.append("sent")
        return real_reduce(tensor, *arguments, **options)

    return all_reduce


def telling_loss(events: list[str]) -> Callable:
    """A `shard_loss` that tells when its backward pass is at the encoder."""

    def told(_, __, output):
        output.register_hook(lambda _: events.append("encoder"))

    return hooked_loss(lambda batch: told)


def test_buckets_are_sent_during_the_last_backward_pass(setting, monkeypatch):
    """Two shards on each rank: nothing during the first, some buckets before the encoder's turn."""

    def work(ranks: Ranks):
        events: list[str] = []
        monkeypatch.setattr(dist, "all_reduce", recording(events))
        monkeypatch.setattr(nmt_cli.training.step, "shard_loss", telling_loss(events))
        return *some_steps(setting, ranks, 4), events

    for _, _, events in across(work, 2):
        step, again = events[: len(events) // 2], events[len(events) // 2 :]
        assert step == again
        assert step[0] == "encoder"
        before = step.index("encoder", 1) - 1
        assert step.count("encoder") == 2
        assert 2 <= before < step.count("sent")


def large_parts() -> Callable:
    return little_memory(2)


def second_part() -> Callable:
    calls = itertools.count(1)
    return failing_loss(lambda pairs: next(calls) == 2)


@pytest.mark.parametrize(
    ("count", "shards", "poor", "fails", "rounds"),
    [
        slow(2, 2, 1, large_parts, 4),
        slow(3, 3, 2, large_parts, 4),
        # Rank 2 has no shard at all.
        (3, 2, 0, large_parts, 4),
        # Each rank has two shards: the first one fails with nothing gone, the second in one step.
        (2, 4, 0, large_parts, 2),
        slow(2, 4, 0, second_part, 3),
    ],
)
def test_running_out_of_memory_after_sending_buckets_changes_no_sum(
    setting, monkeypatch, count, shards, poor, fails, rounds
):
    """All send a second time, so that nobody waits in vain, and the next step is as ever."""
    _, expected = some_steps(setting, Ranks(), shards)

    def work(ranks: Ranks):
        events: list[str] = []
        monkeypatch.setattr(dist, "all_reduce", recording(events))
        if ranks.rank == poor:
            monkeypatch.setattr(nmt_cli.training.step, "shard_loss", fails())
        return *some_steps(setting, ranks, shards), len(events)

    config, _ = setting
    model = Transformer(config.model)
    buckets = len(make_buckets(ready_order(model), SMALL))
    for results, found, sent in across(work, count):
        assert_same(found, expected)
        assert results[0].splits
        assert sent == rounds * buckets


def test_all_ranks_end_when_a_pair_does_not_fit_after_sending_buckets(setting, monkeypatch):
    def work(ranks: Ranks):
        if ranks.rank == 1:
            monkeypatch.setattr(
                nmt_cli.training.step, "shard_loss", failing_loss(lambda pairs: True)
            )
        some_steps(setting, ranks, 2)

    other, own = in_ranks(work)
    assert isinstance(own.error, UnavailableError)
    assert isinstance(other.error, LostRankError)
    assert "another rank ran out of memory in step 1" in str(other.error)


def test_a_rank_that_dies_after_sending_buckets_is_named(setting, monkeypatch):
    def work(ranks: Ranks):
        if ranks.rank == 1:
            monkeypatch.setattr(
                nmt_cli.training.step, "shard_loss", failing_loss(lambda pairs: "killed")
            )
        some_steps(setting, ranks, 2)

    other, own = in_ranks(work)
    assert own == (None, None, False)
    assert isinstance(other.error, LostRankError)
    assert "rank 1 has sent no heartbeat since step 1" in str(other.error)


def test_nan_on_one_rank_skips_the_step_on_all(setting, monkeypatch):
    def infinite(model, config, batch, device):
        loss = real_loss(model, config, batch, device)
        return loss._replace(total=loss.total * torch.inf)

    def work(ranks: Ranks):
        if ranks.rank == 1:
            monkeypatch.setattr(nmt_cli.training.step, "shard_loss", infinite)
        return some_steps(setting, ranks, 2)

    for results, gradients in across(work, 2):
        assert [result.skipped for result in results] == [True, True]
        assert not gradients


def test_finish_waits_for_every_bucket(monkeypatch):
    """Where it is not, a GPU would go on with what has come until then."""

    def work(ranks: Ranks):
        waited: list[object] = []

        class Waited:
            def __init__(self, sent: dist.Work) -> None:
                self.wait = lambda: waited.append(sent.wait())

        def all_reduce(*arguments, **options):
            sent = real_reduce(*arguments, **options)
            return Waited(sent) if options.get("async_op") else sent

        monkeypatch.setattr(dist, "all_reduce", all_reduce)
        model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
        BucketedGradientSync(ranks, model, bucket_bytes=16).finish(torch.zeros(2))
        return len(waited)

    assert [outcome.result for outcome in in_ranks(work)] == [2, 2]


def test_a_weight_without_a_gradient_delays_no_bucket():
    def work(ranks: Ranks):
        model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
        gradient_sync = BucketedGradientSync(ranks, model, bucket_bytes=16)
        with gradient_sync.last_shard():
            # The first bucket is of the second layer, which is not used.
            (model[0](torch.full((1, 2), 1.0 + ranks.rank)).sum()).backward()
        sums = gradient_sync.finish(torch.tensor([1.0, float(ranks.rank)]))
        return sums.tolist(), [weight.grad.tolist() for weight in model.parameters()]

    for outcome in in_ranks(work):
        assert outcome.result == ([2.0, 1.0], [[[3.0] * 2] * 2, [[0.0] * 2] * 2])


def test_a_single_rank_keeps_its_gradient_tensors():
    model = nn.Linear(2, 1)
    gradient_sync = BucketedGradientSync(Ranks(), model)
    with gradient_sync.last_shard():
        model(torch.ones(1, 2)).sum().backward()
    before = [weight.grad for weight in model.parameters()]
    assert gradient_sync.finish(torch.tensor([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert all(
        weight.grad is gradient for weight, gradient in zip(model.parameters(), before, strict=True)
    )


def test_buckets_are_no_larger_than_asked_for_and_lose_nothing():
    weights = [nn.Parameter(torch.zeros(size)) for size in (10, 20, 5, 100, 1, 30, 1)]
    groups = make_buckets(weights, 4 * 32)
    assert [[len(bucket) for bucket in group] for group in groups] == [
        [10, 20],
        [5],
        [100],
        [1, 30, 1],
    ]


@pytest.mark.parametrize("order", ["pre", "post"])
def test_weights_are_in_the_order_of_the_backward_pass(setting, order):
    """So that no bucket waits long for the one before it."""
    config = with_values(setting[0], {"model.norm_order": order, "model.layers": 2})
    model = Transformer(config.model)
    names = {id(weight): name for name, weight in model.named_parameters()}
    all_names = [names[id(weight)] for weight in ready_order(model)]
    stages = [name.partition(".")[0].removesuffix("_norm") for name in all_names]
    turns = [stage for stage, before in zip(stages, ["", *stages], strict=False) if stage != before]
    assert turns == ["decoder", "encoder", "embedding"]
    layers = [name.split(".")[1] for name in all_names if name.startswith("decoder.")]
    assert layers == sorted(layers, reverse=True)
