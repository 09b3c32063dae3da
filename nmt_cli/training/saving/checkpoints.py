"""Checkpoints: how they are written and rotated, and how the newest valid one is found.

::

    checkpoints/
      step-000001500/            weights.safetensors, state.json, manifest.json
      step-000001500.optimizer/  optimizer.safetensors, ema.safetensors where there is a moving
                                 average, manifest.json; beside the newest only
      start/                     weights.safetensors, manifest.json: those that fine-tuning began
                                 with, which the end of the run compares with the best ones

Members are the checkpoints of the interval (train.checkpoint_every): only these are averaged,
ranked and returned to after divergence. Checkpoints of an interruption and of the clock
(train.save_minutes) only serve to resume the run.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import safetensors.torch
from torch import Tensor, nn

from nmt_cli.errors import ConfigError, DataError, NmtError, WriteError
from nmt_cli.storage import files, manifest
from nmt_cli.training.optimizers.adam import Optimizer
from nmt_cli.training.optimizers.ema import MovingAverage
from nmt_cli.training.saving.tensor_files import (
    OPTIMIZER,
    model_weights,
    optimizer_tensors,
    read_tensors,
)
from nmt_cli.training.saving.write_failures import WriteFailures
from nmt_cli.training.state import TrainState

STEP = re.compile(r"step-(\d{9,})")
WEIGHTS = "weights.safetensors"
EMA = "ema.safetensors"
START = "start"
STATE = "state.json"
OPTIMIZER_ENDING = ".optimizer"
OPTIMIZERS_KEPT = 2
WHAT = "a checkpoint"


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint on disk."""

    directory: Path
    step: int

    @property
    def optimizer_directory(self) -> Path:
        """Where the optimiser's state is, if it is still kept."""
        return self.directory.with_name(self.directory.name + OPTIMIZER_ENDING)

    def problem(self) -> str:
        """What is wrong with its files, or ""; raises ConfigError for a newer version of nmt."""
        try:
            manifest.check_manifest(self.directory)
            if self.optimizer_directory.is_dir():
                manifest.check_manifest(self.optimizer_directory)
            self.state()
        except ConfigError:
            raise
        except NmtError as error:
            return error.message
        return ""

    def weights(self) -> dict[str, Tensor]:
        """The weights by name; raises DataError for a damaged file."""
        return read_tensors(self.directory / WEIGHTS)

    def moving_average(self) -> dict[str, Tensor]:
        """The moving average of the weights by name; raises DataError for a damaged file."""
        return read_tensors(self.optimizer_directory / EMA)

    def state(self) -> TrainState:
        """The saved state; DataError for a damaged file, ConfigError for one of a newer nmt."""
        path = self.directory / STATE
        try:
            values = dict(json.loads(files.read_bytes(path)))
        except (ValueError, TypeError) as error:
            raise DataError(f"`{path}` is damaged") from error
        unknown = sorted(values.keys() - {known.name for known in fields(TrainState)})
        if unknown:
            raise ConfigError(
                f"`{path}` has entries that this version of nmt does not know: "
                f"{', '.join(unknown)}",
                "resume with the version of nmt that wrote it",
            )
        return TrainState(**values)


@dataclass(frozen=True)
class Snapshot:
    """Copies of all that a checkpoint holds, which the continuing run does not change."""

    state: TrainState
    weights: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    moving_average: dict[str, Tensor] | None

    @property
    def size(self) -> int:
        """Bytes that its tensors take on disk."""
        groups = (self.weights, self.optimizer, self.moving_average or {})
        return sum(tensor.nbytes for tensors in groups for tensor in tensors.values())


