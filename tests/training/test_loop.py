"""A whole training run: reports, model directory, exact resume, what it refuses."""

import dataclasses
import json
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from corpora import reversal_corpus

from nmt_cli import __version__
from nmt_cli.config.automatic import Intervals
from nmt_cli.config.schema import Config, load, with_values
from nmt_cli.data.corpus.batch_plan import BatchPlan, Position
from nmt_cli.errors import CannotCreateError, ConfigError, NoInputError, TryAgainError, WriteError
from nmt_cli.model.encoder_decoder import initialise
from nmt_cli.model.transformer import Transformer
from nmt_cli.model_dir import load_model
from nmt_cli.storage.manifest import check_manifest
from nmt_cli.training.evaluation.model_selection import ModelSelector
from nmt_cli.training.evaluation.validation import validate
from nmt_cli.training.loop import train
from nmt_cli.training.optimizers.factory import learning_rate
from nmt_cli.training.reporting.events import StepDone, Validating
from nmt_cli.training.reporting.report import Validation
from nmt_cli.training.run import Run
from nmt_cli.training.saving.average import average, average_weights
from nmt_cli.training.saving.checkpoints import Checkpoints
from nmt_cli.training.saving.tensor_files import copy_weights
from nmt_cli.training.state import TrainState


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory):
    return reversal_corpus(tmp_path_factory.mktemp("loop"), train_seed=3)


def run(setting, out: Path, stop_after: int | None = None, **settings: object):
    """Train to the end, or until so many steps are done; the reports."""
    config, corpus = setting
    config = with_values(config, {key.replace("_", ".", 1): v for key, v in settings.items()})
    steps = iter(range(1, 1_000_000))
    reports = []
    for report in train(
        config, corpus, out, stop=lambda: stop_after is not None and next(steps) > stop_after
    ):
        reports.append(report)
    return reports


def logged(out: Path) -> list[dict]:
    """The log without what depends on the clock."""
    records = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    clocked = ("seconds", "elapsed_seconds", "eta_seconds", "tokens_per_second")
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
    assert loaded.metadata["trained_with"] == f"nmt {__version__}, torch {torch.__version__}"
    records = logged(undisturbed)
    assert [r["step"] for r in records if "validation" in r] == [5, 10, 15, 20]
    assert records[-1]["note"] == "finished: 20 steps are done"
    validations = [record["validation"] for record in records if "validation" in record]
    assert validations[-1]["nll"] < validations[0]["nll"]


def test_every_step_is_that_of_the_plan_and_the_schedule(setting, undisturbed):
    config, corpus = setting
    lengths = corpus.train.src_lengths, corpus.train.tgt_lengths
    plan = BatchPlan(*lengths, config.train.batch_tokens, 1, config.train.seed)
    records = [json.loads(line) for line in (undisturbed / "log.jsonl").read_text().splitlines()]
    steps = list(zip(records, plan.positions(Position(0, 0)), strict=False))[:20]
    for index, (record, position) in enumerate(steps, 1):
        assert record["step"] == index
        assert record["tokens"] == plan.tokens(*position)
        rate = learning_rate(index, config.train, config.model.d_model)
        assert record["learning_rate"] == rate
        validation = record.get("validation", {})
        # At the end, the comparison of the last average is left unless that is published.
        is_published = validation.get("best") and validation["weights"] == "mean"
        assert (record["eta_seconds"] > 0.0) is (index < 20 or not is_published)
    seconds = [record["seconds"] for record in records]
    assert seconds[0] > 0.0
    assert seconds == sorted(seconds)


def test_last_validation_is_logged_before_the_comparison_at_the_end(
    setting, tmp_path: Path, monkeypatch
) -> None:
    """So that `nmt runs` shows it meanwhile, and also if the comparison is interrupted."""
    out = tmp_path / "run"
    validated = []

    def interrupted(self: Run, stop) -> None:
        validated.append([record["step"] for record in logged(out) if "validation" in record])
        raise TryAgainError("later")

    monkeypatch.setattr(Run, "compare_last", interrupted)
    with pytest.raises(TryAgainError):
        run(setting, out, train_max_steps=7, train_validate_every=5)
    assert validated == [[5, 7]]
    monkeypatch.undo()
    reports = run(setting, out, train_max_steps=7, train_validate_every=5)
    assert [report.validation for report in reports] == [None] * len(reports)
    steps = [record["step"] for record in logged(out) if "validation" in record]
    assert (reports[-1].note, steps) == ("finished: 7 steps are done", [5, 7])


