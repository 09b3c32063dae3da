"""Faults in a whole run: numbers that are not finite, full memory, a stop while validating."""

import itertools
import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from corpora import reversal_corpus
from ranks import in_ranks

from nmt_cli.config import with_values
from nmt_cli.errors import DivergedError, UnavailableError
from nmt_cli.training.checkpoints import Checkpoints
from nmt_cli.training.distributed import Ranks
from nmt_cli.training.loop import train
from nmt_cli.training.recovery import roll_back
from nmt_cli.training.run import Run
from nmt_cli.training.setup import complete, prepare_directory
from nmt_cli.training.step import gradients_of, shard_loss, take_step


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory):
    return reversal_corpus(
        tmp_path_factory.mktemp("faults"), train_batch_tokens=100, train_validation_sentences=0
    )


def run(setting, out: Path, stop_after: int | None = None, **settings: object):
    """Train to the end, or until so many steps are taken; the reports."""
    config, corpus = setting
    config = with_values(config, {key.replace("_", ".", 1): v for key, v in settings.items()})
    steps = iter(range(1_000_000))
    stop = lambda: stop_after is not None and next(steps) >= stop_after  # noqa: E731
    return list(train(config, corpus, out, stop=stop))


def logged(out: Path) -> list[dict]:
    """The log without what depends on the clock; numbers must be finite."""
    lines = (out / "log.jsonl").read_text().splitlines()
    records = [json.loads(line, parse_constant=pytest.fail) for line in lines]
    clocked = ("seconds", "eta_seconds", "tokens_per_second")
    return [{k: v for k, v in record.items() if k not in clocked} for record in records]


def checkpoints(out: Path):
    return Checkpoints(out / "checkpoints", 5, 1).all()


def final_weights(out: Path) -> dict[str, torch.Tensor]:
    return checkpoints(out)[-1].weights()


def steps_that_are_not_finite(monkeypatch, poisoned: Callable[[int, float], bool]) -> list:
    """Make numbers of steps not finite; (step, part of the learning rate) of all steps."""
    taken: list[tuple[int, float]] = []

    def step(*arguments):
        model, number, scale = arguments[0], *arguments[7:9]
        taken.append((number, scale))
        if not poisoned(number, scale):
            return take_step(*arguments)
        handle = next(model.parameters()).register_hook(lambda gradient: gradient * math.inf)
        try:
            result = take_step(*arguments)
        finally:
            handle.remove()
        return result._replace(loss=math.nan, nll=math.nan)

    monkeypatch.setattr("nmt_cli.training.run.take_step", step)
    return taken


def test_a_step_without_finite_numbers_is_told_and_the_log_stays_readable(
    setting, tmp_path, monkeypatch
):
    steps_that_are_not_finite(monkeypatch, lambda step, scale: step == 7)
    out = tmp_path / "model"
    run(setting, out, train_log_every=1, train_max_steps=10)
    records = logged(out)
    (told,) = [record for record in records if "was skipped" in record.get("note", "")]
    assert told["step"] == 7
    assert re.search(r"it began with pairs (\d+, ){5}\.\.\. of the corpus", told["note"])
    assert [r["loss"] > 0 for r in records if r["step"] in (6, 8) and "note" not in r] == [True] * 2


def test_ten_steps_without_finite_numbers_lead_back_to_the_checkpoint_before(
    setting, tmp_path, monkeypatch
):
    """Steps 12 to 21 are bad at the full learning rate; 15 and 20 would be no use."""
    taken = steps_that_are_not_finite(monkeypatch, lambda step, scale: step >= 12 and scale == 1)
    out = tmp_path / "model"
    reports = run(setting, out, train_log_every=1, train_max_steps=30)
    assert taken == [(n, 1.0) for n in range(1, 22)] + [(n, 0.5) for n in range(11, 31)]
    (note,) = [one.note for one in reports if "back to" in one.note]
    assert "back to step 10, with 0.5 of the learning rate" in note
    steps = [record["step"] for record in logged(out)]
    assert steps == sorted(steps)
    saved = checkpoints(out)
    assert [one.step for one in saved] == [10, 15, 20, 25, 30]
    assert [one.state().rollbacks for one in saved] == [1] * 5
    assert all(weight.isfinite().all() for weight in final_weights(out).values())


