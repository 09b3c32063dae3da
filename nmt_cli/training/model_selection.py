"""Which of a run's weights are the best: these are the model that its directory holds."""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model_dir import refresh_weights
from nmt_cli.training.ema import MovingAverage
from nmt_cli.training.optimizers.adam import Optimizer
from nmt_cli.training.optimizers.schedule_free import place_training_weights
from nmt_cli.training.reporting.report import Published, Validation
from nmt_cli.training.saving.average import average_weights
from nmt_cli.training.saving.checkpoints import Checkpoints, TrainState
from nmt_cli.training.saving.tensor_files import copy_weights, model_weights
from nmt_cli.training.validation import Watcher, validate

MODEL = "the model"


class WeightsCandidate(NamedTuple):
    """Weights that may be published.

    kind: current, mean (of the checkpoints of `steps`) or ema (moving average).
    """

    kind: str
    steps: tuple[int, ...]
    weights: dict[str, Tensor]


class ModelSelector:
    """Validates the weights of one run, with its model, and publishes the best into `out`."""

    def __init__(
        self,
        config: Config,
        corpus: Corpus,
        out: Path,
        model: EncoderDecoder,
        checkpoints: Checkpoints,
        device: torch.device,
    ) -> None:
        self._config = config
        self._corpus = corpus
        self._out = out
        self._model = model
        self._checkpoints = checkpoints
        self._device = device
        # Told while a validation goes on, as `validate` tells it.
        self.watch: Watcher = lambda _done, _total: None

    def candidates(
        self, optimizer: Optimizer, ema: MovingAverage | None
    ) -> Iterator[WeightsCandidate]:
        """The current weights, the mean of the last checkpoints if several, a moving average.

        The current ones come before the last checkpoint needs to be written.
        """
        yield WeightsCandidate("current", (), model_weights(self._model, optimizer))
        last = self._checkpoints.members()[-self._config.train.keep_last :]
        members = [one for one in last if not one.problem()]
        if len(members) > 1:
            weights = {one.directory: one.weights for one in members}
            mean = average_weights(list(weights), lambda directory: weights[directory]())
            yield WeightsCandidate("mean", tuple(one.step for one in members), mean)
        if ema is not None:
            yield WeightsCandidate("ema", (), ema.weights())

    def judge(
        self,
        state: TrainState,
        optimizer: Optimizer,
        ema: MovingAverage | None,
        poll: Callable[[], bool],
    ) -> Validation:
        """The validation of the best candidate, which is published if it is the best so far.

        The model has its own weights again afterwards. Raises AbandonedError when `poll()` says so.
        """
        candidates, losses = [], []
        try:
            for one in self.candidates(optimizer, ema):
                candidates.append(one)
                losses.append(self._validate(one, poll, bleu=False).nll)
            chosen = candidates[losses.index(min(losses))]
            found = replace(
                self._validate(chosen, poll, bleu=True),
                averaged=max(1, len(chosen.steps)),
                weights=chosen.kind,
            )
        finally:
            if candidates:
                copy_weights(self._model, candidates[0].weights)
            place_training_weights(optimizer)
        # BLEU says nothing for a while: early on, a lower loss is progress, too.
        lower = -losses[0] > max(state.scores.values(), default=-math.inf)
        state.scores[str(state.step)] = -losses[0]
        better_than_published = _is_better(found, state)
        state.stale = 0 if lower or better_than_published else state.stale + 1
        if better_than_published:
            found = replace(found, best=True)
            if self.publish(state, chosen, found):
                state.published_score = found.score
        return found

    def _validate(
        self, candidate: WeightsCandidate, poll: Callable[[], bool], *, bleu: bool
    ) -> Validation:
        copy_weights(self._model, candidate.weights)
        return validate(
            self._model, self._config, self._corpus, self._device,
            bleu=bleu, stop=poll, watch=self.watch,
        )  # fmt: skip

    def publish(
        self, state: TrainState, chosen: WeightsCandidate, found: Validation | None = None
    ) -> bool:
        """Whether these weights, which did so well in validation, are the model's now."""
        score = f"{found.score:.4f} {found.signature}".strip() if found else ""
        metadata = {"step": str(state.step), "validation": score}
        size = sum(one.nbytes for one in chosen.weights.values())
        published = Published(state.step, chosen.kind, chosen.steps or (state.step,))
        if found is not None:
            published = replace(published, bleu=found.bleu, perplexity=found.perplexity)
        with self._checkpoints.setbacks.forgiving(MODEL, size):
            refresh_weights(self._out, chosen.weights, metadata)
            state.published = asdict(published)
            return True
        return False


def _is_better(found: Validation, state: TrainState) -> bool:
    """Whether `found` beats what is published: by its score, and by perplexity where they tie."""
    if state.published_score is None or found.score > state.published_score:
        return True
    perplexity = state.published.get("perplexity")
    tied = found.score == state.published_score
    return tied and perplexity is not None and found.perplexity < perplexity
