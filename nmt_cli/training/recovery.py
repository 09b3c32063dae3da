"""Steps that go wrong: what is told of them, and the way back from numbers that are not finite."""

from nmt_cli.data.plan import Position
from nmt_cli.errors import DivergedError
from nmt_cli.training.checkpoints import Checkpoint
from nmt_cli.training.run import Run
from nmt_cli.training.step import StepResult
from nmt_cli.training.watch import named_pairs

SKIPS_ALLOWED = 10
ROLLBACKS_ALLOWED = 3
PAIRS_NAMED = 5


def news(run: Run, result: StepResult, position: Position) -> list[str]:
    """What the user should know of the step just taken on `position`; splits are counted."""
    found = []
    if result.skipped:
        found.append(
            f"step {run.state.step:,} was skipped: its numbers were not finite; "
            f"it began with pairs {_pairs_at(run, position)}"
        )
    if result.splits and not run.state.splits:
        found.append(
            f"step {run.state.step:,} did not fit into memory and was done in smaller parts; "
            "a smaller train.micro_batch_tokens avoids doing such steps twice"
        )
    run.state.splits += result.splits
    return found


def _pairs_at(run: Run, position: Position) -> str:
    return named_pairs(run.plan.epoch(position.epoch).pairs(position.batch).tolist(), PAIRS_NAMED)


def has_diverged(run: Run) -> bool:
    """Whether too many steps in a row gave no finite numbers."""
    return run.state.skipped >= SKIPS_ALLOWED


def roll_back(run: Run, position: Position) -> str:
    """Return to the last checkpoint before the bad steps, with half the learning rate; a note.

    Where there is none, to the beginning. Raises DivergedError, which names the pairs at
    `position`, after the third time.
    """
    gone = run.state
    happened = f"{SKIPS_ALLOWED} steps in a row gave no finite numbers, up to {gone.step:,}"
    if gone.rollbacks >= ROLLBACKS_ALLOWED:
        raise DivergedError(
            f"{happened}, for the {ROLLBACKS_ALLOWED + 1}th time although the learning rate "
            f"was halved each time; the last one began with pairs {_pairs_at(run, position)}",
            "lower train.learning_rate, lengthen train.warmup_steps, or train in float32",
        )
    run.begin(_agreed_checkpoint(run))
    state = run.state
    state.rollbacks = gone.rollbacks + 1
    state.skipped = 0
    state.seconds, state.splits = gone.seconds, gone.splits
    state.flops, state.peak_flops = gone.flops, gone.peak_flops
    # What is published stays where it is.
    state.published_score = gone.published_score
    run.saved = state.step
    run.ranks.wait()
    if run.ranks.is_first:
        run.checkpoints.update(state)
        run.checkpoints.remove_after(state.step)
    return (
        f"{happened}: back to step {state.step:,}, "
        f"with {0.5**state.rollbacks:g} of the learning rate from now on"
    )


def _agreed_checkpoint(run: Run) -> Checkpoint | None:
    """The first rank's choice: the newest from before the bad steps; None: there is none."""
    step = 0
    if run.ranks.is_first:
        usable = list(run.checkpoints.usable())
        healthy = [one.step for one in usable if not one.state().skipped]
        step = next(iter(healthy or [one.step for one in usable]), 0)
    step = run.ranks.agree(step)
    return run.checkpoints.at(step) if step else None
