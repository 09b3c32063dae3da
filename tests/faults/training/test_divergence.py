"""Numbers that are not finite, a loss that leaves its course, ids beyond the vocabulary."""

import json
import math
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import torch
from byte_models import byte_config, byte_model, byte_subwords
from corpora import reversal_corpus
from faults.tally import fault
from ranks import in_ranks

from nmt_cli.config.schema import with_values
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.errors import DataError, DivergedError
from nmt_cli.extras.tracking.records import read_log, summarise
from nmt_cli.storage.manifest import write_manifest
from nmt_cli.training.evaluation.divergence import Divergence, LossTrend, roll_back
from nmt_cli.training.loop import train
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.run import Run
from nmt_cli.training.saving.checkpoints import Checkpoints
from nmt_cli.training.setup import complete, prepare_directory
from nmt_cli.training.step import StepResult, shard_loss, take_step
from nmt_cli.translation.json_lines import as_json_line
from nmt_cli.translation.result import LONGEST_REPEATED, has_repetition
from nmt_cli.translation.translator import Translator


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
    clocked = ("seconds", "elapsed_seconds", "eta_seconds", "tokens_per_second")
    return [{k: v for k, v in record.items() if k not in clocked} for record in records]


def checkpoints(out: Path):
    return Checkpoints(out / "checkpoints", 5, 1).all()


def final_weights(out: Path) -> dict[str, torch.Tensor]:
    return checkpoints(out)[-1].weights()


def steps_that_are_not_finite(monkeypatch, poisoned: Callable[[int, float], bool]) -> list:
    """Make numbers of steps not finite; (step, part of the learning rate) of all steps."""
    taken: list[tuple[int, float]] = []

    def step(*arguments):
        model, step, scale = arguments[0], *arguments[7:9]
        taken.append((step, scale))
        if not poisoned(step, scale):
            return take_step(*arguments)
        handle = next(model.parameters()).register_hook(lambda gradient: gradient * math.inf)
        try:
            result = take_step(*arguments)
        finally:
            handle.remove()
        return result._replace(loss=math.nan, nll=math.nan)

    monkeypatch.setattr("nmt_cli.training.run.take_step", step)
    return taken


@fault("N1")
def test_nan_step_is_reported_and_log_stays_valid_json(setting, tmp_path, monkeypatch):
    steps_that_are_not_finite(monkeypatch, lambda step, scale: step == 7)
    out = tmp_path / "model"
    run(setting, out, train_log_every=1, train_max_steps=10)
    records = logged(out)
    (skipped,) = [record for record in records if "was skipped" in record.get("note", "")]
    assert skipped["step"] == 7
    assert re.search(r"it began with pairs (\d+, ){5}\.\.\. of the corpus", skipped["note"])
    assert [r["loss"] > 0 for r in records if r["step"] in (6, 8) and "note" not in r] == [True] * 2


@fault("N2")
def test_ten_nan_steps_roll_back_to_the_checkpoint_before(setting, tmp_path, monkeypatch):
    """Steps 12 to 21 are bad at the full learning rate; 15 and 20 would be no use."""
    taken = steps_that_are_not_finite(monkeypatch, lambda step, scale: step >= 12 and scale == 1)
    out = tmp_path / "model"
    reports = run(setting, out, train_log_every=1, train_max_steps=30)
    assert taken == [(n, 1.0) for n in range(1, 22)] + [(n, 0.5) for n in range(11, 31)]
    (note,) = [report.note for report in reports if "back to" in report.note]
    # They are shown with --quiet, too.
    assert sum(report.is_warning for report in reports) == 10 + 1
    assert "back to step 10, with 0.5 of the learning rate" in note
    steps = [record["step"] for record in logged(out)]
    assert steps == sorted(steps)
    saved = checkpoints(out)
    assert [checkpoint.step for checkpoint in saved] == [10, 15, 20, 25, 30]
    assert [checkpoint.state().rollbacks for checkpoint in saved] == [1] * 5
    assert all(weight.isfinite().all() for weight in final_weights(out).values())


@fault("N2")
def test_resume_after_rollback_is_exact(setting, tmp_path, monkeypatch):
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


@fault("N2")
def test_rollback_without_success_ends_the_run_and_names_pairs(setting, tmp_path, monkeypatch):
    taken = steps_that_are_not_finite(monkeypatch, lambda step, scale: step >= 7)
    with pytest.raises(DivergedError, match=r"up to 16, .* began with pairs (\d+, ){5}\.\.\."):
        run(setting, tmp_path / "model", train_max_steps=50)
    assert [step for step, scale in taken if scale == 1 / 8] == list(range(6, 17))
    assert len(taken) == 16 + 3 * 11
    saved = checkpoints(tmp_path / "model")[-1]
    assert (saved.state().rollbacks, saved.step) == (3, 5)


