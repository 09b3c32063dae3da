"""One training run on one rank: model, optimiser, plan, state, and what is done to them."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from nmt_cli.config import Config
from nmt_cli.data.corpus import Corpus
from nmt_cli.data.plan import BatchPlan, Position, count_shards
from nmt_cli.errors import DivergedError
from nmt_cli.model.transformer import Transformer, initialise
from nmt_cli.model_dir import refresh_weights
from nmt_cli.training.average import average_weights
from nmt_cli.training.checkpoints import (
    Checkpoints,
    State,
    load_optimizer,
    load_weights,
    weights_of,
)
from nmt_cli.training.distributed import Ranks
from nmt_cli.training.optimizer import make_optimizer
from nmt_cli.training.report import Validation
from nmt_cli.training.step import StepResult, take_step
from nmt_cli.training.validation import validate

SKIPS_ALLOWED = 10
MICRO_BATCH_TOKENS = {"cpu": 4_096, "cuda": 8_192}


class Candidate(NamedTuple):
    """Weights that may be published; averaged: the mean of so many checkpoints."""

    averaged: int
    weights: dict[str, Tensor]


class Run:
    """One training run: model, optimiser, plan and state, on one rank."""

    def __init__(self, config: Config, corpus: Corpus, out: Path, ranks: Ranks) -> None:
        self.config = config
        self.corpus = corpus
        self.out = out
        self.ranks = ranks
        train = config.train
        self.checkpoints = Checkpoints(out / "checkpoints", train.keep_last, train.keep_best)
        self.model = Transformer(config.model)
        self.state = State(digest=corpus.digest)
        self.notes: list[str] = []
        self._restore_or_start()
        self.saved = self.state.step
        self.stopped = False
        lengths = corpus.train.src_lengths, corpus.train.tgt_lengths
        self.plan = BatchPlan(*lengths, train.batch_tokens, self.state.shards, train.seed)

    def _restore_or_start(self) -> None:
        latest, problems = self.checkpoints.latest()
        self.notes += [f"an older checkpoint is used: {problem}" for problem in problems]
        if latest is None:
            initialise(self.model, self.config.train.seed)
            self.state.shards = self._count_shards()
        else:
            self.state = latest.state()
            load_weights(self.model, latest.weights())
            # A finished run goes on when its limits were raised.
            self.state.finished = self.end_reason() and self.state.finished
            if not self.state.finished:
                self.notes.append(f"continues after step {self.state.step:,}")
        self.model.to(self.ranks.device)
        self.optimizer = make_optimizer(self.model, self.config)
        if latest is not None:
            load_optimizer(self.model, self.optimizer, latest.optimizer_directory)

    def _count_shards(self) -> int:
        train = self.config.train
        micro = train.micro_batch_tokens
        if micro == "auto":
            micro = MICRO_BATCH_TOKENS.get(self.ranks.device.type, 4_096)
        return count_shards(train.batch_tokens, micro, self.ranks.world_size)

    def step(self, position: Position) -> StepResult:
        """Take the next optimiser step; raises DivergedError after ten without finite numbers."""
        result = take_step(
            self.model, self.optimizer, self.config, self.ranks, self.corpus.train, self.plan,
            position, self.state.step + 1,
        )  # fmt: skip
        self.state.step += 1
        self.state.epoch, self.state.batch = position.epoch, position.batch + 1
        if self.state.batch >= self.plan.epoch(position.epoch).batches:
            self.state.epoch, self.state.batch = position.epoch + 1, 0
        self.state.skipped = self.state.skipped + 1 if result.skipped else 0
        if self.state.skipped >= SKIPS_ALLOWED:
            raise DivergedError(
                f"{SKIPS_ALLOWED} steps in a row gave no finite numbers, up to {self.state.step:,}",
                "lower train.learning_rate, lengthen train.warmup_steps, or train in float32",
            )
        return result

    def save(self, *, member: bool) -> None:
        """Write a checkpoint (first rank) unless this step has one; `member` ones are averaged."""
        if self.ranks.is_first and self.state.step != self.saved:
            self.saved = self.state.step
            self.checkpoints.save(self.model, self.optimizer, self.state, member=member)

    def validate(self) -> Validation | None:
        """Judge the current weights and the mean of the last checkpoints; publish the better.

        Only the first rank works here; the others wait.
        """
        found = None
        if self.ranks.is_first:
            candidates = self._candidates()
            if self.corpus.valid is None:
                self._publish(candidates[-1].weights, "")
            else:
                found = self._judge(candidates)
        self.state.validated = self.state.step
        if self.ranks.is_first:
            self.checkpoints.update(self.state)
        self.ranks.wait()
        return found

    def _candidates(self) -> list[Candidate]:
        """The current weights, then the mean of the last checkpoints if there are several."""
        found = [Candidate(1, weights_of(self.model))]
        members = self.checkpoints.members()[-self.config.train.keep_last :]
        if len(members) > 1:
            weights = {one.directory: one.weights for one in members}
            mean = average_weights(list(weights), lambda directory: weights[directory]())
            found.append(Candidate(len(members), mean))
        return found

    def _judge(self, candidates: list[Candidate]) -> Validation:
        """The validation of the better candidate, which is published if it is the best so far.

        The model has its own weights again afterwards.
        """
        losses = [self._validate(one, bleu=False).nll for one in candidates]
        better = candidates[losses.index(min(losses))]
        found = replace(self._validate(better, bleu=True), averaged=better.averaged)
        load_weights(self.model, candidates[0].weights)
        state = self.state
        state.scores[str(state.step)] = -losses[0]
        state.stale += 1
        if state.published_score is None or found.score > state.published_score:
            state.stale = 0
            state.published_score = found.score
            self._publish(better.weights, f"{found.score:.4f} {found.signature}".strip())
        return found

    def _validate(self, candidate: Candidate, *, bleu: bool) -> Validation:
        load_weights(self.model, candidate.weights)
        return validate(self.model, self.config, self.corpus, self.ranks.device, bleu=bleu)

    def _publish(self, weights: dict[str, Tensor], validation: str) -> None:
        metadata = {"step": str(self.state.step), "validation": validation}
        refresh_weights(self.out, weights, metadata)

    def end_reason(self) -> str:
        """Why training is over, or an empty text."""
        train, state = self.config.train, self.state
        if state.step >= train.max_steps:
            return f"{train.max_steps:,} steps are done"
        if train.max_epochs and state.epoch >= train.max_epochs:
            return f"{train.max_epochs:,} epochs are done"
        if train.max_hours and state.seconds >= train.max_hours * 3_600:
            return f"{train.max_hours:g} hours are over"
        if train.patience and state.stale >= train.patience:
            return f"{state.stale} validations without a better one"
        return ""

    def is_over(self, stop: bool) -> bool:
        """Whether all ranks end after this step: asked to stop (any rank), or done (the first)."""
        done = self.ranks.is_first and bool(self.end_reason())
        signal = self.ranks.agree(2 if stop else int(done))
        self.stopped = signal == 2
        return signal > 0

    def finish(self) -> str:
        """Mark the run as ended and save it; the reason."""
        self.state.finished = self.end_reason()
        self.save(member=self.is_due(self.config.train.checkpoint_every))
        if self.ranks.is_first:
            self.checkpoints.update(self.state)
        return self.state.finished

    def is_due(self, every: int) -> bool:
        """Whether something done every so many steps is due now."""
        return self.state.step % every == 0
