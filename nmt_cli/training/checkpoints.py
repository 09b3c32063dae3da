"""Checkpoints: what is kept of a run, how the old ones go, how the newest good one is found.

::

    checkpoints/
      step-000001500/            weights.safetensors, state.json, manifest.json
      step-000001500.optimizer/  optimizer.safetensors, ema.safetensors where there is a moving
                                 average, manifest.json; beside the newest two only
"""

import json
import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor, nn

from nmt_cli import files, manifest
from nmt_cli.errors import DataError, NmtError
from nmt_cli.training.adam import Optimizer
from nmt_cli.training.ema import MovingAverage
from nmt_cli.training.tensors import OPTIMIZER, optimizer_tensors, read_tensors, weights_of

STEP = re.compile(r"step-(\d{9,})")
WEIGHTS = "weights.safetensors"
EMA = "ema.safetensors"
STATE = "state.json"
OPTIMIZERS_KEPT = 2


@dataclass
class State:
    """Where a run stands, beside weights and optimiser.

    epoch, batch: the next batch; shards: V of the plan; packed: its kind; digest: of the corpus;
    scores: negative validation loss of each validated step's own weights; validated: the last
    validated step; published_score: of the best candidate so far; stale: validations since then;
    seconds: time trained; skipped: steps in a row without finite numbers; rollbacks: how often the
    learning rate was halved because of that; splits: shards that did not fit into memory; finished:
    why the run ended, or empty; unreported: sums of the steps that no report has told yet;
    validation: the last one, until a report has told it; member: whether averaging may use this
    checkpoint.
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
    flops: float = 0.0
    peak_flops: float | None = 0.0
    skipped: int = 0
    rollbacks: int = 0
    splits: int = 0
    finished: str = ""
    unreported: dict[str, float] = field(default_factory=dict)
    validation: dict[str, Any] = field(default_factory=dict)
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
        return self.directory.with_name(self.directory.name + ".optimizer")

    def weights(self) -> dict[str, Tensor]:
        """The weights by name; raises DataError for a damaged file."""
        return read_tensors(self.directory / WEIGHTS)

    def moving_average(self) -> dict[str, Tensor]:
        """The moving average of the weights by name; raises DataError for a damaged file."""
        return read_tensors(self.optimizer_directory / EMA)

    def state(self) -> State:
        """Where the run stood; raises DataError for a damaged file."""
        try:
            return State(**json.loads(files.read_bytes(self.directory / STATE)))
        except (ValueError, TypeError) as error:
            raise DataError(f"`{self.directory / STATE}` is damaged") from error


@dataclass(frozen=True)
class Snapshot:
    """Copies of all that a checkpoint holds, apart from the run that goes on."""

    state: State
    weights: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    moving_average: dict[str, Tensor] | None


class Checkpoints:
    """The checkpoints of one run; everything but `save` waits until all are written."""

    def __init__(self, directory: Path, keep_last: int, keep_best: int) -> None:
        self.directory = directory
        self.keep_last = keep_last
        self.keep_best = keep_best
        self._writer = ThreadPoolExecutor(1, "checkpoints")
        self._written: Future[None] | None = None

    def settle(self) -> None:
        """Wait until what was saved is written; raises what went wrong with that."""
        written, self._written = self._written, None
        if written is not None:
            written.result()

    def look(self) -> None:
        """Raise what went wrong with writing, if that has come to an end."""
        if self._written is not None and self._written.done():
            self.settle()

    def all(self) -> list[Checkpoint]:
        """Every complete checkpoint, oldest first; ones without a manifest do not count."""
        self.settle()
        return self._complete()

    def _complete(self) -> list[Checkpoint]:
        found = []
        for path in self.directory.glob("step-*"):
            match = STEP.fullmatch(path.name)
            if match and (path / manifest.MANIFEST).is_file():
                found.append(Checkpoint(path, int(match[1])))
        return sorted(found, key=lambda one: one.step)

    def members(self) -> list[Checkpoint]:
        """The checkpoints that averaging may use, oldest first: not those of an interruption."""
        return _members(self.all())

    def save(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        state: State,
        *,
        member: bool,
        ema: MovingAverage | None = None,
    ) -> Checkpoint:
        """Copy a checkpoint, which a thread then writes before it lets the old ones go."""
        self.settle()
        state.member = member
        snapshot = Snapshot(
            deepcopy(state),
            weights_of(model, optimizer),
            optimizer_tensors(model, optimizer),
            ema.weights() if ema is not None else None,
        )
        self._written = self._writer.submit(self._write, snapshot)
        return self.at(state.step)

    def _write(self, snapshot: Snapshot) -> None:
        """Weights come last: they make it count."""
        target = self.at(snapshot.state.step)
        files.make_directory(self.directory)
        with manifest.new_directory(target.optimizer_directory, force=True) as place:
            _write_tensors(place / OPTIMIZER, snapshot.optimizer)
            if snapshot.moving_average is not None:
                _write_tensors(place / EMA, snapshot.moving_average)
        with manifest.new_directory(target.directory, force=True) as place:
            _write_tensors(place / WEIGHTS, snapshot.weights)
            files.write_text(place / STATE, json.dumps(asdict(snapshot.state), indent=1))
        self._rotate(snapshot.state)

    def update(self, state: State) -> None:
        """Write `state` into the checkpoint of its step, if there is one."""
        self.settle()
        directory = self.at(state.step).directory
        if directory.is_dir():
            manifest.add_to_manifest(directory, STATE, json.dumps(asdict(state), indent=1).encode())
        self._rotate(state)

    def _rotate(self, state: State) -> None:
        """Keep the last, the best and the newest; optimiser state beside the newest two."""
        everything = self._complete()
        keep = {one.step for one in _members(everything)[-self.keep_last :]}
        newest = {one.step for one in everything[-OPTIMIZERS_KEPT:]}
        keep |= newest | set(state.best_steps(self.keep_best))
        for one in everything:
            if one.step not in newest:
                files.remove(one.optimizer_directory)
            if one.step not in keep:
                files.remove(one.directory)

    def latest(self) -> tuple[Checkpoint | None, list[str]]:
        """The newest checkpoint that can be resumed from, and what is wrong with newer ones."""
        problems: list[str] = []
        return next(self.usable(problems), None), problems

    def usable(self, problems: list[str] | None = None) -> Iterator[Checkpoint]:
        """Those that can be resumed from, newest first; `problems` gets what others lack."""
        for one in reversed(self.all()):
            if not one.optimizer_directory.is_dir():
                continue
            try:
                manifest.check_manifest(one.directory)
                manifest.check_manifest(one.optimizer_directory)
                one.state()
            except NmtError as error:
                if problems is not None:
                    problems.append(error.message)
                continue
            yield one

    def at(self, step: int) -> Checkpoint:
        """The checkpoint of `step`, whether there is one or not."""
        return Checkpoint(self.directory / f"step-{step:09d}", step)

    def remove_after(self, step: int) -> None:
        """Remove the checkpoints of later steps."""
        for one in self.all():
            if one.step > step:
                files.remove(one.directory)
                files.remove(one.optimizer_directory)


def _members(checkpoints: list[Checkpoint]) -> list[Checkpoint]:
    return [one for one in checkpoints if one.state().member]


def _write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    files.write_bytes(path, safetensors.torch.save(tensors))
