"""Model selection: the best of a run's weights in validation are written to its directory."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from nmt_cli import __version__
from nmt_cli.config.schema import Config
from nmt_cli.data.corpus.corpus import Corpus
from nmt_cli.model.encoder_decoder import EncoderDecoder
from nmt_cli.model_dir import read_model, refresh_weights
from nmt_cli.plurals import counted
from nmt_cli.training.evaluation.passes import (
    FINAL_SENTENCES,
    VALIDATION,
    Pass,
    comparison_passes,
)
from nmt_cli.training.evaluation.validation import validate
from nmt_cli.training.optimizers.adam import Optimizer
from nmt_cli.training.optimizers.ema import MovingAverage
from nmt_cli.training.optimizers.schedule_free import place_training_weights
from nmt_cli.training.reporting.report import (
    BLEU_NOISE,
    PERPLEXITY_DECIDES,
    Published,
    Validation,
    scores,
)
from nmt_cli.training.saving.average import average_weights
from nmt_cli.training.saving.checkpoints import Checkpoints
from nmt_cli.training.saving.tensor_files import copy_weights, model_weights
from nmt_cli.training.state import TrainState

MODEL = "the model"
STARTING_WEIGHTS = "the weights that training began with"


class WeightsCandidate(NamedTuple):
    """Weights that may be published.

    kind: current, mean (of the checkpoints of `steps`) or ema (moving average); steps of current
    weights: (0,) for those that training began with, and () for those of the last step.
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
        # Called during each pass as by `validate`, with the pass.
        self.on_progress: Callable[[Pass, int, int], None] = lambda _pass, _done, _total: None

    def candidates(
        self, optimizer: Optimizer, ema: MovingAverage | None
    ) -> Iterator[WeightsCandidate]:
        """The current weights, the mean of the last checkpoints if several, the moving average.

        The first is available at once; the others wait until the last checkpoint is written.
        """
        yield WeightsCandidate("current", (), model_weights(self._model, optimizer))
        last = self._checkpoints.members()[-self._config.train.keep_last :]
        valid = [checkpoint for checkpoint in last if not checkpoint.problem()]
        if len(valid) > 1:
            weights = {checkpoint.directory: checkpoint.weights for checkpoint in valid}
            mean = average_weights(list(weights), lambda directory: weights[directory]())
            yield WeightsCandidate("mean", tuple(checkpoint.step for checkpoint in valid), mean)
        if ema is not None:
            yield WeightsCandidate("ema", (), ema.weights())

    def select(
        self,
        state: TrainState,
        optimizer: Optimizer,
        ema: MovingAverage | None,
        poll: Callable[[], bool],
    ) -> Validation:
        """The validation of the best candidate, which is published if it is the best so far.

        Afterwards the model has its own weights again. Raises AbandonedError when `poll()` returns
        True.
        """
        candidates: list[WeightsCandidate] = []
        validations: list[Validation] = []
        try:
            for candidate in self.candidates(optimizer, ema):
                candidates.append(candidate)
                validations.append(self._validate(candidate, poll))
            losses = [validation.nll for validation in validations]
            best = losses.index(min(losses))
            chosen = candidates[best]
            validation = replace(
                self._validate(chosen, poll, validations[best]),
                averaged=max(1, len(chosen.steps)),
                steps=chosen.steps,
                weights=chosen.kind,
            )
        finally:
            if candidates:
                copy_weights(self._model, candidates[0].weights)
            place_training_weights(optimizer)
        better_than_published = self._is_better(validation, state)
        state.score(losses[0], better_than_published=better_than_published)
        if better_than_published:
            validation = replace(validation, best=True)
            self.publish(state, chosen, validation)
        elif _are_of_same_sentences(validation, state.published):
            highest = _highest_bleu(validation, state.published)
            state.set_published({**state.published, "highest_bleu": highest}, None)
        return validation

    def compare_last(
        self,
        state: TrainState,
        optimizer: Optimizer,
        ema: MovingAverage | None,
        poll: Callable[[], bool],
    ) -> None:
        """Publish the weights that translate more pairs better; record the comparison.

        At the end of a run, the published weights, the last average and the weights that
        fine-tuning began with are decoded on up to `FINAL_SENTENCES` pairs, because the
        `train.validation_sentences` of a validation may favour some by chance. Afterwards the model
        has its own weights again. Raises AbandonedError when `poll()` returns True.
        """
        sample = self._config.train.validation_sentences
        text, published = self._corpus.valid_text, state.published
        if text is None or published.get("bleu") is None or not sample < len(text[0]):
            return
        if not self._config.train.compare_at_end:
            return
        own, *averages = self.candidates(optimizer, ema)
        others = self._contenders(averages, state)
        if not others:
            return
        sentences = min(len(text[0]), FINAL_SENTENCES)
        where = f"on {sentences:,} validation pairs, not only {sample:,}"
        contenders = [self._published(Published.from_json(published)), *others]
        passes = comparison_passes([contender.name for contender in contenders], sentences, sample)
        try:
            validations = [
                self._validate(contender.candidate, poll, sentences=sentences, pass_=pass_)
                for contender, pass_ in zip(contenders, passes, strict=False)
            ]
            best = _best_of(contenders, validations, sentences)
            other_scores = [
                f"{scores(validation.bleu, validation.perplexity)} with {contender.description}"
                for contender, validation in zip(contenders, validations, strict=True)
                if validation is not validations[best]
            ]
            best_scores = scores(validations[best].bleu, validations[best].perplexity)
            comparison = f"{where}: {best_scores}, against {' and '.join(other_scores)}"
            if any(validation.score > validations[best].score for validation in validations):
                comparison += f"; {PERPLEXITY_DECIDES}"
            if not best:
                final = {"final_bleu": validations[0].bleu, "final_sentences": sentences}
                state.set_published({**published, "comparison": comparison, **final}, None)
                return
            chosen = contenders[best].candidate
            # The BLEU of the usual sentences, with which a continued run compares.
            validation = replace(
                self._validate(chosen, poll, validations[best], pass_=passes[-1]),
                averaged=max(1, len(chosen.steps)),
                weights=chosen.kind,
            )
        finally:
            copy_weights(self._model, own.weights)
            place_training_weights(optimizer)
        self.publish(state, chosen, validation, comparison, (validations[best].bleu, sentences))

    def _published(self, published: Published) -> "_Contender":
        """The weights of the model directory."""
        arrays = read_model(self._out).weights
        weights = {name: torch.from_numpy(array) for name, array in arrays.items()}
        candidate = WeightsCandidate("", (), weights)
        return _Contender("published weights", published.weights_in_words(), candidate)

    def _contenders(
        self, averages: Sequence[WeightsCandidate], state: TrainState
    ) -> list["_Contender"]:
        """What may replace the published weights: the last average, and the starting weights."""
        contenders = []
        if averages and not _is_published(averages[-1], state):
            contenders.append(_Contender("last average", _average_of(averages[-1]), averages[-1]))
        if state.published["step"] and (weights := self._checkpoints.start_weights()) is not None:
            start = WeightsCandidate("current", (0,), weights)
            contenders.append(_Contender("weights before training", STARTING_WEIGHTS, start))
        return contenders

    def _is_better(self, validation: Validation, state: TrainState) -> bool:
        """Whether it beats what is published: by BLEU, if that is clear, else by perplexity.

        BLEU decides only where both are of the same sentences; perplexity is always of all pairs.
        """
        published, perplexity = state.published_score, state.published.get("perplexity")
        bleu = state.published.get("bleu")
        if published is None:
            return True
        if (validation.bleu is None and bleu is None) or perplexity is None:
            return validation.score > published
        earlier = replace(validation, bleu=bleu, perplexity=perplexity)
        if earlier.bleu is None or not _are_of_same_sentences(validation, state.published):
            return validation.perplexity < earlier.perplexity
        return _beats(validation, earlier, self._config.train.validation_sentences)

    def _validate(
        self,
        candidate: WeightsCandidate,
        poll: Callable[[], bool],
        losses: Validation | None = None,
        sentences: int | None = None,
        pass_: Pass = VALIDATION,
    ) -> Validation:
        """The losses of a candidate; with known `losses`, or a number of `sentences`, its BLEU.

        pass_: the one that this is, for the progress.
        """
        copy_weights(self._model, candidate.weights)
        return validate(
            self._model, self._config, self._corpus, self._device,
            bleu=bool(losses or sentences), stop=poll, on_progress=partial(self.on_progress, pass_),
            losses=losses, sentences=sentences,
        )  # fmt: skip

    def publish(
        self,
        state: TrainState,
        chosen: WeightsCandidate,
        validation: Validation | None = None,
        comparison: str = "",
        final: tuple[float | None, int | None] = (None, None),
    ) -> None:
        """Write these weights into the model directory; a failure is noted and tolerated.

        validation: how good they are, None where nothing was measured; comparison: how they did on
        more validation pairs, if that is why they are published; final: their BLEU on these, and
        how many they are.
        """
        steps = chosen.steps or (state.step,)
        step = steps[-1] if chosen.kind == "current" else state.step
        score = f"{validation.score:.4f} {validation.signature}".strip() if validation else ""
        versions = f"nmt {__version__}, torch {torch.__version__}"
        metadata = {"step": str(step), "validation": score, "trained_with": versions}
        if validation is not None and validation.confidence:
            metadata["confidence"] = validation.confidence
        size = sum(tensor.nbytes for tensor in chosen.weights.values())
        published = Published(
            step, chosen.kind, steps, comparison=comparison, by_comparison=bool(comparison),
            final_bleu=final[0], final_sentences=final[1],
        )  # fmt: skip
        if validation is not None:
            published = replace(
                published, bleu=validation.bleu, perplexity=validation.perplexity,
                sentences=validation.sentences, before=self._before_training(state, validation),
                highest_bleu=_highest_bleu(validation, state.published),
            )  # fmt: skip
        metadata["published"] = published.weights_in_words()
        if not state.step:
            # Only fine-tuning publishes weights before the first step.
            self._checkpoints.save_start(chosen.weights)
        with self._checkpoints.write_failures.tolerate(MODEL, size):
            refresh_weights(self._out, chosen.weights, metadata)
            state.set_published(published.as_json(), validation.score if validation else None)

    def _before_training(
        self, state: TrainState, validation: Validation
    ) -> tuple[float | None, float] | None:
        """BLEU and perplexity of the model that training began with; None without such a model.

        Without its BLEU if this is not of the sentences of `validation`.
        """
        if not state.step and self._config.train.init_from:
            return validation.bleu, validation.perplexity
        before: tuple[float | None, float] | None = state.published.get("before")
        if before is None or _are_of_same_sentences(validation, state.published):
            return before
        return None, before[1]