def test_after_a_rollback_a_run_goes_on_exactly_where_it_was_stopped(
    setting, tmp_path, monkeypatch
):
    """The checkpoint of step 15, the first bad one, must not come back."""
    steps_that_are_not_finite(monkeypatch, lambda step, scale: step >= 15 and scale == 1)
    run(setting, tmp_path / "straight", train_log_every=1, train_max_steps=25)
    taken = steps_that_are_not_finite(monkeypatch, lambda step, scale: step >= 15 and scale == 1)
    # Steps 1 to 23, 11 and 12: after step 24, which leads back, nobody is asked.
    run(setting, tmp_path / "model", stop_after=25, train_log_every=1, train_max_steps=25)
    assert taken[-1] == (12, 0.5)
    run(setting, tmp_path / "model", train_log_every=1, train_max_steps=25)
    assert taken[-1] == (25, 0.5)
    reference = final_weights(tmp_path / "straight")
    for name, weight in final_weights(tmp_path / "model").items():
        assert torch.equal(weight, reference[name]), name
    assert logged(tmp_path / "model") == logged(tmp_path / "straight")


def test_a_rollback_that_does_not_help_ends_the_run_and_names_the_pairs(
    setting, tmp_path, monkeypatch
):
    taken = steps_that_are_not_finite(monkeypatch, lambda step, scale: step >= 7)
    with pytest.raises(DivergedError, match=r"up to 16, .* began with pairs (\d+, ){5}\.\.\."):
        run(setting, tmp_path / "model", train_max_steps=50)
    assert [step for step, scale in taken if scale == 1 / 8] == list(range(6, 17))
    assert len(taken) == 16 + 3 * 11
    saved = checkpoints(tmp_path / "model")[-1]
    assert (saved.state().rollbacks, saved.step) == (3, 5)


def test_without_a_checkpoint_a_rollback_leads_to_the_beginning(setting, tmp_path, monkeypatch):
    """With half the learning rate it is the run that began with half the learning rate."""
    steps_that_are_not_finite(monkeypatch, lambda step, scale: step >= 3 and scale == 1)
    run(setting, tmp_path / "back", train_checkpoint_every=15, train_max_steps=15)
    monkeypatch.undo()
    half = {"train_learning_rate": 0.005}
    run(setting, tmp_path / "half", train_checkpoint_every=15, train_max_steps=15, **half)
    reference = final_weights(tmp_path / "half")
    for name, weight in final_weights(tmp_path / "back").items():
        assert torch.allclose(weight, reference[name], atol=1e-6), name


@pytest.mark.parametrize("saved", [0, 2])
def test_a_rollback_forgets_neither_what_was_spent_nor_what_is_published(setting, tmp_path, saved):
    """Back to the checkpoint of step 2, or to the beginning of the same plan."""
    config = with_values(complete(*setting), {"train.packing": "packed"})
    config = with_values(config, {"train.micro_batch_tokens": 50})
    prepare_directory(config, setting[1], tmp_path / "model")
    here = Run(config, setting[1], tmp_path / "model", Ranks())
    for step in range(3):
        here.step(here.position)
        if step + 1 == saved:
            here.save(member=True)
    spent = {"seconds": 7.0, "splits": 3, "flops": 1e9, "peak_flops": 2e9, "published_score": -1.5}
    here.state = replace(here.state, skipped=10, rollbacks=1, **spent)
    before = here.state
    assert f"back to step {saved}, with 0.25 of" in roll_back(here, here.position)
    kept = ("digest", "shards", "packed", *spent)
    expected = {name: getattr(before, name) for name in kept}
    expected |= {"step": saved, "batch": saved, "skipped": 0, "rollbacks": 2}
    assert {name: getattr(here.state, name) for name in expected} == expected
    assert expected["packed"]
    assert expected["shards"] == 2
    here.close()


