"""The log of a run, log.jsonl: one Report per line."""

import json
from pathlib import Path
from typing import Any

from nmt_cli.storage import files
from nmt_cli.storage.output_directory import LOG
from nmt_cli.training.saving.write_failures import FAILED, WriteFailures
from nmt_cli.training.state import TrainState

WHAT = "the log"


class TrainLog:
    """The log of one run; lines that cannot be written, as on a full disk, are kept and retried."""

    def __init__(self, out: Path, write_failures: WriteFailures) -> None:
        """out: the model directory."""
        self._path = out / LOG
        self._write_failures = write_failures
        self._pending: list[str] = []

    def add(self, record: dict[str, Any]) -> None:
        """Write a line, after those that could not be written before."""
        self._pending.append(json.dumps(record))
        with self._write_failures.tolerate(WHAT, always=True):
            self._write()

    def sync(self) -> None:
        """Write all lines to the disk, so that a checkpoint saved next never precedes them."""
        with self._write_failures.tolerate(WHAT, always=True):
            self._write()
            files.sync_log(self._path)

    def _write(self) -> None:
        lines, self._pending = self._pending, []
        if not lines:
            return
        try:
            files.append_line(self._path, "\n".join(lines))
        except FAILED:
            self._pending = lines
            raise

    def drop_after(self, state: TrainState) -> None:
        """Remove the lines after the step of `state`, the checkpoint that is resumed from.

        What the remaining lines contain of that step is marked as reported in `state`.
        """
        self._pending.clear()
        if not self._path.exists():
            return
        kept = []
        for line in files.read_bytes(self._path).decode("utf-8", "replace").split("\n"):
            try:
                record = json.loads(line)
                # A run that is not yet saved validates again before its first step.
                is_again = not state.step and not state.scores and "validation" in record
                if record["step"] > state.step or is_again:
                    continue
                kept.append(line)
                if record["step"] == state.step and (
                    record.get("learning_rate") or record["tokens"]
                ):
                    state.mark_steps_reported()
                if record["step"] == state.step and "validation" in record:
                    state.mark_validation_reported()
            except (ValueError, KeyError, TypeError):
                continue
        files.write_text(self._path, "".join(line + "\n" for line in kept))
