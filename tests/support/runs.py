"""Training runs for tests: settings to vary, and whether two runs are equal to the last bit."""

import json
from pathlib import Path

import torch

from nmt_cli.config.schema import Config, with_values
from nmt_cli.data.corpus.batch_plan import Position
from nmt_cli.training.loop import train
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.run import Run
from nmt_cli.training.saving.checkpoints import Checkpoint, Checkpoints
from nmt_cli.training.saving.tensor_files import read_tensors
from nmt_cli.training.setup import complete, prepare_directory

VARIANTS: dict[str, dict[str, object]] = {
    "schedule_free": {"train.optimizer": "schedule_free", "train.schedule": "constant"},
    "muon": {"train.optimizer": "muon", "train.schedule": "wsd"},
    "ema": {"train.ema": 0.9, "train.schedule": "wsd"},
    "r_drop": {"train.r_drop": 5.0},
}


def settings_of(config: Config, name: str, **values: object) -> Config:
    """`config` with the settings of the variant `name`, and then `values`."""
    return with_values(config, {**VARIANTS[name], **values})


def go(config: Config, corpus, out: Path, stop_after: int = 0) -> list:
    """Train into `out`, stopping after so many steps (0: at the end); the reports."""
    steps = iter(range(1, 1_000))
    return list(train(config, corpus, out, stop=lambda: next(steps) > stop_after > 0))


def logged(out: Path) -> list[dict]:
    """The records of log.jsonl without the clock, and without the threads of their process."""
    records = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    clocked = (
        "seconds", "elapsed_seconds", "eta_seconds", "tokens_per_second", "gpu_time_flops",
        "peak_share", "threads",
    )  # fmt: skip
    return [{k: v for k, v in record.items() if k not in clocked} for record in records]


def last(out: Path) -> Checkpoint:
    """The newest checkpoint of the run in `out`."""
    return Checkpoints(out / "checkpoints", 5, 1).all()[-1]


def assert_same(result: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert result.keys() == expected.keys()
    for name, tensor in result.items():
        assert torch.equal(tensor, expected[name]), name


def assert_same_run(out: Path, other: Path) -> None:
    """Weights, optimiser, moving average and log, to the last bit."""
    assert_same_state(out, other)
    assert logged(out) == logged(other)


def assert_same_state(out: Path, other: Path) -> None:
    """Weights, optimiser and moving average of the last checkpoints, to the last bit."""
    assert_same(last(out).weights(), last(other).weights())
    mine, theirs = (last(run).optimizer_directory for run in (out, other))
    assert sorted(path.name for path in mine.iterdir()) == sorted(
        path.name for path in theirs.iterdir()
    )
    for file in mine.glob("*.safetensors"):
        assert_same(read_tensors(file), read_tensors(theirs / file.name))


def make_run(config: Config, corpus, out: Path) -> Run:
    """A run in `out` that has not taken a step."""
    config = complete(config, corpus)
    prepare_directory(config, corpus, out)
    return Run(config, corpus, out, Ranks())


def take_steps(run: Run, steps: int) -> None:
    """Take the first `steps` steps, without what the loop does between them."""
    for _, position in zip(range(steps), run.plan.positions(Position(0, 0)), strict=False):
        run.step(position)
