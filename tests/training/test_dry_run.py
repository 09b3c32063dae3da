"""A dry run measures the run that training would begin or resume, and writes nothing."""

from pathlib import Path

import pytest
from corpora import reversal_corpus

from nmt_cli.config.schema import Config, with_values
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.errors import ConfigError
from nmt_cli.storage.files import sha256_of
from nmt_cli.storage.locks import locked
from nmt_cli.training import step
from nmt_cli.training.dry_run import dry_run
from nmt_cli.training.loop import train
from nmt_cli.training.reporting.events import FirstStep, Outline, StepDone

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


@pytest.mark.parametrize(("longest", "steps"), [(0.0, []), (86_400.0, [1, 2, 3])])
@pytest.mark.parametrize("threads", [1, 2])
def test_dry_run_of_a_run_of_days_ends_within_the_first_step(
    setting: tuple[Config, Corpus],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    threads: int,
    longest: float,
    steps: list[int],
) -> None:
    """Each thread computes at most the shard at which it learns of it, and one more."""
    monkeypatch.setattr("torch.get_num_threads", lambda: threads)
    monkeypatch.setattr("torch.set_num_threads", lambda count: None)
    monkeypatch.setattr("nmt_cli.training.dry_run.LONGEST", longest)
    computed: list[object] = []
    shard_loss = step.shard_loss
    monkeypatch.setattr(step, "shard_loss", lambda *given: computed.append(1) or shard_loss(*given))
    config, corpus = setting
    small = {"train.batch_tokens": 1200, "train.micro_batch_tokens": 100}
    config = with_values(config, {**small, "train.parallel_shards": threads})
    events: list[object] = []
    notes = dry_run(config, corpus, tmp_path / "m", listener=events.append)
    assert sum(isinstance(event, FirstStep) for event in events) == 1
    assert [event.step for event in events if isinstance(event, StepDone)] == steps
    if steps:
        assert "at the peak of 3 steps; validations may take more" in notes[0]
        assert len(computed) > 12
    else:
        assert "at the peak of part of the first step; a whole step takes more" in notes[0]
        assert threads <= len(computed) <= 2 * threads
    assert list(tmp_path.iterdir()) == []


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
    with locked(out):
        notes = dry_run(more, corpus, out)
    assert notes[-1].startswith(f"nothing was written; `{out}` is in use by process ")
    assert notes[-1].endswith("resumes the run when that process has ended")
    with pytest.raises(ConfigError, match=r"train\.seed was 3, now 4"):
        dry_run(with_values(config, {"train.seed": 4}), corpus, out)
    assert contents(out) == before
