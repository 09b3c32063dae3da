"""Training and translating on a GPU give what they give on a CPU; `make test-gpu` runs these."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from corpora import reversal_corpus, reversal_pairs
from runs import assert_same_state, last, logged

from nmt_cli.config.schema import Config, with_values
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.training import run as training_run
from nmt_cli.training import step as training_step
from nmt_cli.training.loop import train
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.reporting.report import Report
from nmt_cli.training.step import shard_loss, take_step
from nmt_cli.translation.translator import Translator

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU"),
]
ROOT = Path(__file__).parents[2]
CPU, GPU = torch.device("cpu"), torch.device("cuda")
EXACT = {
    "train.precision": "float32", "model.dropout": 0.0, "train.packing": "packed",
    "train.max_steps": 12, "train.log_every": 1,
}  # fmt: skip
# Wide enough for the kernels of attention, and for a batch to take more memory than the weights.
WIDE = {"model.d_model": 256, "model.d_ff": 1_024, "model.heads": 4, "model.layers": 2}


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Corpus]:
    """Lines of letters to copy."""
    return reversal_corpus(tmp_path_factory.mktemp("gpu"), 4_000, 3, step=1)


@pytest.fixture(scope="module")
def model(setting, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learnt to copy letters, trained on the GPU as training comes."""
    out = tmp_path_factory.mktemp("model") / "model"
    learn = {
        "train.max_steps": 300, "train.batch_tokens": 400, "train.checkpoint_every": 300,
        "train.optimizer": "muon", "train.learning_rate": 0.02, "train.label_smoothing": 0.0,
        "model.dropout": 0.0, "model.norm_order": "pre",
    }  # fmt: skip
    reports_of(setting, out, GPU, **learn)
    return out


def reports_of(
    setting, out: Path, device: torch.device, stop_after: int = 0, **values: object
) -> list[Report]:
    """Train on `device`, stopping after so many steps (0: at the end); the reports of steps."""
    config = with_values(setting[0], values)
    steps = iter(range(1, 1_000))
    stop = lambda: next(steps) > stop_after > 0  # noqa: E731
    found = train(config, setting[1], out, Ranks(device=device), stop=stop)
    return [report for report in found if report.tokens]


def losses_of(*arguments, **values: object) -> list[float]:
    return [report.loss for report in reports_of(*arguments, **values)]


@pytest.mark.parametrize("optimizer", ["adam", "muon", "schedule_free"])
@pytest.mark.parametrize("compiled", ["off", "auto"])
def test_the_losses_are_those_of_the_cpu(setting, tmp_path, compiled, optimizer) -> None:
    values = {**EXACT, **WIDE, "train.optimizer": optimizer, "train.learning_rate": 1e-3}
    if optimizer == "schedule_free":
        values["train.schedule"] = "constant"
    expected = losses_of(setting, tmp_path / "cpu", CPU, **values)
    found = losses_of(setting, tmp_path / "gpu", GPU, **{**values, "train.compile": compiled})
    assert len(found) == 12
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_bf16_losses_are_near_those_of_float32(setting, tmp_path) -> None:
    values = {**EXACT, **WIDE, "train.learning_rate": 1e-3}
    expected = losses_of(setting, tmp_path / "exact", GPU, **values)
    found = losses_of(setting, tmp_path / "bf16", GPU, **{**values, "train.precision": "bf16"})
    np.testing.assert_allclose(found, expected, rtol=2e-2)
    assert found != expected


@pytest.mark.parametrize("optimizer", ["adam", "muon", "schedule_free"])
@pytest.mark.parametrize("deterministic", [False, True])
def test_a_run_that_was_stopped_goes_on_with_the_same_bits(
    setting, tmp_path, deterministic, optimizer
) -> None:
    """Dropout and the order of the batches are restored; the kernels add in a fixed order."""
    values = {
        "train.max_steps": 12, "train.checkpoint_every": 4, "train.optimizer": optimizer,
        "train.deterministic": deterministic, "train.precision": "bf16",
    }  # fmt: skip
    if optimizer == "schedule_free":
        values["train.schedule"] = "constant"
    for stop_after in (5, 0):
        reports_of(setting, tmp_path / "resumed", GPU, stop_after, **values)
    reports_of(setting, tmp_path / "whole", GPU, **values)
    assert_same_state(tmp_path / "resumed", tmp_path / "whole")
    assert logged(tmp_path / "resumed") == logged(tmp_path / "whole")


