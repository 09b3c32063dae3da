"""Events of a run between its reports: for the screen only, never for the log."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Outline:
    """What a run is about to do; sent once, before the first step of this process.

    preset: its name; vocabularies: sizes of the source and target vocabularies of the corpus;
    preset_vocabulary: the size that the preset asks for, or auto; parameters: trainable numbers;
    devices: such as `8 x NVIDIA H200`; processes; threads: of one process, on a CPU; precision:
    bf16, float32 or split; compiles: whether the first step includes compiling; step: the last one
    done; steps: the last one planned; warmup: the steps in which the learning rate rises;
    rate_of_warmup: its peak, where another warm-up would change it (equation 3), else 0;
    schedule_ends: whether the learning rate is planned to reach zero at the last step; epochs:
    passes over the corpus in all these steps; max_hours, patience: other limits that may end the
    run; compared: pairs on which the last average and the published weights may be compared at the
    end, 0 for none; seconds: elapsed in earlier processes; fine_tunes: whether training begins with
    a model; could_be_bf16: whether this CPU computes bf16 and the precision is float32 by default;
    average_span: the steps of the checkpoints that are averaged, 0 if their number is automatic;
    batch_tokens: target tokens of a step.
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
    warmup: int
    rate_of_warmup: float
    schedule_ends: bool
    epochs: float
    max_hours: float
    patience: int
    compared: int
    seconds: float
    fine_tunes: bool
    could_be_bf16: bool
    average_span: int
    batch_tokens: int


@dataclass(frozen=True)
class FirstStep:
    """The expected time of the first step of this process, sent during that step.

    step: the last one done; seconds_per_step: expected for the first step; seconds_left: expected
    to the planned end.
    """

    step: int
    seconds_per_step: float
    seconds_left: float


@dataclass(frozen=True)
class StepDone:
    """One optimiser step was taken.

    fresh: steps that this process has taken; loss: per target token of this step, None where it was
    skipped; tokens_per_second: target tokens, all ranks, a running mean; seconds: elapsed in all
    processes of the run; seconds_left: to the expected end; seconds_per_step: without validations;
    unmeasured: validations to come, if `seconds_left` does not include them because none has been
    measured yet.
    """

    step: int
    fresh: int
    loss: float | None
    learning_rate: float
    tokens_per_second: float
    seconds: float
    seconds_left: float
    seconds_per_step: float
    unmeasured: int = 0


@dataclass(frozen=True)
class EndsEarly:
    """The time limit is expected to end the run before its last step; sent at most once.

    step: the last one done; first, last: the expected end lies between these steps, which are equal
    if the time of validations is known; fitting: a value of train.max_steps that fits into the
    limit with its validations, 0 if there is none; seconds_left: to the limit.
    """

    step: int
    first: int
    last: int
    fitting: int
    seconds_left: float


@dataclass(frozen=True)
class Validating:
    """A pass over the validation pairs is in progress; sent about once a second.

    done, total: sentences translated, of those to be translated; done is 0 while the loss is
    measured, total where nothing is translated.
    seconds: elapsed in all processes of the run; seconds_left: to the expected end, None as long as
    it is not known; unmeasured: as for StepDone, with this validation; activity: what the pass
    does.
    """

    step: int
    done: int
    total: int
    seconds: float
    seconds_left: float | None
    unmeasured: int = 0
    activity: str = "validating"


@dataclass(frozen=True)
class Sample:
    """A translation by weights that are not yet validated."""

    step: int
    source: str
    reference: str
    output: str


Event = Outline | FirstStep | StepDone | EndsEarly | Validating | Sample
Listener = Callable[[Event], None]


def ignore(_: Event) -> None:
    """Do nothing with an event."""
