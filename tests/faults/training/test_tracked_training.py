"""Trackers that hang, raise, end the process or are missing: training is that without them."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from corpora import reversal_corpus
from faults.tally import fault
from runs import assert_same_run

from nmt_cli.cli.commands.train import _tracking
from nmt_cli.errors import UnavailableError
from nmt_cli.extras.tracking import adapters, tracker_thread
from nmt_cli.extras.tracking.adapters import TRACKERS, TrackedRun, TrackerKind, parse_trackers
from nmt_cli.extras.tracking.tracker_thread import TrackerThread
from nmt_cli.terminal.console import Console
from nmt_cli.training.loop import train

STEPS, WAIT_SECONDS = 6, 60.0


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return reversal_corpus(
        tmp_path_factory.mktemp("tracked"), train_batch_tokens=100, train_max_steps=STEPS,
        train_checkpoint_every=2, train_log_every=1, train_validation_sentences=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def untracked(setting: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(setting, tmp_path_factory.mktemp("untracked") / "m", {})


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """An event that comes when the test is over."""
    event = threading.Event()
    yield event
    event.set()


def trained(setting: Any, out: Path, targets: dict[str, str]) -> Path:
    """The model directory of a run that is tracked as `nmt train --track` does."""
    config, corpus = setting
    with _tracking(config, targets, Console(sys.stderr)) as send:
        for report in train(config, corpus, out):
            send(report)
    return out


class Tracker:
    """Does `act` in each call."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act

    def values(self, step: int, values: object) -> None:
        self._act()

    def text(self, step: int, name: str, text: str) -> None:
        self._act()

    def close(self) -> None:
        self._act()


def use_tracker(patch: pytest.MonkeyPatch, make: Callable[[TrackedRun], Tracker]) -> None:
    patch.setattr(adapters, "TRACKERS", {"bad": TrackerKind(make, "json")})
    patch.setattr(tracker_thread, "CLOSING_SECONDS", 0.2)
    patch.setattr(TrackerThread.__init__, "__kwdefaults__", {
        "closing_seconds": 0.2, "most_waiting": 3,
    })  # fmt: skip


@fault("E7")
@pytest.mark.parametrize("hangs", ["when it is made", "in each call"])
def test_training_does_not_wait_for_a_tracker(
    setting, untracked, tmp_path, monkeypatch, capfd, never, hangs
):
    """It hangs for longer than the test may take; log, weights and optimiser are the same."""

    def wait() -> None:
        never.wait(WAIT_SECONDS)

    def make(_: TrackedRun) -> Tracker:
        if hangs == "when it is made":
            wait()
        return Tracker(wait)

    use_tracker(monkeypatch, make)
    began = time.monotonic()
    out = trained(setting, tmp_path / "m", {"bad": ""})
    assert time.monotonic() - began < WAIT_SECONDS / 2
    assert_same_run(out, untracked)
    assert "--track bad: it is too slow" in capfd.readouterr().err


@fault("E7")
@pytest.mark.parametrize("error", [ValueError("no server"), SystemExit(1), KeyboardInterrupt()])
@pytest.mark.parametrize("raises", ["when it is made", "in each call"])
def test_training_goes_on_after_an_error_of_a_tracker(
    setting, untracked, tmp_path, monkeypatch, capfd, raises, error
):
    def fail() -> None:
        raise error

    def make(_: TrackedRun) -> Tracker:
        if raises == "when it is made":
            fail()
        return Tracker(fail)

    use_tracker(monkeypatch, make)
    out = trained(setting, tmp_path / "m", {"bad": ""})
    assert_same_run(out, untracked)
    warnings = capfd.readouterr().err
    assert warnings.count("--track bad failed and gets nothing more") == 1
    assert type(error).__name__ in warnings


@fault("E7")
def test_missing_tracker_is_refused_before_training(monkeypatch, checks):
    """Its library is not there: said at once, with the command that installs it."""
    monkeypatch.setattr(adapters, "find_spec", lambda name: None)
    for name in TRACKERS:
        with pytest.raises(UnavailableError, match="needs the library") as caught:
            parse_trackers([name])
        assert f"[{name}]" in caught.value.hint
        checks()


@fault("E7")
def test_library_that_breaks_when_it_is_imported_costs_no_training(
    setting, untracked, tmp_path, monkeypatch, capfd
):
    """It is found but cannot be imported, as after an incomplete installation."""

    def make(_: TrackedRun) -> Tracker:
        import nmt_no_such_library  # noqa: F401

        return Tracker(lambda: None)

    use_tracker(monkeypatch, make)
    out = trained(setting, tmp_path / "m", {"bad": ""})
    assert_same_run(out, untracked)
    assert "nmt_no_such_library" in capfd.readouterr().err