def test_a_step_whose_loss_is_infinite_changes_nothing(setting, tmp_path, monkeypatch) -> None:
    """The weights are updated before the CPU knows the loss."""
    calls = iter(range(1, 1_000))

    def third_is_infinite(*arguments):
        loss = shard_loss(*arguments)
        return loss._replace(total=loss.total + float("inf")) if next(calls) == 3 else loss

    values = {**EXACT, "train.compile": "off", "train.max_steps": 4}
    monkeypatch.setattr(training_step, "shard_loss", third_is_infinite)
    reports = reports_of(setting, tmp_path / "model", GPU, **values)
    assert [report.step for report in reports] == [1, 2, 4]
    assert np.isfinite([report.loss for report in reports]).all()
    weights = torch.cat(
        [weight.flatten() for weight in last(tmp_path / "model").weights().values()]
    )
    assert torch.isfinite(weights).all()


@pytest.fixture
def _all_memory() -> Iterator[None]:
    yield
    torch.cuda.set_per_process_memory_fraction(1.0)


@pytest.mark.usefixtures("_all_memory")
@pytest.mark.parametrize("compiled", ["off", "auto"])
def test_batches_that_do_not_fit_into_memory_are_split(
    setting, tmp_path, monkeypatch, compiled
) -> None:
    values = {
        **EXACT, **WIDE, "train.batch_tokens": 12_000, "train.micro_batch_tokens": 12_000,
        "train.max_steps": 3, "train.compile": compiled,
    }  # fmt: skip
    splits = []

    def counted(*arguments, **options):
        result = take_step(*arguments, **options)
        splits.append(result.splits)
        return result

    monkeypatch.setattr(training_run, "take_step", counted)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    expected = losses_of(setting, tmp_path / "whole", GPU, **values)
    peak = torch.cuda.max_memory_reserved()
    torch.cuda.empty_cache()
    assert splits == [0, 0, 0]
    whole = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(0.7 * peak / whole)
    found = losses_of(setting, tmp_path / "split", GPU, **values)
    assert splits[3] > 0
    np.testing.assert_allclose(found, expected, rtol=1e-3)


@pytest.mark.parametrize("beam", [1, 4])
def test_the_words_are_those_of_the_cpu(model, beam) -> None:
    pairs = reversal_pairs(300, 3, 3, step=1)
    sources = [src for src, _ in pairs]
    texts = {}
    for device, precision in (("cpu", "float32"), ("cuda", "float32"), ("cuda", "bf16")):
        translator = Translator.load(model, device, precision=precision)
        translator.config = with_values(translator.config, {"search.beam": beam})
        found = [translation.text for translation in translator.translate(sources)]
        texts[device, precision] = found
    assert texts["cuda", "float32"] == texts["cpu", "float32"]
    right = np.mean(
        [text == tgt for text, (_, tgt) in zip(texts["cuda", "bf16"], pairs, strict=True)]
    )
    assert right > 0.9


def run_nmt(*arguments: object, **options) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "nmt_cli", *map(str, arguments)], capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"},
        **options,
    )  # fmt: skip


def test_the_commands_use_the_gpu(model, tmp_path) -> None:
    lines = [src for src, _ in reversal_pairs(20, 4, 3, step=1)]
    found = run_nmt(
        "translate", "--model", model, "--device", "cuda", "--json",
        input="".join(line + "\n" for line in lines),
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert len(found.stdout.splitlines()) == 20
    plain = run_nmt("translate", "--model", model, "-v", input="a b c\n")
    assert plain.returncode == 0, plain.stderr
    assert plain.stdout == "a b c\n"
    assert "CUDA graphs" in plain.stderr
    doctor = run_nmt("doctor")
    assert torch.cuda.get_device_name() in doctor.stdout + doctor.stderr
