"""What accompanies the steps of a run: its pace, samples and timed checkpoints change nothing."""

import json
import time
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from corpora import reversal_corpus

from nmt_cli.config.schema import Config, with_values
from nmt_cli.errors import DivergedError
from nmt_cli.model_dir import load_model
from nmt_cli.training.evaluation.model_selection import ModelSelector
from nmt_cli.training.gradient_accumulation import MicroBatch
from nmt_cli.training.loop import train
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.reporting import first_step, monitor, samples
from nmt_cli.training.reporting.events import (
    EndsEarly,
    FirstStep,
    Outline,
    Sample,
    StepDone,
    Validating,
)
from nmt_cli.training.reporting.first_step import FirstStepEstimate
from nmt_cli.training.reporting.pace import Pace
from nmt_cli.training.reporting.samples import Samples, example
from nmt_cli.training.run import Run
from nmt_cli.training.saving.checkpoints import Checkpoints
from nmt_cli.training.saving.save_timer import SaveTimer
from nmt_cli.training.setup import complete

CLOCKED = ("seconds", "elapsed_seconds", "eta_seconds", "tokens_per_second")


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory):
    return reversal_corpus(
        tmp_path_factory.mktemp("monitor"), train_seed=3, train_max_steps=12,
        train_checkpoint_every=4,
    )  # fmt: skip


def run(setting, out: Path, tell=lambda _: None, stop_after: int | None = None, **settings: object):
    """Train to the end, or until so many steps are done; the reports."""
    config, corpus = setting
    config = with_values(config, {key.replace("_", ".", 1): v for key, v in settings.items()})
    steps = iter(range(1, 1_000_000))
    stop = lambda: stop_after is not None and next(steps) > stop_after  # noqa: E731
    return list(train(config, corpus, out, stop=stop, listener=tell))


def logged(out: Path) -> list[dict]:
    records = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [{k: v for k, v in record.items() if k not in CLOCKED} for record in records]


def steps_of(found) -> list[int]:
    return [checkpoint.step for checkpoint in found]


def always(monkeypatch: pytest.MonkeyPatch, *classes: type) -> None:
    """Have it be time for these after each step."""
    for timer_class in classes:
        monkeypatch.setattr(timer_class, "is_due", True)


def assert_same_run(out: Path, other: Path) -> None:
    """Both model directories hold the same weights, members and log."""
    assert logged(out) == logged(other)
    published = [load_model(path) for path in (out, other)]
    assert published[0].metadata == published[1].metadata
    weights = [dict(checkpoint.model.named_parameters()) for checkpoint in published]
    for name, weight in weights[0].items():
        assert torch.equal(weight, weights[1][name]), name
    found = [Checkpoints(path / "checkpoints", 5, 1).members() for path in (out, other)]
    assert steps_of(found[0]) == steps_of(found[1])
    for own, two in zip(*found, strict=True):
        for name, weight in own.weights().items():
            assert torch.equal(weight, two.weights()[name]), name


@pytest.mark.parametrize("optimizer", ["adam", "schedule_free"])
def test_samples_and_timed_checkpoints_do_not_change_the_run(
    setting, tmp_path, monkeypatch, optimizer
):
    settings = {"train_ema": 0.9}
    if optimizer == "schedule_free":
        settings = {"train_optimizer": optimizer, "train_schedule": "constant"}
    plain, watched = tmp_path / "plain", tmp_path / "watched"
    run(setting, plain, train_save_minutes=0.0, **settings)
    always(monkeypatch, Samples, SaveTimer)
    told: list = []
    run(setting, watched, told.append, **settings)
    # Those of the steps before the first validation.
    assert [event.step for event in told if isinstance(event, Sample)] == [1, 2, 3]
    (log,) = {len(logged(plain)), len(logged(watched))}
    assert log > 0
    assert_same_run(watched, plain)
    kept = Checkpoints(watched / "checkpoints", 5, 1)
    assert steps_of(kept.all()) == [4, 8, 12]


