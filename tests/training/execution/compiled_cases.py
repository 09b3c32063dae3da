"""Training compiled: the same numbers, one graph for all batches, and no second one in silence.

`test_compiled.py` runs these in a process of their own.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from corpora import reversal_corpus
from runs import make_run
from torch import Tensor

from nmt_cli.batch import Batch, Segments, tile_table
from nmt_cli.config.schema import with_values
from nmt_cli.data.corpus.packed_plan import PackedPlan
from nmt_cli.model import attention, layers
from nmt_cli.model.attention import scaled_dot_product_attention
from nmt_cli.model.backends import dispatch
from nmt_cli.model.backends.dispatch import use_backend
from nmt_cli.model.backends.tiles import tile_attention_function
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.training import run as training_run
from nmt_cli.training import update
from nmt_cli.training.execution import plan as execution_plan
from nmt_cli.training.execution.compiled import compile_hidden
from nmt_cli.training.setup import complete


def dense_attention(
    query: Tensor, key: Tensor, value: Tensor, queries: Segments, keys: Segments, *, causal: bool
) -> Tensor:
    """Any token to any token behind a mask: slow, and of one shape as a GPU's kernels are."""
    places = [torch.arange(len(segments.positions)) for segments in (queries, keys)]
    owners = [
        torch.searchsorted(segments.offsets, place, right=True)
        for segments, place in zip((queries, keys), places, strict=True)
    ]
    mask = owners[0][:, None] == owners[1][None, :]
    if causal:
        mask = mask & (places[1][None, :] <= places[0][:, None])
    # Filler of a stream without filler on the other side sees nothing: let it see all.
    mask = mask | ~mask.any(dim=1, keepdim=True)
    heads = scaled_dot_product_attention(
        query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1), mask
    )
    return heads.transpose(0, 1)


@pytest.fixture
def made(tmp_path, monkeypatch) -> tuple[Transformer, list[Batch], PackedPlan]:
    """A model without dropout, and packed batches of one shape."""
    config, corpus = reversal_corpus(tmp_path)
    config = with_values(complete(config, corpus), {"model.dropout": 0.0})
    monkeypatch.setitem(dispatch.BACKENDS, "dense", dense_attention)
    model = initialise(Transformer(config.model), 1)
    use_backend(model, "dense")
    torch._dynamo.reset()
    pairs = corpus.train
    plan = PackedPlan(pairs.src_lengths, pairs.tgt_lengths, 200, 1, seed=1)
    ids = [plan.epoch(0).shard(index, 0) for index in range(14)]
    return model, [pairs.batch(shard, 2, plan.shape_of(shard)) for shard in ids], plan


