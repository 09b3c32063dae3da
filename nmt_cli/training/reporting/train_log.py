"""log.jsonl: one Report a line, for as far as the run is saved."""

import json
from pathlib import Path
from typing import Any

from nmt_cli.storage import files
from nmt_cli.training.saving.checkpoints import TrainState
from nmt_cli.training.saving.write_failures import FAILED, WriteFailures

NAME = "log.jsonl"
WHAT = "the log"


class TrainLog:
    """The log of one run; what a full disk does not take is kept until it does."""

    def __init__(self, out: Path, setbacks: WriteFailures) -> None:
        """out: the model directory."""
        self._path = out / NAME
        self._setbacks = setbacks
        self._waiting: list[str] = []

    def add(self, record: dict[str, Any]) -> None:
        """Write a line, after those that wait."""
        self._waiting.append(json.dumps(record))
        with self._setbacks.forgiving(WHAT, always=True):
            self._write()

    def sync(self) -> None:
        """See that a power cut leaves all lines: a checkpoint is saved that follows them."""
        with self._setbacks.forgiving(WHAT, always=True):
            self._write()
            files.sync_log(self._path)

    def _write(self) -> None:
        lines, self._waiting = self._waiting, []
        if not lines:
            return
        try:
            files.append_line(self._path, "\n".join(lines))
        except FAILED:
            self._waiting = lines
            raise

    def cut(self, state: TrainState) -> None:
        """Drop what an interrupted process wrote after the checkpoint that is resumed from.

        What it had told of the steps before, `state` forgets.
        """
        self._waiting.clear()
        if not self._path.exists():
            return
        kept = []
        for line in files.read_bytes(self._path).decode("utf-8", "replace").split("\n"):
            try:
                record = json.loads(line)
                if record["step"] > state.step:
                    continue
                kept.append(line)
                if record["step"] == state.step and (
                    record.get("learning_rate") or record["tokens"]
                ):
                    state.unreported = {}
                if record["step"] == state.step and "validation" in record:
                    state.validation = {}
            except (ValueError, KeyError, TypeError):
                continue
        files.write_text(self._path, "".join(line + "\n" for line in kept))
