"""Which of a run's weights are the best: these are the model that its directory holds."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from nmt_cli.config import Config
from nmt_cli.data.corpus import Corpus
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model_dir import refresh_weights
from nmt_cli.training.adam import Optimizer
from nmt_cli.training.average import average_weights
from nmt_cli.training.checkpoints import Checkpoints, State
from nmt_cli.training.ema import MovingAverage
from nmt_cli.training.report import Validation
from nmt_cli.training.schedule_free import place_training_weights
from nmt_cli.training.tensors import load_weights, weights_of
from nmt_cli.training.validation import validate

MODEL = "the model"


class Candidate(NamedTuple):
    """Weights that may be published.

    kind: current, mean (of so many checkpoints as `averaged` says) or ema (moving average).
    """

    kind: str
    averaged: int
    weights: dict[str, Tensor]


class Judge:
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

    def candidates(self, optimizer: Optimizer, ema: MovingAverage | None) -> Iterator[Candidate]:
        """The current weights, the mean of the last checkpoints if several, a moving average.

        The current ones come before the last checkpoint needs to be written.
        """
        yield Candidate("current", 1, weights_of(self._model, optimizer))
        last = self._checkpoints.members()[-self._config.train.keep_last :]
        members = [one for one in last if not one.problem()]
        if len(members) > 1:
            weights = {one.directory: one.weights for one in members}
            mean = average_weights(list(weights), lambda directory: weights[directory]())
            yield Candidate("mean", len(members), mean)
        if ema is not None:
            yield Candidate("ema", 1, ema.weights())

    def judge(
        self,
        state: State,
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
            better = candidates[losses.index(min(losses))]
            found = replace(
                self._validate(better, poll, bleu=True),
                averaged=better.averaged,
                weights=better.kind,
            )
        finally:
            if candidates:
                load_weights(self._model, candidates[0].weights)
            place_training_weights(optimizer)
        state.scores[str(state.step)] = -losses[0]
        state.stale += 1
        if state.published_score is None or found.score > state.published_score:
            state.stale = 0
            score = f"{found.score:.4f} {found.signature}".strip()
            if self.publish(state, better.weights, score):
                state.published_score = found.score
        return found

    def _validate(
        self, candidate: Candidate, poll: Callable[[], bool], *, bleu: bool
    ) -> Validation:
        load_weights(self._model, candidate.weights)
        return validate(self._model, self._config, self._corpus, self._device, bleu=bleu, stop=poll)

    def publish(self, state: State, weights: dict[str, Tensor], validation: str = "") -> bool:
        """Whether these weights are the model's now."""
        metadata = {"step": str(state.step), "validation": validation}
        size = sum(one.nbytes for one in weights.values())
        with self._checkpoints.setbacks.forgiving(MODEL, size):
            refresh_weights(self._out, weights, metadata)
            return True
        return False
