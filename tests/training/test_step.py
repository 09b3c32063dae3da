"""One optimiser step: the same mathematics however a batch is split."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from corpora import reversal_corpus

from nmt_cli.batch import Shape
from nmt_cli.config.schema import with_values
from nmt_cli.data.corpus.batch_plan import BatchPlan, Position
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.model.zero_start import set_zero_start
from nmt_cli.training.loss.cross_entropy import label_smoothed_cross_entropy
from nmt_cli.training.optimizers.factory import learning_rate, make_optimizer
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.setup import complete
from nmt_cli.training.step import dropout_seed, shard_loss, start_id, take_step
from nmt_cli.training.update import clip


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory):
    config, corpus = reversal_corpus(tmp_path_factory.mktemp("step"))
    return complete(config, corpus), corpus


@pytest.mark.parametrize("optimizer", ["adam", "muon", "schedule_free"])
@pytest.mark.parametrize("ties", ["all", "target", "none"])
def test_zero_start_keeps_the_first_input_of_the_decoder_at_zero(setting, optimizer, ties):
    """Its gradient, from the input or from a tied output, is cleared; weight decay keeps zeros."""
    config, corpus = setting
    config = with_values(
        config,
        {
            "model.zero_start": True,
            "model.tie_embeddings": ties,
            "train.optimizer": optimizer,
            "train.schedule": "constant",
        },
    )
    model = initialise(Transformer(config.model), 1)
    set_zero_start(model)
    before = model.embedding.matrix("tgt").detach().clone()
    plan = BatchPlan(corpus.train.src_lengths, corpus.train.tgt_lengths, 300, 2, 1)
    trained = make_optimizer(model, config)
    for step, position in zip(range(1, 4), plan.positions(Position(0, 0)), strict=False):
        take_step(model, trained, config, Ranks(), corpus.train, plan, position, step)
    after = model.embedding.matrix("tgt").detach()
    start = start_id(config.model)
    assert not after[start].any()
    assert not torch.equal(after[start + 2], before[start + 2])


def run_steps(setting, steps: int, shards: int = 1, **settings: object):
    config, corpus = setting
    config = with_values(config, {key.replace("_", ".", 1): v for key, v in settings.items()})
    model = initialise(Transformer(config.model), 1)
    optimizer = make_optimizer(model, config)
    plan = BatchPlan(
        corpus.train.src_lengths, corpus.train.tgt_lengths, config.train.batch_tokens, shards, 1
    )
    results = []
    for step, position in zip(range(1, steps + 1), plan.positions(Position(0, 0)), strict=False):
        results.append(
            take_step(model, optimizer, config, Ranks(), corpus.train, plan, position, step)
        )
    return model, results


def test_a_step_reports_sums_over_the_whole_batch(setting):
    config, corpus = setting
    _, (result,) = run_steps(setting, 1)
    plan = BatchPlan(corpus.train.src_lengths, corpus.train.tgt_lengths, 300, 1, 1)
    assert result.tokens == plan.tokens(0, 0)
    # An untrained model is about as unsure as a uniform one.
    assert abs(result.nll / result.tokens - math.log(corpus.subwords.tgt_size)) < 1.0
    assert result.learning_rate == learning_rate(1, config.train, config.model.d_model)


def test_accumulation_gives_the_gradient_of_the_whole_batch(setting):
    """Four shards, summed and divided once, equal one batch of the same pairs."""
    config, corpus = setting
    config = with_values(config, {"model.dropout": 0.0})
    plan = BatchPlan(corpus.train.src_lengths, corpus.train.tgt_lengths, 600, 4, 1)
    norms = []
    for split in (plan, _joined(plan)):
        model = initialise(Transformer(config.model), 1)
        optimizer = make_optimizer(model, config)
        result = take_step(
            model, optimizer, config, Ranks(), corpus.train, split, Position(0, 0), 1
        )
        norms.append(result.gradient_norm)
    assert norms[0] == pytest.approx(norms[1], rel=1e-5)


@pytest.mark.parametrize("max_norm", [0.0, 0.05])
def test_training_step_equals_the_plain_formula(setting, max_norm):
    """Three shards against one batch; plain gradient descent shows what the optimiser is given."""
    config, corpus = setting
    values = {"model.dropout": 0.0, "model.output_bias": True, "train.label_smoothing": 0.3}
    config = with_values(config, {**values, "train.max_gradient_norm": max_norm})
    plan = BatchPlan(corpus.train.src_lengths, corpus.train.tgt_lengths, 300, 3, 1)
    model, plain = (initialise(Transformer(config.model), 1) for _ in range(2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    result = take_step(model, optimizer, config, Ranks(), corpus.train, plan, Position(0, 1), 5)

    batch = corpus.train.batch(plan.epoch(0).pairs(1), config.model.bos_id)
    expected = label_smoothed_cross_entropy(plain(batch), batch.tgt_out, 0.3)
    (expected.total / batch.tokens).backward()
    gradients = [weight.grad for weight in plain.parameters()]
    norm = torch.cat([gradient.flatten() for gradient in gradients]).norm().item()
    factor = min(1.0, max_norm / norm) if max_norm else 1.0
    rate = learning_rate(5, config.train, config.model.d_model)
    for (name, weight), other, gradient in zip(
        model.named_parameters(), plain.parameters(), gradients, strict=True
    ):
        moved = other.detach() - rate * factor * gradient
        torch.testing.assert_close(weight.detach(), moved, rtol=1e-5, atol=1e-7, msg=name)
    assert result.loss == pytest.approx(expected.total.item(), rel=1e-5)
    assert result.nll == pytest.approx(expected.nll.item(), rel=1e-5)
    assert result.gradient_norm == pytest.approx(norm, rel=1e-4)
    assert result.tokens == batch.tokens


def test_the_decoder_begins_with_bos_unless_another_start_is_set(setting):
    model = setting[0].model
    assert start_id(model) == model.bos_id
    assert start_id(dataclasses.replace(model, start_id=0)) == 0


@pytest.mark.parametrize(
    "variant", [{}, {"model.positions": "rotary"}, {"model.norm_order": "pre"}], ids=str
)
def test_padding_changes_neither_loss_nor_gradient(setting, variant):
    config, corpus = setting
    config = with_values(config, {"model.dropout": 0.0, **variant})
    ids = np.arange(7)
    found = []
    for shape in (None, Shape(512, 384, 9)):
        model = initialise(Transformer(config.model), 1).double()
        batch = corpus.train.batch(ids, 2, shape)
        assert (batch.tgt_segments.used < len(batch.tgt_out)) == bool(shape)
        loss = shard_loss(model, config, batch, torch.device("cpu"))
        gradients = torch.autograd.grad(loss.total, list(model.parameters()))
        found.append([loss.total.detach(), loss.nll, *gradients])
    for plain, filled in zip(*found, strict=True):
        torch.testing.assert_close(filled, plain, rtol=1e-12, atol=1e-12)


def _joined(plan: BatchPlan) -> BatchPlan:
    """The same global batches, each in one shard."""

    class Joined(BatchPlan):
        def epoch(self, number):
            inner = plan.epoch(number)

            class Whole:
                batches = inner.batches
                pairs = staticmethod(inner.pairs)

                @staticmethod
                def shard(batch, shard):
                    return inner.pairs(batch)

            return Whole()

    return Joined(plan.src_lengths, plan.tgt_lengths, 600, 1, 1)


def test_dropout_depends_on_the_step_and_not_on_what_ran_before(setting):
    _, first = run_steps(setting, 2)
    torch.manual_seed(99)
    _, second = run_steps(setting, 2)
    assert first == second
    _, without = run_steps(setting, 2, model_dropout=0.0)
    assert first != without
    seeds = {
        dropout_seed(seed, step, shard)
        for seed in (1, 2) for step in range(50) for shard in range(4)
    }  # fmt: skip
    assert len(seeds) == 400


def test_a_step_with_nan_gradients_changes_nothing(setting, monkeypatch):
    config, corpus = setting
    model = initialise(Transformer(config.model), 1)
    with torch.no_grad():
        model.embedding.matrix("src")[:] = math.nan
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    optimizer = make_optimizer(model, config)
    plan = BatchPlan(corpus.train.src_lengths, corpus.train.tgt_lengths, 300, 1, 1)
    result = take_step(model, optimizer, config, Ranks(), corpus.train, plan, Position(0, 0), 1)
    assert result.skipped
    for name, weight in model.named_parameters():
        assert torch.equal(weight.nan_to_num(7.0), before[name].nan_to_num(7.0))


def test_a_step_with_an_infinite_loss_is_skipped(setting, monkeypatch):
    def infinite(model, config, batch, device):
        loss = shard_loss(model, config, batch, device)
        return loss._replace(total=loss.total + math.inf)

    monkeypatch.setattr("nmt_cli.training.step.shard_loss", infinite)
    _, (result,) = run_steps(setting, 1)
    assert math.isfinite(result.gradient_norm)
    assert result.skipped


def test_clip_scales_all_gradients_together():
    gradients = [torch.tensor([3.0]), torch.tensor([4.0])]
    clip(gradients, 5.0, 1.0)
    assert torch.cat(gradients).tolist() == pytest.approx([0.6, 0.8])
    for norm, most in ((1.0, 0.0), (1.0, 2.0)):
        clip(gradients, norm, most)
        assert torch.cat(gradients).tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("of_a_gpu", [False, True])
def test_a_step_reads_its_numbers_at_once(setting, monkeypatch, of_a_gpu):
    """On a GPU each reading is a time in which it has nothing to do."""
    monkeypatch.setattr("nmt_cli.training.update.updates_before_reading", lambda _: of_a_gpu)
    _, (expected,) = run_steps(setting, 1)
    numbers = []
    real = torch.Tensor.tolist
    monkeypatch.setattr(
        torch.Tensor, "tolist", lambda self: numbers.append(len(self)) or real(self)
    )
    monkeypatch.setattr(
        torch.Tensor, "__float__", lambda _: pytest.fail("a number is read by itself")
    )
    monkeypatch.setattr(torch.Tensor, "item", lambda _: pytest.fail("a number is read by itself"))
    _, (found,) = run_steps(setting, 1)
    assert found == expected
    # Norm, loss, negative log-likelihood, splits and failures.
    assert [count for count in numbers if count == 5] == [5]


def test_bf16_is_close_to_float32(setting):
    _, exact = run_steps(setting, 3, train_precision="float32")
    _, narrow = run_steps(setting, 3, train_precision="bf16")
    for own, other in zip(exact, narrow, strict=True):
        assert own.loss == pytest.approx(other.loss, rel=2e-2)
        assert own.loss != other.loss
