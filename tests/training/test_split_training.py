"""Training with `train.precision=split`: steps, resuming, what is refused; AMX is emulated in C."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest
import torch
from corpora import reversal_corpus
from emulated_tiles import emulated_tiles

from nmt_cli.cli import main
from nmt_cli.config.schema import Config, dump, with_values
from nmt_cli.data.corpus.batch_plan import BatchPlan, Position
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.native import split_products
from nmt_cli.model.native.split_products import PRODUCTS
from nmt_cli.model.torch_adapter import OperatorMode
from nmt_cli.model.transformer import Transformer
from nmt_cli.training.execution.product_kernels import ProductKernels
from nmt_cli.training.loop import train
from nmt_cli.training.optimizers.factory import make_optimizer
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.parallel.thread_pool import ReplicaThreadPool
from nmt_cli.training.saving.checkpoints import Checkpoints
from nmt_cli.training.setup import complete
from nmt_cli.training.step import take_step

# How many times farther from runs in float32 the runs with split products may be than other runs in
# float32, which add up their products in another order. It was 2.1; bf16 has 200.
FACTOR = 16


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Corpus]:
    config, corpus = reversal_corpus(
        tmp_path_factory.mktemp("split"), 2_000, train_precision="split", train_max_steps=6,
        train_checkpoint_every=3,
    )  # fmt: skip
    return complete(config, corpus), corpus


@pytest.fixture
def _emulated(kernel_cache: Path) -> Iterator[None]:
    with emulated_tiles(kernel_cache.parent / "emulated"):
        yield


def losses(
    setting, steps: int, mode: AbstractContextManager[object], **settings: object
) -> torch.Tensor:
    """The loss per token of each step."""
    config, corpus = setting
    config = with_values(config, {key.replace("_", ".", 1): v for key, v in settings.items()})
    model = initialise(Transformer(config.model), config.train.seed)
    plan = BatchPlan(corpus.train.src_lengths, corpus.train.tgt_lengths, 300, 1, config.train.seed)
    optimizer = make_optimizer(model, config)
    results = []
    for step, position in zip(range(1, steps + 1), plan.positions(Position(0, 0)), strict=False):
        with mode:
            result = take_step(
                model, optimizer, config, Ranks(), corpus.train, plan, position, step
            )
        results.append(result.loss / result.tokens)
    return torch.tensor(results, dtype=torch.float64)


class _OtherOrder(OperatorMode):
    """The terms of each product in reverse order."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func in PRODUCTS:
            *start, left, right = args
            args = (*start, left.flip(1), right.flip(0))
        return func(*args, **(kwargs or {}))


@pytest.mark.usefixtures("_emulated")
def test_steps_are_near_those_in_float32(setting) -> None:
    exact = losses(setting, 3, nullcontext(), train_precision="float32")
    split = losses(setting, 3, nullcontext())
    assert split == pytest.approx(exact, rel=2e-5)
    assert not torch.equal(split, exact)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("_emulated")
def test_thousand_steps_stay_near_float32_as_those_of_another_order_of_sums_do(setting) -> None:
    """The greatest difference of a loss in two runs: what becomes of a rounding is luck."""
    differences = torch.zeros(2, dtype=torch.float64)
    for seed in (1, 2):
        run = {"train_learning_rate": 1e-4, "train_max_steps": 1_000, "train_seed": seed}
        exact = losses(setting, 1_000, nullcontext(), train_precision="float32", **run)
        other = losses(setting, 1_000, _OtherOrder(), train_precision="float32", **run)
        split = losses(setting, 1_000, nullcontext(), **run)
        # It learns something meanwhile.
        assert exact[-1] < 0.6 * exact[0]
        distances = [(each - exact).abs().max() for each in (other, split)]
        differences = torch.maximum(differences, torch.stack(distances))
    assert 0 < differences[1] <= FACTOR * differences[0]


def weights_of(out: Path) -> dict[str, torch.Tensor]:
    return Checkpoints(out / "checkpoints", 5, 1).all()[-1].weights()


@pytest.mark.usefixtures("_emulated")
def test_a_resumed_run_has_the_same_bits(setting, tmp_path) -> None:
    list(train(*setting, tmp_path / "whole"))
    for report in train(*setting, tmp_path / "resumed"):
        if report.step == 4:
            break
    notes = [report.note for report in train(*setting, tmp_path / "resumed")]
    assert "continues after step 4" in notes
    expected = weights_of(tmp_path / "whole")
    for name, weight in weights_of(tmp_path / "resumed").items():
        assert torch.equal(weight, expected[name]), name


@pytest.mark.usefixtures("_emulated")
def test_threads_train_with_split_products(setting, tmp_path, monkeypatch) -> None:
    """Each of the replicas' threads; the sums over shards are added in the same order."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    config, corpus = setting
    config = with_values(config, {"train.parallel_shards": 2, "train.micro_batch_tokens": 200})
    multiply, shapes = split_products.multiply, []

    def counted(kernels, left, right, out, *, accumulates):
        shapes.append(left.shape)
        multiply(kernels, left, right, out, accumulates=accumulates)

    monkeypatch.setattr(split_products, "multiply", counted)
    results = []
    for name in ("one", "two"):
        list(train(config, corpus, tmp_path / name))
        results.append(weights_of(tmp_path / name))
    for name, weight in results[0].items():
        assert torch.equal(weight, results[1][name]), name
    assert len(shapes) > 6 * 2 * 2 * 10


@pytest.mark.usefixtures("_emulated")
def test_no_kernels_of_onednn_are_made_for_split_products(setting, monkeypatch) -> None:
    config, _ = setting
    model = Transformer(config.model)
    pool, asked = ReplicaThreadPool(model), []
    monkeypatch.setattr(pool, "map", lambda work, products: asked.append(len(products)))
    ProductKernels(model, config, pool).make({100})
    assert asked == []
    float32 = with_values(config, {"train.precision": "float32"})
    ProductKernels(model, float32, pool).make({100})
    assert len(asked) == 1


@pytest.mark.usefixtures("_emulated")
def test_the_command_trains_and_names_the_precision(setting, tmp_path, monkeypatch, capsys) -> None:
    config, _ = setting
    (tmp_path / "nmt.toml").write_text(dump(config))
    monkeypatch.chdir(tmp_path)
    corpus = Path(config.data.train[0][0]).parent / "corpus"
    assert main(["train", "--corpus", str(corpus), "--out", "model"]) == 0
    assert ", split" in capsys.readouterr().err
    assert json.loads((tmp_path / "model" / "log.jsonl").read_text().splitlines()[-1])["step"] == 6


def test_without_amx_it_is_refused_before_any_work(setting, tmp_path, monkeypatch, capsys) -> None:
    config, _ = setting
    (tmp_path / "nmt.toml").write_text(dump(config))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NMT_CPU_ISA", "avx512")
    split_products.split_kernels.cache_clear()
    corpus = Path(config.data.train[0][0]).parent / "corpus"
    assert main(["train", "--corpus", str(corpus), "--out", "model"]) == 78
    split_products.split_kernels.cache_clear()
    error = capsys.readouterr().err
    assert "train.precision=split cannot be used here: NMT_CPU_ISA names" in error
    assert "use `auto`" in error
    assert not (tmp_path / "model").exists()
