"""`nmt train --dry-run`: takes the next steps of a run to measure them, and writes nothing."""

import time
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import torch

from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.machine import peak_memory
from nmt_cli.plurals import counted
from nmt_cli.storage.locks import lock_holder
from nmt_cli.training.loop import prepare_device
from nmt_cli.training.parallel.ranks import Ranks
from nmt_cli.training.reporting.ends import already_finished
from nmt_cli.training.reporting.events import Event, FirstStep, Listener, ignore
from nmt_cli.training.reporting.monitor import Monitor, planned_steps
from nmt_cli.training.reporting.pace import RELIABLE_AFTER
from nmt_cli.training.run import Run
from nmt_cli.training.setup import check_digest, complete, is_new_run, require_space, require_start

GB = 1e9
# Seconds of a run that is not for this machine: two days.
LONGEST = 2 * 86_400.0


def dry_run(
    config: Config,
    corpus: Corpus,
    out: Path,
    ranks: Ranks | None = None,
    listener: Listener = ignore,
) -> list[str]:
    """Take the first steps of the run that `train` would begin or resume in `out`; save nothing.

    Returns what is to be said of the run besides the events, which `listener` gets on the first
    rank. Raises what `train` raises before its first step.
    """
    ranks = ranks or Ranks()
    config = complete(config, corpus)
    prepare_device(config, ranks.device)
    is_new = is_new_run(config, corpus, out)
    require_start(config, corpus, out)
    require_space(config, out)
    with closing(Run(config, corpus, out, ranks)) as run:
        check_digest(run.state, corpus)
        if run.state.finished:
            return [already_finished(run)]
        steps = _take_steps(run, listener)
        if steps:
            measured, not_measured = counted(steps, "step"), "validations may take more"
        else:
            measured, not_measured = "part of the first step", "a whole step takes more"
        memory = f"{_peak_memory(ranks.device) / GB:.1f} GB"
        per_process = " in each process" if ranks.world_size > 1 else ""
        begins = "begins" if is_new else "resumes"
        return [
            *run.notes,
            f"memory: {memory}{per_process} at the peak of {measured}; {not_measured}",
            f"nothing was written; {_how_to_train(out, begins)}",
        ]


def _how_to_train(out: Path, begins: str) -> str:
    """What the same command without --dry-run does; begins: the verb, "begins" or "resumes"."""
    command = f"the same command without --dry-run {begins} the run"
    holder = lock_holder(out)
    if not holder:
        return command
    return (
        f"`{out}` is in use by {holder}, which may have slowed these steps down: {command} "
        "when that process has ended"
    )


class _TooLongError(Exception):
    """Ends a step early; nothing of it is used."""


def _take_steps(run: Run, listener: Listener) -> int:
    """Take as many steps as an estimate needs, if the run has so many; returns their number.

    Returns 0 if the estimate within the first step is beyond `LONGEST`: the rest of that step, and
    the steps after it, would take minutes.
    """

    def stop(_: object) -> NoReturn:
        raise _TooLongError

    def listen(event: Event) -> None:
        listener(event)
        is_long = isinstance(event, FirstStep) and event.seconds_left > LONGEST
        # With several ranks, the others would wait for this one.
        if is_long and run.ranks.world_size == 1:
            # Other threads end their work after the shard that each computes now.
            run.replicas.on_item_done = stop
            raise _TooLongError

    monitor = Monitor(run, listen)
    steps = min(RELIABLE_AFTER, max(1, planned_steps(run) - run.state.step))
    for taken in range(steps):
        run.make_product_kernels()
        position = run.position
        begun = time.monotonic()
        try:
            monitor.begin_step(position)
            result = run.step(position)
        except _TooLongError:
            return taken
        monitor.end_step(result, position, time.monotonic() - begun)
    return steps


def _peak_memory(device: torch.device) -> int:
    """The largest number of bytes that this process has used, on a GPU those of the GPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return peak_memory()
