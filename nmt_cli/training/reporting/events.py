"""What a run says beside its reports while it goes on: for the screen only, never for the log."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Outline:
    """What a run is about to do; said once, before the first step of this process.

    preset: its name; vocabularies: entries of both sides' in the corpus; preset_vocabulary: entries
    that the preset asks for, or auto; parameters: numbers that are learnt;
    devices: such as `8 x NVIDIA H200`;
    processes, threads: on a CPU, the threads of one process; precision: bf16 or float32; compiles:
    whether the first step includes compiling; step: the last one done; steps: the last one planned;
    epochs: passes over the corpus in all these steps; max_hours, patience: what else may end it;
    seconds: elapsed in earlier processes.
    """

    src: str
    tgt: str
    pairs: int
    preset: str
    vocabularies: tuple[int, int]
    preset_vocabulary: int | str
    parameters: int
    devices: str
    processes: int
    threads: int
    precision: str
    compiles: bool
    step: int
    steps: int
    epochs: float
    max_hours: float
    patience: int
    seconds: float


@dataclass(frozen=True)
class FirstStep:
    """The first step of this process is under way, and its first passes tell how long it takes.

    step: the last one done; seconds_per_step, seconds_left: expected, of the first step and to the
    planned end.
    """

    step: int
    seconds_per_step: float
    seconds_left: float


@dataclass(frozen=True)
class StepDone:
    """One optimiser step was taken.

    fresh: steps that this process has taken; loss: per target token of this step, None where it was
    skipped; tokens_per_second: target tokens, all ranks, a running mean; seconds: elapsed in all
    processes of the run; seconds_left: to the planned end; seconds_per_step: without validations.
    """

    step: int
    fresh: int
    loss: float | None
    learning_rate: float
    tokens_per_second: float
    seconds: float
    seconds_left: float
    seconds_per_step: float


@dataclass(frozen=True)
class Validating:
    """A validation goes on; told about once a second.

    done, total: sentences translated, of those to be translated; 0 while the loss is measured.
    seconds: elapsed in all processes of the run; seconds_left: to the planned end, None as long as
    it is not known.
    """

    step: int
    done: int
    total: int
    seconds: float
    seconds_left: float | None


@dataclass(frozen=True)
class Sample:
    """A translation by weights that are not validated yet."""

    step: int
    source: str
    reference: str
    output: str


Event = Outline | FirstStep | StepDone | Validating | Sample
Listener = Callable[[Event], None]


def ignore(_: Event) -> None:
    """The listener of a run that nobody watches."""
