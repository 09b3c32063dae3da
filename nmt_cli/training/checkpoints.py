"""Checkpoints: what is kept of a run, how the old ones go, how the newest good one is found.

::

    checkpoints/
      step-000001500/            weights.safetensors, state.json, manifest.json
      step-000001500.optimizer/  optimizer.safetensors, ema.safetensors where there is a moving
                                 average, manifest.json; beside the newest two only
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from nmt_cli import files, manifest
from nmt_cli.errors import DataError, NmtError
from nmt_cli.training.ema import MovingAverage
from nmt_cli.training.schedule_free import place_training_weights, saved_weight

STEP = re.compile(r"step-(\d{9,})")
WEIGHTS = "weights.safetensors"
OPTIMIZER = "optimizer.safetensors"
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


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, directory: Path, keep_last: int, keep_best: int) -> None:
        self.directory = directory
        self.keep_last = keep_last
        self.keep_best = keep_best

    def all(self) -> list[Checkpoint]:
        """Every complete checkpoint, oldest first; ones without a manifest do not count."""
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
        optimizer: torch.optim.Optimizer,
        state: State,
        *,
        member: bool,
        ema: MovingAverage | None = None,
    ) -> Checkpoint:
        """Write a checkpoint, then let the old ones go. Weights come last: they make it count."""
        state.member = member
        target = self.at(state.step)
        files.make_directory(self.directory)
        with manifest.new_directory(target.optimizer_directory, force=True) as place:
            tensors = optimizer_tensors(model, optimizer)
            files.write_bytes(place / OPTIMIZER, safetensors.torch.save(tensors))
            if ema is not None:
                files.write_bytes(place / EMA, safetensors.torch.save(ema.weights()))
        with manifest.new_directory(target.directory, force=True) as place:
            files.write_bytes(place / WEIGHTS, safetensors.torch.save(weights_of(model, optimizer)))
            files.write_text(place / STATE, json.dumps(asdict(state), indent=1))
        self.rotate(state)
        return target

    def update(self, state: State) -> None:
        """Write `state` into the checkpoint of its step, if there is one."""
        directory = self.at(state.step).directory
        if directory.is_dir():
            manifest.add_to_manifest(directory, STATE, json.dumps(asdict(state), indent=1).encode())
        self.rotate(state)

    def rotate(self, state: State) -> None:
        """Keep the last, the best and the newest; optimiser state beside the newest two."""
        everything = self.all()
        keep = {one.step for one in self.members()[-self.keep_last :]}
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


def weights_of(
    model: nn.Module, optimizer: torch.optim.Optimizer | None = None
) -> dict[str, Tensor]:
    """A copy of the weights by name, float32, each once, on the CPU.

    With the `optimizer` that trains them: those to validate and to save, where they are others.
    """
    return {
        name: (saved_weight(optimizer, weight) if optimizer else weight)
        .detach()
        .to("cpu", torch.float32, copy=True)
        for name, weight in model.named_parameters()
    }


def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy `weights` into `model`; raises DataError when a name or a shape differs."""
    parameters = dict(model.named_parameters())
    wrong = sorted(parameters.keys() ^ weights.keys())
    wrong += [name for name in parameters.keys() & weights.keys()
              if parameters[name].shape != weights[name].shape]  # fmt: skip
    if wrong:
        raise DataError(f"weights do not fit the model: {', '.join(wrong[:5])}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's averages and counts, named by weight."""
    return {
        f"{name}/{key}": value.detach().cpu().contiguous()
        for name, weight in model.named_parameters()
        for key, value in optimizer.state[weight].items()
    }


def load_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer, directory: Path) -> None:
    """Restore what `optimizer_tensors` saved; `model` holds the weights saved with it."""
    saved: dict[str, dict[str, Tensor]] = {}
    for key, value in read_tensors(directory / OPTIMIZER).items():
        name, _, kind = key.rpartition("/")
        saved.setdefault(name, {})[kind] = value
    weights = dict(model.named_parameters())
    if saved.keys() != weights.keys():
        raise DataError(f"`{directory}` belongs to another model")
    for name, weight in weights.items():
        optimizer.state[weight] = {k: v.to(weight.device) for k, v in saved[name].items()}
    place_training_weights(optimizer)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file (no code is run); raises DataError when it is not one."""
    try:
        return safetensors.torch.load(files.read_bytes(path, "weights"))
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise DataError(f"`{path}` is damaged: {error}", "use an older checkpoint") from error
