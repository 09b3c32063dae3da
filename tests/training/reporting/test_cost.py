"""What a run costs: work added up over steps, shares of a known peak, and what the user sees."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from corpora import reversal_corpus, tiny_config

from nmt_cli.data.corpus.batch_plan import BatchPlan, Position
from nmt_cli.model.flops import training_flops
from nmt_cli.training.loop import train
from nmt_cli.training.reporting.cost import (
    PEAK_TFLOPS,
    add_cost,
    devices,
    peak_flops,
    peak_share,
    step_flops,
)
from nmt_cli.training.state import TrainState

SIZES = {"model_src_vocab_size": 14, "model_tgt_vocab_size": 14}
GPU = torch.device("cuda", 0)


@pytest.fixture
def card(monkeypatch):
    """A GPU of the name in `card["name"]`."""
    shown = {"name": "NVIDIA H200"}
    monkeypatch.setattr("torch.cuda.get_device_name", lambda _: shown["name"])
    return shown


def make_plan(shards: int = 2) -> BatchPlan:
    random = np.random.default_rng(1)
    return BatchPlan(random.integers(1, 9, 60), random.integers(1, 9, 60), 80, shards, 1)


def make_run(device: torch.device, world_size: int = 1) -> SimpleNamespace:
    config = tiny_config(**SIZES)
    ranks = SimpleNamespace(device=device, world_size=world_size)
    return SimpleNamespace(config=config, plan=make_plan(), ranks=ranks, state=TrainState())


def test_devices_are_named_and_counted(card):
    assert devices(make_run(GPU, 8).ranks) == "8 x NVIDIA H200"
    assert devices(make_run(torch.device("cpu"), 2).ranks) == "CPU"


def test_the_steps_of_an_epoch_are_the_work_of_the_corpus():
    config, plan = tiny_config(**SIZES), make_plan()
    steps = [step_flops(config, plan, Position(1, n)) for n in range(plan.epoch(1).batches)]
    assert len(steps) > 2
    assert sum(steps) == training_flops(config.model, plan.src_lengths, plan.tgt_lengths)


def test_r_drop_doubles_the_counted_work():
    once, twice = tiny_config(**SIZES), tiny_config(**SIZES, train_r_drop=5.0)
    place = Position(0, 0)
    assert step_flops(twice, make_plan(), place) == 2 * step_flops(once, make_plan(), place)


def test_lengths_are_those_of_the_epoch_where_they_change():
    plan = make_plan()
    plan.lengths_of = lambda number: (np.full(60, number + 1), np.full(60, 2))
    config = tiny_config(**SIZES)
    for number in (3, 0):
        batches = range(plan.epoch(number).batches)
        found = sum(step_flops(config, plan, Position(number, batch)) for batch in batches)
        assert found == training_flops(config.model, np.full(60, number + 1), np.full(60, 2))


def test_peaks_are_known_by_the_exact_name(card):
    assert peak_flops(GPU) == 989.4e12
    card["name"] = "NVIDIA H200 of tomorrow"
    assert peak_flops(GPU) is None
    assert peak_flops(torch.device("cpu")) is None
    # Teraflops: nothing below a laptop's GPU, nothing above the largest.
    assert all(50 < tera < 5_000 for tera in PEAK_TFLOPS.values())


def test_gpu_time_is_that_of_all_gpus(card):
    run = make_run(GPU, world_size=4)
    for batch in range(2):
        add_cost(run, Position(0, batch), 0.5)
    work = sum(step_flops(run.config, run.plan, Position(0, batch)) for batch in range(2))
    assert run.state.seconds == 1.0
    assert run.state.flops == work
    assert run.state.peak_flops == 4 * 989.4e12
    assert peak_share(run.state) == work / (4 * 989.4e12)


def test_an_unknown_peak_makes_the_share_unknown(card):
    """A run that went on for a while on another machine."""
    run = make_run(GPU)
    add_cost(run, Position(0, 0), 1.0)
    run.ranks.device = torch.device("cpu")
    add_cost(run, Position(0, 1), 1.0)
    run.ranks.device = GPU
    add_cost(run, Position(0, 2), 1.0)
    assert run.state.seconds == 3.0
    assert run.state.peak_flops is None
    assert peak_share(run.state) is None


def test_cost_continues_in_a_resumed_run(tmp_path):
    """Counted once: the log ends with the work of all steps, in one run or two."""
    config, corpus = reversal_corpus(tmp_path, train_max_steps=8)
    whole = [report.flops for report in train(config, corpus, tmp_path / "whole")]
    first = train(config, corpus, tmp_path / "halves")
    while next(first).step < 5:
        pass
    first.close()
    *_, last = train(config, corpus, tmp_path / "halves")
    assert last.note == "finished: 8 steps are done"
    assert last.flops == whole[-1] > whole[0] > 0
    records = (tmp_path / "halves/log.jsonl").read_text().splitlines()
    assert json.loads(records[-1])["flops"] == last.flops
    assert json.loads(records[-1])["devices"] == "CPU"
    assert "peak_share" not in json.loads(records[-1])


def test_a_known_peak_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr("nmt_cli.training.reporting.cost.peak_flops", lambda _: 1e12)
    config, corpus = reversal_corpus(tmp_path, train_max_steps=3)
    *_, last = train(config, corpus, tmp_path / "model")
    assert last.gpu_time_flops == pytest.approx(last.seconds * 1e12)
    assert last.peak_share == last.flops / last.gpu_time_flops
