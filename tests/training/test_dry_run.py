"""A dry run measures the run that training would begin or resume, and writes nothing."""

from pathlib import Path

import pytest
from corpora import reversal_corpus

from nmt_cli.config.schema import Config, with_values
from nmt_cli.data.corpus.batch_plan import Position
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.errors import ConfigError
from nmt_cli.plurals import counted
from nmt_cli.storage.files import sha256_of
from nmt_cli.training.dry_run import dry_run
from nmt_cli.training.loop import train
from nmt_cli.training.reporting.events import FirstStep, Outline, StepDone
from nmt_cli.training.reporting.monitor import Monitor

WRITTEN_NOTHING = "nothing was written; the same command without --dry-run"


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Corpus]:
    return reversal_corpus(tmp_path_factory.mktemp("dry"), train_seed=3)


def contents(folder: Path) -> dict[str, str]:
    """The hash of each file in a folder, by its path."""
    return {str(path): sha256_of(path) for path in folder.rglob("*") if path.is_file()}


def test_dry_run_of_a_new_run_takes_three_steps(
    setting: tuple[Config, Corpus], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, corpus = setting
    monkeypatch.setattr("nmt_cli.training.dry_run.peak_memory", lambda: 1_234_567_890)
    events: list[object] = []
    notes = dry_run(config, corpus, tmp_path / "m", listener=events.append)
    assert list(tmp_path.iterdir()) == []
    (outline,) = [event for event in events if isinstance(event, Outline)]
    steps = [event for event in events if isinstance(event, StepDone)]
    assert (outline.step, outline.pairs) == (0, len(corpus.train))
    assert [step.step for step in steps] == [1, 2, 3]
    assert steps[-1].seconds_left > 0
    assert notes == [
        "memory: 1.2 GB at the peak of 3 steps; validations may take more",
        f"{WRITTEN_NOTHING} begins the run",
    ]


@pytest.mark.parametrize(("days", "steps"), [(3, [1]), (1, [1, 2, 3])])
def test_dry_run_of_a_run_of_days_takes_one_step(
    setting: tuple[Config, Corpus],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    days: int,
    steps: list[int],
) -> None:
    config, corpus = setting
    begin = Monitor.begin_step

    def begin_step(self: Monitor, position: Position) -> None:
        begin(self, position)
        if not position.batch:
            self._listener(FirstStep(0, 60.0, days * 86_400.0))

    monkeypatch.setattr(Monitor, "begin_step", begin_step)
    events: list[object] = []
    notes = dry_run(config, corpus, tmp_path / "m", listener=events.append)
    assert [event.step for event in events if isinstance(event, StepDone)] == steps
    assert f"at the peak of {counted(len(steps), 'step')}" in notes[0]
    assert sum(isinstance(event, FirstStep) for event in events) == 1


def test_dry_run_of_a_resumed_run_takes_its_next_steps(
    setting: tuple[Config, Corpus], tmp_path: Path
) -> None:
    config, corpus = setting
    out = tmp_path / "m"
    for _ in train(with_values(config, {"train.max_steps": 6}), corpus, out):
        pass
    before = contents(out)
    notes = dry_run(with_values(config, {"train.max_steps": 6}), corpus, out)
    assert notes == ["already finished: 6 steps are done; a larger --max-steps continues the run"]
    events: list[object] = []
    more = with_values(config, {"train.max_steps": 8})
    notes = dry_run(more, corpus, out, listener=events.append)
    assert [event.step for event in events if isinstance(event, StepDone)] == [7, 8]
    assert notes[0] == "continues after step 6"
    assert notes[-1] == f"{WRITTEN_NOTHING} resumes the run"
    with pytest.raises(ConfigError, match=r"train\.seed was 3, now 4"):
        dry_run(with_values(config, {"train.seed": 4}), corpus, out)
    assert contents(out) == before
