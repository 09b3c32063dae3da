"""The state of a training run, which checkpoints hold as state.json, and what changes it."""

import math
from dataclasses import dataclass, field
from typing import Any

from nmt_cli.data.corpus.batch_plan import Position


@dataclass
class TrainState:
    """Where a run stands, beside weights and optimiser.

    step: the last one taken; epoch, batch: the next batch; shards: in each batch of the plan;
    packed: whether batches are packed; digest: of the corpus; scores: negative validation loss of
    each validated step's own weights; validated: the last validated step; published_score: of the
    best candidate so far; stale: validations since then; flops: counted work; peak_flops: what the
    devices could have done in the same time, None where that is unknown; seconds: time of all
    steps; elapsed: with validations and all else; skipped: steps in a row without finite numbers;
    rollbacks: how often the learning rate was halved because of that; trend: running means of the
    loss; splits: shards that did not fit into memory; finished: why the run ended, or empty;
    unreported: sums over the steps that no report contains yet; validation: the last one, until a
    report contains it; published: what the model directory holds; member:
    whether averaging may use this checkpoint.
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
    elapsed: float = 0.0
    flops: float = 0.0
    peak_flops: float | None = 0.0
    skipped: int = 0
    rollbacks: int = 0
    trend: dict[str, float] = field(default_factory=dict)
    splits: int = 0
    finished: str = ""
    unreported: dict[str, float] = field(default_factory=dict)
    validation: dict[str, Any] = field(default_factory=dict)
    published: dict[str, Any] = field(default_factory=dict)
    member: bool = True

    @property
    def position(self) -> Position:
        """The batch of the next step."""
        return Position(self.epoch, self.batch)

    @property
    def rate_scale(self) -> float:
        """The factor of the schedule's learning rate: each rollback halves it."""
        return 0.5**self.rollbacks

    def best_steps(self, count: int) -> list[int]:
        """The steps with the best scores, at most `count`, best first.

        The start of a fine-tuning is left out: it has a score, but no checkpoint.
        """
        trained = [step for step in self.scores if int(step) > 0]
        ranked = sorted(trained, key=lambda step: (-self.scores[step], int(step)))
        return [int(step) for step in ranked[:count]]

    def as_new(self) -> "TrainState":
        """The state of the same run before its first step.

        It keeps the validation before the first step, which only fine-tuning has.
        """
        scores = {step: score for step, score in self.scores.items() if step == "0"}
        return TrainState(digest=self.digest, shards=self.shards, packed=self.packed, scores=scores)

    def count_step(self, position: Position, batches: int, *, skipped: bool) -> None:
        """Count the step on the batch at `position`, in an epoch of this many batches."""
        self.step += 1
        self.epoch, self.batch = position.epoch, position.batch + 1
        if self.batch >= batches:
            self.epoch, self.batch = position.epoch + 1, 0
        self.skipped = self.skipped + 1 if skipped else 0

    def count_splits(self, splits: int) -> None:
        """Count shards that did not fit into memory and were split."""
        self.splits += splits

    def add_cost(self, seconds: float, flops: float, peak: float | None) -> None:
        """Add the cost of one step.

        seconds: how long it took; flops: counted work; peak: operations that the devices could
        have done in this time, None where that is unknown. One unknown step makes the sum unknown.
        """
        self.seconds += seconds
        self.flops += flops
        if peak is None or self.peak_flops is None:
            self.peak_flops = None
        else:
            self.peak_flops += peak

    def set_elapsed(self, seconds: float) -> None:
        """Set the time that all processes of the run have taken together."""
        self.elapsed = seconds

    def set_trend(self, trend: dict[str, float]) -> None:
        """Remember the running means of the loss."""
        self.trend = trend

    def score(self, loss: float, *, better_than_published: bool) -> None:
        """Rank this step by the validation loss of its own weights; count those without progress.

        A lower loss is progress too: early in training BLEU stays at zero for a while.
        """
        lower = -loss > max(self.scores.values(), default=-math.inf)
        self.scores[str(self.step)] = -loss
        self.stale = 0 if lower or better_than_published else self.stale + 1

    def set_published(self, published: dict[str, Any], score: float | None) -> None:
        """Remember what the model directory holds; score: None where nothing was measured."""
        self.published = published
        if score is not None:
            self.published_score = score

    def mark_validated(self, validation: dict[str, Any], *, complete: bool) -> None:
        """Keep the validation of this step for the next report.

        complete: False where the step has to be validated again, as its model is not written.
        """
        if complete:
            self.validated = self.step
        self.validation = validation

    def keep_unreported(self, sums: dict[str, float]) -> None:
        """Remember the sums over the steps since the last report."""
        self.unreported = sums

    def mark_steps_reported(self) -> None:
        """A report contains all steps so far."""
        self.unreported = {}

    def mark_validation_reported(self) -> None:
        """A report contains the last validation."""
        self.validation = {}

    def mark_saved(self, *, member: bool) -> None:
        """A checkpoint of this step is saved; member: whether averaging may use it."""
        self.member = member

    def mark_rolled_back(self, abandoned: "TrainState") -> None:
        """This is the state of an earlier checkpoint that the run returned to.

        Time, work and splits of the abandoned steps count, and what is published stays.
        """
        self.rollbacks = abandoned.rollbacks + 1
        self.skipped = 0
        self.seconds, self.elapsed = abandoned.seconds, abandoned.elapsed
        self.splits = abandoned.splits
        self.flops, self.peak_flops = abandoned.flops, abandoned.peak_flops
        self.published_score, self.published = abandoned.published_score, abandoned.published

    def mark_finished(self, reason: str) -> None:
        """The run ended for `reason`; empty: it continues, as its limits were raised."""
        self.finished = reason