def test_two_ranks_roll_back_together(setting, tmp_path, monkeypatch):
    """Only the second rank's gradient is not finite."""
    config, corpus = setting
    config = with_values(config, {"train.max_steps": 20, "train.micro_batch_tokens": 150})

    def work(ranks: Ranks) -> list:
        bad = lambda step, scale: ranks.rank == 1 and step >= 7 and scale == 1  # noqa: E731
        taken = steps_that_are_not_finite(monkeypatch, bad)
        for _ in train(config, corpus, tmp_path / "model", ranks):
            pass
        return taken

    first, second = in_ranks(work)
    assert first.error is None
    assert second.error is None
    assert first.result == second.result
    assert first.result[15:18] == [(16, 1.0), (6, 0.5), (7, 0.5)]


def test_pairs_longer_than_a_pass_are_counted_and_used(setting, tmp_path):
    _, corpus = setting
    longer = np.maximum(corpus.train.src_lengths, corpus.train.tgt_lengths)
    count = int((longer > 10).sum())
    assert count > 0
    settings = {"train_batch_tokens": 20, "train_micro_batch_tokens": 10, "train_max_steps": 3}
    reports = run(setting, tmp_path / "model", **settings)
    assert f"{count:,} pairs are longer than the 10 tokens of one pass" in reports[0].note
    assert reports[-1].note.startswith("finished: 3 steps are done; ")


def test_a_stop_in_the_midst_of_validation_is_heeded_and_costs_nothing(
    setting, tmp_path, monkeypatch
):
    """Given up while the model holds the mean of checkpoints; a later run validates."""
    monkeypatch.setattr("nmt_cli.training.distributed.POLL_SECONDS", 0.0)
    config, corpus = setting
    config = with_values(config, {"train.checkpoint_every": 4, "train.validate_every": 10})
    out, undisturbed = tmp_path / "model", tmp_path / "undisturbed"
    run((config, corpus), undisturbed)
    asked = False
    real = Run._validate

    def disturbed(self, candidate, poll, *, bleu):
        nonlocal asked
        asked = candidate.kind == "mean"
        return real(self, candidate, poll, bleu=bleu)

    monkeypatch.setattr(Run, "_validate", disturbed)
    for _ in train(config, corpus, out, stop=lambda: asked):
        pass
    saved = checkpoints(out)[-1]
    assert (saved.step, saved.state().validated) == (10, 0)
    monkeypatch.undo()
    run((config, corpus), out)
    assert [r["step"] for r in logged(out) if "validation" in r] == [10, 20]
    reference = final_weights(undisturbed)
    for name, weight in final_weights(out).items():
        assert torch.equal(weight, reference[name]), name
    assert checkpoints(out)[-1].state().scores == checkpoints(undisturbed)[-1].state().scores


def test_how_long_ranks_wait_may_change_when_a_run_goes_on(setting, tmp_path):
    run(setting, tmp_path / "model", train_max_steps=1)
    reports = run(setting, tmp_path / "model", train_max_steps=2, train_rank_timeout=60.0)
    assert reports[-1].step == 2


def test_steps_that_were_split_for_want_of_memory_are_told_once_and_counted(
    setting, tmp_path, monkeypatch
):
    real = shard_loss

    def little_memory(model, config, batch, device):
        if model.training and len(batch.pair_ids) > 8:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(model, config, batch, device)

    monkeypatch.setattr("nmt_cli.training.step.shard_loss", little_memory)
    reports = run(setting, tmp_path / "model", train_max_steps=6)
    told = [one.note for one in reports if "did not fit into memory and was done" in one.note]
    assert len(told) == 1
    state = checkpoints(tmp_path / "model")[-1].state()
    assert state.splits > 0
    assert f"; {state.splits} shards did not fit into memory" in reports[-1].note


def test_memory_that_is_full_whatever_the_batch_is_an_error_of_ours(setting, tmp_path, monkeypatch):
    """What was done until then is saved."""
    calls = itertools.count(1)

    def full(model) -> list[torch.Tensor]:
        if next(calls) == 4:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return gradients_of(model)

    monkeypatch.setattr("nmt_cli.training.step.gradients_of", full)
    with pytest.raises(UnavailableError, match="step 4: memory is full, whatever the batch"):
        run(setting, tmp_path / "model")
    assert [one.step for one in checkpoints(tmp_path / "model")] == [3]
