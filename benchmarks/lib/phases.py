"""Phases of a benchmark on a borrowed machine: each has its time, and none spoils another."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from lib.measure import Json, Results, say, time_limit

# What is left to write the last results and to end.
RESERVE_SECONDS = 5.0


class Phase(NamedTuple):
    """A part of a benchmark: `run` puts what it finds into a dict, in at most `seconds`."""

    name: str
    seconds: float
    run: Callable[[Any, Json], None]


def run_phases(
    setup: Any,
    results: Results,
    phases: Sequence[Phase],
    budget_seconds: float,
    make_cases: Callable[[dict[str, Json]], list[Json]],
) -> None:
    """One after the other while there is time; each leaves what it found, even if it fails.

    setup: what `run` is given first; has a `device`. make_cases: of what all phases found.
    """
    deadline = time.monotonic() + budget_seconds - RESERVE_SECONDS
    for phase in phases:
        left = deadline - time.monotonic()
        if left < 1:
            results.phases[phase.name] = {"status": "skipped", "error": "the budget is spent"}
            continue
        say(f"{phase.name} ({left:.0f} s left)")
        facts: Json = {}
        results.phases[phase.name] = facts
        begun = time.monotonic()
        try:
            with time_limit(min(left, phase.seconds)):
                phase.run(setup, facts)
            facts["status"] = "done"
        except Exception as error:
            facts["status"] = "cut" if isinstance(error, TimeoutError) else "failed"
            facts["error"] = f"{type(error).__name__}: {error}"[:2_000]
            say(f"  {facts['error']}")
        facts["took_seconds"] = time.monotonic() - begun
        torch._dynamo.reset()
        if setup.device.type == "cuda":
            torch.cuda.empty_cache()
        results.cases = make_cases(results.phases)
        results.save()
