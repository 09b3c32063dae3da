"""What the phases of the GPU benchmarks share: the device, sizes (full or tiny), and the clock."""

import contextlib
import json
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from lib.measure import Clock, Json, median_seconds
from lib.sentences import random_corpus
from lib.settings import make_config
from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.training.execution.plan import ExecutionPlan
from nmt_cli.training.loop import train
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.reporting.report import Report

NEVER = 1 << 30
SEED = 1
# Of an H200's and an H100's tensor cores, dense bf16, by their data sheet.
DATASHEET_PEAK = 989e12


@dataclass(frozen=True)
class Sizes:
    """How large everything is; lengths of windows are in optimiser steps."""

    vocab_size: int
    pairs: int
    settings: Mapping[str, object]
    warmup: int
    windows: int
    window_steps: Mapping[str, int]
    peer_steps: int
    product: int
    copy_bytes: int
    sentences: int
    decode_slots: Sequence[int]
    repeats: int


FULL = Sizes(
    37_000, 400_000, {}, 20, 5, {"base": 40, "big": 20}, 10, 8_192, 1 << 32, 880, (1, 128, 512), 15
)
TINY = Sizes(
    200,
    300,
    {
        "model.layers": 1, "model.d_model": 32, "model.d_ff": 64, "model.heads": 2,
        "train.batch_tokens": 300,
    },
    2, 2, {"base": 2, "big": 2}, 1, 64, 1 << 20, 6, (1, 2), 2,
)  # fmt: skip


@dataclass(frozen=True)
class Setup:
    """One run of a GPU benchmark; overrides: settings of every model trained in it."""

    device: torch.device
    tiny: bool
    folder: Path
    overrides: Mapping[str, object]

    @property
    def sizes(self) -> Sizes:
        """Of this run."""
        return TINY if self.tiny else FULL

    @property
    def dtype(self) -> torch.dtype:
        """What a GPU computes in; a CPU without bf16 units would take for ever."""
        return torch.bfloat16 if self.device.type == "cuda" else torch.float32

    @property
    def precision(self) -> str:
        """The same, as a setting."""
        return "bf16" if self.device.type == "cuda" else "float32"

    @cached_property
    def corpus(self) -> Corpus:
        """The synthetic sentences that every trainer gets."""
        return random_corpus(self.sizes.pairs, self.sizes.vocab_size, SEED, self.folder / "corpus")

    def config(self, preset: str, **more: object) -> Config:
        """Settings of a preset; `more` names dotted keys with `_` for the dot."""
        named = {key.replace("_", ".", 1): value for key, value in more.items()}
        values = {"train.preset": preset, **self.sizes.settings, **self.overrides, **named}
        return make_config(values)

    def pass_tokens(self, preset: str) -> int:
        """Target tokens of one forward and backward pass: of a batch, on a GPU with much memory."""
        config = self.config(preset)
        shards = ExecutionPlan.of(config, self.device, 1).shards
        return -(-config.train.batch_tokens // shards)

    def finish(self) -> None:
        """Wait until the device has done everything it was asked to."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def seconds(self, work: Callable[[], object]) -> float:
        """The median duration of `work`."""
        return median_seconds(work, repeats=self.sizes.repeats, warmup=3, finish=self.finish)

    def poison(self) -> None:
        """Leave NaN in the memory that the next tensors will get: what is not written shows."""
        kept = [torch.full((1 << size,), torch.nan, device=self.device) for size in (12, 16, 20)]
        del kept


def check_device(device: str) -> None:
    """End the script with a message if the device is a GPU, and there is none."""
    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        sys.exit("error: torch finds no GPU here; --device cpu --tiny runs a small form on a CPU")


class MeasuredError(Exception):
    """Thrown into a run to end it without saving."""


@contextlib.contextmanager
def training(setup: Setup, config: Config, corpus: Corpus | None = None) -> Iterator["Training"]:
    """A run of this trainer that is dropped at the end."""
    out = setup.folder / f"model-{len(list(setup.folder.iterdir()))}"
    reports = train(config, corpus or setup.corpus, out, Ranks(device=setup.device))
    try:
        yield Training(setup, reports)
    finally:
        with contextlib.suppress(MeasuredError, StopIteration):
            reports.throw(MeasuredError())  # type: ignore[attr-defined]


@dataclass
class Training:
    """A run that goes on by so many steps when asked to."""

    setup: Setup
    reports: Iterator[Report]
    step: int = 0

    def advance(self, steps: int) -> Json:
        """The next `steps` steps, of which the run must report the last; tokens and seconds."""
        self.step += steps
        self.setup.finish()
        clock = Clock.now()
        tokens = 0
        losses = []
        while True:
            report = next(self.reports)
            tokens += report.tokens
            losses += [report.loss] if report.tokens else []
            # A note may come before the report of the same step.
            if report.step >= self.step and report.tokens:
                break
        self.setup.finish()
        gone = clock.since()
        return {"tokens": tokens, "seconds": gone.wall, "cpu": gone.cpu, "losses": losses}


def relative_error(found: Tensor, expected: Tensor) -> float:
    """|found - expected| / |expected|, in float64 on the CPU; infinite where one is NaN."""
    exact = expected.detach().double().cpu()
    difference = found.detach().double().cpu() - exact
    error = float(difference.norm() / exact.norm().clamp(min=1e-30))
    return error if error == error else float("inf")


def attempt(work: Callable[[], Json]) -> Json:
    """What `work` gives, or the error that it met: one failing variant must not end a phase."""
    try:
        return work()
    except TimeoutError:
        raise
    except Exception as error:
        torch.cuda.empty_cache()
        return {"error": f"{type(error).__name__}: {error}"[:500]}


def stand_in_for_tomli_w() -> None:
    """Where tomli-w is not installed, write settings with what JSON and TOML have in common."""
    try:
        import tomli_w  # noqa: F401
    except ImportError:
        module = types.ModuleType("tomli_w")
        module.dumps = _dumps  # type: ignore[attr-defined]
        sys.modules["tomli_w"] = module


def _dumps(document: Mapping[str, object]) -> str:
    lines = []
    for name, value in document.items():
        if isinstance(value, Mapping):
            lines += [
                "",
                f"[{name}]",
                *(f"{key} = {json.dumps(item)}" for key, item in value.items()),
            ]
        else:
            lines.append(f"{name} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"