def test_changed_search_settings_of_a_model_are_named(setting, tmp_path: Path) -> None:
    """A finished run takes them too: its model translates otherwise from then on."""
    out = tmp_path / "run"
    run(setting, out, stop_after=2, train_max_steps=4)
    reports = run(setting, out, train_max_steps=4)
    assert not any("now translates" in report.note for report in reports)
    reports = run(setting, out, train_max_steps=4, search_alpha=1.5)
    note = f"`{out}` now translates with other settings: search.alpha was 0.6, is 1.5"
    assert [report.note.partition(";")[0] for report in reports] == [
        note, "already finished: 4 steps are done",
    ]  # fmt: skip
    assert load_model(out).config.search.alpha == 1.5
    [ended] = run(setting, out, train_max_steps=4, search_alpha=1.5)
    assert ended.note.startswith("already finished")


def test_reports_count_the_steps_of_an_earlier_process(setting, tmp_path: Path) -> None:
    """As they do its tokens and loss."""
    config, corpus = setting
    values = {
        "train.max_steps": 7, "train.log_every": 3, "train.checkpoint_every": 5,
        "train.validate_every": 100,
    }  # fmt: skip
    config = with_values(config, values)

    def killed(event: object) -> None:
        if isinstance(event, StepDone) and event.step == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(train(config, corpus, tmp_path / "run", listener=killed))
    reports = [*train(config, corpus, tmp_path / "run")]
    steps = [(report.step, report.steps) for report in reports if report.tokens]
    assert steps == [(6, 3), (7, 1)]


def test_last_validation_is_kept_where_reading_of_reports_ends_with_it(
    setting, tmp_path: Path
) -> None:
    config, corpus = setting
    limits = {"train.max_steps": 7, "train.validate_every": 5, "train.checkpoint_every": 5}
    for report in train(with_values(config, limits), corpus, tmp_path / "run"):
        if report.step == 7 and report.validation:
            break
    del report
    reports = list(train(with_values(config, limits), corpus, tmp_path / "run"))
    assert [report.note for report in reports] == [
        "continues after step 7",
        "finished: 7 steps are done",
    ]


def test_initial_weights_depend_on_the_seed(setting, tmp_path):
    config, _ = setting
    run(setting, tmp_path / "model", train_learning_rate=0.0, train_max_steps=1)
    loaded = load_model(tmp_path / "model")
    begun = initialise(Transformer(loaded.config.model), config.train.seed)
    for name, weight in begun.named_parameters():
        assert torch.equal(dict(loaded.model.named_parameters())[name], weight), name


def test_the_mean_and_the_newest_weights_are_validated(setting, undisturbed):
    config, corpus = setting
    model = load_model(undisturbed).model
    members = Checkpoints(undisturbed / "checkpoints", 5, 1).members()
    weights = {member.directory: member.weights() for member in members}
    mean = average_weights(list(weights), weights.__getitem__)
    found = []
    for candidate in (weights[members[-1].directory], mean):
        copy_weights(model, candidate)
        found.append(validate(model, config, corpus, torch.device("cpu"), bleu=False).nll)
    told = next(r["validation"] for r in reversed(logged(undisturbed)) if "validation" in r)
    assert told["nll"] == pytest.approx(min(found), rel=1e-6)
    assert told["averaged"] == (1, 4)[found.index(min(found))]
    assert members[-1].state().scores["20"] == pytest.approx(-found[0], rel=1e-6)


def judge_by(monkeypatch: pytest.MonkeyPatch, losses: list[float]) -> None:
    """Have validation give these losses, one for each set of weights that it has not yet seen."""
    left, judged = iter(losses), {}

    def judge(model: Transformer, *_: object, **__: object) -> Validation:
        now = tuple(float(weight.detach().sum()) for weight in model.parameters())
        if now not in judged:
            judged[now] = next(left)
        return Validation(judged[now], judged[now], 1.0)

    monkeypatch.setattr("nmt_cli.training.evaluation.model_selection.validate", judge)


