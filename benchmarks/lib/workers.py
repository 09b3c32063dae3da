"""A worker: a translator or a trainer in a process of its own, which answers in lines of JSON."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from lib.measure import Json

BENCHMARKS = Path(__file__).resolve().parents[1]


class Worker:
    """A running `decode_worker.py` or `cpu_worker.py`; first: what it said when it was ready."""

    def __init__(
        self,
        module: str,
        kind: str,
        folder: Path,
        settings: Json,
        threads: int,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Start `lib/<module>.py`, with more environment `variables`, and wait until it is ready.

        Raises RuntimeError when it ends instead.
        """
        self.kind = kind
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"lib.{module}", kind, str(folder), json.dumps(settings)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**environment_for_lib(), "OMP_NUM_THREADS": str(threads), **(variables or {})},
        )  # fmt: skip
        self.first = self._answer()

    def ask(self, order: str | Json) -> Json:
        """Send one order, a word or a document, and wait for its answer."""
        assert self.process.stdin is not None
        text = order if isinstance(order, str) else json.dumps(order)
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self._answer()

    def end(self) -> None:
        """Stop the process and wait until it is gone."""
        self.process.communicate()

    def _answer(self) -> Json:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker `{self.kind}` ended with {self.process.wait()}")
        answer: Json = json.loads(line)
        return answer


def environment_for_lib() -> dict[str, str]:
    """The environment variables of this process, with this folder where Python looks first."""
    known = os.environ.get("PYTHONPATH")
    paths = [str(BENCHMARKS), *([known] if known else [])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
