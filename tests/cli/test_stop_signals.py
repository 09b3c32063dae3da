"""The first signal decides how training ends: a scheduler may send others while it saves."""

import os
import signal
from collections.abc import Iterator

import pytest

from nmt_cli.cli.signals import EXIT_CODES, StopSignals


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Put the handlers of the test process back."""
    before = {number: signal.getsignal(number) for number in EXIT_CODES}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        (signal.SIGUSR1, signal.SIGTERM, 75),
        (signal.SIGTERM, signal.SIGUSR1, 143),
        (signal.SIGHUP, signal.SIGTERM, 129),
        (signal.SIGINT, signal.SIGTERM, 130),
    ],
)
def test_a_second_signal_does_not_replace_the_first(
    first: signal.Signals,
    second: signal.Signals,
    code: int,
    capfd: pytest.CaptureFixture[str],
) -> None:
    stop = StopSignals()
    stop.announces = True
    assert not stop()
    os.kill(os.getpid(), first)
    said = capfd.readouterr().err
    assert "stopping: the step in progress is finished and saved first" in said
    os.kill(os.getpid(), second)
    assert stop()
    assert (stop.received, stop.exit_code) == (first, code)
    assert capfd.readouterr().err == ""