def test_a_better_mean_is_published_but_steps_are_ranked_by_their_own(
    setting, tmp_path, monkeypatch
):
    """The weights at step 2, those at step 4, the mean of both; training goes on from its own."""
    judge_by(monkeypatch, [3.0, 2.0, 1.0, 4.0, 5.0])
    out, straight = tmp_path / "model", tmp_path / "straight"
    settings = {"train_checkpoint_every": 2, "train_max_steps": 6}
    reports = run(setting, out, **settings)
    found = [report.validation for report in reports if report.validation]
    assert [(validation.nll, validation.averaged) for validation in found] == [
        (3.0, 1),
        (1.0, 2),
        (4.0, 1),
    ]
    members = Checkpoints(out / "checkpoints", 5, 1).members()
    assert members[-1].state().scores == {"2": -3.0, "4": -2.0, "6": -4.0}
    weights = [member.weights() for member in members]
    for name, published in load_model(out).model.named_parameters():
        mean = torch.stack([state[name] for state in weights[:2]]).mean(dim=0)
        assert torch.allclose(published, mean, atol=1e-6), name
    judge_by(monkeypatch, [1.0, 2.0])
    run(setting, straight, train_validate_every=1_000, **settings)
    for name, weight in final_weights(straight).items():
        assert torch.equal(weights[-1][name], weight), name


def test_best_model_is_published_until_patience_ends(setting, tmp_path, monkeypatch):
    """Validations at steps 2, 4, ...: the second is the best, two after it are worse."""
    judge_by(monkeypatch, [3.0, 1.0, 2.0, 1.5, 0.5])
    out = tmp_path / "model"
    settings = {"train_checkpoint_every": 2, "train_keep_last": 1, "train_patience": 2}
    settings["train_warmup_steps"] = 1
    reports = run(setting, out, **settings)
    assert reports[-1].note == (
        "finished: 2 validations without a better one; a larger --patience continues the run"
    )
    assert reports[-1].step == 8
    published = load_model(out)
    assert published.metadata["step"] == "4"
    (best,) = [
        checkpoint
        for checkpoint in Checkpoints(out / "checkpoints", 1, 1).all()
        if checkpoint.step == 4
    ]
    for name, weight in published.model.named_parameters():
        assert torch.equal(weight, best.weights()[name]), name


def test_an_interrupted_validation_is_done_on_resume(setting, undisturbed, tmp_path, monkeypatch):
    real = Run.validate

    def cut_off(self: Run, *arguments: object) -> Validation | None:
        return 1 / 0 if self.state.step == 10 else real(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "validate", cut_off)
        with pytest.raises(ZeroDivisionError):
            run(setting, tmp_path / "model")
    run(setting, tmp_path / "model")
    validations = [
        {record["step"]: record["validation"] for record in logged(out) if "validation" in record}
        for out in (tmp_path / "model", undisturbed)
    ]
    assert list(validations[0]) == [5, 10, 15, 20]
    assert validations[0] == validations[1]


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (TrainState(step=9, epoch=1, elapsed=7_199.0, stale=2), ""),
        (TrainState(step=10), "10 steps are done"),
        (TrainState(step=12), "12 steps are done, more than the limit of 10"),
        (TrainState(epoch=2), "2 epochs are done"),
        (TrainState(elapsed=7_200.0), "2 hours are over"),
        (TrainState(stale=3), "3 validations without a better one"),
    ],
)
def test_run_ends_at_its_limits(state, reason):
    limits = {"train.max_steps": 10, "train.max_epochs": 2, "train.max_hours": 2.0}
    config = with_values(Config(), {**limits, "train.patience": 3})
    assert Run.end_reason(SimpleNamespace(config=config, state=state)) == reason


def test_intervals_follow_from_the_checkpoints_unless_they_are_set():
    config = with_values(Config(), {"train.checkpoint_every": 200})
    assert Intervals.of(config.train) == Intervals(log=20, checkpoint=200, validate=200)
    config = with_values(config, {"train.log_every": 7, "train.validate_every": 50})
    assert Intervals.of(config.train) == Intervals(log=7, checkpoint=200, validate=50)


