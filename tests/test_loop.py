"""A whole training run: reports, model directory, exact resume, what it refuses."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from corpora import reversal_corpus

from nmt_cli.config import with_values
from nmt_cli.errors import CannotCreateError, ConfigError, DivergedError, TryAgainError
from nmt_cli.files import check_manifest
from nmt_cli.model_dir import load_model
from nmt_cli.training.checkpoints import Checkpoints
from nmt_cli.training.loop import train
from nmt_cli.training.step import StepResult


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory):
    return reversal_corpus(tmp_path_factory.mktemp("loop"))


def run(setting, out: Path, stop_after: int | None = None, **settings: object):
    """Train to the end, or until so many steps are done; the reports."""
    config, corpus = setting
    config = with_values(config, {key.replace("_", ".", 1): v for key, v in settings.items()})
    steps = iter(range(1, 1_000_000))
    reports = []
    for report in train(
        config, corpus, out, stop=lambda: stop_after is not None and next(steps) >= stop_after
    ):
        reports.append(report)
    return reports


def logged(out: Path) -> list[dict]:
    """The log without what depends on the clock."""
    records = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    clocked = ("seconds", "eta_seconds", "tokens_per_second")
    return [{k: v for k, v in record.items() if k not in clocked} for record in records]


def final_weights(out: Path) -> dict[str, torch.Tensor]:
    return Checkpoints(out / "checkpoints", 5, 1).all()[-1].weights()


@pytest.fixture(scope="module")
def undisturbed(setting, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "model"
    run(setting, out)
    return out


def test_a_run_leaves_a_model_directory_and_a_log(undisturbed):
    check_manifest(undisturbed)
    loaded = load_model(undisturbed)
    assert loaded.config.model.src_vocab_size == loaded.subwords.src_size
    assert int(loaded.metadata["step"]) in (5, 10, 15, 20)
    assert "nrefs:1" in loaded.metadata["validation"]
    records = logged(undisturbed)
    assert [r["step"] for r in records if "validation" in r] == [5, 10, 15, 20]
    assert records[-1]["note"] == "finished: 20 steps are done"
    validations = [record["validation"] for record in records if "validation" in record]
    assert validations[-1]["nll"] < validations[0]["nll"]


def test_validation_does_not_touch_what_is_trained(setting, undisturbed, tmp_path):
    """Averages are tried out in the same model object: it must get its own weights back."""
    out = tmp_path / "model"
    run(setting, out, train_validate_every=1_000)
    reference = final_weights(undisturbed)
    for name, weight in final_weights(out).items():
        assert torch.equal(weight, reference[name]), name


def test_without_validation_pairs_the_mean_of_the_last_is_published(setting, tmp_path):
    config, corpus = setting
    out = tmp_path / "model"
    run((config, dataclasses.replace(corpus, valid=None, valid_text=None)), out)
    members = Checkpoints(out / "checkpoints", 5, 1).members()
    assert [one.step for one in members] == [5, 10, 15, 20]
    weights = [one.weights() for one in members]
    for name, published in load_model(out).model.named_parameters():
        mean = torch.stack([one[name] for one in weights]).mean(dim=0)
        assert torch.allclose(published, mean, atol=1e-6), name


@pytest.mark.parametrize("stop_after", [1, 5, 8, 13, 19])
def test_a_run_goes_on_exactly_where_it_was_stopped(setting, undisturbed, tmp_path, stop_after):
    """Dropout is on, and step 13 lies within an epoch: weights and log lines are bit-equal."""
    out = tmp_path / "model"
    run(setting, out, stop_after=stop_after, train_log_every=1)
    run(setting, out, train_log_every=1)
    reference = final_weights(undisturbed)
    for name, weight in final_weights(out).items():
        assert torch.equal(weight, reference[name]), name
    straight = tmp_path / "straight"
    run(setting, straight, train_log_every=1)
    assert logged(out) == logged(straight)


def test_a_run_that_was_killed_goes_on_from_its_checkpoint(setting, undisturbed, tmp_path):
    """Nothing is saved at the kill: the log is cut back and the steps are done again."""
    config, corpus = setting
    out = tmp_path / "model"
    for report in train(with_values(config, {"train.log_every": 1}), corpus, out):
        if report.step == 8:
            break
    for path in (out / "checkpoints").glob("step-000000008*"):
        path.rename(out / path.name)  # As if the process had had no time to save.
    run(setting, out, train_log_every=1)
    steps = [record["step"] for record in logged(out)]
    assert steps == [*range(1, 21), 20]
    reference = final_weights(undisturbed)
    for name, weight in final_weights(out).items():
        assert torch.equal(weight, reference[name]), name


def test_a_finished_run_says_so_and_goes_on_when_its_limit_is_raised(setting, tmp_path):
    out = tmp_path / "model"
    run(setting, out, train_max_steps=6)
    (only,) = run(setting, out, train_max_steps=6)
    assert only.note == "already finished: 6 steps are done"
    reports = run(setting, out, train_max_steps=10)
    assert reports[-1].note == "finished: 10 steps are done"
    assert reports[-1].step == 10


def test_epochs_patience_and_hours_end_a_run(setting, tmp_path):
    ends = [
        ({"train_max_epochs": 1}, "1 epochs are done"),
        ({"train_patience": 1, "train_learning_rate": 0.0, "train_checkpoint_every": 2}, "1 valid"),
        ({"train_max_hours": 1e-9}, "1e-09 hours are over"),
    ]
    for number, (settings, reason) in enumerate(ends):
        reports = run(setting, tmp_path / str(number), train_max_steps=300, **settings)
        assert reason in reports[-1].note


@pytest.mark.parametrize(
    ("key", "value"),
    [("model.heads", 4), ("train.seed", 2), ("train.batch_tokens", 200), ("model.dropout", 0.2)],
)
def test_another_run_in_the_same_place_is_refused(setting, undisturbed, key, value):
    config, corpus = setting
    with pytest.raises(ConfigError, match=f"{key} was .*, now {value}"):
        next(train(with_values(config, {key: value}), corpus, undisturbed))


def test_another_corpus_is_refused(setting, tmp_path):
    run(setting, tmp_path / "model", train_max_steps=3)
    config, corpus = setting
    changed = dataclasses.replace(corpus, digest="another")
    with pytest.raises(ConfigError, match="corpus differs"):
        list(train(with_values(config, {"train.max_steps": 5}), changed, tmp_path / "model"))


def test_a_directory_of_something_else_is_left_alone(setting, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(CannotCreateError, match="not a model directory"):
        next(train(*setting, tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_an_interrupted_first_save_is_no_obstacle(setting, tmp_path):
    out = tmp_path / "model"
    (out / "subwords").mkdir(parents=True)
    (out / "subwords" / "source.spm").write_bytes(b"half")
    run(setting, out, train_max_steps=2)
    check_manifest(out)


def test_two_runs_in_one_directory_are_refused(setting, tmp_path):
    first = train(*setting, tmp_path / "model")
    next(first)
    with pytest.raises(TryAgainError, match="in use by process"):
        next(train(*setting, tmp_path / "model"))
    first.close()


def test_ten_steps_without_finite_numbers_end_the_run(setting, tmp_path, monkeypatch):
    broken = StepResult(float("nan"), float("nan"), 10, 0.1, float("nan"), skipped=True)
    monkeypatch.setattr("nmt_cli.training.run.take_step", lambda *_: broken)
    with pytest.raises(DivergedError, match="up to 10"):
        run(setting, tmp_path / "model", train_checkpoint_every=50, train_max_steps=50)
    assert Checkpoints(tmp_path / "model" / "checkpoints", 5, 1).all() == []


def test_the_shards_of_a_run_stay_when_the_micro_batch_changes(setting, tmp_path):
    out = tmp_path / "model"
    run(setting, out, train_max_steps=5, train_micro_batch_tokens=100)
    run(setting, out, train_max_steps=8, train_micro_batch_tokens=300)
    state = Checkpoints(out / "checkpoints", 5, 1).all()[-1].state()
    assert state.shards == 3