def test_a_sample_changes_neither_random_generators_nor_mode(setting, tmp_path):
    config, corpus = setting
    here = Run(*prepared(config, corpus, tmp_path / "m"))
    for training in (True, False):
        here.model.train(training)
        states = torch.get_rng_state(), np.random.get_state()[1].copy()
        before = {name: tensor.clone() for name, tensor in here.model.state_dict().items()}
        sample = Samples(corpus).take(here.model, here.config, 5)
        assert sample is not None
        assert (sample.source, sample.reference) == example(corpus)
        assert here.model.training is training
        assert torch.equal(torch.get_rng_state(), states[0])
        assert (np.random.get_state()[1] == states[1]).all()
        for name, tensor in here.model.state_dict().items():
            assert torch.equal(tensor, before[name]), name
        # What was decoded in inference mode must not reach a gradient.
        here.step(here.position)
    here.close()


def prepared(config, corpus, out: Path):
    """What a Run is made from."""
    from nmt_cli.training.parallel.ranks import Ranks
    from nmt_cli.training.setup import complete, prepare_directory

    config = complete(config, corpus)
    prepare_directory(config, corpus, out)
    return config, corpus, out, Ranks()


def test_samples_end_when_memory_runs_out(setting, tmp_path, monkeypatch):
    config, corpus = setting
    here = Run(*prepared(config, corpus, tmp_path / "m"))

    def full(*_: object) -> str:
        raise MemoryError

    clock = Clock()
    made = Samples(corpus, clock)
    clock.now = 1e6
    assert made.is_due
    monkeypatch.setattr(samples, "translated", full)
    assert made.take(here.model, here.config, 5) is None
    assert not made.is_due
    here.close()


def test_samples_come_at_growing_intervals(setting, monkeypatch):
    clock = Clock()
    made = Samples(setting[1], clock)
    monkeypatch.setattr(samples, "translated", lambda *_: "x")
    due = []
    for second in range(1_000):
        clock.now = float(second)
        if made.is_due:
            due.append(second)
            made.take(None, None, 1)
    assert due == [60, 180, 420, 900]


def test_without_validation_text_a_training_pair_is_the_sample(setting):
    import dataclasses

    corpus = dataclasses.replace(setting[1], valid=None, valid_text=None)
    source, reference = example(corpus)
    assert source.split() == reference.split()[::-1]
    assert 4 <= len(source.split()) <= 20


def test_a_checkpoint_is_saved_after_two_minutes_and_then_at_intervals():
    clock = Clock()
    timer = SaveTimer(10.0, clock)
    due = []
    for minute in range(40):
        clock.now = 60.0 * minute
        if minute == 25:
            timer.restart()
        if timer.is_due:
            due.append(minute)
            timer.restart()
    assert due == [2, 12, 22, 35]
    clock.now = 1e9
    assert not SaveTimer(0.0, Clock()).is_due
    soon = SaveTimer(0.5, clock)
    clock.now += 31.0
    assert soon.is_due


def test_a_killed_run_resumes_exactly_from_a_timed_checkpoint(setting, tmp_path, monkeypatch):
    """Nothing is saved at the kill itself."""
    out, straight = tmp_path / "killed", tmp_path / "straight"
    run(setting, straight)
    always(monkeypatch, SaveTimer)
    real = Run.step

    def killed(self: Run, position: object):
        return 1 / 0 if self.state.step == 7 else real(self, position)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "step", killed)
        with pytest.raises(ZeroDivisionError):
            run(setting, out)
    found = Checkpoints(out / "checkpoints", 5, 1)
    assert steps_of(found.all()) == [4, 7]
    assert steps_of(found.members()) == [4]
    monkeypatch.undo()
    assert run(setting, out)[0].note == "continues after step 7"
    assert_same_run(out, straight)


def test_divergence_rolls_back_to_a_checkpoint_of_the_interval(setting, tmp_path, monkeypatch):
    """When others were saved is a matter of the clock."""
    from nmt_cli.training.evaluation import divergence

    always(monkeypatch, SaveTimer)
    seen = []

    def told(run: Run, found, position):
        seen.append(divergence._agreed_checkpoint(run, 8).step)
        raise DivergedError("seen")

    monkeypatch.setattr(
        "nmt_cli.training.loop.detect_divergence",
        lambda run, _: "bad" if run.state.step == 8 else None,
    )
    monkeypatch.setattr("nmt_cli.training.loop.recover", told)
    with pytest.raises(DivergedError):
        run(setting, tmp_path / "m")
    assert seen == [4]