@pytest.mark.parametrize("newest", ["missing", "damaged"])
def test_killed_run_resumes_from_its_checkpoint(setting, undisturbed, tmp_path, newest):
    """Nothing is saved at the kill: the log is cut back and the steps are done again."""
    out = tmp_path / "model"
    for report in train(*setting, out):
        if report.step == 8:
            break
    for path in (out / "checkpoints").glob("step-000000008*"):
        if newest == "missing":  # As if the process had had no time to save.
            path.rename(out / path.name)
        else:
            (path / "manifest.json").write_text("{")
    notes = [report.note for report in run(setting, out)]
    assert "continues after step 5" in notes
    assert (notes[0].startswith("an older checkpoint is used: ")) is (newest == "damaged")
    steps = [record["step"] for record in logged(out)]
    assert steps == [*range(1, 21), 20]
    reference = final_weights(undisturbed)
    for name, weight in final_weights(out).items():
        assert torch.equal(weight, reference[name]), name


@pytest.mark.parametrize(
    ("limits", "note"),
    [
        (
            {"train_max_hours": 1e-9},
            "1e-09 hours are over; --max-hours above 0.01 (or none) continues the run",
        ),
        (
            {"train_max_hours": 1e-9, "train_max_steps": 1},
            "1 step is done; a larger --max-steps and --max-hours above 0.01 (or none) continue "
            "the run",
        ),
        (
            {"train_max_epochs": 1},
            "1 epoch is done; a larger --max-epochs continues the run",
        ),
    ],
)
def test_a_finished_run_names_the_options_that_continue_it(setting, tmp_path, limits, note):
    out = tmp_path / "model"
    ended = run(setting, out, train_warmup_steps=1, **limits)[-1]
    # After its last step, a run is complete.
    complete = "train_max_steps" in limits
    assert ended.note == f"finished: {note.partition('; ')[0] if complete else note}"
    (only,) = run(setting, out, train_warmup_steps=1, **limits)
    assert only.note == f"already finished: {note}"


@pytest.mark.parametrize(("warmup", "is_said"), [(2, True), (1, False)])
def test_a_run_that_ends_within_its_warmup_says_so(setting, tmp_path, warmup, is_said):
    ended = run(setting, tmp_path, train_max_hours=1e-9, train_warmup_steps=warmup)[-1]
    ending = "finished: 1e-09 hours are over; --max-hours above 0.01 (or none) continues the run"
    rising = f"; the learning rate was still rising, as the warm-up takes {warmup} steps"
    assert ended.note == ending + (rising if is_said else "")


def test_a_run_stopped_in_its_validation_says_what_it_begins_with(setting, tmp_path, monkeypatch):
    monkeypatch.setattr("nmt_cli.training.parallel.ranks.POLL_SECONDS", 0.0)
    validating = False

    def listen(event: object) -> None:
        nonlocal validating
        validating = isinstance(event, Validating)

    config, corpus = setting
    config = with_values(config, {"train.max_steps": 4, "train.validate_every": 3})
    reports = list(train(config, corpus, tmp_path / "m", stop=lambda: validating, listener=listen))
    assert reports[-1].note == (
        "saved at step 3; run the same command to resume, beginning with the abandoned validation; "
        "`nmt translate` has no weights to use before the first validation"
    )
    reports = list(train(config, corpus, tmp_path / "m"))
    assert [report.step for report in reports if report.validation] == [3, 4]


def test_finished_run_continues_when_its_limit_is_raised(setting, tmp_path):
    out = tmp_path / "model"
    run(setting, out, train_max_steps=6)
    checkpoints = Checkpoints(out / "checkpoints", 5, 1)
    assert [checkpoint.step for checkpoint in checkpoints.all()] == [5, 6]
    assert [checkpoint.step for checkpoint in checkpoints.members()] == [5]
    (only,) = run(setting, out, train_max_steps=6)
    assert only.note == "already finished: 6 steps are done; a larger --max-steps continues the run"
    reports = run(setting, out, train_max_steps=10)
    assert reports[-1].note == "finished: 10 steps are done"
    assert reports[-1].step == 10
    assert load(out / "config.toml").train.max_steps == 10


@pytest.mark.parametrize("deterministic", [False, True])
def test_precision_and_determinism_are_checked_before_the_first_step(
    setting, tmp_path, monkeypatch, deterministic
):
    asked = []
    for name in ("check_precision", "use_fast_float32", "compute_deterministically"):
        monkeypatch.setattr(
            f"nmt_cli.training.loop.{name}", lambda *given, name=name: asked.append((name, *given))
        )
    settings = {"train_deterministic": deterministic, "train_max_steps": 1}
    run(setting, tmp_path / "model", train_precision="float32", **settings)
    cpu = torch.device("cpu")
    expected = [("check_precision", "float32", cpu), ("use_fast_float32", cpu)]
    assert asked == expected + [("compute_deterministically", cpu)] * deterministic


