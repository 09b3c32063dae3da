"""train(): trains a model on a prepared corpus, as `nmt train` does in one process."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.api.arguments import (
    PathLike,
    optional_path,
    require_functions,
    resolve_arguments,
)
from nmt_cli.api.stop_request import StopRequest
from nmt_cli.api.training_setup import (
    prepare_process,
    rate_notes,
    require_cpu_memory,
    resolve_training,
    train_settings,
)
from nmt_cli.config.python_spelling import in_python, python_errors
from nmt_cli.errors import UsageError
from nmt_cli.installation import require_torch

if TYPE_CHECKING:
    from nmt_cli.config.schema import ResolvedConfig
    from nmt_cli.training.parallel.ranks import Ranks
    from nmt_cli.training.reporting.events import Event, StepDone
    from nmt_cli.training.reporting.report import Report
    from nmt_cli.training.state import TrainState

_OPTIONS = (
    "corpus", "out", "preset", "init_from", "max_steps", "max_epochs", "max_hours", "patience",
    "seed", "device", "settings",
)  # fmt: skip


@dataclass(frozen=True)
class TrainingResult:
    """The state of a model directory when train() returns.

    path: the model directory; step, epoch: how far training has come; finished: whether it has
    reached its end, and not only stopped; reason: why it ended, such as "2,000 steps are done" or
    "stopped after step 70"; best_step: the validation that chose the published weights; bleu,
    perplexity: its scores, None where they were not measured; weights: which weights are published:
    current (of one step), mean (of checkpoints), ema (their moving average), or None as long as
    there are none; averaged_steps: the steps of these weights; seconds: training time, of earlier
    calls too; notes: what else happened, such as warnings; bleu_before, perplexity_before: scores
    of the model that training began with (`init_from`), else None.
    """

    path: Path
    step: int
    epoch: int
    finished: bool
    reason: str
    best_step: int | None
    bleu: float | None
    perplexity: float | None
    weights: str | None
    averaged_steps: tuple[int, ...]
    seconds: float
    notes: tuple[str, ...] = ()
    bleu_before: float | None = None
    perplexity_before: float | None = None


def train(
    corpus: PathLike | None = None, out: PathLike | None = None, *, preset: str | None = None,
    init_from: PathLike | None = None, max_steps: int | None = None,
    max_epochs: int | None = None, max_hours: float | None = None, patience: int | None = None,
    seed: int | None = None, deterministic: bool | None = None, device: str | None = None,
    settings: Mapping[str, object] | None = None, config: PathLike | None = None,
    on_report: Callable[[Report], None] | None = None,
    on_step: Callable[[StepDone], None] | None = None, stop: Callable[[], bool] | None = None,
) -> TrainingResult:  # fmt: skip
    """Train a model on a prepared corpus; call it again with the same arguments to resume.

    Validates and saves at intervals, keeps the latest and the best checkpoints, and writes the best
    of them or their average to `out`. The function prints nothing and trains in this process, on
    one device; `nmt train` and torchrun train on several.

    Ctrl-C saves after the current step and then raises KeyboardInterrupt; before the first step is
    done, and when it is pressed again, at once. In a thread other than the main one no signal is
    handled: use `stop`. An error that a callback raises also saves first.

    Args:
        corpus: the directory that `prepare` has written; "corpus" by default.
        out: the model directory to write or to resume; "model" by default.
        preset: the size of the model and the settings of its training; "base" by default. A run
            that is resumed keeps its own.
        init_from: the model directory whose weights training begins with, instead of random ones.
        max_steps: stop after this many steps; by default as the preset says.
        max_epochs: stop after this many epochs.
        max_hours: stop after this many hours.
        patience: stop after this many validations without improvement.
        seed: random seed for weights, dropout and the order of the data; 1 by default.
        deterministic: the same results with 1, 2, ... processes, up to a step's micro-batches.
        device: "cpu", "cuda" or "cuda:1"; by default the first GPU, or the CPU if there is none.
        settings: any other setting by its dotted key, such as {"train.batch_tokens": 4096}.
        config: a project file (nmt.toml), whose values the other arguments override. Without it,
            no project file and no environment variable is read.
        on_report: called with each record of log.jsonl, which includes validations, and with notes.
        on_step: called after each step, for a progress bar; it should be quick.
        stop: called after each step and during validations; True lets training save and end.

    Returns:
        How training ended, and what the model directory holds.

    Raises:
        TypeError: an argument is of a wrong type.
        KeyboardInterrupt: after Ctrl-C.
        NmtError: NoInputError if there is no corpus, CannotCreateError if `out` is something else,
            ConfigError for a wrong setting or if `out` holds a run with other settings; others.
    """
    require_functions(on_report=on_report, on_step=on_step, stop=stop)
    with python_errors(_OPTIONS):
        values = train_settings(
            corpus=optional_path("corpus", corpus), out=optional_path("out", out), preset=preset,
            init_from=optional_path("init_from", init_from), max_steps=max_steps,
            max_epochs=max_epochs, max_hours=max_hours, patience=patience, seed=seed,
            deterministic=deterministic,
        )  # fmt: skip
        resolved = resolve_training(
            values, lambda given: resolve_arguments("train", given, settings, config)
        )
        return _train(resolved, _only_rank(device), StopRequest(stop), on_report, on_step)


def _only_rank(device: str | None) -> Ranks:
    """This process as the only rank, on `device` or the one that `nmt train` would choose."""
    world_size = os.environ.get("WORLD_SIZE", "1")
    if "RANK" in os.environ and world_size != "1":
        raise UsageError(
            f"train() runs in one process, but a launcher has started {world_size}",
            "`nmt train --gpus N`, or `torchrun ... -m nmt_cli train`, trains in several",
        )
    require_torch("train()")
    import torch

    from nmt_cli.inference.engines import find_device
    from nmt_cli.training.parallel.ranks import Ranks, count_devices

    if device is None:
        count_devices(None)  # Raises UnavailableError for GPUs that torch cannot use.
        device = "cuda:0" if torch.cuda.is_available() else "cpu"
    ranks = Ranks(device=find_device(device))
    if ranks.device.type == "cuda":
        torch.cuda.set_device(ranks.device)
    return ranks


def _train(
    resolved: ResolvedConfig,
    ranks: Ranks,
    request: StopRequest,
    on_report: Callable[[Report], None] | None,
    on_step: Callable[[StepDone], None] | None,
) -> TrainingResult:
    from nmt_cli.data.corpus.corpus import Corpus
    from nmt_cli.data.preparation.split_sizes import no_validation_note
    from nmt_cli.scoring import unspaced_validation_note
    from nmt_cli.training.loop import train as training_loop
    from nmt_cli.training.reporting.events import StepDone

    config = resolved.config
    if ranks.device.type == "cpu":
        require_cpu_memory(config, 1)
    prepare_process(config)
    out = Path(config.paths.model)
    opened = Corpus.open(Path(config.paths.corpus))
    notes = rate_notes(resolved)
    if opened.valid is None:
        way = "`prepare` with force=True, valid_split="
        notes.append(no_validation_note(len(opened.train), "`valid` of `prepare`", way))
    elif opened.valid_text and (note := unspaced_validation_note(opened.valid_text[1])):
        notes.append(note)

    def send(event: Event) -> None:
        if on_step is not None and isinstance(event, StepDone):
            on_step(event)

    states: list[TrainState] = []

    def reports() -> Generator[Report, None, None]:
        loop = training_loop(config, opened, out, ranks, request, request.guarded(send))
        states.append((yield from loop))

    report_to = request.guarded(on_report or (lambda _: None))
    with request, closing(reports()) as running:
        for report in running:
            notes += [report.note] if report.note else []
            report_to(report)
    if request.failure is not None:
        raise request.failure
    [state] = states
    # The last note of a stopped run says what `reason` says, for users of the command.
    return _result(out, state, notes if state.finished else notes[:-1])


def _result(out: Path, state: TrainState, notes: list[str]) -> TrainingResult:
    published = state.published
    bleu_before, perplexity_before = published.get("before") or (None, None)
    return TrainingResult(
        path=out,
        step=state.step,
        epoch=state.epoch,
        finished=bool(state.finished),
        reason=state.finished or f"stopped after step {state.step:,}",
        best_step=published.get("step"),
        bleu=published.get("bleu"),
        perplexity=published.get("perplexity"),
        weights=published.get("weights"),
        averaged_steps=tuple(published.get("steps", ())),
        seconds=state.elapsed,
        notes=tuple(in_python(note, _OPTIONS) for note in notes),
        bleu_before=bleu_before,
        perplexity_before=perplexity_before,
    )
