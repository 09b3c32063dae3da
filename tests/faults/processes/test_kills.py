"""A run that is killed again and again is, to the last bit, the run that nothing happened to."""

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from corpora import reversal_corpus
from faults.support.forked import start
from faults.tally import fault
from runs import assert_same_run

from nmt_cli.config.schema import with_values
from nmt_cli.storage import files
from nmt_cli.training.loop import train
from nmt_cli.training.saving.checkpoints import Checkpoints

KILLS = 20
SEED = 7
LOOK = os.WEXITED | os.WNOHANG | os.WNOWAIT


def seconds_used(process: int) -> float:
    """CPU time of a process, in steps of 10 ms: what other processes take does not count."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def kill_after(seconds: float, process: int) -> None:
    """Kill a process after so much work; it must be at it until then."""
    while seconds_used(process) < seconds and not os.waitid(os.P_PID, process, LOOK):
        time.sleep(0.001)
    os.kill(process, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL


def step_saved(out: Path) -> int:
    """The step that a run would go on from."""
    latest, _ = Checkpoints(out / "checkpoints", 2, 1).latest()
    return latest.step if latest else 0


@pytest.mark.slow
@pytest.mark.timeout(900)
@fault("R1", "C10")
def test_training_survives_twenty_random_kills(tmp_path: Path, checks: Callable[..., None]) -> None:
    """Dropout and a moving average are on; epochs, checkpoints and validations are short.

    How far the run comes depends on the machine: where it ends is decided after the last kill.
    """
    random = np.random.default_rng(SEED)
    config, corpus = reversal_corpus(
        tmp_path, train_checkpoint_every=4, train_validate_every=8, train_log_every=3,
        train_ema=0.9, train_batch_tokens=200, train_micro_batch_tokens=100, train_keep_last=2,
    )  # fmt: skip

    def go(out: Path, steps: int) -> None:
        for _ in train(with_values(config, {"train.max_steps": steps}), corpus, out):
            pass

    go(tmp_path / "warm", 1)
    begun = time.process_time()
    go(tmp_path / "pace", 8)
    longest = 1.5 * (time.process_time() - begun)
    out, moments, reached = tmp_path / "killed", random.uniform(0.0, longest, KILLS), []
    for moment in moments:
        kill_after(moment, start(lambda: go(out, 1_000_000)))
        reached.append(step_saved(out))
    print(f"seed {SEED}; killed after {moments.round(3)} s, at checkpoints {reached}")
    assert len(set(reached)) > 3
    end = reached[-1] + 10
    go(out, end)
    go(tmp_path / "straight", end)
    assert_same_run(out, tmp_path / "straight")
    checks(KILLS)


@fault("R1")
@pytest.mark.parametrize(
    ("line", "steps"),
    [
        pytest.param("before", 16, id="before, at its interval"),
        pytest.param("before", 18, marks=pytest.mark.slow, id="before, at the end"),
        pytest.param("after", 16, marks=pytest.mark.slow, id="after, at its interval"),
        pytest.param("after", 18, marks=pytest.mark.slow, id="after, at the end"),
    ],
)
def test_validation_is_reported_once_after_kills(steps, line, tmp_path, monkeypatch) -> None:
    """Each validation's line is lost, or written and not remembered, when the process dies."""
    config, corpus = reversal_corpus(
        tmp_path, train_checkpoint_every=4, train_validate_every=8, train_log_every=3,
        train_max_steps=steps,
    )  # fmt: skip
    append, reported = files.append_line, set()

    def die(path: Path, text: str) -> None:
        step = json.loads(text)["step"]
        if '"validation"' not in text or step in reported:
            return append(path, text)
        reported.add(step)
        if line == "after":
            append(path, text)
        raise RuntimeError("died")

    with monkeypatch.context() as patch:
        patch.setattr(files, "append_line", die)
        while step_saved(tmp_path / "killed") < steps or len(reported) < steps // 8 + bool(
            steps % 8
        ):
            with suppress(RuntimeError):
                for _ in train(config, corpus, tmp_path / "killed"):
                    pass
    for _ in train(config, corpus, tmp_path / "killed"):
        pass
    for _ in train(config, corpus, tmp_path / "straight"):
        pass
    assert reported == set(range(8, steps + 1, 8)) | {steps}
    assert validations(tmp_path / "killed") == validations(tmp_path / "straight")


def validations(out: Path) -> list[tuple[int, dict]]:
    """What the log tells of validations, by step."""
    records = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [(record["step"], record["validation"]) for record in records if "validation" in record]