def test_best_step_is_averaged_even_if_no_checkpoint_was_due_there(setting, tmp_path):
    """The last step is validated, whatever its number."""
    out = tmp_path / "model"
    run(setting, out, train_max_steps=7, train_checkpoint_every=5, train_validate_every=7)
    assert [path.name for path in average([out], tmp_path / "best", best=1)] == ["step-000000007"]
    out = tmp_path / "between"
    intervals = {"train_checkpoint_every": 5, "train_validate_every": 3, "train_keep_best": 1}
    run(setting, out, train_max_steps=8, train_learning_rate=0.0, **intervals)
    with pytest.raises(NoInputError, match="only 1 of the 3 best") as caught:
        average([out], tmp_path / "three", best=3)
    assert caught.value.hint.startswith("there is a checkpoint every 5 steps, a validation every 3")


def test_time_of_a_validation_counts_if_the_run_is_stopped_after_it(setting, tmp_path, monkeypatch):
    """The checkpoint of its step is older; --max-hours would be measured without that time."""
    seconds, select = 0.5, ModelSelector.select
    validated: list[int] = []

    def slow(selector: ModelSelector, state: TrainState, *arguments: object) -> Validation:
        time.sleep(seconds)
        validation = select(selector, state, *arguments)
        validated.append(state.step)
        return validation

    monkeypatch.setattr(ModelSelector, "select", slow)
    config = with_values(setting[0], {"train.validate_every": 3, "train.checkpoint_every": 3})
    out = tmp_path / "model"
    *_, last = train(config, setting[1], out, stop=lambda: bool(validated))
    *_, checkpoint = Checkpoints(out / "checkpoints", 5, 1).all()
    assert [checkpoint.step] == validated == [3]
    assert last.elapsed_seconds - checkpoint.state().elapsed < seconds / 2


def test_time_of_earlier_processes_counts_for_the_limit(setting, tmp_path, monkeypatch):
    now, step = [0.0], Run.step

    def slow(self: Run, position: Position) -> object:
        now[0] += 1_500.0
        return step(self, position)

    monkeypatch.setattr(Run, "step", slow)
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("nmt_cli.training.reporting.monitor.time", clock)
    out, setting = tmp_path / "model", (setting[0], dataclasses.replace(setting[1], valid=None))
    stopped = run(setting, out, stop_after=2, train_max_hours=1.0, train_warmup_steps=1)[-1]
    assert (stopped.step, stopped.elapsed_seconds) == (2, 3_000.0)
    # Time between two processes does not count.
    now[0] = 90_000.0
    ended = run(setting, out, train_max_hours=1.0, train_warmup_steps=1)[-1]
    assert (ended.step, ended.elapsed_seconds) == (3, 4_500.0)
    assert (
        ended.note == "finished: 1 hour is over; --max-hours above 1.25 (or none) continues the run"
    )


def test_epochs_patience_and_hours_end_a_run(setting, tmp_path):
    ends = [
        ({"train_max_epochs": 1}, "1 epoch is done"),
        ({"train_patience": 1, "train_learning_rate": 0.0, "train_checkpoint_every": 2}, "1 valid"),
        ({"train_max_hours": 1e-9}, "1e-09 hours are over"),
    ]
    for index, (settings, reason) in enumerate(ends):
        reports = run(setting, tmp_path / str(index), train_max_steps=300, **settings)
        assert reason in reports[-1].note
        if "train_max_epochs" in settings:
            plan = BatchPlan(
                setting[1].train.src_lengths, setting[1].train.tgt_lengths, 300, 1, seed=3
            )
            assert reports[-1].step == plan.epoch(0).batches


@pytest.mark.parametrize(
    ("key", "value"),
    [("model.heads", 4), ("train.seed", 2), ("train.batch_tokens", 200), ("model.dropout", 0.2)],
)
def test_other_run_in_the_same_directory_is_refused(setting, undisturbed, key, value):
    config, corpus = setting
    with pytest.raises(ConfigError, match=f"{key} was .*, now {value}"):
        next(train(with_values(config, {key: value}), corpus, undisturbed))


