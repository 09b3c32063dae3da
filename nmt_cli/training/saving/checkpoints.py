"""Checkpoints: what is kept of a run, how the old ones go, how the newest good one is found.

::

    checkpoints/
      step-000001500/            weights.safetensors, state.json, manifest.json
      step-000001500.optimizer/  optimizer.safetensors, ema.safetensors where there is a moving
                                 average, manifest.json; beside the newest only

Members are the checkpoints of the interval: averages, ranks and ways back from divergence know no
others. Those of an interruption, and of the clock (train.save_minutes), serve resuming.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor, nn

from nmt_cli.errors import ConfigError, DataError, NmtError
from nmt_cli.storage import files, manifest
from nmt_cli.training.ema import MovingAverage
from nmt_cli.training.optimizers.adam import Optimizer
from nmt_cli.training.saving.tensor_files import (
    OPTIMIZER,
    model_weights,
    optimizer_tensors,
    read_tensors,
)
from nmt_cli.training.saving.write_failures import WriteFailures

STEP = re.compile(r"step-(\d{9,})")
WEIGHTS = "weights.safetensors"
EMA = "ema.safetensors"
STATE = "state.json"
OPTIMIZER_ENDING = ".optimizer"
OPTIMIZERS_KEPT = 2
WHAT = "a checkpoint"


@dataclass
class TrainState:
    """Where a run stands, beside weights and optimiser.

    epoch, batch: the next batch; shards: V of the plan; packed: its kind; digest: of the corpus;
    scores: negative validation loss of each validated step's own weights; validated: the last
    validated step; published_score: of the best candidate so far; stale: validations since then;
    seconds: time of all steps; elapsed: with validations and all else; skipped: steps in a row
    without finite numbers; rollbacks: how often the learning rate was halved because of that;
    trend: the course of the loss; splits: shards that did not fit into memory; finished: why the
    run ended, or empty; unreported: sums of the steps that no report has told yet; validation: the
    last one, until a report has told it; published: what the model directory holds; member:
    whether averaging may use this checkpoint.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    shards: int = 1
    packed: bool = False
    digest: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    validated: int = 0
    stale: int = 0
    published_score: float | None = None
    seconds: float = 0.0
    elapsed: float = 0.0
    flops: float = 0.0
    peak_flops: float | None = 0.0
    skipped: int = 0
    rollbacks: int = 0
    trend: dict[str, float] = field(default_factory=dict)
    splits: int = 0
    finished: str = ""
    unreported: dict[str, float] = field(default_factory=dict)
    validation: dict[str, Any] = field(default_factory=dict)
    published: dict[str, Any] = field(default_factory=dict)
    member: bool = True

    def best_steps(self, count: int) -> list[int]:
        """The best-scored steps, best first."""
        ranked = sorted(self.scores, key=lambda step: (-self.scores[step], int(step)))
        return [int(step) for step in ranked[:count]]


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint on disk, checked."""

    directory: Path
    step: int

    @property
    def optimizer_directory(self) -> Path:
        """Where the optimiser's state lies, if it is still there."""
        return self.directory.with_name(self.directory.name + OPTIMIZER_ENDING)

    def problem(self) -> str:
        """What is wrong with its files; ConfigError: they are of a newer version of nmt."""
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
        """Where the run stood; DataError: a damaged file, ConfigError: of another version."""
        path = self.directory / STATE
        try:
            values = dict(json.loads(files.read_bytes(path)))
        except (ValueError, TypeError) as error:
            raise DataError(f"`{path}` is damaged") from error
        unknown = sorted(values.keys() - {one.name for one in fields(TrainState)})
        if unknown:
            raise ConfigError(
                f"`{path}` holds what this version of nmt does not know: {', '.join(unknown)}",
                "go on with the version of nmt that wrote it",
            )
        return TrainState(**values)


@dataclass(frozen=True)
class Snapshot:
    """Copies of all that a checkpoint holds, apart from the run that goes on."""

    state: TrainState
    weights: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    moving_average: dict[str, Tensor] | None

    @property
    def size(self) -> int:
        """Bytes that its tensors take on disk."""
        parts = (self.weights, self.optimizer, self.moving_average or {})
        return sum(one.nbytes for part in parts for one in part.values())


