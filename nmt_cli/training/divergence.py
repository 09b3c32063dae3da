"""Steps that go wrong: what is told of them, and the way back from training that diverges."""

import math
from dataclasses import asdict, dataclass
from typing import NamedTuple

from nmt_cli.data.corpus.batch_plan import Position
from nmt_cli.errors import DivergedError
from nmt_cli.training.parallel.heartbeat import named_pairs
from nmt_cli.training.run import Run
from nmt_cli.training.saving.checkpoints import Checkpoint
from nmt_cli.training.step import StepResult

SKIPS_ALLOWED = 10
ROLLBACKS_ALLOWED = 3
PAIRS_NAMED = 5
REMEDIES = "lower train.learning_rate, lengthen train.warmup_steps, or train in float32"


class Divergence(NamedTuple):
    """What has happened, and the first step that is not to be gone on from."""

    told: str
    since: int


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


def divergence(run: Run, result: StepResult) -> Divergence | None:
    """Whether the step just taken shows that training diverges; its loss is remembered.

    By too many steps in a row without finite numbers, or by a loss far above its course.
    """
    step = run.state.step
    if run.state.skipped >= SKIPS_ALLOWED:
        told = f"{SKIPS_ALLOWED} steps in a row gave no finite numbers, up to {step:,}"
        return Divergence(told, step - run.state.skipped + 1)
    if result.skipped:
        return None
    trend = LossTrend(**run.state.trend)  # type: ignore[arg-type]
    has_risen = trend.add(result.loss / result.tokens)
    run.state.trend = asdict(trend)
    if not has_risen:
        return None
    told = f"step {step:,}: the loss is {trend.fast:.3f}, far above its course of {trend.slow:.3f}"
    return Divergence(told, step - 2 * FAST_STEPS)


def recover(run: Run, found: Divergence, position: Position) -> str:
    """A warning, a return to an earlier checkpoint, or DivergedError, as the settings say; a note.

    What gave no finite numbers is never gone on with.
    """
    wanted = "roll_back" if run.state.skipped else run.config.train.on_divergence
    if wanted == "roll_back":
        return roll_back(run, position, found)
    if wanted == "stop":
        raise DivergedError(
            f"{found.told}; train.on_divergence=stop",
            f"{REMEDIES}; run again with train.on_divergence=warn to go on all the same",
        )
    return found.told


def roll_back(run: Run, position: Position, found: Divergence) -> str:
    """Return to the last checkpoint before the bad steps, with half the learning rate; a note.

    Where there is none, to the beginning. Raises DivergedError, which names the pairs at
    `position`, after the third time.
    """
    gone = run.state
    if gone.rollbacks >= ROLLBACKS_ALLOWED:
        raise DivergedError(
            f"{found.told}, for the {ROLLBACKS_ALLOWED + 1}th time although the learning rate "
            f"was halved each time; the last one began with pairs {_pairs_at(run, position)}",
            REMEDIES,
        )
    run.begin(_agreed_checkpoint(run, found.since))
    state = run.state
    state.rollbacks = gone.rollbacks + 1
    state.skipped = 0
    state.seconds, state.elapsed, state.splits = gone.seconds, gone.elapsed, gone.splits
    state.flops, state.peak_flops = gone.flops, gone.peak_flops
    # What is published stays where it is.
    state.published_score, state.published = gone.published_score, gone.published
    run.saved = state.step
    run.ranks.wait()
    if run.ranks.is_first:
        run.checkpoints.update(state)
        run.checkpoints.remove_after(state.step)
    return (
        f"{found.told}: back to step {state.step:,}, "
        f"with {0.5**state.rollbacks:g} of the learning rate from now on"
    )


def _agreed_checkpoint(run: Run, since: int) -> Checkpoint | None:
    """The first rank's choice: the newest from before step `since`; None: there is none.

    Where only the bad ones are left, the oldest of them. Those of the interval alone count: when
    others were saved is a matter of the clock, which may not decide what the weights become.
    """
    step = 0
    if run.ranks.is_first:
        usable = [one.step for one in run.checkpoints.usable() if one.state().member]
        step = next((one for one in usable if one < since), usable[-1] if usable else 0)
    step = run.ranks.agree(step)
    return run.checkpoints.at(step) if step else None


FAST_STEPS, SLOW_STEPS = 10, 1_000
DEVIATIONS, MOST_DEVIATIONS = 5.0, 3.0
# Before so many steps there is no course to leave.
FIRST_STEPS = 100


@dataclass
class LossTrend:
    """Running means of the loss per token.

    steps: how many were seen; fast, slow: means over about the last 10 and 1,000 steps; variance:
    of single steps around the slow mean; high: whether the fast mean is far above the slow one.
    """

    steps: int = 0
    fast: float = 0.0
    slow: float = 0.0
    variance: float = 0.0
    high: bool = False

    def add(self, loss: float) -> bool:
        """Count a step; whether the loss has left its course in it, once until it is back.

        >>> trend = LossTrend()
        >>> [step for step in range(200) if trend.add(9.0 if step >= 150 else 3.0 + step % 2)]
        [157]
        """
        self.steps += 1
        self.fast += (loss - self.fast) / min(self.steps, FAST_STEPS)
        share = 1 / min(self.steps, SLOW_STEPS)
        distance = loss - self.slow
        if self.steps > FIRST_STEPS:
            # A jump is not to become the course that it is measured by.
            most = MOST_DEVIATIONS * math.sqrt(self.variance)
            distance = min(max(distance, -most), most)
        self.slow += share * distance
        self.variance = (1 - share) * (self.variance + share * distance**2)
        was_high = self.high
        limit = self.slow + DEVIATIONS * math.sqrt(self.variance)
        self.high = self.steps >= FIRST_STEPS and self.fast > limit
        return self.high and not was_high
