"""Kernels that are made before a step: those of every product that it is the first to need."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from corpora import reversal_corpus
from older_models import RNN, older_model
from runs import assert_same, make_run
from torch.profiler import ProfilerActivity, profile

from nmt_cli.config.schema import with_values
from nmt_cli.training.execution import product_kernels
from nmt_cli.training.run import Run

PRODUCTS = ("aten::mm", "aten::addmm")


def make_small_run(folder: Path, **values: object) -> Run:
    config, corpus = reversal_corpus(folder)
    settings = {"train.parallel_shards": 1, "train.validation_sentences": 0}
    settings |= {key.replace("__", "."): value for key, value in values.items()}
    return make_run(with_values(config, settings), corpus, folder / "model")


def shapes_in(work: Callable[[], object]) -> set[str]:
    """The products that `work` computes in this thread, with the shapes of their operands."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        work()
    return {
        f"{event.name} {event.input_shapes}"
        for event in profiler.events()
        if event.name in PRODUCTS
    }


@pytest.mark.parametrize("batch_tokens", [100, 700])
def test_a_step_has_no_product_that_was_not_computed_before(batch_tokens, tmp_path) -> None:
    run = make_small_run(tmp_path, train__batch_tokens=batch_tokens)
    known: set[str] = set()
    made = []
    for _ in range(6):
        new = shapes_in(run.make_product_kernels)
        if run.position.epoch == 0:
            made.append(bool(new - known))
        known |= new
        assert shapes_in(lambda: run.step(run.position)) <= known
    # Before the first step those of its batch, before the second one those of the epoch.
    assert made[:2] == [True, True]
    assert len(made) > 3
    assert not any(made[2:])


def test_kernels_are_made_outside_the_heap_and_change_nothing(tmp_path, monkeypatch) -> None:
    run = make_small_run(tmp_path)
    before = {name: weight.detach().clone() for name, weight in run.model.named_parameters()}
    random = torch.get_rng_state()
    inside: list[bool] = []

    class OutsideHeap:
        def __enter__(self) -> None:
            inside.append(True)

        def __exit__(self, *_: object) -> None:
            inside.append(False)

    def map_(work: object, products: list[object]) -> None:
        assert inside == [True]
        assert products

    monkeypatch.setattr(product_kernels, "outside_heap", OutsideHeap)
    run.make_product_kernels()
    assert inside == [True, False]
    inside.clear()
    # Those that were made are not made again.
    run.make_product_kernels()
    assert inside == []
    monkeypatch.setattr(run.replicas, "map", map_)
    run.product_kernels.make({1, 2})
    assert inside == [True, False]
    assert_same(dict(run.model.named_parameters()), before)
    assert all(weight.grad is None for weight in run.model.parameters())
    assert torch.equal(torch.get_rng_state(), random)


def test_older_models_need_none(tmp_path) -> None:
    run = make_small_run(tmp_path)
    kernels = product_kernels.ProductKernels(older_model(RNN), run.config, run.replicas)
    assert not kernels.are_needed
    assert not shapes_in(lambda: kernels.make({8}))