def test_each_step_is_an_event_and_the_log_keeps_its_interval(setting, tmp_path):
    told: list = []
    run(setting, tmp_path / "m", told.append, train_log_every=6)
    assert isinstance(told[0], Outline)
    assert (told[0].step, told[0].steps, told[0].pairs) == (0, 12, len(setting[1].train))
    assert told[0].epochs == pytest.approx(12 / batches(setting))
    steps = [event for event in told if isinstance(event, StepDone)]
    assert [step.step for step in steps] == list(range(1, 13))
    assert [step.fresh for step in steps] == list(range(1, 13))
    # Steps 4, 8 and 12 are validated.
    assert [r["step"] for r in logged(tmp_path / "m")] == [4, 6, 8, 12, 12]
    assert all(step.loss > 0 and step.seconds_left >= 0 for step in steps)


def batches(setting) -> int:
    from nmt_cli.data.corpus.batch_plan import BatchPlan

    config, corpus = setting
    lengths = corpus.train.src_lengths, corpus.train.tgt_lengths
    return BatchPlan(*lengths, config.train.batch_tokens, 1, config.train.seed).epoch(0).batches


def test_the_outline_of_a_resumed_run_counts_all_epochs(setting, tmp_path):
    told: list = []
    limit = {"train_max_epochs": 2, "train_max_steps": 10_000}
    run(setting, tmp_path / "m", stop_after=3, **limit)
    run(setting, tmp_path / "m", told.append, stop_after=3, **limit)
    assert told[0].step > 0
    assert told[0].steps == 2 * batches(setting)
    assert told[0].epochs == pytest.approx(2.0)
    assert told[0].seconds > 0


@pytest.mark.parametrize(
    ("schedule", "ends"),
    [("inverse_sqrt", False), ("constant", False), ("linear", True), ("cosine", True),
     ("wsd", True)],
)  # fmt: skip
def test_the_outline_tells_whether_the_learning_rate_reaches_zero(
    setting, tmp_path, schedule: str, ends: bool
) -> None:
    told: list = []
    run(setting, tmp_path / "m", told.append, stop_after=1, train_schedule=schedule)
    assert told[0].schedule_ends is ends


def test_the_outline_names_early_stopping_only_with_validation_text(setting, tmp_path) -> None:
    import dataclasses

    config, corpus = setting
    without = config, dataclasses.replace(corpus, valid=None, valid_text=None)
    told: list = []
    for number, given in enumerate((setting, without)):
        run(given, tmp_path / str(number), told.append, stop_after=1, train_patience=3)
    assert [event.patience for event in told if isinstance(event, Outline)] == [3, 0]


@pytest.mark.parametrize(
    ("settings", "rate"),
    [
        ({}, 6.99e-4),
        ({"train.learning_rate": 1e-3}, 0.0),
        # The rate of fine-tuning is a share of that of the preset.
        ({"train.learning_rate": 1e-3, "train.init_from": "general"}, 1e-3),
        (
            {
                "train.learning_rate": 1e-3,
                "train.init_from": "general",
                "train.preset": "small",
            },
            0.0,
        ),
    ],
)
def test_the_outline_says_which_peak_another_warm_up_would_change(settings, rate):
    assert monitor.rate_of_warmup(with_values(Config(), settings)) == pytest.approx(rate, rel=1e-3)


def test_a_stopped_run_reports_where_it_is_saved(setting, tmp_path):
    reports = run(setting, tmp_path / "m", stop_after=6)
    step = reports[-1].step
    assert reports[-1].note == f"saved at step {step}; run the same command to resume"
    assert Checkpoints(tmp_path / "m" / "checkpoints", 5, 1).all()[-1].step == step
    assert "saved at" not in (tmp_path / "m" / "log.jsonl").read_text()
    # The model directory holds the weights of an earlier step.
    [validated] = [report for report in reports if report.validation]
    assert reports[-1].published.step == validated.step < step
    assert reports[-1].published.bleu == validated.validation.bleu