@fault("N2")
def test_rollback_without_checkpoint_restarts_training(setting, tmp_path, monkeypatch):
    """With half the learning rate it is the run that began with half the learning rate."""
    steps_that_are_not_finite(monkeypatch, lambda step, scale: step >= 3 and scale == 1)
    run(setting, tmp_path / "back", train_checkpoint_every=15, train_max_steps=15)
    monkeypatch.undo()
    half = {"train_learning_rate": 0.005}
    run(setting, tmp_path / "half", train_checkpoint_every=15, train_max_steps=15, **half)
    reference = final_weights(tmp_path / "half")
    for name, weight in final_weights(tmp_path / "back").items():
        assert torch.allclose(weight, reference[name], atol=1e-6), name


@fault("N2")
@pytest.mark.parametrize("saved", [0, 2])
def test_rollback_keeps_cost_and_published_model(setting, tmp_path, saved):
    """Back to the checkpoint of step 2, or to the beginning of the same plan."""
    config = with_values(complete(*setting), {"train.packing": "packed"})
    config = with_values(config, {"train.micro_batch_tokens": 50, "train.checkpoint_every": 2})
    prepare_directory(config, setting[1], tmp_path / "model")
    here = Run(config, setting[1], tmp_path / "model", Ranks())
    for step in range(3):
        here.step(here.position)
        if step + 1 == saved:
            here.save()
    spent = {
        "seconds": 7.0, "elapsed": 9.0, "splits": 3, "flops": 1e9, "peak_flops": 2e9,
        "published_score": -1.5, "published": {"step": 1},
    }  # fmt: skip
    here.state = replace(here.state, skipped=10, rollbacks=1, **spent)
    before = here.state
    assert f"back to step {saved}, with 0.25 of" in roll_back(
        here, here.position, Divergence("bad numbers", 3)
    )
    kept = ("digest", "shards", "packed", *spent)
    expected = {name: getattr(before, name) for name in kept}
    expected |= {"step": saved, "batch": saved, "skipped": 0, "rollbacks": 2}
    assert {name: getattr(here.state, name) for name in expected} == expected
    assert expected["packed"]
    assert expected["shards"] == 2
    here.close()


@fault("N2")
def test_rollback_of_two_ranks_is_simultaneous(setting, tmp_path, monkeypatch):
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


KINDS = {"NaN": math.nan, "inf": math.inf, "-inf": -math.inf}


@fault("N1")
@pytest.mark.parametrize("guilty", [0, 1])
def test_nan_on_one_rank_is_skipped_by_all_ranks(setting, tmp_path, monkeypatch, guilty, checks):
    """In the gradient or in the loss; weights stay finite and the same on both ranks."""
    config, corpus = setting
    config = with_values(config, {"train.max_steps": 12, "train.micro_batch_tokens": 50})
    bad = {2 + 2 * index: kind for index, kind in enumerate(KINDS)}
    bad_losses = {8: math.nan, 10: math.inf}
    real = shard_loss

    def work(ranks: Ranks) -> tuple[list, float]:
        here = iter(range(1, 100))
        skipped: list[int] = []

        def step(*arguments):
            index = next(here)
            loss = bad_losses.get(index, 1.0) if ranks.rank == guilty else 1.0
            scaled = lambda *given: real(*given)._replace(total=real(*given).total * loss)  # noqa: E731
            monkeypatch.setattr("nmt_cli.training.step.shard_loss", scaled)
            handle = None
            if ranks.rank == guilty and index in bad:
                factor = KINDS[bad[index]]
                weight = next(arguments[0].parameters())
                handle = weight.register_hook(lambda gradient: gradient * factor)
            result = take_step(*arguments)
            if handle:
                handle.remove()
            if result.skipped:
                skipped.append(index)
            return result

        monkeypatch.setattr("nmt_cli.training.run.take_step", step)
        run = Run(complete(config, corpus), corpus, tmp_path / f"{guilty}", ranks)
        while run.state.step < 12:
            run.step(run.position)
        weights = torch.cat(
            [parameter.detach().reshape(-1) for parameter in run.model.parameters()]
        )
        assert weights.isfinite().all()
        return skipped, sha256(weights.numpy().tobytes()).hexdigest()

    first, second = in_ranks(work)
    assert first.error is None
    assert first.result == second.result
    assert first.result[0] == sorted([*bad, *bad_losses])
    checks(len(bad) + len(bad_losses))


def diverging_at(monkeypatch: pytest.MonkeyPatch, at: int) -> list[tuple[int, float]]:
    """Losses on a course from 4 to 3, which at the full learning rate jump to 9 from a step on."""
    taken: list[tuple[int, float]] = []

    def step(*arguments) -> StepResult:
        step, scale = arguments[7:9]
        taken.append((step, scale))
        loss = 9.0 if step >= at and scale == 1 else 3.0 + 100 / (100 + step) + step % 2 / 10
        if step == 1:
            take_step(*arguments)  # The optimiser has a state then.
        return StepResult(100 * loss, 100 * loss, 100, 0.001, 1.0, False)

    monkeypatch.setattr("nmt_cli.training.run.take_step", step)
    return taken