class _Contender(NamedTuple):
    """Weights that are compared at the end of a run.

    name: what they are, for the screen; description: the same for the recorded comparison.
    """

    name: str
    description: str
    candidate: WeightsCandidate


def _best_of(
    contenders: Sequence[_Contender], validations: Sequence[Validation], sentences: int
) -> int:
    """The index of the weights to publish; the published ones are the first.

    The last average replaces them if it beats them as in a validation. The weights before training
    are kept unless the better of these two beats them so.
    """
    best = 0
    for index, (contender, validation) in enumerate(zip(contenders, validations, strict=True)):
        if contender.candidate.steps == (0,):
            is_better = not _beats(validations[best], validation, sentences)
        else:
            is_better = _beats(validation, validations[best], sentences)
        if is_better:
            best = index
    return best


def _beats(validation: Validation, other: Validation, sentences: int) -> bool:
    """Whether weights are better than others: by BLEU, if that is clear, else by perplexity."""
    difference = validation.score - other.score
    if abs(difference) > BLEU_NOISE / math.sqrt(sentences):
        return difference > 0
    return validation.perplexity < other.perplexity


def _highest_bleu(validation: Validation, published: Mapping[str, Any]) -> float | None:
    """The highest BLEU of this validation and earlier ones of the same sentences, if it has BLEU.

    published: what the model directory holds, with its own BLEU and the highest one so far.
    """
    if not _are_of_same_sentences(validation, published):
        return validation.bleu
    earlier = (published.get("highest_bleu"), published.get("bleu"))
    return max((bleu for bleu in (validation.bleu, *earlier) if bleu is not None), default=None)


