"""The last notes of a run: why it ended, and how it goes on."""

from math import ceil

from nmt_cli.plurals import agreeing, counted
from nmt_cli.training.run import Run, reached_limits


def already_finished(run: Run) -> str:
    """The note of a run that has nothing left to do, with the options that continue it."""
    return f"already finished: {run.state.finished}{continuing(run)}"


def continuing(run: Run) -> str:
    """The options that continue a finished run, as the end of its note; "" if there are none."""
    options = [f"a larger {option}" for option in reached_limits(run.config.train, run.state)]
    if (option := "a larger --max-hours") in options:
        # The validation at the end is part of the time, so a run takes more than its limit.
        used = ceil(run.state.elapsed / 36) / 100
        options[options.index(option)] = f"--max-hours above {used:g} (or none)"
    verb = agreeing(len(options), "continues", "continue")
    return f"; {' and '.join(options)} {verb} the run" if options else ""


def within_warmup(run: Run) -> str:
    """The end of a note on a run whose learning rate has not reached its peak; "" for others."""
    step, warmup = run.state.step, run.config.train.warmup_steps
    if not 0 < step < warmup:
        return ""
    return f"; the learning rate was still rising, as the warm-up takes {counted(warmup, 'step')}"


def saved(run: Run) -> str:
    """The note of a run that was asked to stop."""
    if not run.state.step:
        return "stopped before the first step"
    if run.checkpoints.has_failed:
        return f"stopped after step {run.state.step:,}, which could not be saved"
    note = f"saved at step {run.state.step:,}; run the same command to resume"
    if run.abandoned:
        note += ", beginning with the abandoned validation"
    if not run.state.published:
        note += "; `nmt translate` has no weights to use before the first validation"
    return note