def test_a_run_stopped_before_its_validation_says_that_there_are_no_weights(setting, tmp_path):
    last = run(setting, tmp_path / "m", stop_after=2)[-1]
    assert last.note.endswith("`nmt translate` has no weights to use before the first validation")
    assert last.published is None


def test_the_published_model_is_reported_at_the_end_and_again(setting, tmp_path):
    reports = run(setting, tmp_path / "m")
    published = reports[-1].published
    validated = [report for report in reports if report.validation]
    # Equal BLEU is decided by perplexity.
    ranks = [(report.validation.score, -report.validation.perplexity) for report in validated]
    best = validated[ranks.index(max(ranks))]
    assert published.step == best.step
    assert published.bleu == best.validation.bleu
    assert published.perplexity == best.validation.perplexity
    assert len(published.steps) == best.validation.averaged
    assert published.steps[-1] == best.step
    (again,) = run(setting, tmp_path / "m")
    assert again.note.startswith("already finished: 12 steps are done; ")
    assert again.published == published
    marks = [report.validation.best for report in reports if report.validation]
    assert marks[0]
    assert marks[1:] == [rank > max(ranks[:n]) for n, rank in enumerate(ranks) if n]


def test_pace_measures_steps_and_validations_separately():
    pace = Pace()
    pace.add_step(100.0, 1_000)
    # Better than nothing.
    assert pace.seconds_left(1, 11, 5) == 1_000.0
    for _ in range(4):
        pace.add_step(2.0, 1_000)
    assert pace.fresh == 5
    assert pace.tokens_per_second == pytest.approx(500.0)
    assert pace.seconds_left(5, 25, 10) == pytest.approx(40.0)
    pace.add_validation(30.0)
    # At steps 10, 20 and at the end.
    assert pace.seconds_left(5, 25, 10) == pytest.approx(40.0 + 90.0)
    assert pace.seconds_left(25, 25, 25) == 0.0


@pytest.mark.parametrize("replicas", [1, 2])
def test_the_first_step_is_estimated_from_its_first_passes(
    setting, tmp_path, monkeypatch, replicas
):
    """When each thread has done one of them; the result is that of a run that nobody watches."""
    monkeypatch.setattr("torch.get_num_threads", lambda: replicas)
    monkeypatch.setattr("torch.set_num_threads", lambda count: None)
    told: list[object] = []
    options = {"train_max_steps": 2, "train_batch_tokens": 600, "train_micro_batch_tokens": 100}
    begun = time.monotonic()
    run(setting, tmp_path / "watched", told.append, train_parallel_shards=replicas, **options)
    kinds = [type(event) for event in told if not isinstance(event, Sample | Validating)]
    assert kinds == [Outline, FirstStep, StepDone, StepDone]
    (estimate,) = (event for event in told if isinstance(event, FirstStep))
    assert 0 < estimate.seconds_per_step < 10 * (time.monotonic() - begun)
    assert estimate.seconds_left == pytest.approx(2 * estimate.seconds_per_step)
    monkeypatch.setattr("nmt_cli.training.reporting.first_step.MAX_SHARE_DONE", 0.0)
    run(setting, tmp_path / "alone", train_parallel_shards=replicas, **options)
    assert_same_run(tmp_path / "watched", tmp_path / "alone")