def test_run_starts_after_an_interrupted_first_save(setting, tmp_path):
    out = tmp_path / "model"
    (out / "subwords").mkdir(parents=True)
    # A file gets its name when it is whole; the manifest would have come next.
    whole = (setting[1].path / "subwords" / "source.spm").read_bytes()
    (out / "subwords" / "source.spm").write_bytes(whole)
    (out / "subwords" / ".tmp-vocabulary.json.1").write_bytes(b"half")
    (out / ".tmp-config.toml.1").write_bytes(b"half")
    run(setting, out, train_max_steps=2)
    check_manifest(out)
    assert not list(out.rglob(".tmp-*"))


def test_pairs_longer_than_a_pass_are_counted_and_used(setting, tmp_path):
    _, corpus = setting
    longer = np.maximum(corpus.train.src_lengths, corpus.train.tgt_lengths)
    count = int((longer > 10).sum())
    assert count > 0
    settings = {"train_batch_tokens": 20, "train_micro_batch_tokens": 10, "train_max_steps": 3}
    reports = run(setting, tmp_path / "model", **settings)
    assert f"{count:,} pairs are longer than the 10 tokens of a micro-batch" in reports[0].note
    assert reports[-1].note == "finished: 3 steps are done"


def test_rank_timeout_may_change_on_resume(setting, tmp_path):
    run(setting, tmp_path / "model", train_max_steps=1)
    reports = run(setting, tmp_path / "model", train_max_steps=2, train_rank_timeout=60.0)
    assert reports[-1].step == 2


@pytest.mark.parametrize(("keep_last", "steps"), [(3, [10, 15, 20]), (1, [20])])
def test_without_validation_pairs_the_mean_of_the_last_is_published(
    setting, tmp_path, keep_last, steps
):
    config, corpus = setting
    out = tmp_path / "model"
    without = config, dataclasses.replace(corpus, valid=None, valid_text=None)
    run(without, out, train_keep_last=keep_last)
    members = Checkpoints(out / "checkpoints", 5, 1).members()[-keep_last:]
    assert [member.step for member in members] == steps
    weights = [member.weights() for member in members]
    for name, published in load_model(out).model.named_parameters():
        mean = torch.stack([state[name] for state in weights]).mean(dim=0)
        assert torch.allclose(published, mean, atol=1e-6), name