def counting(graphs: list[int], then: str = "eager") -> Callable[..., object]:
    def backend(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable[..., object]:
        graphs.append(len(graph.graph.nodes))
        return torch._dynamo.lookup_backend(then)(graph, inputs)

    return backend


def test_one_graph_serves_all_batches_and_gives_the_same(made) -> None:
    model, batches, plan = made
    model.train()
    expected = [model.hidden(batch) for batch in batches]
    graphs: list[int] = []
    compile_hidden(model, plan.shape, counting(graphs))
    for batch, hidden in zip(batches, expected, strict=True):
        used = batch.tgt_segments.used
        torch.testing.assert_close(model.hidden(batch)[:used], hidden[:used])
    assert len(graphs) == 1
    assert len({len(batch.pair_ids) for batch in batches}) > 1


@pytest.mark.parametrize("joined", [False, True])
def test_compiled_gradients_equal_uncompiled(made, monkeypatch, joined) -> None:
    """joined: projections of one input in one product, as on a GPU."""
    model, batches, plan = made
    model.train()
    weights = list(model.parameters())
    expected = torch.autograd.grad(model.hidden(batches[0]).square().sum(), weights)
    monkeypatch.setattr(attention, "joins_projections", lambda device: joined)
    compile_hidden(model, plan.shape, "aot_eager")
    found = torch.autograd.grad(model.hidden(batches[0]).square().sum(), weights)
    for gradient, other in zip(found, expected, strict=True):
        torch.testing.assert_close(gradient, other)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_decoder_gradients_do_not_wait_for_the_encoder_with_separate_graphs(made) -> None:
    model, batches, plan = made
    model.train()
    weights = dict(model.named_parameters())
    model.hidden(batches[1]).square().sum().backward()
    expected = {name: weight.grad for name, weight in weights.items()}
    model.zero_grad()
    graphs: list[int] = []
    compile_hidden(model, plan.shape, counting(graphs, "aot_eager"), separate_graphs=True)
    ready: list[str] = []
    for name, weight in weights.items():
        weight.register_post_accumulate_grad_hook(lambda _, name=name: ready.append(name))
    for batch in batches[:2]:
        ready.clear()
        model.zero_grad()
        model.hidden(batch).square().sum().backward()
    assert len(graphs) == 2
    for name, weight in weights.items():
        torch.testing.assert_close(weight.grad, expected[name])
    sides = [name.partition(".")[0] for name in ready]
    decoder = sides.count("decoder")
    assert decoder
    assert set(sides[:decoder]) == {"decoder"}


def test_batches_of_other_shapes_are_not_compiled(made) -> None:
    model, batches, plan = made
    graphs: list[int] = []
    compile_hidden(model, plan.shape, counting(graphs))
    model.eval()
    model.hidden(batches[0])
    model.train()
    longer = plan.shape._replace(src=plan.shape.src + 1)
    compile_hidden(model, longer, counting(graphs))
    model.hidden(batches[0])
    assert not graphs


def test_a_second_graph_is_an_error(made) -> None:
    """As when a number that varies gets into the model."""
    model, batches, plan = made
    model.train()
    compile_hidden(model, plan.shape, counting([]))
    model.hidden(batches[0])
    object.__setattr__(batches[1].src_segments, "max_length", 3 * plan.shape.width)
    with pytest.raises(torch._dynamo.exc.RecompileError):
        model.hidden(batches[1])


@pytest.mark.parametrize("reserved", [False, True])
def test_tables_of_positions_must_be_long_enough_before_the_first_step(made, reserved) -> None:
    """A table that grows inside the graph would need a second graph."""
    model, batches, plan = made
    model.train()
    model.positions.table = model.positions.table[:2].clone()
    compile_hidden(model, plan.shape, counting([]))
    if reserved:
        model.positions.reserve(plan.shape.width)
        for batch in batches:
            model.hidden(batch)
        return
    model.hidden(batches[0])
    with pytest.raises(torch._dynamo.exc.RecompileError):
        model.hidden(batches[1])


def test_compiler_failure_is_an_error(made) -> None:
    model, batches, plan = made
    model.train()

    def failing(*_: object) -> Callable[..., object]:
        raise RuntimeError("no such instruction")

    compile_hidden(model, plan.shape, failing)
    with pytest.raises(Exception, match="no such instruction"):
        model.hidden(batches[0])


def test_tile_kernel_is_compiled_once_for_any_lengths() -> None:
    def attended(query: Tensor, tiles: Tensor) -> Tensor:
        return tile_attention_function(
            query, query, query, (tiles, tiles), causal=True, size=16
        ).sum()

    compiled = torch.compile(attended, backend="aot_eager", fullgraph=True, dynamic=False)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for lengths in ([3, 17], [10, 10], [20, 0]):
            tiles = tile_table(np.array(lengths), 20, 16)[0]
            query = torch.randn(20, 1, 8, requires_grad=True)
            result, expected = (
                torch.autograd.grad(value(query, tiles), query)[0] for value in (compiled, attended)
            )
            assert torch.equal(result, expected)


def losses_of_a_run(monkeypatch, folder: Path, *, as_on_a_gpu: bool) -> tuple[list[float], Tensor]:
    """Losses of three steps on packed batches, and a matrix of the model after them."""
    config, corpus = reversal_corpus(folder)
    values = {
        "model.dropout": 0.0, "model.layers": 1, "model.heads": 1, "train.packing": "packed",
        "train.batch_tokens": 50,
        "train.compile": "on" if as_on_a_gpu else "off", "train.parallel_shards": 1,
    }  # fmt: skip
    backend = "tiles" if as_on_a_gpu else "plain"
    monkeypatch.setattr(execution_plan, "_backend", lambda *_: backend)
    monkeypatch.setattr(attention, "joins_projections", lambda _: as_on_a_gpu)
    monkeypatch.setattr(layers, "fuses_relu", lambda _: as_on_a_gpu)
    monkeypatch.setattr(update, "updates_before_reading", lambda _: as_on_a_gpu)
    monkeypatch.setattr(
        training_run, "compile_hidden", partial(compile_hidden, backend="aot_eager")
    )
    torch._dynamo.reset()
    run = make_run(with_values(config, values), corpus, folder / backend)
    assert (run.execution.compiled, run.execution.packed) == (as_on_a_gpu, True)
    losses = [run.step(run.position).loss for _ in range(3)]
    run.close()
    return losses, run.model.decoder_layers[0].cross_attention.value.weight.detach()


# torch's compiler makes an instance of the class `Function` itself.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_training_path_of_a_gpu_equals_the_plain_one(monkeypatch, tmp_path) -> None:
    """Tiles (interpreted), joined projections, fused ReLU, packed batches, one graph, and weights
    that are updated before the numbers of the step are read."""
    (losses, weight), (expected, expected_weight) = (
        losses_of_a_run(monkeypatch, tmp_path, as_on_a_gpu=yes) for yes in (True, False)
    )
    assert losses == pytest.approx(expected, rel=1e-5)
    assert len(set(losses)) == 3
    torch.testing.assert_close(weight, expected_weight, rtol=1e-3, atol=1e-5)