def test_the_estimate_is_the_counted_work_at_the_measured_speed(setting, tmp_path, monkeypatch):
    """Two of eight parts of equal work in 10 seconds: 40 for all of them."""
    config, corpus = setting
    run = Run(complete(config, corpus), corpus, tmp_path, Ranks())
    run.replicas.models *= 2
    clock = iter([100.0, 110.0])
    monkeypatch.setattr(first_step, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr("nmt_cli.training.reporting.first_step.step_flops", lambda *_: 8.0)
    monkeypatch.setattr("nmt_cli.training.reporting.first_step.pairs_flops", lambda *_: 1.0)
    told: list[float] = []
    estimate = FirstStepEstimate(run, told.append)
    estimate.begin(run.position)
    for _ in range(8):
        run.replicas.on_item_done(MicroBatch(np.arange(1), 1))
    assert told == [40.0]
    estimate.end()
    assert run.replicas.on_item_done is None


def test_a_validation_reports_its_progress(setting, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(monitor, "SECONDS_BETWEEN_VALIDATION_EVENTS", 0.0)
    told: list[object] = []
    run(setting, tmp_path / "run", told.append, train_validation_sentences=5)
    found = [event for event in told if isinstance(event, Validating)]
    # Without the comparison on all pairs, which comes last.
    assert all(event.total for event in found), "the total is known while losses are measured"
    translated = [event.done for event in found if event.step == 12 and event.total == 5]
    assert translated[0] == 0
    assert translated == sorted(translated)
    # Within the one window that five sentences are, and not only before and after it.
    assert len(translated) > 2
    seconds = [event.seconds for event in found]
    assert seconds == sorted(seconds)


def test_the_passes_of_the_comparison_are_named_and_count_as_time_left(
    setting, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(monitor, "SECONDS_BETWEEN_VALIDATION_EVENTS", 0.0)
    told: list[object] = []
    # The weights of step 4 are published, and compared at the end with the average.
    monkeypatch.setattr(ModelSelector, "_is_better", lambda *args: args[2].step <= 4)
    run(setting, tmp_path / "run", told.append, train_validation_sentences=5)
    assert told[0].compared == min(len(setting[1].valid_text[0]), 2_000)
    found = [event for event in told if isinstance(event, Validating)]
    compared = [event for event in found if event.activity != "validating"]
    assert found[-len(compared) :] == compared
    names = list(dict.fromkeys(event.activity for event in compared))
    assert names[:2] == ["comparing: published weights", "comparing: last average"]
    assert all(event.seconds_left is not None for event in compared)
    assert {event.total for event in compared if event.activity in names[:2]} == {20}
    # When the last validation is done, the comparison is left.
    last = [event for event in found if event.activity == "validating" and event.total][-1]
    assert last.done == last.total
    assert last.seconds_left > 0


def test_a_validation_sends_few_events(setting, tmp_path: Path) -> None:
    told: list[object] = []
    begun = time.monotonic()
    run(setting, tmp_path / "run", told.append)
    found = [event for event in told if isinstance(event, Validating)]
    assert 0 < len(found) <= 12 + time.monotonic() - begun


def test_seconds_left_during_a_validation() -> None:
    pace = Pace()
    for _ in range(3):
        pace.add_step(2.0, 100)
    assert pace.seconds_left_validating(130, 130, 30, 5.0) is None
    # Ten steps; how long validations take is not known yet.
    assert pace.seconds_left_validating(120, 130, 30, 5.0) == 20.0
    pace.add_validation(60.0)
    assert pace.seconds_left_validating(130, 130, 30, 5.0) == 55.0
    assert pace.seconds_left_validating(130, 130, 30, 70.0) == 0.0
    # The rest of this one, ten steps, and the one at the end.
    assert pace.seconds_left_validating(120, 130, 30, 50.0) == 10.0 + 20.0 + 60.0
    assert Pace().seconds_left_validating(120, 130, 30, 5.0) is None


def test_events_count_the_validations_that_are_not_measured_yet(setting, tmp_path: Path) -> None:
    events: list[object] = []
    run(setting, tmp_path / "run", events.append)
    steps = [event.unmeasured for event in events if isinstance(event, StepDone)]
    assert steps == [3, 3, 3, 2] + 8 * [0]
    first = next(event for event in events if isinstance(event, Validating))
    assert (first.step, first.unmeasured) == (4, 3)


def test_a_time_limit_that_ends_the_run_early_is_an_event(
    setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each look at the clock takes a millisecond, so that a busy machine changes nothing.
    clock = count(0.0, 1e-3)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    events: list[object] = []
    limits = {"train_max_steps": 100_000, "train_checkpoint_every": 50_000}
    reports = run(setting, tmp_path / "run", events.append, train_max_hours=1 / 3_600, **limits)
    assert reports[-1].note.startswith("finished: 0.000277778 hours are over")
    (end,) = [event for event in events if isinstance(event, EndsEarly)]
    assert end.step == 3
    assert 3 < end.last < 100_000
    # It comes before the step, whose estimate it replaces.
    assert events[events.index(end) + 1].step == 3