class Checkpoints:
    """The checkpoints of one run; everything but `save` waits until all are written.

    setbacks: saves that failed; the third in a row raises WriteError.
    """

    def __init__(self, directory: Path, keep_last: int, keep_best: int) -> None:
        self.directory = directory
        self.keep_last = keep_last
        self.keep_best = keep_best
        self.setbacks = WriteFailures(directory)
        self._writer = ThreadPoolExecutor(1, "checkpoints")
        self._written: Future[None] | None = None
        self._size = 0

    def settle(self) -> None:
        """Wait until what was saved is written; count what went wrong with that."""
        written, self._written = self._written, None
        if written is not None:
            with self.setbacks.forgiving(WHAT, self._size):
                written.result()

    def look(self) -> None:
        """Count what went wrong with writing, if that has come to an end."""
        if self._written is not None and self._written.done():
            self.settle()

    @property
    def has_failed(self) -> bool:
        """Whether what was saved last is not written."""
        self.settle()
        return self.setbacks.count(WHAT) > 0

    def all(self) -> list[Checkpoint]:
        """Every complete checkpoint, oldest first; ones without a manifest do not count."""
        self.settle()
        return self._complete()

    def exist(self) -> bool:
        """Whether there is any, be it incomplete."""
        return any(STEP.fullmatch(path.name) for path in self.directory.glob("step-*"))

    def _complete(self) -> list[Checkpoint]:
        found = []
        for path in self.directory.glob("step-*"):
            match = STEP.fullmatch(path.name)
            if match and (path / manifest.MANIFEST).is_file():
                found.append(Checkpoint(path, int(match[1])))
        return sorted(found, key=lambda one: one.step)

    def members(self) -> list[Checkpoint]:
        """The checkpoints that averaging may use, oldest first: not those of an interruption."""
        return [one for one in self.all() if one.state().member]

    def save(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        state: TrainState,
        *,
        member: bool,
        ema: MovingAverage | None = None,
    ) -> Checkpoint:
        """Copy a checkpoint, which a thread then writes before it lets the old ones go."""
        self.settle()
        state.member = member
        snapshot = Snapshot(
            deepcopy(state),
            model_weights(model, optimizer),
            optimizer_tensors(model, optimizer),
            ema.weights() if ema is not None else None,
        )
        self._size = snapshot.size
        self._written = self._writer.submit(self._write, snapshot)
        return self.at(state.step)

    def _write(self, snapshot: Snapshot) -> None:
        """Weights come last: they make it count."""
        target = self.at(snapshot.state.step)
        files.make_directory(self.directory)
        if self.setbacks.count(WHAT):
            self._rotate(snapshot.state, fewer=self.setbacks.count(WHAT))
        # One of an earlier run of this step is damaged, or was never whole.
        files.remove(target.directory)
        try:
            with manifest.replacing(target.optimizer_directory) as place:
                _write_tensors(place / OPTIMIZER, snapshot.optimizer)
                if snapshot.moving_average is not None:
                    _write_tensors(place / EMA, snapshot.moving_average)
            with manifest.replacing(target.directory) as place:
                _write_tensors(place / WEIGHTS, snapshot.weights)
                files.write_text(place / STATE, json.dumps(asdict(snapshot.state), indent=1))
        except BaseException:
            _remove(target.optimizer_directory)
            raise
        self._rotate(snapshot.state)

    def update(self, state: TrainState) -> None:
        """Write `state` into the checkpoint of its step, if there is one."""
        self.settle()
        directory = self.at(state.step).directory
        if directory.is_dir():
            manifest.add_to_manifest(directory, STATE, json.dumps(asdict(state), indent=1).encode())
        self._rotate(state)

    def _rotate(self, state: TrainState, fewer: int = 0) -> None:
        """Remove what need not be kept; `fewer`: so many of the last are given up for room."""
        everything = self._complete()
        members = [one.step for one in everything if _is_member(one)]
        keep, newest = kept_steps(
            [one.step for one in everything], members[min(fewer, len(members) - 1) :],
            state.best_steps(len(state.scores)), self.keep_last, self.keep_best,
        )  # fmt: skip
        for path in self.directory.glob(f"step-*{OPTIMIZER_ENDING}"):
            match = STEP.fullmatch(path.name.removesuffix(OPTIMIZER_ENDING))
            if match and int(match[1]) not in newest:
                _remove(path)
        for one in everything:
            if one.step not in keep:
                _remove(one.directory)

    def latest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest checkpoint that can be resumed from, and what is wrong with newer ones."""
        problems: list[str] = []
        return next(self.usable(problems), None), problems

    def usable(self, problems: list[str] | None = None) -> Iterator[Checkpoint]:
        """Those that can be resumed from, newest first; `problems` gets what others lack.

        Raises ConfigError for one of a newer version of nmt.
        """
        for one in reversed(self.all()):
            if not one.optimizer_directory.is_dir():
                continue
            problem = one.problem()
            if not problem:
                yield one
            elif problems is not None:
                problems.append(problem)

    def at(self, step: int) -> Checkpoint:
        """The checkpoint of `step`, whether there is one or not."""
        return Checkpoint(self.directory / f"step-{step:09d}", step)

    def remove_after(self, step: int) -> None:
        """Remove the checkpoints of later steps."""
        for one in self.all():
            if one.step > step:
                files.remove(one.directory)
                files.remove(one.optimizer_directory)


def _is_member(checkpoint: Checkpoint) -> bool:
    try:
        return checkpoint.state().member
    except NmtError:
        return False


def kept_steps(
    saved: Sequence[int], members: Sequence[int], ranked: Sequence[int], last: int, best: int
) -> tuple[set[int], set[int]]:
    """Which checkpoints stay, and beside which of them the optimiser's state does.

    saved: steps, oldest first; members: those of averaging; ranked: validated steps, best first.
    The `last` and the `best` members stay. The optimiser's state stays beside the newest two
    members, which do not depend on what else was saved, and beside the newest of all, two at least.

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
    """What cannot be removed now will be by the next rotation."""
    with contextlib.suppress(NmtError):
        files.remove(path)


def _write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    files.write_bytes(path, safetensors.torch.save(tensors))