LONG = {"train_checkpoint_every": 20, "train_validate_every": 1_000, "train_max_steps": 240}


@fault("N3")
def test_divergence_is_reported_once(setting, tmp_path, monkeypatch):
    diverging_at(monkeypatch, 200)
    reports = run(setting, tmp_path / "model", **LONG)
    (warning,) = [report for report in reports if "far above its running mean" in report.note]
    assert 202 <= warning.step <= 212
    assert reports[-1].step == 240


@fault("N3")
def test_divergence_ends_the_run_when_configured(setting, tmp_path, monkeypatch):
    diverging_at(monkeypatch, 200)
    with pytest.raises(DivergedError, match=r"step 20\d: the loss is .* far above") as raised:
        run(setting, tmp_path / "model", train_on_divergence="stop", **LONG)
    assert raised.value.exit_code == 4
    assert "train in float32" not in raised.value.hint
    assert checkpoints(tmp_path / "model")[-1].step == 200
    assert summarise(tmp_path / "model", read_log(tmp_path / "model")).state == "diverged"


@fault("N3")
def test_divergence_rolls_back_to_before_the_jump(setting, tmp_path, monkeypatch):
    """Past the checkpoint of step 200, which is too near; then with half the learning rate."""
    taken = diverging_at(monkeypatch, 206)
    reports = run(setting, tmp_path / "model", train_on_divergence="roll_back", **LONG)
    (rollback,) = [report for report in reports if "back to step" in report.note]
    assert "back to step 180, with 0.5 of the learning rate" in rollback.note
    jump = taken.index((181, 0.5))
    assert taken[jump:] == [(step, 0.5) for step in range(181, 241)]
    assert checkpoints(tmp_path / "model")[-1].state().trend["steps"] == 240


@fault("N3")
def test_divergence_detection_continues_after_resume(setting, tmp_path, monkeypatch):
    """Stopped at step 150, where a course that began anew would have no past to compare with."""
    diverging_at(monkeypatch, 200)
    run(setting, tmp_path / "model", stop_after=150, **LONG)
    reports = run(setting, tmp_path / "model", **LONG)
    assert len([report for report in reports if "far above its running mean" in report.note]) == 1


@fault("N3")
def test_divergence_detection_ignores_noise_and_outliers(checks):
    """Noise, a fall, a slow rise, an outlier, and a bad beginning."""
    random = np.random.default_rng(3)
    noise = random.normal(0, 0.4, 3_000)
    steps = np.arange(3_000)
    outlier = np.zeros(3_000)
    outlier[2_000] = 30.0
    courses = {
        "noise": 3 + noise,
        "fall": 3 + 6 * np.exp(-steps / 300) + noise,
        "slow rise": 3 + steps / 2_000 + noise,
        "an outlier": 3 + noise + np.minimum(outlier, 5.0),
        "a bad beginning": np.where(steps < 12, 2.0 + 0.001 * steps, 8.0) + noise / 10,
    }
    for name, course in courses.items():
        trend = LossTrend()
        assert not any(trend.add(loss) for loss in course), name
        checks()


@fault("N7")
@pytest.mark.parametrize("side", ["src", "tgt"])
@pytest.mark.parametrize("split", ["train", "valid"])
def test_an_id_beyond_the_vocabulary_is_refused_before_training(setting, tmp_path, side, split):
    """Even with a good checksum: on a GPU it would end in an assertion without a place."""
    _, corpus = setting
    copy = tmp_path / "corpus"
    shutil.copytree(corpus.path, copy)
    size = corpus.subwords.src_size if side == "src" else corpus.subwords.tgt_size
    ids = np.fromfile(copy / f"{split}.{side}.ids", "<u2")
    ids[len(ids) // 2] = size
    ids.tofile(copy / f"{split}.{side}.ids")
    write_manifest(copy)
    with pytest.raises(DataError, match=rf"{split}.{side}.ids.* beyond the vocabulary") as raised:
        Corpus.open(copy)
    assert raised.value.exit_code == 65


@fault("N8")
def test_repetitive_translation_is_flagged(checks):
    """Through a model that knows one letter; and circles of all lengths that are looked for."""
    config = byte_config({"search.max_extra_length": 20})
    model = byte_model(config)
    with torch.no_grad():
        model.output_bias[3] -= 50.0
        model.output_bias[4 + ord("x")] += 50.0
    lines = ["abcd", "no way out", "x"]
    for line_number, translation in enumerate(
        Translator(model, config, byte_subwords()).translate(lines), 1
    ):
        assert (
            translation.text.count("x") == len(translation.text) == len(lines[line_number - 1]) + 20
        )
        assert "repetition" in json.loads(as_json_line(line_number, translation))["flags"]
        checks()
    for period in range(1, LONGEST_REPEATED + 1):
        ids = (9, 4, *(list(range(20, 20 + period)) * 5), 3)
        assert has_repetition(ids)
        assert not has_repetition(tuple(range(20, 20 + 5 * period)))
        checks(2)