def test_directory_with_other_files_is_refused(setting, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(CannotCreateError, match="not a model directory"):
        next(train(*setting, tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_the_shards_of_a_run_stay_when_the_micro_batch_changes(setting, tmp_path):
    out = tmp_path / "model"
    run(setting, out, train_max_steps=5, train_micro_batch_tokens=100)
    run(setting, out, train_max_steps=8, train_micro_batch_tokens=300)
    state = Checkpoints(out / "checkpoints", 5, 1).all()[-1].state()
    assert state.shards == 3


def test_a_checkpoint_saved_before_the_first_validation_can_be_averaged(setting, tmp_path):
    """The run has published no weights yet; those of the checkpoint are enough."""
    config, corpus = setting
    values = {"train.checkpoint_every": 100, "train.validate_every": 100, "train.log_every": 1}
    reports = train(with_values(config, values), corpus, tmp_path / "run")
    next(reports)
    reports.close()
    (checkpoint,) = Checkpoints(tmp_path / "run" / "checkpoints", 1, 1).all()
    assert average([checkpoint.directory], tmp_path / "model") == [checkpoint.directory]
    # As `checkpoints/*` names them: with the states of the optimiser.
    everything = sorted((tmp_path / "run" / "checkpoints").iterdir())
    assert len(everything) == 2
    assert average(everything, tmp_path / "model", force=True) == [checkpoint.directory]
    model = load_model(tmp_path / "model").model
    for name, weight in checkpoint.weights().items():
        assert torch.equal(model.state_dict()[name], weight)


def test_an_average_keeps_the_confidence_of_its_run(setting, tmp_path, monkeypatch):
    """Without it no translation of the mean could be flagged `low_confidence`."""
    monkeypatch.setattr(
        "nmt_cli.training.evaluation.validation._confidence", lambda _: "-1.5000 -6.0000"
    )
    out = tmp_path / "run"
    run(setting, out, train_max_steps=4)
    members = [checkpoint.directory for checkpoint in Checkpoints(out / "checkpoints", 5, 1).all()]
    expected = load_model(out).metadata["confidence"]
    average([members[-1]], tmp_path / "mean")
    assert load_model(tmp_path / "mean").metadata["confidence"] == expected == "-1.5000 -6.0000"


@pytest.mark.parametrize(
    ("schedule", "steps", "told"),
    [("wsd", 8, True), ("wsd", 12, False), ("inverse_sqrt", 8, False)],
)
def test_a_resumed_run_reports_a_changed_end_of_the_schedule(
    setting, tmp_path, schedule: str, steps: int, told: bool
) -> None:
    """The schedule of a run that was planned for 12 steps would silently be a shorter one."""
    run(setting, tmp_path / "run", 3, train_schedule=schedule, train_max_steps=12)
    resumed = run(setting, tmp_path / "run", train_schedule=schedule, train_max_steps=steps)
    line = "the learning rate now ends at step 8 instead of 12"
    assert [report.note for report in resumed if "learning rate" in report.note] == [line] * told


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"train_checkpoint_every": 3},
            "checkpoints are now every 3 steps, before every 4 (train.checkpoint_every); "
            "validations are now every 3 steps, before every 4 (train.validate_every)",
        ),
        (
            {"train_validate_every": 1},
            "validations are now every 1 step, before every 4 (train.validate_every)",
        ),
        (
            {"train_checkpoint_every": 2, "train_validate_every": 4},
            "checkpoints are now every 2 steps, before every 4 (train.checkpoint_every)",
        ),
        ({}, ""),
    ],
)
def test_a_resumed_run_reports_other_intervals(
    setting, tmp_path, settings: dict[str, int], told: str
) -> None:
    """Validations follow the interval of checkpoints, unless they have one of their own."""
    out, limits = tmp_path / "run", {"train_max_steps": 7, "train_validate_every": "auto"}
    run(setting, out, 3, **{**limits, "train_checkpoint_every": 4})
    reports = run(setting, out, **{**limits, "train_checkpoint_every": 4, **settings})
    notes = [report.note for report in reports if " are now every " in report.note]
    assert notes == [told] * bool(told)


@pytest.mark.parametrize(
    ("stop_after", "before", "now", "told"),
    [
        (6, 10, 4, "4 validation pairs, before of 10"),
        (6, 4, 1, "1 validation pair, before of 4"),
        # No validation yet, as many pairs, more than there are in both, and no BLEU.
        (3, 10, 4, ""), (6, 4, 4, ""), (6, 500, 60, ""), (6, 10, 0, ""), (6, 0, 10, ""),
        # The run is finished.
        (None, 10, 4, ""),
    ],
)  # fmt: skip
def test_a_resumed_run_reports_that_bleu_is_of_other_pairs(
    setting, tmp_path, stop_after: int | None, before: int, now: int, told: str
) -> None:
    out, limits = tmp_path / "run", {"train_max_steps": 7, "train_validate_every": 5}
    assert len(setting[1].valid_text[0]) < 60
    run(setting, out, stop_after, train_validation_sentences=before, **limits)
    reports = run(setting, out, train_validation_sentences=now, **limits)
    notes = [report.note for report in reports if "BLEU" in report.note]
    line = (
        f"BLEU is now of {told} (train.validation_sentences): it is not comparable with that of "
        "earlier validations, so perplexity decides between these and new weights"
    )
    assert notes == ([line] if told else [])


@pytest.mark.parametrize("stop_after", [None, 9])
def test_a_model_directory_that_is_moved_meanwhile_ends_the_run(
    setting, tmp_path, undisturbed, stop_after
):
    """Nothing of the old name is made again, and the moved run continues."""
    config, corpus = setting
    config = with_values(config, {"train.log_every": 1})
    out, moved = tmp_path / "model", tmp_path / "moved"
    steps = iter(range(1, 1_000_000))

    def stop() -> bool:
        step = next(steps)
        if step == 7:
            out.rename(moved)
        return stop_after is not None and step > stop_after

    with pytest.raises(WriteError, match="was moved or deleted while it was trained") as caught:
        list(train(config, corpus, out, stop=stop))
    assert "give its new name with --out" in caught.value.hint
    assert not out.exists()
    list(train(config, corpus, moved))
    torch.testing.assert_close(final_weights(moved), final_weights(undisturbed), rtol=0, atol=0)
