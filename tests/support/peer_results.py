"""Recorded results of the comparisons with other toolkits: tests/peers/results.json."""

import json
import platform
from pathlib import Path
from typing import Protocol

RESULTS = Path(__file__).parents[1] / "peers" / "results.json"


class Record(Protocol):
    """Keeps facts of the running test in RESULTS; called before the assertions."""

    def __call__(self, **facts: object) -> None: ...


def keep(test: str, facts: dict[str, object]) -> None:
    """Write the facts of `test`, with the versions it ran with, beside those of the others."""
    import torch

    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    results[test] = {**facts, **versions}
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
