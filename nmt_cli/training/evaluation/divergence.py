"""Steps that go wrong: messages about them, detection of divergence, and rollback."""

import math
from dataclasses import asdict, dataclass
from typing import NamedTuple

from nmt_cli.data.corpus.batch_plan import Position
from nmt_cli.errors import DivergedError
from nmt_cli.model.precision import precision_name
from nmt_cli.training.parallel.heartbeat import named_pairs
from nmt_cli.training.run import Run
from nmt_cli.training.saving.checkpoints import Checkpoint
from nmt_cli.training.step import StepResult

SKIPS_ALLOWED = 10
ROLLBACKS_ALLOWED = 3
PAIRS_NAMED = 5


class Divergence(NamedTuple):
    """A divergence of training; message: what happened; since: the first bad step."""

    message: str
    since: int


def messages_for(run: Run, result: StepResult, position: Position) -> list[str]:
    """Messages for the user about the step just taken on `position`; counts its splits."""
    messages = []
    if result.skipped:
        messages.append(
            f"step {run.state.step:,} was skipped: its loss or gradient was NaN or infinite; "
            f"it began with pairs {_pairs_at(run, position)}"
        )
    if result.splits and not run.state.splits:
        messages.append(
            f"step {run.state.step:,} did not fit into memory and was done in smaller parts; "
            "a smaller train.micro_batch_tokens avoids doing such steps twice"
        )
    run.state.count_splits(result.splits)
    return messages


def _pairs_at(run: Run, position: Position) -> str:
    return named_pairs(run.plan.epoch(position.epoch).pairs(position.batch).tolist(), PAIRS_NAMED)


def detect_divergence(run: Run, result: StepResult) -> Divergence | None:
    """The divergence that the step just taken shows, or None; adds its loss to the trend.

    Training diverges when too many steps in a row are skipped, or the loss is far above its trend.
    """
    step = run.state.step
    if run.state.skipped >= SKIPS_ALLOWED:
        message = f"{SKIPS_ALLOWED} steps in a row gave NaN or infinite values, up to {step:,}"
        return Divergence(message, step - run.state.skipped + 1)
    if result.skipped:
        return None
    trend = LossTrend(**run.state.trend)  # type: ignore[arg-type]
    has_risen = trend.add(result.loss / result.tokens)
    run.state.set_trend(asdict(trend))
    if not has_risen:
        return None
    message = (
        f"step {step:,}: the loss is {trend.fast:.3f}, "
        f"far above its running mean of {trend.slow:.3f}"
    )
    return Divergence(message, step - 2 * FAST_STEPS)


def remedies(run: Run) -> str:
    """What may keep the training from diverging."""
    precision = run.config.train.precision
    ways = ["lower train.learning_rate", "lengthen train.warmup_steps"]
    if precision_name(precision, run.ranks.device) != "float32":
        ways.append("train in float32 (train.precision=float32)")
    return ", or ".join((", ".join(ways[:-1]), ways[-1]))


def recover(run: Run, problem: Divergence, position: Position) -> str:
    """Warn, roll back or raise DivergedError, as train.on_divergence says; returns a message.

    After skipped steps training always rolls back: weights that give NaN or infinite values cannot
    be trained further.
    """
    action = "roll_back" if run.state.skipped else run.config.train.on_divergence
    if action == "roll_back":
        return roll_back(run, position, problem)
    if action == "stop":
        raise DivergedError(
            f"{problem.message}; train.on_divergence=stop",
            f"{remedies(run)}; to continue anyway, run again with train.on_divergence=warn",
        )
    return problem.message


def roll_back(run: Run, position: Position, problem: Divergence) -> str:
    """Return to the last checkpoint before the bad steps, with half the learning rate; a message.

    Without such a checkpoint, return to the beginning. Raises DivergedError, which names the pairs
    at `position`, after the third rollback.
    """
    abandoned = run.state
    if abandoned.rollbacks >= ROLLBACKS_ALLOWED:
        raise DivergedError(
            f"{problem.message}, for the {ROLLBACKS_ALLOWED + 1}th time although the learning rate "
            f"was halved each time; the last one began with pairs {_pairs_at(run, position)}",
            remedies(run),
        )
    run.load_or_initialise(_agreed_checkpoint(run, problem.since))
    state = run.state
    state.mark_rolled_back(abandoned)
    run.saved_step = state.step
    run.ranks.wait()
    if run.ranks.is_first:
        run.checkpoints.update(state)
        run.checkpoints.remove_after(state.step)
    return (
        f"{problem.message}: back to step {state.step:,}, "
        f"with {state.rate_scale:g} of the learning rate from now on"
    )


def _agreed_checkpoint(run: Run, since: int) -> Checkpoint | None:
    """The newest checkpoint from before step `since`, chosen by the first rank; None: none at all.

    If only later ones are left, the oldest of them. Only checkpoints of the interval count: when
    others were saved depends on the clock, which must not influence the weights.
    """
    step = 0
    if run.ranks.is_first:
        steps = [
            checkpoint.step for checkpoint in run.checkpoints.usable() if checkpoint.state().member
        ]
        step = next((step for step in steps if step < since), steps[-1] if steps else 0)
    step = run.ranks.all_reduce_max(step)
    return run.checkpoints.at(step) if step else None


FAST_STEPS, SLOW_STEPS = 10, 1_000
# In standard deviations: how far above the slow mean the fast one counts as risen, and how far a
# single loss moves the slow mean at most.
RISE_DEVIATIONS, MAX_DEVIATIONS = 5.0, 3.0
# With fewer steps there is no trend yet.
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
        """Count a step; True where the loss rises far above its trend, once until it is back.

        >>> trend = LossTrend()
        >>> [step for step in range(200) if trend.add(9.0 if step >= 150 else 3.0 + step % 2)]
        [157]
        """
        self.steps += 1
        self.fast += (loss - self.fast) / min(self.steps, FAST_STEPS)
        share = 1 / min(self.steps, SLOW_STEPS)
        distance = loss - self.slow
        if self.steps > FIRST_STEPS:
            # Limited: otherwise a jump would soon raise the trend that it is compared with.
            limit = MAX_DEVIATIONS * math.sqrt(self.variance)
            distance = min(max(distance, -limit), limit)
        self.slow += share * distance
        self.variance = (1 - share) * (self.variance + share * distance**2)
        was_high = self.high
        risen = self.slow + RISE_DEVIATIONS * math.sqrt(self.variance)
        self.high = self.steps >= FIRST_STEPS and self.fast > risen
        return self.high and not was_high