class Checkpoints:
    """The checkpoints of one run, written by a thread; all methods but `save` wait for it.

    write_failures: saves that failed; the third in a row raises WriteError.
    """

    def __init__(self, directory: Path, keep_last: int, keep_best: int) -> None:
        self.directory = directory
        self.keep_last = keep_last
        self.keep_best = keep_best
        self.write_failures = WriteFailures(directory)
        self._writer = ThreadPoolExecutor(1, "checkpoints")
        self._pending_write: Future[None] | None = None
        self._size = 0

    def flush(self) -> None:
        """Wait until the last checkpoint is written; count it if that failed."""
        pending, self._pending_write = self._pending_write, None
        if pending is not None:
            with self.write_failures.tolerate(WHAT, self._size):
                pending.result()

    def poll(self) -> None:
        """As `flush` if the last checkpoint is written already; else do not wait."""
        if self._pending_write is not None and self._pending_write.done():
            self.flush()

    @property
    def has_failed(self) -> bool:
        """Whether writing the last checkpoint failed."""
        self.flush()
        return self.write_failures.count(WHAT) > 0

    def all(self) -> list[Checkpoint]:
        """Every complete checkpoint, oldest first; those without a manifest are incomplete."""
        self.flush()
        return self._complete()

    def exist(self) -> bool:
        """Whether there is a checkpoint, even an incomplete one."""
        return any(STEP.fullmatch(path.name) for path in self.directory.glob("step-*"))

    def _complete(self) -> list[Checkpoint]:
        complete = []
        for path in self.directory.glob("step-*"):
            match = STEP.fullmatch(path.name)
            if match and (path / manifest.MANIFEST).is_file():
                complete.append(Checkpoint(path, int(match[1])))
        return sorted(complete, key=lambda checkpoint: checkpoint.step)

    def members(self) -> list[Checkpoint]:
        """The checkpoints that averaging may use, oldest first: not those of an interruption."""
        return [checkpoint for checkpoint in self.all() if checkpoint.state().member]

    def save(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        state: TrainState,
        *,
        member: bool,
        ema: MovingAverage | None = None,
    ) -> Checkpoint:
        """Copy all that a checkpoint holds; a thread writes it and then removes old checkpoints.

        member: whether averaging may use it.
        """
        self.flush()
        state.mark_saved(member=member)
        snapshot = Snapshot(
            deepcopy(state),
            model_weights(model, optimizer),
            optimizer_tensors(model, optimizer),
            ema.weights() if ema is not None else None,
        )
        self._size = snapshot.size
        self._pending_write = self._writer.submit(self._write, snapshot)
        return self.at(state.step)

    def _write(self, snapshot: Snapshot) -> None:
        """Write a checkpoint; the weights come last, as they make it a complete one."""
        target = self.at(snapshot.state.step)
        if not self.directory.parent.is_dir():
            # It is not made again: the rest of it would be missing.
            raise WriteError(f"`{self.directory.parent}` is not there any more")
        files.make_directory(self.directory)
        if self.write_failures.count(WHAT):
            self._rotate(snapshot.state, fewer=self.write_failures.count(WHAT))
        # A checkpoint of this step that an earlier process left is damaged or incomplete.
        files.remove(target.directory)
        try:
            with manifest.replacing(target.optimizer_directory) as directory:
                _write_tensors(directory / OPTIMIZER, snapshot.optimizer)
                if snapshot.moving_average is not None:
                    _write_tensors(directory / EMA, snapshot.moving_average)
            with manifest.replacing(target.directory) as directory:
                _write_tensors(directory / WEIGHTS, snapshot.weights)
                files.write_text(directory / STATE, json.dumps(asdict(snapshot.state), indent=1))
        except BaseException:
            _remove(target.optimizer_directory)
            raise
        self._rotate(snapshot.state)

    def update(self, state: TrainState) -> None:
        """Replace the state in the checkpoint of its step, if there is one."""
        self.flush()
        directory = self.at(state.step).directory
        if directory.is_dir():
            manifest.add_to_manifest(directory, STATE, json.dumps(asdict(state), indent=1).encode())
        self._rotate(state)

    def _rotate(self, state: TrainState, fewer: int = 0) -> None:
        """Remove checkpoints that need not be kept.

        fewer: this many of the oldest members are not counted as members, to make room.
        """
        checkpoints = self._complete()
        steps = [checkpoint.step for checkpoint in checkpoints]
        members = [checkpoint.step for checkpoint in checkpoints if _is_member(checkpoint)]
        keep, newest = kept_steps(
            steps, members[min(fewer, len(members) - 1) :],
            state.best_steps(len(state.scores)), self.keep_last, self.keep_best,
        )  # fmt: skip
        for path in self.directory.glob(f"step-*{OPTIMIZER_ENDING}"):
            match = STEP.fullmatch(path.name.removesuffix(OPTIMIZER_ENDING))
            if match and int(match[1]) not in newest:
                _remove(path)
        for checkpoint in checkpoints:
            if checkpoint.step not in keep:
                _remove(checkpoint.directory)

    def save_start(self, weights: dict[str, Tensor]) -> None:
        """Keep the weights that fine-tuning began with, whose model may change or be deleted.

        If that fails, only the comparison at the end of the run lacks them.
        """
        with contextlib.suppress(NmtError):
            files.make_directory(self.directory)
            with manifest.replacing(self.directory / START) as directory:
                _write_tensors(directory / WEIGHTS, weights)

    def start_weights(self) -> dict[str, Tensor] | None:
        """The weights that fine-tuning began with, if they are there and not damaged."""
        directory = self.directory / START
        try:
            manifest.check_manifest(directory)
            return read_tensors(directory / WEIGHTS)
        except NmtError:
            return None

    def latest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest checkpoint that can be resumed from, and what is wrong with newer ones."""
        problems: list[str] = []
        return next(self.usable(problems), None), problems

    def usable(self, problems: list[str] | None = None) -> Iterator[Checkpoint]:
        """The checkpoints that can be resumed from, newest first.

        problems: a list to which the problems of the other ones are added. Raises ConfigError for
        a checkpoint of a newer version of nmt.
        """
        for checkpoint in reversed(self.all()):
            if not checkpoint.optimizer_directory.is_dir():
                continue
            problem = checkpoint.problem()
            if not problem:
                yield checkpoint
            elif problems is not None:
                problems.append(problem)

    def at(self, step: int) -> Checkpoint:
        """The checkpoint of `step`, whether there is one or not."""
        return Checkpoint(self.directory / f"step-{step:09d}", step)

    def remove_after(self, step: int) -> None:
        """Remove the checkpoints of later steps."""
        for checkpoint in self.all():
            if checkpoint.step > step:
                files.remove(checkpoint.directory)
                files.remove(checkpoint.optimizer_directory)


def _is_member(checkpoint: Checkpoint) -> bool:
    try:
        return checkpoint.state().member
    except NmtError:
        return False


def kept_steps(
    saved: Sequence[int], members: Sequence[int], ranked: Sequence[int], last: int, best: int
) -> tuple[set[int], set[int]]:
    """The steps whose checkpoints are kept, and those whose optimiser's state is kept too.

    saved: steps, oldest first; members: those that averaging may use; ranked: validated steps, best
    first. The `last` and the `best` members are kept. The optimiser's state is kept beside the
    newest two members, which do not depend on what else was saved, and beside the newest checkpoint
    of all; at least beside two.

    >>> kept_steps([2, 4, 6, 8], [2, 4, 6, 8], [9, 2, 4], last=1, best=1)
    ({8, 2, 6}, {8, 6})
    >>> kept_steps([2, 4, 5, 6], [2, 4], [], last=1, best=1)
    ({2, 4, 6}, {2, 4, 6})
    """
    newest = {*members[-OPTIMIZERS_KEPT:], *saved[-1:]}
    if len(newest) < OPTIMIZERS_KEPT:
        newest.update(saved[-OPTIMIZERS_KEPT:])
    good = [step for step in ranked if step in members][:best]
    return newest | set(members[-last:]) | set(good), newest


def _remove(path: Path) -> None:
    """Remove a directory; if that fails, the next rotation tries again."""
    with contextlib.suppress(NmtError):
        files.remove(path)


def _write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    files.write_bytes(path, safetensors.torch.save(tensors))