def _are_of_same_sentences(validation: Validation, published: Mapping[str, Any]) -> bool:
    """Whether the BLEU of a validation is comparable with that of the published weights.

    It is not after `train.validation_sentences` was changed in a resumed run.
    """
    return published.get("sentences") == validation.sentences


def _is_published(candidate: WeightsCandidate, state: TrainState) -> bool:
    """Whether the model directory holds these weights."""
    steps = candidate.steps or (state.step,)
    published = state.published
    return (candidate.kind, steps) == (published["weights"], tuple(published["steps"]))


def early_stopping_reason(patience: int, stale: int) -> str:
    """Why early stopping ends a run, or an empty text.

    patience: validations without improvement that are allowed, 0 = no early stopping; stale: the
    validations since the best one.

    >>> early_stopping_reason(3, 2), early_stopping_reason(3, 3), early_stopping_reason(0, 9)
    ('', '3 validations without a better one', '')
    """
    if not patience or stale < patience:
        return ""
    return f"{counted(stale, 'validation')} without a better one"


def _average_of(candidate: WeightsCandidate) -> str:
    """What the last average is of, for a message."""
    if candidate.kind != "mean":
        return "the moving average"
    first, last = candidate.steps[0], candidate.steps[-1]
    count = len(candidate.steps)
    return f"the average of the last {count} checkpoints (steps {first:,} to {last:,})"
